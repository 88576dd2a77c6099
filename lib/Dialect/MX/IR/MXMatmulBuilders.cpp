//===- MXMatmulBuilders.cpp - Builders of matmuls and epilogues -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builders accept the epilogue as a callback, like the body in builders of
// linalg operations.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

/// Rounds or extends `value`. The verifier reports any other conversion.
static Value convertFloat(OpBuilder &builder, Location loc, Value value,
                          Type type) {
  auto from = dyn_cast<FloatType>(value.getType());
  auto to = dyn_cast<FloatType>(type);
  if (!from || !to || from.getWidth() == to.getWidth())
    return value;
  if (from.getWidth() > to.getWidth())
    return arith::TruncFOp::create(builder, loc, type, value);
  return arith::ExtFOp::create(builder, loc, type, value);
}

/// Returns true for element types of at most 8 bits, which are quantized.
static bool isQuantized(Value out) {
  return getElementTypeOrSelf(out).getIntOrFloatBitWidth() < 16;
}

static void addResultsAndEpilogue(OpBuilder &builder, OperationState &state,
                                  ValueRange outs, int64_t numB,
                                  EpilogueBody epilogue) {
  for (Value out : outs)
    if (isa<TensorType>(out.getType()))
      state.addTypes(out.getType());
  if (!epilogue)
    return;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = state.location;
  SmallVector<Type> types(numB, builder.getF32Type());
  types.append(2, builder.getIndexType());
  Block *block = builder.createBlock(state.addRegion(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  Value value = epilogue(builder, loc, block->getArguments());
  if (!isQuantized(outs.front()))
    value = convertFloat(builder, loc, value, getElementTypeOrSelf(outs[0]));
  YieldOp::create(builder, loc, value);
}

static BlockShape getBlockSizeOfScales(Value aScales, Value bScales) {
  Value scales = aScales ? aScales : bScales;
  return BlockShape(scales
                        ? getBlockFormat(getElementTypeOrSelf(scales)).blockSize
                        : kPowerOfTwoBlockSize);
}

void MatmulOp::build(OpBuilder &builder, OperationState &state, Value a,
                     Value aScales, Value b, Value bScales, Value out,
                     EpilogueBody epilogue, Value alpha, bool accumulate) {
  build(builder, state, TypeRange(), a, aScales, b, bScales, alpha,
        /*row_classes=*/ValueRange(), out,
        getBlockSizeOfScales(aScales, bScales), /*b_block_size=*/{},
        /*promote=*/{}, /*in_order=*/false, /*where=*/{}, accumulate,
        /*a_order=*/{},
        /*b_order=*/{}, /*epilogueCount=*/0);
  addResultsAndEpilogue(builder, state, out, /*numB=*/1, epilogue);
}

void GroupedMatmulOp::build(OpBuilder &builder, OperationState &state, Value a,
                            Value aScales, Value b, Value bScales,
                            Value offsets, ValueRange outs, RaggedKind ragged,
                            EpilogueBody epilogue, int64_t numB, Value alpha,
                            bool accumulate) {
  build(builder, state, TypeRange(), a, aScales, b, bScales, offsets, alpha,
        /*scatter=*/Value(), /*row_classes=*/ValueRange(), outs, ragged,
        /*masked=*/false, getBlockSizeOfScales(aScales, bScales),
        /*b_block_size=*/{}, /*promote=*/{}, /*in_order=*/false, /*columns=*/{},
        numB,
        /*where=*/{}, accumulate, ScaleRounding::Ceil, /*a_order=*/{},
        /*b_order=*/{},
        /*epilogueCount=*/0);
  addResultsAndEpilogue(builder, state, outs, numB, epilogue);
}

template <typename OpT>
static void copyWhere(OpT from, OpT to) {
  to.getRowClassesMutable().assign(from.getRowClasses());
  to.setWhereAttr(from.getWhereAttr());
}

MatmulOpInterface MatmulOp::createAlike(OpBuilder &builder, Location loc,
                                        ValueRange outs, EpilogueBody epilogue,
                                        int64_t) {
  auto alike = create(builder, loc, getA(), getAScales(), getB(), getBScales(),
                      outs.front(), epilogue, getAlpha(), getAccumulate());
  copyOrders(*this, alike);
  copyWhere(*this, alike);
  alike.copyReduction(*this);
  alike->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return alike;
}

MatmulOpInterface GroupedMatmulOp::createAlike(OpBuilder &builder, Location loc,
                                               ValueRange outs,
                                               EpilogueBody epilogue,
                                               int64_t numB) {
  auto alike = create(builder, loc, getA(), getAScales(), getB(), getBScales(),
                      getOffsets(), outs, getRagged(), epilogue, numB,
                      getAlpha(), getAccumulate());
  if (getScatter())
    alike.getScatterMutable().assign(getScatter());
  copyOrders(*this, alike);
  copyWhere(*this, alike);
  alike.copyReduction(*this);
  alike.setMasked(getMasked());
  alike.setColumnsAttr(getColumnsAttr());
  alike.setScaleRounding(getScaleRounding());
  alike->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return alike;
}

FailureOr<MatmulOpInterface>
mx::detail::attachEpilogue(MatmulOpInterface matmul, RewriterBase &rewriter,
                           EpilogueBody epilogue) {
  if (matmul.getScatterRows() || matmul.getWhere() || matmul.getColumnRange())
    return rewriter.notifyMatchFailure(
        matmul,
        "expected no scatter, where or columns, because other elements of "
        "outs take no part in the epilogue: compute the elements where "
        "the result is read");
  OpBuilder::InsertionGuard guard(rewriter);
  Location loc = matmul.getLoc();
  Block *block = matmul.getEpilogueBlock();
  if (!block) {
    rewriter.setInsertionPoint(matmul);
    auto outs = cast<DestinationStyleOpInterface>(*matmul).getDpsInits();
    MatmulOpInterface attached =
        matmul.createAlike(rewriter, loc, llvm::to_vector(outs), epilogue, 1);
    rewriter.replaceOp(matmul, attached);
    return attached;
  }
  auto yield = cast<YieldOp>(block->getTerminator());
  Value element = yield.getValue();
  rewriter.setInsertionPoint(yield);
  SmallVector<Value> arguments = {
      convertFloat(rewriter, loc, element, rewriter.getF32Type())};
  llvm::append_range(arguments, block->getArguments().take_back(2));
  Value value = epilogue(rewriter, loc, arguments);
  value = convertFloat(rewriter, loc, value, element.getType());
  rewriter.modifyOpInPlace(yield,
                           [&] { yield.getValuesMutable().assign(value); });
  return matmul;
}
