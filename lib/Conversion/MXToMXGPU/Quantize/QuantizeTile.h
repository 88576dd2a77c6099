//===- QuantizeTile.h - Quantizer through shared memory ------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// QuantizeTileHost.cpp implements the launch, QuantizeTileKernel.cpp implements
// the kernel, QuantizeTileFragments.cpp implements the work of its threads, and
// QuantizeTileStore.cpp implements prologues and stores.
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
  /// Columns that a thread computes at once, enough for 16-byte loads.
  static constexpr int64_t kPieceColumns = 8;

  /// Destination of a value along an axis: elements and scales, or dequantized
  /// values.
  struct Destination {
    int64_t axis;
    unsigned index, value;
    std::string name;   // prefix of its buffers
    std::string source; // buffer of the source value
    mlir::Type sourceType, elementType, scaleType;
    mlir::Type dequantizedType; // null unless dequantized
    /// A store covers `rows` rows in adjacent panels, `boxRows` rows at a time.
    int64_t rows, panels, boxRows;
    /// Number of scale tiles in a tile. With long blocks, a tile contains less
    /// than a column of scale tiles, and threads store scales directly.
    int64_t scaleTileRows, scaleTileColumns;
    bool isMNMajor = false;
    /// Host values: tensor map of the elements, elements, scales and optional
    /// spreads.
    mlir::Value map, elements, scales, spreads;
    /// Kernel values.
    mlir::Value kernelMap, kernelElements, kernelScales, kernelSpreads,
        kernelDecode;

    bool isTiled() const {
      return !dequantizedType &&
             hasScaleTiles(mlir::cast<mlir::MemRefType>(scales.getType()));
    }
    /// Returns true if scales are stored in tiles through shared memory.
    bool isStaged() const { return isTiled() && scaleTileColumns > 0; }
    /// Returns the number of elements in a memory element.
    int64_t getPacking() const {
      return !dequantizedType && elementType.getIntOrFloatBitWidth() == 4 ? 2
                                                                          : 1;
    }
    std::string getElementBuffer() const { return name; }
    std::string getScaleBuffer() const { return name + "_scales"; }
  };

  /// Matrix loaded by bulk copies.
  struct Copied {
    mlir::Type type;
    std::string field; ///< name of its ring buffers
    mlir::Value map;   ///< host value
    mlir::Value kernelMap = {};
  };

  /// Rows of a tile in an input stage (`rows_per_stage` of the schedule).
  struct RowSlab {
    mlir::Value first; ///< first row within the tile
    /// Number of rows of the expert group from `first` on, which may be
    /// negative. Null without groups.
    mlir::Value rows = {};
    ConsumerWaitOp source = {}; ///< input stage, null if `copies()`
    /// Output stages completed at the end of the tile and of the slab.
    ProducerAcquireOp ofTile = {}, ofSlab = {};
  };

  /// Fragment of a slab: its place, the part of the block that the lane holds,
  /// and the values.
  struct Fragment {
    mlir::Value row, column, block, part, x;
  };

  // QuantizeTileHost.cpp
  llvm::LogicalResult verifyBlocks();
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
  void repeat(TileSchedulerOp scheduler);
  void launchRest(mlir::Value rowTiles, mlir::Value columnTiles,
                  mlir::ValueRange arguments);
  mlir::Value getBatchSize();
  int64_t getRowBoxes();
  mlir::Value padColumns(KernelBuilder &builder, mlir::Value columns);
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
  mlir::Value
  forEachFragment(const Destination &dest, int64_t atOnce, bool raises,
                  llvm::function_ref<mlir::Value(mlir::Value)> build);
  Fragment loadFragment(const Destination &dest, RowSlab slab,
                        mlir::Value item);
  void raiseAmax();
  mlir::Value buildRowFragment(const Destination &dest, RowSlab slab,
                               mlir::Value item);
  mlir::Value buildCopies(const Destination &dest, RowSlab slab,
                          mlir::Value item, int64_t count);
  mlir::Value buildColumnFragment(const Destination &dest, RowSlab slab,
                                  mlir::Value item);
  void buildColumnsOfTall(const Destination &dest, RowSlab slab,
                          const Fragment &fragment);
  mlir::Value getNumber(const Destination &dest, RowSlab slab, mlir::Value row,
                        mlir::Value column);
  mlir::Value getAllColumns();
  mlir::Value getStored(const Destination &dest, mlir::Value elements,
                        mlir::Value scales);
  mlir::Value clearBehindLines(const Destination &dest, mlir::Value scale,
                               mlir::Value line);
  void storeScale(const Destination &dest, RowSlab slab, mlir::Value scale,
                  mlir::Value row, mlir::Value block, mlir::Value part);
  void storeTallScale(const Destination &dest);
  void storeInMatrix(const Destination &dest, mlir::Value matrix,
                     mlir::Value value, mlir::Value row, mlir::Value block,
                     mlir::Value part, bool transposed);
  void storeSpread(const Destination &dest, mlir::Value x,
                   mlir::IntegerAttr column, mlir::Value row, mlir::Value block,
                   mlir::Value part);
  void storeTiledScale(const Destination &dest, mlir::Value scale,
                       mlir::Value row, mlir::Value block, mlir::Value part);
  mlir::Value getRowTile(const Destination &dest, mlir::Value row);
  mlir::Value getRowTiles(const Destination &dest);
  void storeElements(const Destination &dest, RowSlab slab);
  void storeScaleTiles(const Destination &dest, ProducerAcquireOp staged);
  mlir::Value forEachSlab();
  RingType getInputRing();
  RingType getSourceRing();
  BufferType getSlabBuffer(mlir::Type type);
  mlir::Value createOutputRing(int64_t axis, bool ofSlabs);
  RingType getNumberRing();

  int64_t getRows() { return schedule.getTile()[0]; }
  int64_t getColumns() { return schedule.getTile()[1]; }
  int64_t getRowsPerStage() { return schedule.getRowsPerStage(); }
  int64_t getBlock() { return op.getBlockSize(); }
  /// Returns the number of rows of a block, along an axis.
  int64_t getBlockRows() {
    return mx::getBlockRows(op.getScaleType(0), op.getBlockSize());
  }
  /// Returns true if blocks have several rows. Then each tile is a block.
  bool isTall() { return getBlockRows() > 1; }
  /// Returns the number of elements of a block that a thread holds.
  int64_t getPart() {
    return std::min<int64_t>(getBlock(), kPowerOfTwoBlockSize);
  }
  /// Returns the number of adjacent lanes that share a block.
  int64_t getParts() { return getBlock() / getPart(); }
  /// Divides an item into a fragment of whole blocks and the part of the block
  /// that this lane holds, which is null if a thread holds a block.
  std::pair<mlir::Value, mlir::Value> splitItem(mlir::Value item) {
    if (getParts() == 1)
      return {item, nullptr};
    return {body.div(item, getParts()), body.rem(item, getParts())};
  }
  /// Returns the line across the axis and the block along it of a fragment,
  /// with `lines` lines and `size` elements along the axis.
  mlir::Value getLineOf(mlir::Value fragment, int64_t lines, int64_t size) {
    bool hasOneBlock = getParts() > 1 && size == getBlock();
    return hasOneBlock ? fragment : body.rem(fragment, lines);
  }
  mlir::Value getBlockOf(mlir::Value fragment, int64_t lines, int64_t size) {
    bool hasOneBlock = getParts() > 1 && size == getBlock();
    return hasOneBlock ? body.index(0) : body.div(fragment, lines);
  }
  /// Returns the index of the first element of a part of a block.
  mlir::Value getFirst(mlir::Value block, mlir::Value part) {
    mlir::Value first = body.mul(block, body.index(getBlock()));
    return part ? body.add(first, body.mul(part, body.index(getPart())))
                : first;
  }
  /// Returns true if the threads of an axis update amax. Only the first axis
  /// does, because every axis reads all elements.
  bool raises(int64_t axis) {
    return op.getAmax() && axis == op.getAxes().front();
  }
  /// Returns true if the last line along an axis may lie within a square. With
  /// both axes, all squares are complete.
  bool endsInSquare(int64_t axis) {
    int64_t lines = op.getQuantizedShape()[getBatchRank(op) + (axis ? 0 : 1)];
    return op.getSquare() && op.getAxes().size() == 1 &&
           (mlir::ShapedType::isDynamic(lines) || lines % getBlock() != 0);
  }
  /// Returns true if threads compute the values, false if bulk copies load
  /// them.
  bool isProduced() { return mxgpu::isProduced(op); }
  /// Returns true if the quantized input is passed through along an axis.
  bool copies(int64_t axis) { return axis == 1 && op.isPassedOn(); }
  /// Returns the number of threads of all roles that read the input ring.
  int64_t getReaders() {
    return llvm::count_if(op.getAxes(),
                          [&](int64_t axis) { return !copies(axis); }) *
           getAxisThreads();
  }
  /// Returns true if computing threads read their inputs from shared memory.
  bool copiesSources() { return schedule.getInputStages() != 0; }
  /// Returns the number of threads that compute values. Computing takes longer
  /// than quantizing along one or two axes.
  int64_t getProducingThreads() { return 2 * schedule.getThreads(); }
  int64_t getAxisThreads() {
    return schedule.getThreads() / static_cast<int64_t>(op.getAxes().size());
  }
  /// Returns the name of the ring buffer of a value.
  std::string getField(unsigned value) {
    return types.size() == 1 ? "x" : "x" + std::to_string(value);
  }
  static int64_t getBytes(mlir::Type type) {
    return type.getIntOrFloatBitWidth() / 8;
  }
  /// Return the number of columns in a line of shared memory, and in a word.
  static int64_t getPanelColumns(mlir::Type type) {
    return 128 / getBytes(type);
  }
  static int64_t getWordColumns(mlir::Type type) { return 4 / getBytes(type); }
  /// Returns the required divisor of an input's column count.
  int64_t getColumnStep(mlir::Type type) {
    return isProduced() ? kPieceColumns : 16 / getBytes(type);
  }
  /// Returns the number of fragments of a stage. A thread processes one
  /// fragment at a time.
  int64_t getNumFragments(int64_t axis, mlir::Type type) {
    int64_t columns = axis ? 1 : getWordColumns(type);
    return getRowsPerStage() * getColumns() / (getPart() * columns);
  }
  /// Returns true if the output is stored after each slab. This applies to
  /// rows, and to dequantized columns because they are wide enough to be stored
  /// in slices. Quantized columns are stored after the whole tile.
  bool isBySlabs(const Destination &dest) {
    return getRows() != getRowsPerStage() &&
           (dest.axis == 1 || dest.dequantizedType);
  }
  ProducerAcquireOp getStaged(const Destination &dest, RowSlab slab) {
    return isBySlabs(dest) ? slab.ofSlab : slab.ofTile;
  }

  /// Returns true if threads store rows, because bulk copies would overwrite
  /// the next expert group.
  bool writesRows(const Destination &dest) {
    return dest.axis == 1 && op.getOffsets();
  }

  BufferType getBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type type,
                       Swizzle swizzle) {
    return BufferType::get(op.getContext(), Space::Smem, shape, type, swizzle);
  }
  /// Returns a tensor map with box rows as long as the swizzle.
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
  /// Returns the tensor map's coordinates in this tile's matrix.
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
  /// Number of row tiles that this kernel quantizes, null if all.
  mlir::Value limit;
  /// Matrices per batch, and rows per matrix rounded up to whole tiles. Null
  /// without a batch.
  mlir::Value batches, paddedRows;
  /// Index of this tile's matrix (null without a batch), and its first row.
  mlir::Value batch, tileRow;
  llvm::SmallVector<mlir::Value> magnitudes;
  /// For each value, the maximum magnitude that the thread found, and the amax
  /// that the thread loaded earlier.
  llvm::SmallVector<mlir::Value> maxima, known;
  /// Largest magnitude of the tile if it is a block, otherwise null.
  mlir::Value blockAmax;
  /// For each axis, the output rings by tile and by slab.
  std::array<std::pair<mlir::Value, mlir::Value>, 2> outputs;
  ForEachWorkTileOp tile;
};

/// Builds the kernel of a quantizer along axis 0 or with ragged rows. The
/// operands must be verified.
llvm::LogicalResult buildQuantizeTileKernel(FusedQuantizeOp op,
                                            QuantizeScheduleAttr schedule,
                                            mlir::gpu::GPUModuleOp module);

/// Returns the name prefix of the kernel.
llvm::StringRef getKernelName(FusedQuantizeOp op);
/// Returns whether `if_any`, the last arguments of the kernel, requests the
/// quantization, or null if it always runs. The kernel overlaps others: it
/// waits for earlier kernels here, at its start, and launches later kernels.
mlir::Value isRequested(KernelBuilder &body, KernelOp kernel,
                        FusedQuantizeOp op);
/// Limits a grid to resident CTAs.
mlir::Value limitGrid(KernelBuilder &host, QuantizeScheduleAttr schedule,
                      mlir::Value grid);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZETILE_H
