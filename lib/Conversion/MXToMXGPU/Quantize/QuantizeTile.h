//===- QuantizeTile.h - Quantizer through shared memory ------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Implemented by QuantizeTileHost.cpp (launch), QuantizeTileKernel.cpp (kernel)
// and QuantizeTileStore.cpp (prologues and stores).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZETILE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZETILE_H

#include "QuantizeInputLoader.h"

namespace mx::mxgpu {

class QuantizeTileBuilder {
public:
  QuantizeTileBuilder(FusedQuantizeOp op, QuantizeScheduleAttr schedule,
                      mlir::gpu::GPUModuleOp module)
      : op(op), schedule(schedule), module(module), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()), types(getQuantizedTypes(op)),
        pieces(op, body, kPieceColumns, schedule.getTile(), /*padded=*/true) {}

  llvm::LogicalResult verify();
  void build();

private:
  /// Columns that a thread computes at once: enough for loads aligned to 16
  /// bytes.
  static constexpr int64_t kPieceColumns = 8;

  /// Elements and scales, or dequantized values, of a value and axis.
  struct Destination {
    int64_t axis;
    unsigned index, value;
    std::string name;   // prefix of its buffers
    std::string source; // buffer of the source value
    mlir::Type sourceType, elementType, scaleType;
    mlir::Type dequantizedType; // null unless dequantized
    /// A store covers `rows` rows in adjacent panels, copied `boxRows` rows at
    /// a time.
    int64_t rows, panels, boxRows;
    /// Scale tiles in a tile.
    int64_t scaleTileRows, scaleTileColumns;
    /// Host values: tensor map of the elements, elements and scales.
    mlir::Value map, elements, scales;
    /// Kernel values.
    mlir::Value kernelMap, kernelElements, kernelScales, kernelDecode;

    /// Returns true if scales are stored in tiles through shared memory.
    bool isTiled() const {
      return !dequantizedType &&
             hasScaleTiles(mlir::cast<mlir::MemRefType>(scales.getType()));
    }
    /// Returns the number of elements in a memory element.
    int64_t getPacking() const {
      return !dequantizedType && elementType.getIntOrFloatBitWidth() == 4 ? 2
                                                                          : 1;
    }
    std::string getElementBuffer() const { return name; }
    std::string getScaleBuffer() const { return name + "_scales"; }
  };

  /// A matrix loaded by bulk copies.
  struct Copied {
    mlir::Type type;
    std::string field; ///< its ring buffers
    mlir::Value map;   ///< host value
    mlir::Value kernelMap = {};
  };

  /// Rows of a tile in an input stage (`rows_per_stage` of the schedule).
  struct RowSlab {
    mlir::Value first; ///< first row within the tile
    /// Rows of the expert group from `first` on (signed); null without groups.
    mlir::Value rows = {};
    ConsumerWaitOp source = {}; ///< stage; null if rows are copied
    /// Output stages completed with the tile, and with the slab.
    ProducerAcquireOp ofTile = {}, ofSlab = {};
  };

  // QuantizeTileHost.cpp
  llvm::LogicalResult verifyCopies();
  llvm::LogicalResult verifyPrologues();
  void checkInputs();
  void buildHost();
  void addCopied(mlir::Value matrix, std::string field);
  void setValue(Destination &dest, unsigned value);
  Destination getDestination(unsigned index);
  void setElements(Destination &dest);
  llvm::SmallVector<mlir::Value> getArguments();
  void takeArguments(mlir::Block::args_iterator &argument);
  void splitDestinations();
  mlir::Value getRowTiles(mlir::Value rows);
  mlir::Value getBatchSize();
  mlir::Value createCounter();

  // QuantizeTileKernel.cpp
  void buildKernel(mlir::Value rows, mlir::Value columns, mlir::Value counter);
  ForEachWorkTileOp forEachTile();
  void buildLoad(mlir::Value ring);
  void buildSchedule();
  void buildProduce(); // QuantizeTileStore.cpp
  QuantizeInputLoader::Piece loadPiece(RowSlab slab, mlir::Value row,
                                       mlir::Value column);
  void producePieces(ProducerAcquireOp stage, RowSlab slab);
  void buildQuantize(int64_t axis);
  void buildSlab(int64_t axis, ProducerAcquireOp ofTile, mlir::Value bySlabs);
  void buildPass(const Destination &dest, RowSlab slab);
  void raiseAmax();
  mlir::Value buildRowFragment(const Destination &dest, RowSlab slab,
                               mlir::Value item);
  mlir::Value buildCopies(const Destination &dest, RowSlab slab,
                          mlir::Value item, int64_t count);
  mlir::Value buildColumnFragment(const Destination &dest, RowSlab slab,
                                  mlir::Value item);
  mlir::Value getNumber(const Destination &dest, RowSlab slab, mlir::Value row,
                        mlir::Value column);
  mlir::Value getAllColumns();
  mlir::Value getStored(const Destination &dest, mlir::Value elements,
                        mlir::Value scales);
  mlir::Value clearBehindLines(const Destination &dest, mlir::Value scale,
                               mlir::Value line);
  void storeScale(const Destination &dest, RowSlab slab, mlir::Value scale,
                  mlir::Value row, mlir::Value block);
  void storeElements(const Destination &dest, RowSlab slab);
  void storeScaleTiles(const Destination &dest, ProducerAcquireOp staged);
  mlir::Value forEachSlab();
  RingType getInputRing();
  RingType getSourceRing();
  BufferType getSlabBuffer(mlir::Type type);
  mlir::Value createOutputRing(int64_t axis, bool ofSlabs);
  RingType getCounterRing();

  int64_t getRows() { return schedule.getTile()[0]; }
  int64_t getColumns() { return schedule.getTile()[1]; }
  int64_t getRowsPerStage() { return schedule.getRowsPerStage(); }
  int64_t getBlock() { return op.getBlockSize(); }
  /// Returns true if the threads of an axis update amax. Every axis reads all
  /// elements, so the first axis suffices.
  bool raises(int64_t axis) {
    return op.getAmax() && axis == op.getAxes().front();
  }
  /// Returns true if the lines along an axis may end within a square. With both
  /// axes, blocks are whole.
  bool endsInSquare(int64_t axis) {
    int64_t lines = op.getQuantizedShape()[getBatchRank(op) + (axis ? 0 : 1)];
    return op.getSquare() && op.getAxes().size() == 1 &&
           (mlir::ShapedType::isDynamic(lines) || lines % getBlock() != 0);
  }
  /// Returns true if threads compute the values; otherwise bulk copies load
  /// them.
  bool isProduced() { return mxgpu::isProduced(op); }
  /// Returns true if the quantized input is passed through along an axis.
  bool copies(int64_t axis) { return axis == 1 && op.isPassedOn(); }
  /// Returns the threads of roles that read the input ring.
  int64_t getReaders() {
    return llvm::count_if(op.getAxes(),
                          [&](int64_t axis) { return !copies(axis); }) *
           getAxisThreads();
  }
  /// Returns true if computing threads read their inputs from shared memory.
  bool copiesSources() { return schedule.getInputStages() != 0; }
  /// Computing takes longer than quantizing along one or two axes.
  int64_t getProducingThreads() { return 2 * schedule.getThreads(); }
  /// Returns the threads of the role of an axis.
  int64_t getAxisThreads() {
    return schedule.getThreads() / static_cast<int64_t>(op.getAxes().size());
  }
  /// Returns the ring buffer of a value.
  std::string getField(unsigned value) {
    return types.size() == 1 ? "x" : "x" + std::to_string(value);
  }
  static int64_t getBytes(mlir::Type type) {
    return type.getIntOrFloatBitWidth() / 8;
  }
  /// Returns the columns in a line of shared memory, and in a word.
  static int64_t getPanelColumns(mlir::Type type) {
    return 128 / getBytes(type);
  }
  static int64_t getWordColumns(mlir::Type type) { return 4 / getBytes(type); }
  /// Returns the required multiple of an input's columns.
  int64_t getColumnStep(mlir::Type type) {
    return isProduced() ? kPieceColumns : 16 / getBytes(type);
  }
  /// Returns the fragments of a stage; a thread processes one at a time.
  int64_t getNumFragments(int64_t axis, mlir::Type type) {
    int64_t columns = axis ? 1 : getWordColumns(type);
    return getRowsPerStage() * getColumns() / (getBlock() * columns);
  }
  /// Returns true if the output is complete with each slab: rows, and
  /// dequantized columns, which are wide enough to be stored in slices.
  /// Quantized columns are complete with the tile.
  bool isBySlabs(const Destination &dest) {
    return getRows() != getRowsPerStage() &&
           (dest.axis == 1 || dest.dequantizedType);
  }
  ProducerAcquireOp getStaged(const Destination &dest, RowSlab slab) {
    return isBySlabs(dest) ? slab.ofSlab : slab.ofTile;
  }

  /// Returns true if threads store rows, since copies would overwrite the next
  /// group.
  bool writesRows(const Destination &dest) {
    return dest.axis == 1 && op.getOffsets();
  }

  BufferType getBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type type,
                       Swizzle swizzle) {
    return BufferType::get(op.getContext(), Space::Smem, shape, type, swizzle);
  }
  /// Returns a map for rows of a matrix that are as long as their swizzle.
  TensorMapType getMap(llvm::SmallVector<int64_t> box, mlir::Type type) {
    if (getBatchRank(op))
      box.insert(box.begin(), 1);
    int64_t bytes = box.back() * type.getIntOrFloatBitWidth() / 8;
    return TensorMapType::get(op.getContext(), box, type,
                              *symbolizeSwizzle(static_cast<uint32_t>(bytes)));
  }
  L2Promotion getL2Promotion();
  /// Returns the first row of a tile in the input, which may be packed.
  mlir::Value getInputRow(ForEachWorkTileOp tile) {
    return op.getOffsets() ? tile.getStart() : tileRow;
  }
  /// Returns the map coordinates in this tile's matrix.
  llvm::SmallVector<mlir::Value> getCoords(mlir::Value row,
                                           mlir::Value column) {
    return batch ? llvm::SmallVector<mlir::Value>{batch, row, column}
                 : llvm::SmallVector<mlir::Value>{row, column};
  }
  /// Returns the index of a line in the batch, with `count` lines per matrix.
  mlir::Value getLine(mlir::Value line, mlir::Value count) {
    return batch ? body.add(body.mul(batch, count), line) : line;
  }
  /// Returns the column of the tile in the concatenated values.
  mlir::Value getColumn(const Destination &dest) {
    if (!op.getConcat() || dest.value == 0)
      return tile.getColumn();
    return body.add(body.mul(columns, body.index(dest.value)),
                    tile.getColumn());
  }
  /// Returns the row and column of the output of an axis.
  std::pair<mlir::Value, mlir::Value> getStart(const Destination &dest) {
    if (dest.axis)
      return {getInputRow(tile), getColumn(dest)};
    return {getColumn(dest), tileRow};
  }

  FusedQuantizeOp op;
  QuantizeScheduleAttr schedule;
  mlir::gpu::GPUModuleOp module;
  KernelBuilder host, body;
  llvm::SmallVector<mlir::Type> types; // types to quantize
  QuantizeInputLoader pieces;          // if produced
  llvm::SmallVector<Destination> destinations;
  llvm::SmallVector<Copied> copied;
  KernelOp kernel;
  /// Kernel values.
  mlir::Value rows, columns, encode, seed, offsets, inputs, sources, numbers,
      work;
  /// Batches only: number of matrices, and rows of a matrix rounded up to whole
  /// tiles.
  mlir::Value batches, paddedRows;
  /// Matrix of this tile (null without a batch), and row of the tile.
  mlir::Value batch, tileRow;
  llvm::SmallVector<mlir::Value> magnitudes;
  /// Maximum magnitude found by a thread for each value, and the value in
  /// memory as of an earlier load.
  llvm::SmallVector<mlir::Value> maxima, known;
  /// For each axis, the output rings by tile and by slab.
  std::array<std::pair<mlir::Value, mlir::Value>, 2> outputs;
  ForEachWorkTileOp tile;
};

/// Builds a quantizer along axis 0 or of ragged rows. Requires verified
/// operands.
llvm::LogicalResult buildQuantizeTileKernel(FusedQuantizeOp op,
                                            QuantizeScheduleAttr schedule,
                                            mlir::gpu::GPUModuleOp module);

/// Returns the name prefix of the kernel.
llvm::StringRef getKernelName(FusedQuantizeOp op);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZETILE_H
