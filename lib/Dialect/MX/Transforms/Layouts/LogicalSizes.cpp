//===- LogicalSizes.cpp - Logical sizes of tensors with layouts -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The physical tensor of tiled scales does not contain the numbers of rows and
// blocks. The pass derives these numbers from the elements in the operation
// that uses the scales. It derives the sizes of packed weights from their
// source or from the other operand.
//===----------------------------------------------------------------------===//

#include "LogicalSizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

namespace {
/// Value or tensor dimension, multiplied or divided by a constant.
struct SizeSource {
  Value value;
  Value tensor;
  int64_t dim = 0;
  int64_t divisor = 1;
  int64_t factor = 1;
};
} // namespace

static bool isPacked(Value tensor) {
  OperandOrderAttrInterface order = getOrder(tensor.getType());
  return order && !order.keepsShape();
}

/// Returns the source of a size of a tiled right operand. The rows correspond
/// to columns of the result, and the columns to columns of the left operand.
static SizeSource getSizeFromMatmul(MatmulOpInterface op, bool isRow) {
  Value tensor = isRow ? op.getOut() : op.getA();
  int64_t last = cast<RankedTensorType>(tensor.getType()).getRank() - 1;
  return SizeSource{Value(), tensor, last, 1, isRow ? op.getNumB() : 1};
}

/// Returns the elements that belong to the scales `use`, and their block size.
/// Returns a null value if `use` is not a scale operand.
static std::pair<Value, int64_t> getElements(OpOperand &use) {
  Operation *op = use.getOwner();
  auto is = [&](OpOperand &operand) { return &operand == &use; };
  if (auto quantize = dyn_cast<FusedQuantizeOp>(op)) {
    for (unsigned i = 0; i < quantize.getNumDestinations(); ++i)
      if (!quantize.isDequantized(i) &&
          is(quantize.getOutsMutable()[quantize.getScalesNumber(i)]))
        return {quantize.getElements(i), quantize.getBlockSize()};
    for (const QuantizeSource &source : quantize.getSources())
      if (source.scales && source.scales == use.get())
        return {source.tensor, source.getBlockSize()};
  } else if (auto dequantize = dyn_cast<DequantizeOp>(op)) {
    if (is(dequantize.getScalesMutable()))
      return {dequantize.getInput(), dequantize.getBlockSize()};
  } else if (auto matmul = dyn_cast<MatmulOpInterface>(op)) {
    if (use.get() == matmul.getAScales())
      return {matmul.getA(), matmul.getBlockSize()};
    if (use.get() == matmul.getBScales())
      return {matmul.getB(), matmul.getBlockSizeOfB()};
    if (use.get() == matmul.getResultScales())
      return {matmul.getOut(), getPowerOfTwoFormat().blockSize};
  } else if (auto relayout = dyn_cast<RelayoutOp>(op)) {
    Value other = is(relayout.getInputMutable()) ? relayout.getOuts()[0]
                                                 : relayout.getInput();
    if (&relayout.getOutsMutable()[0] == &use || is(relayout.getInputMutable()))
      return {other, 0};
  } else if (auto pack = dyn_cast<PackOperandOp>(op)) {
    bool isScales = pack.getScales() && is(pack.getScalesMutable()[0]);
    return {pack.getInput(), isScales ? pack.getBlockSize() : 0};
  }
  return {};
}

/// Finds a source for the logical size of dimension `dim` of `scales`. The
/// source dominates `user`. Follows relayouts and destinations up to `depth`.
static std::optional<SizeSource> findSize(Value scales, int64_t dim,
                                          Operation *user,
                                          const DominanceInfo &dominance,
                                          unsigned depth = 0) {
  auto type = cast<RankedTensorType>(scales.getType());
  // The physical and logical shapes differ only in rows and columns of tiles.
  if (depth > 0 && (!hasMXEncoding(type) || !type.isDynamicDim(dim)) &&
      dominance.properlyDominates(scales, user))
    return SizeSource{Value(), scales, dim, 1};
  if (depth > 16)
    return std::nullopt;

  auto fromElements = [&](OpOperand &use) -> std::optional<SizeSource> {
    auto matmul = dyn_cast<MatmulOpInterface>(use.getOwner());
    if (matmul && isPacked(scales)) {
      SizeSource source = getSizeFromMatmul(matmul, dim == type.getRank() - 2);
      if (dominance.properlyDominates(source.tensor, user))
        return source;
      return std::nullopt;
    }
    auto [other, blockSize] = getElements(use);
    if (!other || !dominance.properlyDominates(other, user))
      return std::nullopt;
    int64_t divisor = dim == type.getRank() - 1 ? blockSize : 1;
    if (blockSize != 0 && isPacked(other)) {
      auto source = findSize(other, dim, user, dominance, depth + 1);
      if (source)
        source->divisor = divisor;
      return source;
    }
    if (blockSize == 0) { // a relayout of the same scales
      if (cast<ShapedType>(other.getType()).getRank() != type.getRank())
        return std::nullopt;
      return findSize(other, dim, user, dominance, depth + 1);
    }
    return SizeSource{Value(), other, dim, divisor};
  };
  if (Operation *producer = scales.getDefiningOp()) {
    if (auto empty = dyn_cast<tensor::EmptyOp>(producer))
      return SizeSource{empty.getDynamicSize(dim), Value()};
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(producer);
        destination && isa<MXDialect>(producer->getDialect())) {
      OpOperand *init = destination.getTiedOpOperand(cast<OpResult>(scales));
      if (auto source = fromElements(*init))
        return source;
      return findSize(init->get(), dim, user, dominance, depth + 1);
    }
  }
  // The operation must run whenever the size is needed.
  for (OpOperand &use : scales.getUses())
    if (use.getOwner()->getBlock() == user->getBlock() ||
        dominance.properlyDominates(use.getOwner(), user))
      if (auto source = fromElements(use))
        return source;
  return std::nullopt;
}

LogicalResult mx::detail::resolveSizes(ModuleOp module) {
  DominanceInfo dominance(module);
  SmallVector<tensor::DimOp> dims;
  module.walk([&](tensor::DimOp op) {
    if (hasMXEncoding(op.getSource().getType()))
      dims.push_back(op);
  });
  for (tensor::DimOp op : dims) {
    auto type = cast<RankedTensorType>(op.getSource().getType());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!dim || *dim < 0 || *dim >= type.getRank())
      return op.emitOpError("expected a constant dimension below ")
             << type.getRank() << " of a tensor in layout "
             << type.getEncoding() << ", found "
             << (dim ? std::to_string(*dim) : "a variable");
    OpBuilder builder(op);
    Value size;
    if (!type.isDynamicDim(*dim)) {
      size = arith::ConstantIndexOp::create(builder, op.getLoc(),
                                            type.getDimSize(*dim));
    } else {
      if (!hasTiledLayout(type) || *dim < type.getRank() - 2)
        continue; // the physical tensor has the same dimension
      std::optional<SizeSource> source =
          findSize(op.getSource(), *dim, op, dominance);
      if (!source)
        return op.emitOpError("expected a tensor.empty or an mx operation "
                              "that determines the logical size of dimension ")
               << *dim << " of a tensor in layout " << type.getEncoding()
               << ", found none";
      size = source->value;
      if (!size)
        size = builder.createOrFold<tensor::DimOp>(op.getLoc(), source->tensor,
                                                   source->dim);
      if (source->factor != 1)
        size = arith::MulIOp::create(builder, op.getLoc(), size,
                                     arith::ConstantIndexOp::create(
                                         builder, op.getLoc(), source->factor));
      if (source->divisor != 1)
        size =
            arith::DivUIOp::create(builder, op.getLoc(), size,
                                   arith::ConstantIndexOp::create(
                                       builder, op.getLoc(), source->divisor));
    }
    op.getResult().replaceAllUsesWith(size);
    op.erase();
  }
  return success();
}
