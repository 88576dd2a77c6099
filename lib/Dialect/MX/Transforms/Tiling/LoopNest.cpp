//===- LoopNest.cpp - Loop nests of mx operations -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes the loops of each operation, the operand dimensions that they
// index, and the loops that cannot be tiled.
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

using namespace mlir;
using namespace mx;
using namespace mx::tiling;

static constexpr StringRef kRaggedReason =
    "the expert groups of a ragged operation divide it";

static constexpr StringRef kFormReason =
    "a result that is masked, scattered, quantized, made of several matrices "
    "or "
    "limited to some columns is computed whole";

/// Returns a nest of `batch` leading loops, then the given loops.
static LoopNest makeNest(int64_t batch, ArrayRef<StringRef> names) {
  LoopNest nest;
  nest.names.append(batch, "batch");
  llvm::append_range(nest.names, names);
  return nest;
}

/// Returns 0, 1, ..., batch - 1, then the given loops.
static SmallVector<int64_t> withBatch(int64_t batch, ArrayRef<int64_t> loops) {
  auto result = llvm::to_vector(llvm::seq<int64_t>(0, batch));
  llvm::append_range(result, loops);
  return result;
}

static constexpr StringRef kAmaxReason = "the maximum covers the whole input";

static constexpr StringRef kScaleReason = "one scale covers this dimension";

LoopNest mx::tiling::getLoopNest(QuantizeOp op) {
  int64_t batch = op.getInput().getType().getRank() - 2;
  int64_t row = batch, column = batch + 1;
  LoopNest nest = makeNest(batch, {"rows", "columns"});
  nest.add(op.getInputMutable(), withBatch(batch, {row, column}));
  if (op.getSquare())
    nest.squares = op.getBlockSize();
  RaggedKind ragged = op.getRaggedOrNone();
  int64_t raggedLoop = ragged == RaggedKind::None   ? DimMap::kWhole
                       : ragged == RaggedKind::Rows ? row
                                                    : column;
  if (raggedLoop != DimMap::kWhole)
    nest.whole.push_back({raggedLoop, kRaggedReason});
  if (op.getSeed())
    for (int64_t loop : llvm::seq(batch + 2))
      nest.whole.push_back({loop, "the random numbers of a seed depend on "
                                  "positions in the whole input"});
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    SmallVector<int64_t> loops = op.getAxis(i) == 1
                                     ? withBatch(batch, {row, column})
                                     : withBatch(batch, {column, row});
    for (int64_t &loop : loops)
      if (loop == raggedLoop)
        loop = DimMap::kWhole;
    nest.add(op.getOutsMutable()[op.getElementsNumber(i)], loops);
    OpOperand &scales = op.getOutsMutable()[op.getScalesNumber(i)];
    nest.addScales(scales, loops, op.getBlockSize());
    ArrayRef<DimMap> dims = ArrayRef(nest.operands.back().dims);
    for (int64_t dim : {batch, batch + 1})
      if (dims[dim].loop == DimMap::kWhole && loops[dim] != DimMap::kWhole)
        nest.whole.push_back({loops[dim], kScaleReason});
  }
  return nest;
}

LoopNest mx::tiling::getLoopNest(AmaxOp op) {
  int64_t rank = op.getInput().getType().getRank();
  LoopNest nest = makeNest(rank, {});
  nest.add(op.getInputMutable(), withBatch(rank, {}));
  nest.add(op.getOutsMutable()[0], {});
  for (int64_t loop : llvm::seq(rank))
    nest.whole.push_back({loop, kAmaxReason});
  return nest;
}

LoopNest mx::tiling::getLoopNest(DequantizeOp op) {
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

LoopNest mx::tiling::getLoopNest(RelayoutOp op) {
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
    nest.addScales(*side, own, BlockShape(1));
  }
  return nest;
}

LoopNest mx::tiling::getLoopNest(PackOperandOp op) {
  int64_t batch = op.getInput().getType().getRank() - 2;
  LoopNest nest = makeNest(batch, {"rows", "columns"});
  SmallVector<int64_t> loops = withBatch(batch, {batch, batch + 1});
  nest.add(op.getInputMutable(), loops);
  nest.addOrdered(op.getOutsMutable()[0], loops, op.getOutOrder());
  if (op.getRagged()) {
    nest.whole.push_back({batch, kRaggedReason});
    loops[batch] = DimMap::kWhole;
  }
  for (OpOperand &scales : op.getScalesMutable())
    nest.addScales(scales, loops, op.getBlockSize());
  return nest;
}

template <typename OpTy>
static void addReduction(LoopNest &nest, OpTy op, int64_t loop) {
  nest.reduction = loop;
  if (!op.getAccumulate())
    nest.whole.push_back(
        {loop, "only a matmul with accumulate adds to its result"});
  else if (!op.getOutType().getElementType().isF32())
    nest.whole.push_back({loop, "partial sums need outs of type f32"});
  else if (!op.getEpilogue().empty())
    nest.whole.push_back({loop, "the epilogue requires the complete sum"});
}

LoopNest mx::tiling::getLoopNest(MatmulOp op) {
  int64_t batch = op.getA().getType().getRank() - 2;
  int64_t m = batch, n = batch + 1, k = batch + 2;
  LoopNest nest = makeNest(batch, {"M", "N", "K"});
  nest.addOrdered(op.getAMutable(), withBatch(batch, {m, k}), getOrderOfA(op));
  for (OpOperand &scales : op.getAScalesMutable())
    nest.addScales(scales, withBatch(batch, {m, k}), op.getBlockSize());
  nest.addOrdered(op.getBMutable(), withBatch(batch, {n, k}), getOrderOfB(op));
  for (OpOperand &scales : op.getBScalesMutable())
    nest.addScales(scales, withBatch(batch, {n, k}), op.getBlockSizeOfB());
  nest.add(op.getOutMutable(), withBatch(batch, {m, n}));
  addReduction(nest, op, k);
  return nest;
}

LoopNest mx::tiling::getLoopNest(GroupedMatmulOp op) {
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
                 op.getMasked() || op.getColumns();
  if (hasForm)
    nest.whole.append({{n, kFormReason}, {k, kFormReason}});
  nest.addOrdered(op.getAMutable(), a, getOrderOfA(op));
  nest.addOrdered(op.getBMutable(), b, getOrderOfB(op));
  nest.add(op.getOutsMutable()[0], c);
  // Neither the ragged loop nor the ragged dimension of scales can be tiled,
  // because the elements do not determine the number of scale tiles.
  nest.whole.push_back({rows ? m : k, kRaggedReason});
  SmallVector<int64_t> sa = a;
  if (rows)
    sa[sa.size() - 2] = DimMap::kWhole;
  for (OpOperand &scales : op.getAScalesMutable())
    nest.addScales(scales, sa, op.getBlockSize());
  for (OpOperand &scales : op.getBScalesMutable())
    nest.addScales(scales, b, op.getBlockSizeOfB());
  if (op.getResultScales()) {
    SmallVector<int64_t> sc = c;
    sc[sc.size() - 2] = DimMap::kWhole;
    nest.addScales(op.getOutsMutable()[1], sc,
                   BlockShape(kPowerOfTwoBlockSize));
  }
  if (!hasForm)
    addReduction(nest, op, k);
  else
    nest.reduction = k;
  return nest;
}

std::pair<Value, int64_t> mx::tiling::findBound(const LoopNest &nest,
                                                int64_t loop) {
  for (const OperandMap &map : nest.operands)
    for (auto [i, dim] : llvm::enumerate(map.dims))
      if (dim.loop == loop && dim.factor == 1)
        return {map.getValue(), i};
  return {};
}

int64_t mx::tiling::getStaticBound(const LoopNest &nest, int64_t loop) {
  auto [value, dim] = findBound(nest, loop);
  return value ? cast<ShapedType>(value.getType()).getDimSize(dim)
               : ShapedType::kDynamic;
}
