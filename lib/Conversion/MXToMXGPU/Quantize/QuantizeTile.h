//===- QuantizeTile.h - A quantizer through shared memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The kernel (QuantizeTileKernel.cpp), how tiles get into shared memory where a
// copy is not enough (QuantizeTileStore.cpp), and the launch
// (QuantizeTileHost.cpp).
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
  /// Columns that a thread computes at a time, so many that their vectors of
  /// the inputs begin at multiples of 16 bytes.
  static constexpr int64_t kPieceColumns = 8;

  /// The elements and scales of one value and axis, or what they are
  /// dequantized to.
  struct Destination {
    int64_t axis;
    unsigned index, value;
    std::string name;   // of its buffers
    std::string source; // the buffer that holds the value
    mlir::Type sourceType, elementType, scaleType;
    mlir::Type dequantizedType; // of what is written in place of both, or null
    /// What is stored at a time has so many rows, in panels side by side, which
    /// are copied so many rows at a time.
    int64_t rows, panels, boxRows;
    /// Tiles of scales in a tile.
    int64_t scaleTileRows, scaleTileColumns;
    /// Of the host: how the elements are stored, where they and the scales lie.
    mlir::Value map, elements, scales;
    /// The same in the kernel.
    mlir::Value kernelMap, kernelElements, kernelScales, kernelDecode;

    /// Whether scales are stored tile by tile, through shared memory.
    bool isTiled() const {
      return !dequantizedType &&
             hasScaleTiles(mlir::cast<mlir::MemRefType>(scales.getType()));
    }
    /// Elements in one of memory.
    int64_t getPacking() const {
      return !dequantizedType && elementType.getIntOrFloatBitWidth() == 4 ? 2
                                                                          : 1;
    }
    std::string getElementBuffer() const { return name; }
    std::string getScaleBuffer() const { return name + "_scales"; }
  };

  /// A matrix that bulk copies load.
  struct Copied {
    mlir::Type type;
    std::string field; ///< its buffers in the ring
    mlir::Value map;   ///< of the host
    mlir::Value kernelMap = {};
  };

  /// The rows of a tile that one stage of the input holds: `rows_per_stage` of
  /// the schedule.
  struct RowSlab {
    mlir::Value first; ///< its first row in the tile
    /// Where groups end in a tile, how many it and those after it have, a
    /// signed number.
    mlir::Value rows = {};
    ConsumerWaitOp source = {}; ///< the stage, null where rows are copied
    /// Those for what is complete with the tile, and with the slab.
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
  /// Whether those of an axis raise the largest magnitudes: the first axis
  /// sees all elements, as every axis does.
  bool raises(int64_t axis) {
    return op.getAmax() && axis == op.getAxes().front();
  }
  /// Whether the lines of what is written along an axis may end within a
  /// square. With both axes they do not, as blocks are whole.
  bool endsInSquare(int64_t axis) {
    int64_t lines = op.getQuantizedShape()[getBatchRank(op) + (axis ? 0 : 1)];
    return op.getSquare() && op.getAxes().size() == 1 &&
           (mlir::ShapedType::isDynamic(lines) || lines % getBlock() != 0);
  }
  /// If not, a bulk copy loads it.
  bool isProduced() { return mxgpu::isProduced(op); }
  /// Whether what is written along an axis is read from the input as it is.
  bool copies(int64_t axis) { return axis == 1 && op.isPassedOn(); }
  /// Threads of the roles that read the ring of what is quantized.
  int64_t getReaders() {
    return llvm::count_if(op.getAxes(),
                          [&](int64_t axis) { return !copies(axis); }) *
           getAxisThreads();
  }
  /// Whether the threads that compute find their inputs in shared memory.
  bool copiesSources() { return schedule.getInputStages() != 0; }
  /// Computing takes longer than quantizing an axis or two.
  int64_t getProducingThreads() { return 2 * schedule.getThreads(); }
  /// Those of an axis, which have a role of their own.
  int64_t getAxisThreads() {
    return schedule.getThreads() / static_cast<int64_t>(op.getAxes().size());
  }
  /// The ring's buffers hold the values that are quantized.
  std::string getField(unsigned value) {
    return types.size() == 1 ? "x" : "x" + std::to_string(value);
  }
  static int64_t getBytes(mlir::Type type) {
    return type.getIntOrFloatBitWidth() / 8;
  }
  /// Columns in a line of shared memory, and in a word.
  static int64_t getPanelColumns(mlir::Type type) {
    return 128 / getBytes(type);
  }
  static int64_t getWordColumns(mlir::Type type) { return 4 / getBytes(type); }
  /// Columns by which rows of an input go.
  int64_t getColumnStep(mlir::Type type) {
    return isProduced() ? kPieceColumns : 16 / getBytes(type);
  }
  /// What threads take at a time.
  int64_t getNumFragments(int64_t axis, mlir::Type type) {
    int64_t columns = axis ? 1 : getWordColumns(type);
    return getRowsPerStage() * getColumns() / (getBlock() * columns);
  }
  /// Whether what is written is complete with each slab: rows are, and columns
  /// of numbers, which are wide enough to be stored in slices. Columns of
  /// elements are with the tile.
  bool isBySlabs(const Destination &dest) {
    return getRows() != getRowsPerStage() &&
           (dest.axis == 1 || dest.dequantizedType);
  }
  ProducerAcquireOp getStaged(const Destination &dest, RowSlab slab) {
    return isBySlabs(dest) ? slab.ofSlab : slab.ofTile;
  }

  /// Threads write the last rows of a group, where a copy would go on.
  bool writesRows(const Destination &dest) {
    return dest.axis == 1 && op.getOffsets();
  }

  BufferType getBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type type,
                       Swizzle swizzle) {
    return BufferType::get(op.getContext(), Space::Smem, shape, type, swizzle);
  }
  /// Of rows that are as long as their swizzle, of one matrix.
  TensorMapType getMap(llvm::SmallVector<int64_t> box, mlir::Type type) {
    if (getBatchRank(op))
      box.insert(box.begin(), 1);
    int64_t bytes = box.back() * type.getIntOrFloatBitWidth() / 8;
    return TensorMapType::get(op.getContext(), box, type,
                              *symbolizeSwizzle(static_cast<uint32_t>(bytes)));
  }
  L2Promotion getL2Promotion();
  /// Where a tile begins in the input, whose rows may be packed otherwise.
  mlir::Value getInputRow(ForEachWorkTileOp tile) {
    return op.getOffsets() ? tile.getStart() : tileRow;
  }
  /// A place of this tile's matrix as coordinates of a map.
  llvm::SmallVector<mlir::Value> getCoords(mlir::Value row,
                                           mlir::Value column) {
    return batch ? llvm::SmallVector<mlir::Value>{batch, row, column}
                 : llvm::SmallVector<mlir::Value>{row, column};
  }
  /// A line of this tile's matrix, of which each has so many, among those of
  /// all matrices.
  mlir::Value getLine(mlir::Value line, mlir::Value count) {
    return batch ? body.add(body.mul(batch, count), line) : line;
  }
  /// The column of the tile in what is quantized, where values may lie beside
  /// each other.
  mlir::Value getColumn(const Destination &dest) {
    if (!op.getConcat() || dest.value == 0)
      return tile.getColumn();
    return body.add(body.mul(columns, body.index(dest.value)),
                    tile.getColumn());
  }
  /// Row and column of what it writes for an axis.
  std::pair<mlir::Value, mlir::Value> getStart(const Destination &dest) {
    if (dest.axis)
      return {getInputRow(tile), getColumn(dest)};
    return {getColumn(dest), tileRow};
  }

  FusedQuantizeOp op;
  QuantizeScheduleAttr schedule;
  mlir::gpu::GPUModuleOp module;
  KernelBuilder host, body;
  llvm::SmallVector<mlir::Type> types; // of what is quantized
  QuantizeInputLoader pieces;          // if it is produced
  llvm::SmallVector<Destination> destinations;
  llvm::SmallVector<Copied> copied;
  KernelOp kernel;
  /// In the kernel.
  mlir::Value rows, columns, encode, seed, offsets, inputs, sources, numbers,
      work;
  /// Of a batch: how many matrices there are, and rows of one with those that
  /// fill its last tile.
  mlir::Value batches, paddedRows;
  /// The matrix of this tile, null if there is one, and the row of the tile.
  mlir::Value batch, tileRow;
  llvm::SmallVector<mlir::Value> magnitudes;
  /// Of each value, the largest magnitude that a thread has found, and what was
  /// known of the one in memory before.
  llvm::SmallVector<mlir::Value> maxima, known;
  /// For each axis, the rings for what is stored by tiles and by slabs.
  std::array<std::pair<mlir::Value, mlir::Value>, 2> outputs;
  ForEachWorkTileOp tile;
};

/// Builds a quantizer that writes along axis 0 or has ragged rows, after the
/// checks that all have in common.
llvm::LogicalResult buildQuantizeTileKernel(FusedQuantizeOp op,
                                            QuantizeScheduleAttr schedule,
                                            mlir::gpu::GPUModuleOp module);

/// What the kernel does, for its name.
llvm::StringRef getKernelName(FusedQuantizeOp op);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZETILE_H
