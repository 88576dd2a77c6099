//===- QuantizeKernel.cpp - Kernel of mx.quantize along rows --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work tiles are tiles of the input. Adjacent threads own adjacent pieces of a
// row. Each thread owns pieces of several rows and loads all of them before the
// first use. Values stay in registers. Rows and columns outside the tensor, and
// rows that a gather omits, are zero. QuantizeTileKernel.cpp quantizes along
// columns, through shared memory.
//
// A single warp or a CTA quantizes a square block or a whole row. Its threads
// hold the values in registers. If there are too many, a warp reads the block
// twice, first to find the largest magnitude and then to quantize the elements.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"
#include "QuantizeChecks.h"
#include "QuantizeInputLoader.h"
#include "QuantizeSchedule.h"
#include "QuantizeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/TargetInfo.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

StringRef mx::mxgpu::getKernelName(FusedQuantizeOp op) {
  return op.getDequantized() ? "quantize_dequantize" : "quantize";
}

Value mx::mxgpu::isRequested(KernelBuilder &body, KernelOp kernel,
                             FusedQuantizeOp op) {
  WaitDependenciesOp::create(body);
  LaunchDependentsOp::create(body);
  size_t count = op.getIfAny().size();
  if (!count)
    return {};
  auto arguments = kernel.getBody().getArguments();
  return isAnySet(body, ValueRange(arguments).take_back(count));
}

Value mx::mxgpu::limitGrid(KernelBuilder &host, QuantizeScheduleAttr schedule,
                           Value grid) {
  return host.min(
      grid, host.mul(SmCountOp::create(host), host.index(schedule.getCtas())));
}

/// Returns the divisor of the rows of work tiles that write all scales and
/// their padding.
static int64_t getScaleRows(FusedQuantizeOp op) {
  if (hasLayout(op, ScaleLayoutKind::Sf128x4))
    return kScaleTileRows;
  return hasLayout(op, ScaleLayoutKind::MNMajor) ? kMNMajorRows : 1;
}

namespace {

/// Maximum number of registers of a thread that hold values of a row.
constexpr int64_t kHeldRegisters = 128;

class QuantizeRowsBuilder {
public:
  QuantizeRowsBuilder(FusedQuantizeOp op, QuantizeScheduleAttr schedule,
                      gpu::GPUModuleOp module)
      : op(op), schedule(schedule),
        format(getBlockFormat(op.getScaleType(0), op.getBlockSize())),
        host(op.getLoc(), op), body(op.getLoc(), op.getContext()),
        module(module),
        tile(hasSquares()
                 ? SmallVector<int64_t>{format.blockRows, format.blockSize}
                 : getTileShape(op, schedule)),
        workThreads(getWorkThreads()), loads(getLoads()),
        rowMultiple(std::lcm(tile[0], getScaleRows(op))),
        pieces(op, body, schedule.getVector(),
               {rowMultiple, isWhole() ? loads * tile[1] : tile[1]},
               /*padded=*/false),
        destinations(op.getNumDestinations()) {}

  /// Builds and launches the kernel.
  void build();

private:
  /// Kernel values: elements, scales and optional spreads, or the dequantized
  /// result and the NVFP4 factor.
  struct Destination {
    Value elements, scales, spreads, decode;
    bool isMNMajor = false;
  };

  SmallVector<Value> getArguments();
  void takeArguments(Block::args_iterator &next);
  bool hasSquares() const { return format.blockRows > 1; }
  bool isWhole() const { return format.blockSize == BlockFormat::kWhole; }
  bool isReadTwice() const { return hasSquares() || isWhole(); }
  /// Returns the number of pieces that a lane loads at once of a block that is
  /// read twice. Pieces of concatenated rows may not pass the end of a row.
  int64_t getLoads() {
    if (isWhole())
      return op.getConcat() ? 1 : std::max(1, 8 / int(op.getInputs().size()));
    return std::gcd(4, tile[0] * tile[1] / schedule.getVector() / workThreads);
  }
  /// Returns true if registers of `threads` threads hold `count` values.
  bool canHold(int64_t count, int64_t threads) {
    return count * getQuantizedBits(op) <= kHeldRegisters * 32 * threads;
  }
  /// Returns the number of threads that process a work tile: of a square, all
  /// if they can hold it, otherwise a warp.
  int64_t getWorkThreads() {
    int64_t all = schedule.getThreads(), inRow = tile[1] / schedule.getVector();
    bool isHeld = all % inRow == 0 && tile[0] * inRow % all == 0 &&
                  canHold(tile[0] * tile[1], all);
    return !hasSquares() || isHeld ? all : target::kWarpSize;
  }
  /// Returns the number of rows of all work tiles.
  Value padRows(KernelBuilder &builder, Value rows) {
    if (rowMultiple == tile[0])
      return rows;
    return builder.mul(builder.ceilDiv(rows, rowMultiple),
                       builder.index(rowMultiple));
  }
  /// Quantizes the tensor. With `if_any`, does so if `isNeeded` is true.
  void buildBody(Value isNeeded);
  Value getGrid();
  /// Returns true if all threads of a CTA, not of a warp, process a row.
  bool isByCta() const {
    if (hasSquares())
      return workThreads > target::kWarpSize;
    return isWhole() && tile[1] > target::kWarpSize * schedule.getVector();
  }
  /// Returns true if registers hold the values of a row or square.
  bool isHeld() {
    int64_t size = op.getInput().getType().getDimSize(1);
    if (hasSquares())
      return isByCta();
    return isWhole() && !ShapedType::isDynamic(size) && size > 0 &&
           canHold(size, tile[1] / schedule.getVector());
  }
  /// Returns the number of largest magnitudes of a block. A row of concatenated
  /// values is a single block.
  int64_t countMaxima() {
    int64_t count = op.getSpreads() ? 3
                    : isWhole()     ? 1
                                    : op.getNumConcatenated();
    return op.getNumValues() * count;
  }
  /// Returns the distance between pieces of a block that is read twice.
  int64_t getStep(const TileThreads &threads) {
    return isWhole() ? tile[1] : threads.step;
  }
  /// Loads `count` pieces of a block, `offset` after the first piece.
  SmallVector<QuantizeInputLoader::Piece>
  loadPieces(const TileThreads &threads, Value offset, int64_t count);
  /// Returns the maximum over all threads that process a row of each value.
  SmallVector<Value> share(ValueRange ofLanes);
  /// Quantize a row or block. Return the largest magnitude of each
  /// value, or of a row of concatenated values.
  SmallVector<Value> buildHeld(const TileThreads &threads);
  SmallVector<Value> buildBlock(const TileThreads &threads);
  /// Raises each maximum to the largest magnitude of the corresponding values.
  /// Maxima are null before the first call. With spreads, the ranges of whole
  /// rows follow the magnitudes.
  void raise(MutableArrayRef<Value> maxima, ArrayRef<Value> values);
  Value getColumn(const QuantizeInputLoader::Piece &piece, size_t value);
  /// Stores the scale and spread of a whole row. Drops the ranges from `amax`.
  void storeRowScales(Value row, SmallVectorImpl<Value> &amax);
  /// Returns the range of the scales of a piece with the magnitude `amax`.
  CodeRange findRange(unsigned destination, Value amax) {
    return findCodeRange(body, op, destination, amax,
                         kPowerOfTwoBlockSize / schedule.getVector());
  }
  void storeScale(const Destination &dest, Value scale, Value row, Value block,
                  int64_t lanes) {
    Value rows = pieces.getRows(), columns = blocks;
    if (dest.isMNMajor) { // also writes the padding
      std::swap(row, block);
      rows = blocks;
      columns = body.dim(dest.scales, 1);
    }
    StoreScalesOp::create(body, scale, dest.scales, row, block, rows, columns,
                          lanes);
  }
  void storeSpread(const Destination &dest, Value spread, Value row,
                   Value block, int64_t lanes) {
    StoreScalesOp::create(body, spread, dest.spreads, row, block,
                          pieces.getRows(), blocks, lanes);
  }
  /// Quantizes and stores a piece. For a piece of a block that is read twice,
  /// `amax` contains the largest magnitudes of the block. The scale of a square
  /// is stored if `isFirst` (i1) is true. If `isFirst` is null, the scale is
  /// not stored.
  void store(const QuantizeInputLoader::Piece &piece, ArrayRef<Value> values,
             ArrayRef<Value> amax = {}, Value isFirst = {});
  /// Stores a piece and its scale to the windows of all other ranks.
  void storeToPeers(Destination dest, QuantizeInputLoader::Loaded stored,
                    Value row, Value column, int64_t lanes);

  VectorType getVector(Type element) {
    return VectorType::get(schedule.getVector(), element);
  }

  FusedQuantizeOp op;
  QuantizeScheduleAttr schedule;
  const BlockFormat &format;
  KernelBuilder host, body;
  gpu::GPUModuleOp module;
  SmallVector<int64_t> tile; ///< shape of a tile, which may be a square
  int64_t workThreads;       ///< threads that process a tile
  int64_t loads;             ///< pieces of a block that are loaded at once
  int64_t rowMultiple;       ///< rows of tiles that fill scale tiles
  QuantizeInputLoader pieces;
  /// Kernel values.
  SmallVector<Destination> destinations;
  SmallVector<Value> magnitudes;
  Value encode, seed, columns, blocks;
  Value peers, rank; ///< null if rows are not stored to peers
};

} // namespace

SmallVector<Value> QuantizeRowsBuilder::getArguments() {
  SmallVector<Value> arguments = pieces.getArguments(host);
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    Value stored = op.getElements(i);
    arguments.push_back(op.isDequantized(i) ? stored : toBytes(host, stored));
    for (Value scales : op.getDestination(i).drop_front())
      arguments.push_back(viewScales(host, scales, /*batch=*/0));
    if (Value factor = op.getDecodeFactor(i))
      arguments.push_back(factor);
  }
  if (Value scale = op.getGlobalScale())
    arguments.push_back(checkPositive(host, scale));
  if (op.getSeed())
    arguments.push_back(op.getSeed());
  if (auto view = op.getElements(0).getDefiningOp<ToPeersOp>()) {
    arguments.push_back(PeersOp::create(host, view.getGroup()));
    arguments.push_back(RankOp::create(host, view.getGroup()));
  }
  llvm::append_range(arguments, op.getAmaxOuts());
  llvm::append_range(arguments, op.getIfAny());
  return arguments;
}

void QuantizeRowsBuilder::takeArguments(Block::args_iterator &next) {
  pieces.takeArguments(next);
  for (auto [i, dest] : llvm::enumerate(destinations)) {
    dest.elements = *next++;
    if (!op.isDequantized(i)) {
      dest.scales = *next++;
      dest.isMNMajor = isMNMajor(op.getScales(i), /*batch=*/0);
    }
    if (op.getSpreads())
      dest.spreads = *next++;
    if (op.getDecodeFactor(i))
      dest.decode = *next++;
  }
  if (op.getGlobalScale())
    encode = *next++;
  if (op.getSeed())
    seed = *next++;
  if (op.getElements(0).getDefiningOp<ToPeersOp>()) {
    peers = *next++;
    rank = *next++;
  }
  for (unsigned i = 0; i < op.getAmaxOuts().size(); ++i)
    magnitudes.push_back(*next++);
  next += op.getIfAny().size();
}

/// Returns the column of a piece in the concatenated values.
Value QuantizeRowsBuilder::getColumn(const QuantizeInputLoader::Piece &piece,
                                     size_t value) {
  if (!op.getConcat() || value == 0)
    return piece.column;
  return body.add(body.mul(pieces.getColumns(), body.index(value)),
                  piece.column);
}

void QuantizeRowsBuilder::store(const QuantizeInputLoader::Piece &piece,
                                ArrayRef<Value> values, ArrayRef<Value> amax,
                                Value isFirst) {
  int64_t block = op.getBlockSize(), lanes = block / schedule.getVector();
  for (auto [number, value] : llvm::enumerate(values)) {
    unsigned i = op.getConcat() ? 0 : number;
    const Destination &dest = destinations[i];
    Value column = getColumn(piece, number), first;
    if (seed)
      first = body.add(body.mul(piece.row, columns), column);
    QuantizeInputLoader::Loaded stored = piece.inputs[0];
    if (!op.isCopied(i)) {
      auto quantized = QuantizeBlockOp::create(
          body, TypeRange{getVector(op.getElementType(i)), op.getScaleType(i)},
          value, encode, seed, first,
          isReadTwice() ? amax[amax.size() == 1 ? 0 : number] : Value(),
          op.getRounding(), isReadTwice() ? 1 : lanes);
      stored = {quantized.getElements(), quantized.getScale()};
    }
    if (op.isDequantized(i)) {
      Value dequantized = DequantizeBlockOp::create(
          body, getVector(getElementTypeOrSelf(dest.elements)), stored.elements,
          stored.scale, dest.decode);
      StoreBlockOp::create(body, dequantized, dest.elements, piece.row, column);
      continue;
    }
    StoreBlockOp::create(body, stored.elements, dest.elements, piece.row,
                         column);
    if (isWhole())
      continue;
    Value scaleColumn = body.div(column, block);
    if (!hasSquares()) {
      storeScale(dest, stored.scale, piece.row, scaleColumn, lanes);
      if (peers)
        storeToPeers(dest, stored, piece.row, column, lanes);
      if (op.getSpreads())
        storeSpread(dest,
                    findSpread(body,
                               findRange(i, findThreadAmax(body, op, value)),
                               lanes),
                    piece.row, scaleColumn, lanes);
    } else if (isFirst) {
      auto ifOp = scf::IfOp::create(body, isFirst, /*withElse=*/false);
      OpBuilder::InsertionGuard guard(body);
      body.setInsertionPointToStart(ifOp.thenBlock());
      // All lanes of the square share the scale, and store_scales supports at
      // most 8 lanes.
      StoreScalesOp::create(body, stored.scale, dest.scales,
                            body.div(piece.row, format.blockRows), scaleColumn,
                            body.ceilDiv(pieces.getRows(), format.blockRows),
                            blocks, std::min<int64_t>(lanes, 8));
    }
  }
}

/// Starts with the next rank, so that ranks store to different ranks at a time.
void QuantizeRowsBuilder::storeToPeers(Destination dest,
                                       QuantizeInputLoader::Loaded stored,
                                       Value row, Value column, int64_t lanes) {
  auto view = op.getElements(0).getDefiningOp<ToPeersOp>();
  int64_t ranks =
      SymbolTable::lookupNearestSymbolFrom<RankGroupOp>(op, view.getGroupAttr())
          .getSize();
  OpBuilder::InsertionGuard guard(body);
  body.beginIf(body.isNot(body.isEqual(peers, body.index(0))));
  auto loop =
      scf::ForOp::create(body, body.index(1), body.index(ranks), body.index(1));
  body.setInsertionPointToStart(loop.getBody());
  Value peer = body.rem(body.add(rank, loop.getInductionVar()), ranks);
  for (Value *array : {&dest.elements, &dest.scales})
    *array = PeerViewOp::create(body, *array, peer, peers);
  StoreBlockOp::create(body, stored.elements, dest.elements, row, column);
  storeScale(dest, stored.scale, row, body.div(column, op.getBlockSize()),
             lanes);
}

void QuantizeRowsBuilder::raise(MutableArrayRef<Value> maxima,
                                ArrayRef<Value> values) {
  for (auto [i, value] : llvm::enumerate(values)) {
    SmallVector<Value> found = {findThreadAmax(body, op, value)};
    if (isWhole() && op.getSpreads())
      llvm::append_range(found, findRange(op.getConcat() ? 0 : i, found[0]));
    size_t count = maxima.size() / found.size();
    for (auto [j, largest] : llvm::enumerate(found)) {
      Value &maximum = maxima[j * count + (count == 1 ? 0 : i)];
      maximum =
          maximum
              ? arith::MaximumFOp::create(body, maximum, largest).getResult()
              : largest;
    }
  }
}

/// Scale tiles take four sets of lanes, for the scale and the padding of the
/// row. The first warp of a row stores scales.
void QuantizeRowsBuilder::storeRowScales(Value row,
                                         SmallVectorImpl<Value> &amax) {
  constexpr int64_t kLanes = target::kWarpSize / kScaleTileBlocks;
  Value lane = ThreadIdOp::create(body);
  OpBuilder::InsertionGuard guard(body);
  if (isByCta())
    body.beginIf(body.isBelow(lane, body.index(target::kWarpSize)));
  else
    lane = body.rem(lane, target::kWarpSize);
  for (auto [i, dest] : llvm::enumerate(destinations)) {
    StoreScalesOp::create(body, findScale(body, op, i, amax[i]), dest.scales,
                          row, body.div(lane, kLanes), pieces.getRows(), blocks,
                          kLanes);
    size_t count = destinations.size();
    if (op.getSpreads())
      storeSpread(dest,
                  findSpread(body, {amax[count + i], amax[2 * count + i]},
                             /*lanes=*/1),
                  row, body.index(0), target::kWarpSize);
  }
  amax.truncate(destinations.size());
}

SmallVector<QuantizeInputLoader::Piece>
QuantizeRowsBuilder::loadPieces(const TileThreads &threads, Value offset,
                                int64_t count) {
  Value row = threads.row, column = threads.column;
  Value &first = isWhole() ? column : row;
  Value start = body.add(first, offset);
  SmallVector<QuantizeInputLoader::Piece> loaded;
  for (int64_t i = 0; i < count; ++i) {
    first = body.add(start, i * getStep(threads));
    loaded.push_back(pieces.load(row, column));
  }
  return loaded;
}

SmallVector<Value> QuantizeRowsBuilder::share(ValueRange ofLanes) {
  return llvm::map_to_vector(ofLanes, [&](Value ofLane) -> Value {
    if (isByCta())
      return findRoleMaximum(body, ofLane);
    return ReduceLanesOp::create(body, ReduceKind::Maximum, ofLane);
  });
}

/// Holds all values of a row or square, in unrolled code.
SmallVector<Value> QuantizeRowsBuilder::buildHeld(const TileThreads &threads) {
  int64_t size = isWhole() ? op.getInput().getType().getDimSize(1) : tile[0];
  int64_t step = getStep(threads), count = llvm::divideCeil(size, step);
  SmallVector<std::pair<QuantizeInputLoader::Piece, SmallVector<Value>>> held;
  SmallVector<Value> amax(countMaxima());
  for (int64_t i = 0; i < count; i += loads)
    for (const auto &piece : loadPieces(threads, body.index(i * step),
                                        std::min(loads, count - i))) {
      held.emplace_back(piece, pieces.produce(piece));
      raise(amax, held.back().second);
    }
  amax = share(amax);
  if (isWhole())
    storeRowScales(threads.row, amax);
  for (const auto &[piece, values] : held) {
    Value isFirst;
    if (hasSquares() && &values == &held.front().second)
      isFirst = body.isEqual(ThreadIdOp::create(body), body.index(0));
    store(piece, values, amax, isFirst);
  }
  return amax;
}

/// Reads a block twice. Each lane loads several pieces before the first use.
SmallVector<Value> QuantizeRowsBuilder::buildBlock(const TileThreads &threads) {
  Value end = isWhole() ? pieces.getColumns() : body.index(tile[0]);
  auto forEachPieces = [&](ValueRange initial, auto emit) {
    auto loop =
        scf::ForOp::create(body, body.index(0), end,
                           body.index(loads * getStep(threads)), initial);
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(loop.getBody());
    auto loaded = loadPieces(threads, loop.getInductionVar(), loads);
    auto maxima = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    Value isFirst = body.isEqual(loop.getInductionVar(), body.index(0));
    for (auto [i, piece] : llvm::enumerate(loaded))
      emit(piece, maxima, i ? Value() : isFirst);
    if (!initial.empty())
      scf::YieldOp::create(body, maxima);
    return loop;
  };
  Value zero = arith::ConstantOp::create(body, body.getF32FloatAttr(0.0f));
  SmallVector<Value> amax(countMaxima(), zero);
  auto loop = forEachPieces(amax, [&](const auto &piece, auto &maxima, Value) {
    raise(maxima, pieces.produce(piece));
  });
  amax = share(loop.getResults());
  if (isWhole())
    storeRowScales(threads.row, amax);
  forEachPieces({}, [&](const auto &piece, auto &, Value isFirst) {
    store(piece, pieces.produce(piece), amax, isFirst);
  });
  return amax;
}

void QuantizeRowsBuilder::buildBody(Value isNeeded) {
  pieces.begin();
  columns = pieces.getColumns();
  if (op.getConcat())
    columns = body.mul(columns, body.index(op.getNumConcatenated()));
  blocks = isWhole() ? body.index(1) : body.div(columns, op.getBlockSize());
  Value workRows = padRows(body, pieces.getRows());
  if (isNeeded)
    workRows = body.select(isNeeded, workRows, body.index(0));
  auto threads =
      forEachTile(body, "quantize", workRows,
                  isWhole() ? body.index(tile[1]) : pieces.getColumns(), tile,
                  workThreads, schedule.getVector(), schedule.getRaster());
  SmallVector<Value> known;
  for (Value magnitude : magnitudes)
    known.push_back(LoadRelaxedOp::create(body, magnitude));
  SmallVector<Value> maxima(magnitudes.size());
  SmallVector<QuantizeInputLoader::Piece> loaded;
  if (isReadTwice())
    maxima = isHeld() ? buildHeld(threads) : buildBlock(threads);
  for (int64_t i = 0; !isReadTwice() && i < tile[0]; i += threads.step)
    loaded.push_back(pieces.load(body.add(threads.row, i), threads.column));
  // Reduce before quantizing, which frees the registers of a piece.
  for (const QuantizeInputLoader::Piece &piece : loaded) {
    SmallVector<Value> values = pieces.produce(piece);
    if (!maxima.empty())
      raise(maxima, values);
    store(piece, values);
  }
  if (magnitudes.empty())
    return;
  for (auto [i, maximum] : llvm::enumerate(maxima)) {
    unsigned out = op.getConcat() ? 0 : i;
    AtomicMaxOp::create(body, maximum, known[out], magnitudes[out]);
  }
}

Value QuantizeRowsBuilder::getGrid() {
  Value rowTiles =
      host.ceilDiv(padRows(host, getQuantizedDim(host, op, 0)), tile[0]);
  Value grid = rowTiles;
  if (!isWhole())
    grid =
        host.mul(rowTiles, host.ceilDiv(host.dim(op.getInput(), 1), tile[1]));
  // With `if_any` each CTA reads all words.
  return op.getIfAny().empty() ? grid : limitGrid(host, schedule, grid);
}

void QuantizeRowsBuilder::build() {
  SmallVector<Value> arguments = getArguments();
  KernelOp kernel =
      host.kernel(module, getKernelName(op), ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  kernel.setMinCtas(workThreads < schedule.getThreads() ? 1
                                                        : schedule.getCtas());
  body.setInsertionPointToStart(&kernel.getBody().front());
  Value isNeeded = isRequested(body, kernel, op);
  Block::args_iterator next = kernel.getBody().args_begin();
  takeArguments(next);
  buildBody(isNeeded);
  host.launch(kernel, getGrid(), arguments);
  op.erase();
}

bool mx::mxgpu::canStoreToPeers(FusedQuantizeOp op) {
  const BlockFormat &format =
      getBlockFormat(op.getScaleType(0), op.getBlockSize());
  return op.getNumDestinations() == 1 && !op.isDequantized(0) &&
         !isByTiles(op) && !op.getSpreads() && !findPackedUse(op) &&
         format.blockRows == 1 && format.blockSize != BlockFormat::kWhole &&
         cast<MemRefType>(op.getScales(0).getType()).getRank() == 2;
}

LogicalResult
mx::mxgpu::convertQuantize(FusedQuantizeOp op, gpu::GPUModuleOp module,
                           const target::TargetInfo &target,
                           llvm::SmallPtrSetImpl<Operation *> &done) {
  if (failed(verifyQuantizeSupport(op)))
    return failure();
  auto schedule =
      op->getAttrOfType<QuantizeScheduleAttr>(kQuantizeScheduleAttrName);
  if (!schedule)
    schedule = selectQuantizeSchedule(op, target);
  if (failed(verifyQuantizeSchedule(op, schedule)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  checkQuantizeSizes(host, op, schedule);
  for (Value magnitude : op.getAmaxOuts())
    clearMemory(host, magnitude);
  if (PackOperandOp pack = findPackedUse(op)) {
    done.insert(pack);
    buildPackedQuantizer(op, pack, module);
    return success();
  }
  if (isByTiles(op))
    return buildQuantizeTileKernel(op, schedule, module);
  QuantizeRowsBuilder(op, schedule, module).build();
  return success();
}
