//===- TilingInterfaceImpl.cpp - Tiling of the mx operations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every mx operation is a loop nest in which each dimension of an operand
// follows one loop, divided by a constant: 1 for elements, the block size for
// scales, 128 rows or 4 blocks for tiles of scales. One model over that
// description serves all operations. Tiles that would cut a block, or a tile of
// scales, are refused.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;

//===----------------------------------------------------------------------===//
// Loops and the dimensions that walk along them
//===----------------------------------------------------------------------===//

namespace {

/// One dimension of an operand. Dimensions without a loop are taken whole.
struct DimMap {
  static constexpr int64_t kWhole = -1;
  int64_t loop = kWhole;
  int64_t factor = 1;
};

struct OperandMap {
  OpOperand *operand;
  SmallVector<DimMap> dims;

  Value getValue() const { return operand->get(); }
};

/// An operation as a loop nest.
struct LoopNest {
  SmallVector<StringRef> names; ///< of the loops, for messages
  SmallVector<OperandMap> operands;
  /// Loops that cannot be tiled, with the reason.
  SmallVector<std::pair<int64_t, StringRef>> whole;
  int64_t reduction = DimMap::kWhole;
  /// Rows and columns that share a scale.
  int64_t squares = 1;

  void add(OpOperand &operand, ArrayRef<int64_t> loops) {
    OperandMap map{&operand, {}};
    for (int64_t loop : loops)
      map.dims.push_back({loop, 1});
    operands.push_back(std::move(map));
  }

  /// Scales of elements whose dimensions walk along `loops`.
  void addScales(OpOperand &operand, ArrayRef<int64_t> loops, int64_t block) {
    OperandMap map{&operand, {}};
    for (int64_t loop : loops)
      map.dims.push_back({loop, 1});
    map.dims.back().factor = block;
    if (isMaterialized(cast<ShapedType>(operand.get().getType()),
                       loops.size())) {
      map.dims.back().factor *= kScaleTileBlocks;
      map.dims[loops.size() - 2].factor = kScaleTileRows;
      map.dims.append(kScaleTileRank, DimMap{});
    }
    operands.push_back(std::move(map));
  }

  const OperandMap *find(OpOperand &operand) const {
    for (const OperandMap &map : operands)
      if (map.operand == &operand)
        return &map;
    return nullptr;
  }

  /// Tiles of a loop begin and end at multiples of this, so that no operand's
  /// element is cut. All factors are powers of two.
  int64_t getGranularity(int64_t loop) const {
    int64_t granularity =
        loop + 2 >= static_cast<int64_t>(names.size()) ? squares : 1;
    for (const OperandMap &map : operands)
      for (DimMap dim : map.dims)
        if (dim.loop == loop)
          granularity = std::max(granularity, dim.factor);
    return granularity;
  }
};

} // namespace

static constexpr StringRef kRaggedReason =
    "the groups of a ragged operation divide it";

static constexpr StringRef kFormReason =
    "a result that is masked, scattered, quantized or made of parts is "
    "computed whole";

/// `batch` leading loops, then the given ones.
static LoopNest makeNest(int64_t batch, ArrayRef<StringRef> names) {
  LoopNest nest;
  nest.names.append(batch, "batch");
  llvm::append_range(nest.names, names);
  return nest;
}

/// 0, 1, ..., batch - 1, then the given loops.
static SmallVector<int64_t> withBatch(int64_t batch, ArrayRef<int64_t> loops) {
  auto result = llvm::to_vector(llvm::seq<int64_t>(0, batch));
  llvm::append_range(result, loops);
  return result;
}

static constexpr StringRef kAmaxReason =
    "the maximum is that of the whole input";

static LoopNest getLoopNest(QuantizeOp op) {
  int64_t batch = op.getInput().getType().getRank() - 2;
  int64_t row = batch, column = batch + 1;
  LoopNest nest = makeNest(batch, {"rows", "columns"});
  // Rows are gathered from anywhere.
  int64_t inputRow = op.getGather() ? DimMap::kWhole : row;
  SmallVector<int64_t> inputLoops = withBatch(batch, {inputRow, column});
  for (OpOperand &input : op.getInputsMutable())
    nest.add(input, inputLoops);
  for (OpOperand &scales : op.getInputScalesMutable())
    nest.addScales(scales, inputLoops,
                   getBlockSizeOf(getElementTypeOrSelf(scales.get())));
  if (op.getGather())
    nest.add(op.getGatherMutable()[0], {row});
  if (op.getSquare())
    nest.squares = op.getBlockSize();
  RaggedKind ragged = op.getRaggedOrNone();
  int64_t raggedLoop = ragged == RaggedKind::None   ? DimMap::kWhole
                       : ragged == RaggedKind::Rows ? row
                                                    : column;
  if (raggedLoop != DimMap::kWhole)
    nest.whole.push_back({raggedLoop, kRaggedReason});
  if (op.getConcat())
    nest.whole.push_back({column, "values lie side by side"});
  if (op.getSeed())
    for (int64_t loop : llvm::seq(batch + 2))
      nest.whole.push_back({loop, "the random numbers of a seed belong to "
                                  "places in the whole input"});
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    SmallVector<int64_t> loops = op.getAxis(i) == 1
                                     ? withBatch(batch, {row, column})
                                     : withBatch(batch, {column, row});
    for (int64_t &loop : loops)
      if (loop == raggedLoop || (loop == column && op.getConcat()))
        loop = DimMap::kWhole;
    nest.add(op.getOutsMutable()[op.getElementsNumber(i)], loops);
    nest.addScales(op.getOutsMutable()[op.getScalesNumber(i)], loops,
                   op.getBlockSize());
  }
  if (op.getAmax())
    for (int64_t loop : llvm::seq(batch + 2))
      nest.whole.push_back({loop, kAmaxReason});
  for (unsigned i = 0; i < op.getAmaxOuts().size(); ++i)
    nest.add(op.getOutsMutable()[op.getAmaxNumber(i)], {});
  return nest;
}

static LoopNest getLoopNest(AmaxOp op) {
  int64_t rank = op.getInput().getType().getRank();
  LoopNest nest = makeNest(rank, {});
  nest.add(op.getInputMutable(), withBatch(rank, {}));
  nest.add(op.getOutsMutable()[0], {});
  for (int64_t loop : llvm::seq(rank))
    nest.whole.push_back({loop, kAmaxReason});
  return nest;
}

static LoopNest getLoopNest(DequantizeOp op) {
  int64_t batch = op.getInput().getType().getRank() - 2;
  LoopNest nest = makeNest(batch, {"rows", "columns"});
  SmallVector<int64_t> loops = withBatch(batch, {batch, batch + 1});
  nest.add(op.getOutsMutable()[0], loops);
  if (op.getRagged()) {
    int64_t &ragged =
        op.getRagged() == RaggedKind::Rows ? loops[batch] : loops[batch + 1];
    nest.whole.push_back({ragged, kRaggedReason});
    ragged = DimMap::kWhole;
  }
  nest.add(op.getInputMutable(), loops);
  nest.addScales(op.getScalesMutable(), loops, op.getBlockSize());
  return nest;
}

static LoopNest getLoopNest(RelayoutOp op) {
  int64_t rank =
      std::min(op.getInput().getType().getRank(), op.getOutType().getRank());
  LoopNest nest = makeNest(rank - 2, {"rows", "blocks"});
  SmallVector<int64_t> loops = withBatch(rank - 2, {rank - 2, rank - 1});
  if (op.getRagged())
    nest.whole.push_back({rank - 2, kRaggedReason});
  for (OpOperand *side : {&op.getInputMutable(), &op.getOutsMutable()[0]}) {
    bool tiled = cast<ShapedType>(side->get().getType()).getRank() != rank;
    SmallVector<int64_t> own = loops;
    if (tiled && op.getRagged())
      own[rank - 2] = DimMap::kWhole;
    nest.addScales(*side, own, 1);
  }
  return nest;
}

template <typename OpTy>
static void addReduction(LoopNest &nest, OpTy op, int64_t loop) {
  nest.reduction = loop;
  if (!op.getAccumulate())
    nest.whole.push_back({loop, "only a product with accumulate has partial "
                                "sums"});
  else if (!op.getOutType().getElementType().isF32())
    nest.whole.push_back({loop, "partial sums need outs of type f32"});
  else if (!op.getEpilogue().empty())
    nest.whole.push_back({loop, "the epilogue takes the whole sum"});
}

static LoopNest getLoopNest(MatmulOp op) {
  int64_t batch = op.getA().getType().getRank() - 2;
  int64_t m = batch, n = batch + 1, k = batch + 2;
  LoopNest nest = makeNest(batch, {"M", "N", "K"});
  nest.add(op.getAMutable(), withBatch(batch, {m, k}));
  nest.addScales(op.getAScalesMutable(), withBatch(batch, {m, k}),
                 op.getBlockSize());
  nest.add(op.getBMutable(), withBatch(batch, {n, k}));
  nest.addScales(op.getBScalesMutable(), withBatch(batch, {n, k}),
                 op.getBlockSize());
  nest.add(op.getOutsMutable()[0], withBatch(batch, {m, n}));
  addReduction(nest, op, k);
  return nest;
}

static LoopNest getLoopNest(GroupedMatmulOp op) {
  bool rows = op.getRagged() == RaggedKind::Rows;
  constexpr int64_t group = DimMap::kWhole, m = 0, n = 1, k = 2;
  LoopNest nest = makeNest(0, {"M", "N", "K"});
  SmallVector<int64_t> a = {m, k}, b = {n, k}, c = {m, n};
  (rows ? b : c).insert((rows ? b : c).begin(), group);
  if (op.getMasked()) {
    a.insert(a.begin(), group);
    c.insert(c.begin(), group);
  }
  if (op.getScatter())
    c[0] = DimMap::kWhole;
  if (op.getNumB() > 1)
    b[1] = DimMap::kWhole;
  bool hasForm = op.getNumB() > 1 || op.getResultScales() || op.getScatter() ||
                 op.getMasked();
  if (hasForm)
    nest.whole.append({{n, kFormReason}, {k, kFormReason}});
  nest.add(op.getAMutable(), a);
  nest.add(op.getBMutable(), b);
  nest.add(op.getOutsMutable()[0], c);
  // The ragged loop stays whole, and so the dimension of ragged scales, which
  // has another number of tiles than the elements suggest.
  nest.whole.push_back({rows ? m : k, kRaggedReason});
  SmallVector<int64_t> sa = a;
  if (rows)
    sa[sa.size() - 2] = DimMap::kWhole;
  nest.addScales(op.getAScalesMutable(), sa, op.getBlockSize());
  nest.addScales(op.getBScalesMutable(), b, op.getBlockSize());
  if (op.getResultScales()) {
    SmallVector<int64_t> sc = c;
    sc[sc.size() - 2] = DimMap::kWhole;
    nest.addScales(op.getOutsMutable()[1], sc,
                   getBlockSizeOf(op.getOutType(1).getElementType()));
  }
  if (!hasForm)
    addReduction(nest, op, k);
  else
    nest.reduction = k;
  return nest;
}

//===----------------------------------------------------------------------===//
// Divisibility
//===----------------------------------------------------------------------===//

static bool isMultipleOf(OpFoldResult value, int64_t divisor);

static bool isMultipleOf(AffineExpr expr, ValueRange dims, ValueRange symbols,
                         int64_t divisor) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() % divisor == 0;
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return isMultipleOf(OpFoldResult(dims[dim.getPosition()]), divisor);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return isMultipleOf(OpFoldResult(symbols[symbol.getPosition()]), divisor);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  bool lhs = isMultipleOf(binary.getLHS(), dims, symbols, divisor);
  if (expr.getKind() == AffineExprKind::Mul) {
    if (lhs || isMultipleOf(binary.getRHS(), dims, symbols, divisor))
      return true;
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    return factor && factor.getValue() > 0 &&
           divisor % factor.getValue() == 0 &&
           isMultipleOf(binary.getLHS(), dims, symbols,
                        divisor / factor.getValue());
  }
  return expr.getKind() == AffineExprKind::Add && lhs &&
         isMultipleOf(binary.getRHS(), dims, symbols, divisor);
}

/// True if `value` is known to be a multiple: a constant, a loop counter, or
/// made of them.
static bool isMultipleOf(OpFoldResult value, int64_t divisor) {
  if (divisor == 1)
    return true;
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % divisor == 0;
  auto ssa = cast<Value>(value);
  if (auto argument = dyn_cast<BlockArgument>(ssa)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast_or_null<LoopLikeOpInterface>(parent)) {
      auto counters = loop.getLoopInductionVars();
      auto starts = loop.getLoopLowerBounds();
      auto steps = loop.getLoopSteps();
      if (!counters || !starts || !steps)
        return false;
      for (auto [counter, start, step] : llvm::zip(*counters, *starts, *steps))
        if (counter == argument)
          return isMultipleOf(start, divisor) && isMultipleOf(step, divisor);
    }
    return false;
  }
  if (auto apply = ssa.getDefiningOp<affine::AffineApplyOp>()) {
    AffineMap map = apply.getAffineMap();
    return isMultipleOf(map.getResult(0), apply.getDimOperands(),
                        apply.getSymbolOperands(), divisor);
  }
  if (auto mul = ssa.getDefiningOp<arith::MulIOp>())
    return isMultipleOf(OpFoldResult(mul.getLhs()), divisor) ||
           isMultipleOf(OpFoldResult(mul.getRhs()), divisor);
  if (auto add = ssa.getDefiningOp<arith::AddIOp>())
    return isMultipleOf(OpFoldResult(add.getLhs()), divisor) &&
           isMultipleOf(OpFoldResult(add.getRhs()), divisor);
  return false;
}

/// True if a tile is whole in units of `divisor`, or ends where the loop ends.
static bool isWholeTile(OpFoldResult offset, OpFoldResult size, int64_t bound,
                        int64_t divisor) {
  if (isMultipleOf(size, divisor))
    return true;
  std::optional<int64_t> start = getConstantIntValue(offset);
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return start && *start + *constant == bound;
  auto ssa = cast<Value>(size);
  // min(tile, bound - offset), as tiling makes it.
  if (auto min = ssa.getDefiningOp<affine::AffineMinOp>())
    return llvm::all_of(min.getMap().getResults(), [&](AffineExpr expr) {
      auto constant = dyn_cast<AffineConstantExpr>(expr);
      return !constant || constant.getValue() % divisor == 0 ||
             constant.getValue() >= bound;
    });
  // The whole of a dimension of unknown size.
  return start == 0 && ssa.getDefiningOp() &&
         isa<tensor::DimOp, memref::DimOp>(ssa.getDefiningOp());
}

/// True if a tile covers its loop.
static bool isWholeLoop(OpFoldResult offset, OpFoldResult size, int64_t bound) {
  if (getConstantIntValue(offset) != 0)
    return false;
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant == bound;
  Operation *producer = cast<Value>(size).getDefiningOp();
  return isa_and_present<tensor::DimOp, memref::DimOp>(producer);
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

static OpFoldResult getSize(OpBuilder &builder, Location loc, Value value,
                            int64_t dim) {
  return isa<RankedTensorType>(value.getType())
             ? tensor::getMixedSize(builder, loc, value, dim)
             : memref::getMixedSize(builder, loc, value, dim);
}

/// The operand dimension that is as long as a loop.
static std::pair<Value, int64_t> findBound(const LoopNest &nest, int64_t loop) {
  for (const OperandMap &map : nest.operands)
    for (auto [i, dim] : llvm::enumerate(map.dims))
      if (dim.loop == loop && dim.factor == 1)
        return {map.getValue(), i};
  return {};
}

static int64_t getStaticBound(const LoopNest &nest, int64_t loop) {
  auto [value, dim] = findBound(nest, loop);
  return value ? cast<ShapedType>(value.getType()).getDimSize(dim)
               : ShapedType::kDynamic;
}

static OpFoldResult divide(OpBuilder &builder, Location loc, OpFoldResult value,
                           int64_t factor, bool up) {
  if (factor == 1)
    return value;
  AffineExpr dim = builder.getAffineDimExpr(0);
  return affine::makeComposedFoldedAffineApply(
      builder, loc, up ? dim.ceilDiv(factor) : dim.floorDiv(factor), value);
}

/// x of a value computed as x / factor, rounded as `kind` says; else null. So
/// that a fused producer gets the very tile that its consumer has.
static Value getDividend(OpFoldResult value, AffineExprKind kind,
                         int64_t factor) {
  auto ssa = dyn_cast<Value>(value);
  auto apply = ssa ? ssa.getDefiningOp<affine::AffineApplyOp>() : nullptr;
  if (!apply || apply.getMapOperands().size() != 1)
    return {};
  AffineMap map = apply.getAffineMap();
  AffineExpr operand = map.getNumDims() == 1
                           ? getAffineDimExpr(0, map.getContext())
                           : getAffineSymbolExpr(0, map.getContext());
  AffineExpr wanted = kind == AffineExprKind::FloorDiv
                          ? operand.floorDiv(factor)
                          : operand.ceilDiv(factor);
  return map.getResult(0) == wanted ? apply.getMapOperands().front() : Value();
}

/// The part of an operand that a tile of the loops touches.
static void getOperandTile(OpBuilder &builder, Location loc,
                           const OperandMap &map,
                           ArrayRef<OpFoldResult> loopOffsets,
                           ArrayRef<OpFoldResult> loopSizes,
                           SmallVectorImpl<OpFoldResult> &offsets,
                           SmallVectorImpl<OpFoldResult> &sizes) {
  for (auto [i, dim] : llvm::enumerate(map.dims)) {
    if (dim.loop == DimMap::kWhole) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(getSize(builder, loc, map.getValue(), i));
      continue;
    }
    offsets.push_back(
        divide(builder, loc, loopOffsets[dim.loop], dim.factor, false));
    sizes.push_back(
        divide(builder, loc, loopSizes[dim.loop], dim.factor, true));
  }
}

static LogicalResult verifyTile(Operation *op, const LoopNest &nest,
                                ArrayRef<OpFoldResult> offsets,
                                ArrayRef<OpFoldResult> sizes) {
  for (Value operand : op->getOperands())
    if (hasMXEncoding(operand.getType()))
      return op->emitOpError("expected linear or materialized layouts to tile, "
                             "found ")
             << operand.getType();
  for (auto [loop, reason] : nest.whole)
    if (!isWholeLoop(offsets[loop], sizes[loop], getStaticBound(nest, loop)))
      return op->emitOpError("expected no tiling of ")
             << nest.names[loop] << ": " << reason;
  for (auto [loop, name] : llvm::enumerate(nest.names)) {
    int64_t granularity = nest.getGranularity(loop);
    if (isMultipleOf(offsets[loop], granularity) &&
        isWholeTile(offsets[loop], sizes[loop], getStaticBound(nest, loop),
                    granularity))
      continue;
    InFlightDiagnostic diag = op->emitOpError("expected tiles of ")
                              << name << " in multiples of " << granularity;
    if (std::optional<int64_t> size = getConstantIntValue(sizes[loop]))
      diag << ", found " << *size;
    return diag;
  }
  return success();
}

/// The epilogue or prologue of a tile counts rows and columns, which belong to
/// the last two parallel loops, from the tile's start.
static void shiftRegion(OpBuilder &builder, Operation *op, const LoopNest &nest,
                        ArrayRef<OpFoldResult> offsets) {
  if (op->getNumRegions() == 0)
    return;
  Block &block = op->getRegion(0).front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  if (nest.reduction != DimMap::kWhole)
    offsets = offsets.drop_back();
  for (auto [argument, offset] : llvm::zip_equal(
           block.getArguments().take_back(2), offsets.take_back(2))) {
    if (getConstantIntValue(offset) == 0)
      continue;
    Value start =
        getValueOrCreateConstantIndexOp(builder, op->getLoc(), offset);
    OpBuilder inside = OpBuilder::atBlockBegin(&block);
    Value shifted =
        arith::AddIOp::create(inside, op->getLoc(), argument, start);
    argument.replaceAllUsesExcept(shifted, shifted.getDefiningOp());
  }
}

namespace {

template <typename OpTy>
struct MXTiling final : TilingInterface::ExternalModel<MXTiling<OpTy>, OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    SmallVector<utils::IteratorType> types(nest.names.size(),
                                           utils::IteratorType::parallel);
    if (nest.reduction != DimMap::kWhole)
      types[nest.reduction] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *op,
                                        OpBuilder &builder) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    SmallVector<Range> domain;
    for (int64_t loop = 0, e = nest.names.size(); loop < e; ++loop) {
      auto [value, dim] = findBound(nest, loop);
      domain.push_back({builder.getIndexAttr(0),
                        getSize(builder, op->getLoc(), value, dim),
                        builder.getIndexAttr(1)});
    }
    return domain;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    if (failed(verifyTile(op, nest, offsets, sizes)))
      return failure();
    Location loc = op->getLoc();
    auto dstOp = cast<DestinationStyleOpInterface>(op);
    TilingResult result;
    SmallVector<Value> operands;
    SmallVector<Type> types;
    for (OpOperand &operand : op->getOpOperands()) {
      const OperandMap *map = nest.find(operand);
      Value value = operand.get();
      if (map) {
        SmallVector<OpFoldResult> tileOffsets, tileSizes;
        getOperandTile(builder, loc, *map, offsets, sizes, tileOffsets,
                       tileSizes);
        SmallVector<OpFoldResult> strides(map->dims.size(),
                                          builder.getIndexAttr(1));
        if (isa<RankedTensorType>(value.getType()))
          value = tensor::ExtractSliceOp::create(
              builder, loc, value, tileOffsets, tileSizes, strides);
        else
          value = memref::SubViewOp::create(builder, loc, value, tileOffsets,
                                            tileSizes, strides);
        result.generatedSlices.push_back(value.getDefiningOp());
      }
      operands.push_back(value);
      if (dstOp.isDpsInit(&operand) && isa<RankedTensorType>(value.getType()))
        types.push_back(value.getType());
    }
    Operation *tiled = clone(builder, op, types, operands);
    shiftRegion(builder, tiled, nest, offsets);
    result.tiledOps.push_back(tiled);
    result.tiledValues.assign(tiled->result_begin(), tiled->result_end());
    return result;
  }

  LogicalResult
  getResultTilePosition(Operation *op, OpBuilder &builder, unsigned number,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    auto dstOp = cast<DestinationStyleOpInterface>(op);
    const OperandMap *map = nest.find(*dstOp.getDpsInitOperand(number));
    if (!map)
      return failure();
    getOperandTile(builder, op->getLoc(), *map, offsets, sizes, resultOffsets,
                   resultSizes);
    return success();
  }

  /// The loops that write a tile of a result; loops that the result does not
  /// determine are not tiled.
  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &builder, unsigned number,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVectorImpl<OpFoldResult> &loopOffsets,
      SmallVectorImpl<OpFoldResult> &loopSizes) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    Location loc = op->getLoc();
    auto dstOp = cast<DestinationStyleOpInterface>(op);
    const OperandMap *map = nest.find(*dstOp.getDpsInitOperand(number));
    if (!map)
      return failure();
    for (const Range &range : getIterationDomain(op, builder)) {
      loopOffsets.push_back(range.offset);
      loopSizes.push_back(range.size);
    }
    AffineExpr d0, d1, d2;
    bindDims(builder.getContext(), d0, d1, d2);
    for (auto [i, dim] : llvm::enumerate(map->dims)) {
      if (dim.loop == DimMap::kWhole)
        continue;
      OpFoldResult bound = loopSizes[dim.loop];
      if (dim.factor == 1) {
        loopOffsets[dim.loop] = offsets[i];
        loopSizes[dim.loop] = sizes[i];
        continue;
      }
      int64_t staticBound = getStaticBound(nest, dim.loop);
      Value start =
          getDividend(offsets[i], AffineExprKind::FloorDiv, dim.factor);
      if (start && isMultipleOf(OpFoldResult(start), dim.factor))
        loopOffsets[dim.loop] = start;
      else
        loopOffsets[dim.loop] = affine::makeComposedFoldedAffineApply(
            builder, loc, d0 * dim.factor, offsets[i]);
      Value length = getDividend(sizes[i], AffineExprKind::CeilDiv, dim.factor);
      if (length &&
          isWholeTile(loopOffsets[dim.loop], length, staticBound, dim.factor)) {
        loopSizes[dim.loop] = length;
        continue;
      }
      if (!ShapedType::isDynamic(staticBound) &&
          staticBound % dim.factor == 0) {
        loopSizes[dim.loop] = affine::makeComposedFoldedAffineApply(
            builder, loc, d0 * dim.factor, sizes[i]);
        continue;
      }
      // The last tile of scales may reach beyond the last row.
      loopSizes[dim.loop] = affine::makeComposedFoldedAffineMin(
          builder, loc,
          AffineMap::get(3, 0, {d0 * dim.factor, d1 - d2},
                         builder.getContext()),
          {sizes[i], bound, loopOffsets[dim.loop]});
    }
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &builder, unsigned number,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    SmallVector<OpFoldResult> loopOffsets, loopSizes;
    if (failed(getIterationDomainTileFromResultTile(
            op, builder, number, offsets, sizes, loopOffsets, loopSizes)))
      return failure();
    FailureOr<TilingResult> tiled =
        getTiledImplementation(op, builder, loopOffsets, loopSizes);
    if (failed(tiled))
      return failure();
    return TilingResult{
        tiled->tiledOps, {tiled->tiledValues[number]}, tiled->generatedSlices};
  }
};

} // namespace

void mx::registerTilingInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MXDialect *) {
    QuantizeOp::attachInterface<MXTiling<QuantizeOp>>(*context);
    AmaxOp::attachInterface<MXTiling<AmaxOp>>(*context);
    DequantizeOp::attachInterface<MXTiling<DequantizeOp>>(*context);
    RelayoutOp::attachInterface<MXTiling<RelayoutOp>>(*context);
    MatmulOp::attachInterface<MXTiling<MatmulOp>>(*context);
    GroupedMatmulOp::attachInterface<MXTiling<GroupedMatmulOp>>(*context);
    context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                         memref::MemRefDialect, tensor::TensorDialect>();
  });
}
