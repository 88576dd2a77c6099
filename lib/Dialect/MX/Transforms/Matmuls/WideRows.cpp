//===- WideRows.cpp - Exact results of rows with a wide range -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folding loses small blocks beside large blocks. Two matmuls share a result:
// one of folded operands for narrow rows, and one of MX operands for the rest.
// The device classifies rows, so the host does not wait.
//===----------------------------------------------------------------------===//

#include "../Utils/Tensors.h"
#include "FoldOperands.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;

/// Returns the reason why rows of `op` cannot be folded up to a limit.
std::string mx::checkLimit(MatmulOpInterface op) {
  if (op.getRaggedOrNone() == RaggedKind::Reduction)
    return "expert groups divide its reduction dimension";
  if (op.getResultScales())
    return "its result is quantized";
  if (op.getWhere())
    return "it computes a class of elements";
  if (cast<ShapedType>(op.getA().getType()).getRank() > 3)
    return "it is a batch in several dimensions";
  for (BlockShape present : {op.getBlockSize(), op.getBlockSizeOfB()})
    if (present != kPowerOfTwoBlockSize)
      return "an operand is in blocks of " + spellBlockSize(present);
  return {};
}

namespace {
/// A folded operand: spreads with their axis, and its MX form. A quantizer
/// writes the MX form only if needed.
struct FoldedOperand {
  Value spreads;
  int64_t axis = 1;
  Value elements, scales;
  FusedQuantizeOp quantizer;
};
} // namespace

/// Creates a quantization like destination `i` of `op`, in MX blocks.
static FusedQuantizeOp createExact(IRRewriter &rewriter, FusedQuantizeOp op,
                                   unsigned i) {
  Location loc = op.getLoc();
  Value elements = op.getElements(i);
  int64_t axis = op.getAxis(i);
  SmallVector<Value> outs = {
      makeEmpty(rewriter, loc, tensor::getMixedSizes(rewriter, loc, elements),
                getElementTypeOrSelf(elements),
                cast<RankedTensorType>(elements.getType()).getEncoding()),
      makeScales(rewriter, loc, elements,
                 cast<RankedTensorType>(op.getScales(i).getType()),
                 kPowerOfTwoBlockSize, op.getRaggedOfAxis(axis),
                 op.getOffsets())};
  auto exact = op.createAlike(rewriter, loc, op.getInputs(),
                              op.getInputScales(), axis, outs,
                              /*hasAmax=*/false, bool(op.getPrologueBlock()));
  exact.setBlockSize(BlockShape(kPowerOfTwoBlockSize));
  exact.setSpreads(false);
  IRMapping mapping;
  if (op.getPrologueBlock())
    op.getPrologue().front().cloneInto(&exact.getPrologue().front(), mapping);
  return exact;
}

/// Describes the folded operand `elements`.
static FoldedOperand describeFolded(IRRewriter &rewriter, Value elements) {
  if (auto fold = elements.getDefiningOp<FoldOp>())
    return {fold.getResult(2), 1, fold.getInput(), fold.getScales(), {}};
  auto op = elements.getDefiningOp<FusedQuantizeOp>();
  unsigned i = 0;
  while (op.getDestinationResults(i).front() != elements)
    ++i;
  FusedQuantizeOp exact = createExact(rewriter, op, i);
  return {op.getDestinationResults(i)[2], op.getAxis(i), exact.getResult(0),
          exact.getResult(1), exact};
}

/// Creates the row classes of two operands.
static RowClassesOp classifyRows(IRRewriter &rewriter, Location loc,
                                 ArrayRef<FoldedOperand> operands,
                                 int64_t limit) {
  SmallVector<Value> spreads, outs;
  SmallVector<int64_t> axes;
  for (const FoldedOperand &operand : operands) {
    spreads.push_back(operand.spreads);
    axes.push_back(operand.axis);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, operand.spreads);
    OpFoldResult last = sizes.pop_back_val();
    Value rows = getValueOrCreateConstantIndexOp(
        rewriter, loc, operand.axis ? sizes.back() : last);
    sizes.back() = getAsOpFoldResult(rewriter.createOrFold<arith::CeilDivUIOp>(
        loc, rows,
        arith::ConstantIndexOp::create(rewriter, loc, kRowsPerWord)));
    outs.push_back(makeEmpty(rewriter, loc, sizes, rewriter.getI32Type()));
  }
  return RowClassesOp::create(rewriter, loc, ValueRange(outs).getTypes(),
                              spreads, outs, axes, limit);
}

void mx::computeWideRows(IRRewriter &rewriter, MatmulOpInterface op,
                         int64_t limit) {
  rewriter.setInsertionPoint(op);
  FoldedOperand operands[] = {describeFolded(rewriter, op.getA()),
                              describeFolded(rewriter, op.getB())};
  RowClassesOp classes = classifyRows(rewriter, op.getLoc(), operands, limit);
  for (FoldedOperand &operand : operands)
    if (FusedQuantizeOp quantizer = operand.quantizer) {
      quantizer.getIfAnyMutable().assign(classes.getResults());
      quantizer->moveAfter(classes);
    }
  rewriter.setInsertionPointAfter(op);
  auto wide = cast<MatmulOpInterface>(rewriter.clone(*op));
  for (auto [position, operand] : llvm::zip_equal(kElements, operands)) {
    wide->setOperand(position, operand.elements);
    wide->setOperand(position + 1, operand.scales);
  }
  auto select = [&](Operation *matmul, RowClass where) {
    llvm::TypeSwitch<Operation *>(matmul).Case<MatmulOp, GroupedMatmulOp>(
        [&](auto matmul) {
          matmul.getRowClassesMutable().assign(classes.getResults());
          matmul.setWhere(where);
          if (where == RowClass::Narrow)
            return;
          matmul.setBlockSize(BlockShape(kPowerOfTwoBlockSize));
          matmul.setBBlockSize(std::nullopt);
          matmul.setPromote(std::nullopt);
        });
  };
  rewriter.modifyOpInPlace(op, [&] { select(op, RowClass::Narrow); });
  select(wide, RowClass::Wide);
  rewriter.replaceAllUsesExcept(op.getResult(), wide.getResult(), wide);
  cast<DestinationStyleOpInterface>(*wide).getDpsInitsMutable()[0].set(
      op.getResult());
}
