//===- Trace.cpp - Tracing of tensors to scaled elements ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Trace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mx::import;

SmallVector<int64_t> mx::import::getLoopSizes(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes(op.getNumLoops(), ShapedType::kDynamic);
  for (OpOperand &operand : op->getOpOperands()) {
    ArrayRef<int64_t> shape = op.getShape(&operand);
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [expr, size] : llvm::zip(map.getResults(), shape))
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && ShapedType::isStatic(size))
        sizes[dim.getPosition()] = size;
  }
  return sizes;
}

llvm::SmallSetVector<unsigned, 8>
mx::import::getReductions(linalg::LinalgOp op, ArrayRef<Index> loops) {
  llvm::SmallSetVector<unsigned, 8> reductions;
  for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction && !loops[i].empty())
      reductions.insert(i);
  return reductions;
}

FailureOr<Indices> mx::import::evaluateOperand(linalg::LinalgOp op,
                                               OpOperand &operand,
                                               ArrayRef<Index> loops) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  FailureOr<Indices> dims =
      evaluate(op.getMatchingIndexingMap(&operand), loops);
  if (!type || failed(dims))
    return failure();
  for (auto [expr, size, index] :
       llvm::zip(op.getMatchingIndexingMap(&operand).getResults(),
                 type.getShape(), *dims)) {
    int64_t count = countValues(index);
    bool isKnown = count && ShapedType::isStatic(size);
    if ((isKnown || isa<AffineConstantExpr>(expr)) && count != size)
      return failure();
  }
  return dims;
}

//===----------------------------------------------------------------------===//
// Single steps
//===----------------------------------------------------------------------===//

/// Traces a tensor to its source.
using Step = std::optional<Leaf>;

static Step stepThrough(tensor::CollapseShapeOp op, const Leaf &leaf) {
  Leaf source{op.getSrc(), {}, leaf.element};
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  for (auto [index, group] :
       llvm::zip(leaf.dims, op.getReassociationIndices())) {
    FailureOr<Indices> digits =
        split(index, shape.slice(group.front(), group.size()));
    if (failed(digits))
      return std::nullopt;
    llvm::append_range(source.dims, *digits);
  }
  return source;
}

static Step stepThrough(tensor::ExpandShapeOp op, const Leaf &leaf) {
  Leaf source{op.getSrc(), {}, leaf.element};
  for (const ReassociationIndices &group : op.getReassociationIndices())
    source.dims.push_back(
        flatten(ArrayRef(leaf.dims).slice(group.front(), group.size())));
  return source;
}

static Step stepThrough(linalg::TransposeOp op, const Leaf &leaf) {
  Leaf source{op.getInput(), Indices(leaf.dims.size()), leaf.element};
  for (auto [index, dim] : llvm::zip(leaf.dims, op.getPermutation()))
    source.dims[dim] = index;
  return source;
}

static Step stepThrough(linalg::BroadcastOp op, const Leaf &leaf) {
  Leaf source{op.getInput(), {}, leaf.element};
  for (auto [dim, index] : llvm::enumerate(leaf.dims))
    if (!llvm::is_contained(op.getDimensions(), int64_t(dim)))
      source.dims.push_back(index);
  return source;
}

static Step stepThrough(tensor::CastOp op, const Leaf &leaf) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto result = dyn_cast<RankedTensorType>(op.getType());
  if (!source || !result || source.getEncoding() != result.getEncoding())
    return std::nullopt;
  return Leaf{op.getSource(), leaf.dims, leaf.element};
}

static Step stepThrough(arith::BitcastOp op, const Leaf &leaf) {
  return Leaf{op.getIn(), leaf.dims, leaf.element};
}

/// Returns the loops of `op`, all parallel, in terms of the result's digits.
static FailureOr<Indices> getElementwiseLoops(linalg::LinalgOp op,
                                              ArrayRef<Index> result) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return failure();
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!map.isPermutation())
    return failure();
  Indices loops(op.getNumLoops());
  for (auto [i, index] : llvm::enumerate(result))
    loops[map.getDimPosition(i)] = index;
  return loops;
}

static Value getYielded(linalg::LinalgOp op) {
  return op.getBlock()->getTerminator()->getOperand(0);
}

/// Returns the operand of `op` that a body argument reads.
static FailureOr<Leaf> readArgument(linalg::LinalgOp op, Value value, Type type,
                                    ArrayRef<Index> loops) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBlock() ||
      int64_t(argument.getArgNumber()) >= op.getNumDpsInputs())
    return failure();
  OpOperand *operand = op.getDpsInputOperand(argument.getArgNumber());
  FailureOr<Indices> dims = evaluateOperand(op, *operand, loops);
  if (failed(dims))
    return failure();
  return Leaf{operand->get(), *dims, type};
}

/// Traces through a body that returns an element or the bitcast of an element.
static Step stepThrough(linalg::GenericOp op, const Leaf &leaf) {
  FailureOr<Indices> loops = getElementwiseLoops(op, leaf.dims);
  if (failed(loops))
    return std::nullopt;
  Value value = getYielded(op);
  if (auto bits = value.getDefiningOp<arith::BitcastOp>())
    value = bits.getIn();
  FailureOr<Leaf> read = readArgument(op, value, leaf.element, *loops);
  return succeeded(read) ? Step(*read) : std::nullopt;
}

/// Operations that move elements unchanged.
template <typename... Ops>
struct MovingOps {
  static Step step(Operation *op, const Leaf &leaf) {
    Step found;
    (void)((isa<Ops>(op) &&
            ((found = stepThrough(cast<Ops>(op), leaf)), true)) ||
           ...);
    return found;
  }
};
using Movers =
    MovingOps<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
              linalg::TransposeOp, linalg::BroadcastOp, arith::BitcastOp,
              linalg::GenericOp>;

/// Traces a step that does not change the element type.
static Step stepThroughNumbers(const Leaf &leaf) {
  Step next = Movers::step(leaf.tensor.getDefiningOp(), leaf);
  bool isNumber = next && getElementTypeOrSelf(next->tensor) ==
                              getElementTypeOrSelf(leaf.tensor);
  return isNumber ? next : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value mx::import::skipConversions(Value value, bool &throughF16) {
  while (true) {
    throughF16 |= getElementTypeOrSelf(value).isF16();
    Operation *op = value.getDefiningOp();
    if (!op || !isa<arith::ExtFOp, arith::TruncFOp>(op) ||
        getElementTypeOrSelf(op->getOperand(0)).getIntOrFloatBitWidth() < 16)
      return value;
    value = op->getOperand(0);
  }
}

/// Returns the value from which extensions compute `value`.
static Value skipExtensions(Value value) {
  while (auto op = value.getDefiningOp<arith::ExtFOp>())
    value = op.getIn();
  return value;
}

/// Returns the operand of an extension of f16 or bf16 to f32 on tensors.
static Step stepThroughExtension(const Leaf &leaf) {
  if (auto op = leaf.tensor.getDefiningOp<arith::ExtFOp>())
    return Leaf{op.getIn(), leaf.dims, getElementTypeOrSelf(op.getIn())};
  auto op = leaf.tensor.getDefiningOp<linalg::GenericOp>();
  auto extension =
      op ? getYielded(op).getDefiningOp<arith::ExtFOp>() : arith::ExtFOp();
  if (!extension)
    return std::nullopt;
  FailureOr<Indices> loops = getElementwiseLoops(op, leaf.dims);
  if (failed(loops))
    return std::nullopt;
  FailureOr<Leaf> read =
      readArgument(op, extension.getIn(), extension.getIn().getType(), *loops);
  return succeeded(read) ? Step(*read) : std::nullopt;
}

Leaf mx::import::traceLeaf(Value tensor, Indices dims, bool skipExtensions) {
  Leaf leaf{tensor, std::move(dims), getElementTypeOrSelf(tensor)};
  while (Operation *op = leaf.tensor.getDefiningOp()) {
    Step next = Movers::step(op, leaf);
    if (!next && skipExtensions && leaf.element.isF32())
      next = stepThroughExtension(leaf);
    if (!next)
      break;
    leaf = *next;
  }
  return leaf;
}

//===----------------------------------------------------------------------===//
// Products with scales
//===----------------------------------------------------------------------===//

static Leaf traceBits(const Leaf &leaf) {
  Leaf found = traceLeaf(leaf.tensor, leaf.dims);
  found.element = leaf.element;
  return found;
}

/// Returns the elements and scales of a multiplication on tensors.
static Factor readTensors(const ScaledValue &scaled, const Indices &dims) {
  return {traceBits({scaled.elements, dims, scaled.elementType}),
          traceBits({scaled.scales, dims, scaled.scaleType})};
}

/// Returns the narrow tensor from which a separate operation computed `leaf`.
static FailureOr<Leaf> traceNarrow(Leaf leaf) {
  bool through = false;
  while (true) {
    leaf.tensor = skipConversions(leaf.tensor, through);
    Operation *op = leaf.tensor.getDefiningOp();
    if (!op)
      return failure();
    if (Step next = stepThroughNumbers(leaf)) {
      leaf = *next;
      continue;
    }
    FailureOr<Leaf> read = failure();
    auto generic = dyn_cast<linalg::GenericOp>(op);
    auto side = matchSide(generic ? getYielded(generic) : leaf.tensor);
    FailureOr<Indices> loops = failure();
    if (side && generic)
      loops = getElementwiseLoops(generic, leaf.dims);
    if (succeeded(loops))
      read = readArgument(generic, side->read, side->type, *loops);
    else if (side && !generic)
      read = Leaf{side->read, leaf.dims, side->type};
    if (failed(read))
      return failure();
    return traceBits(*read);
  }
}

/// Matches elements and scales that are converted to f32 before the
/// multiplication.
static FailureOr<Factor> tracePair(FailureOr<Leaf> left,
                                   FailureOr<Leaf> right) {
  if (succeeded(left))
    left = traceNarrow(*left);
  if (succeeded(right))
    right = traceNarrow(*right);
  if (failed(left) || failed(right))
    return failure();
  std::optional<bool> isScaleFirst =
      isFirstScale(left->element, right->element);
  if (!isScaleFirst)
    return failure();
  if (*isScaleFirst)
    std::swap(left, right);
  return Factor{*left, *right};
}

FailureOr<Factor> mx::import::traceBody(linalg::LinalgOp op, Value value,
                                        ArrayRef<Index> loops,
                                        std::string &why) {
  Factor factor;
  Value original = value;
  value = skipConversions(value, factor.throughF16);
  if (auto scaled = matchScaled(value, why)) {
    FailureOr<Leaf> elements =
        readArgument(op, scaled->elements, scaled->elementType, loops);
    FailureOr<Leaf> scales =
        readArgument(op, scaled->scales, scaled->scaleType, loops);
    if (failed(elements) || failed(scales)) {
      why = "its elements or scales are not read completely, or their indices "
            "are not quotients and remainders of loop indices";
      return failure();
    }
    factor.elements = traceBits(*elements);
    factor.scales = traceBits(*scales);
    return factor;
  }
  if (auto multiply = value.getDefiningOp<arith::MulFOp>()) {
    Type type = value.getType();
    FailureOr<Factor> pair =
        tracePair(readArgument(op, multiply.getLhs(), type, loops),
                  readArgument(op, multiply.getRhs(), type, loops));
    if (succeeded(pair))
      pair->throughF16 = factor.throughF16;
    return pair;
  }
  FailureOr<Leaf> read = readArgument(op, value, value.getType(), loops);
  if (failed(read))
    return failure();
  Factor traced = traceFactor(read->tensor, read->dims, why);
  traced.throughF16 |= factor.throughF16;
  if (traced.scales)
    return traced;
  // Unscaled values must not be rounded.
  if (skipExtensions(original) != value)
    return failure();
  traced.throughF16 = false;
  return traced;
}

Factor mx::import::traceFactor(Value tensor, Indices dims, std::string &why) {
  Factor factor;
  Leaf leaf{tensor, dims, getElementTypeOrSelf(tensor)};
  while (true) {
    leaf.tensor = skipConversions(leaf.tensor, factor.throughF16);
    Operation *op = leaf.tensor.getDefiningOp();
    if (!op)
      break;
    if (Step next = stepThroughNumbers(leaf)) {
      leaf = *next;
      continue;
    }
    if (auto scaled = matchScaled(leaf.tensor, why)) {
      Factor found = readTensors(*scaled, leaf.dims);
      found.throughF16 = factor.throughF16;
      return found;
    }
    if (auto multiply = dyn_cast<arith::MulFOp>(op)) {
      FailureOr<Factor> pair =
          tracePair(Leaf{multiply.getLhs(), leaf.dims, leaf.element},
                    Leaf{multiply.getRhs(), leaf.dims, leaf.element});
      if (failed(pair))
        break;
      pair->throughF16 = factor.throughF16;
      return *pair;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      break;
    FailureOr<Indices> loops = getElementwiseLoops(generic, leaf.dims);
    if (failed(loops))
      break;
    bool f16 = factor.throughF16;
    FailureOr<Factor> body =
        traceBody(generic, getYielded(generic), *loops, why);
    if (failed(body) || !body->scales)
      break;
    body->throughF16 |= f16;
    return *body;
  }
  // Read the tensor or, if it was extended to f32, the f16 or bf16 source.
  factor.elements = traceLeaf(tensor, std::move(dims), /*skipExtensions=*/true);
  factor.throughF16 = false;
  return factor;
}
