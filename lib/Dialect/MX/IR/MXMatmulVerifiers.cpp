//===- MXMatmulVerifiers.cpp - Verifiers of the matmuls -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comments such as "matmul C1" cite constraints of docs/reference/Spec.md.
//===----------------------------------------------------------------------===//

#include "MXChecks.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

static bool isHalf(Type type) { return isa<BFloat16Type, Float16Type>(type); }

/// Requires scales for quantized elements, and no scales for 16-bit values.
static LogicalResult verifyScalesOfA(MatmulOpInterface op, const Named &a) {
  if (isHalf(a.elementType()) != bool(op.getAScales()))
    return success();
  if (!op.getAScales())
    return errorAt(op, a) << "expected operand 'a' of type bf16 or f16 without "
                             "a_scales, found "
                          << a.elementType() << ": add the block scales";
  return errorAt(op, a) << "expected no a_scales with unquantized operand 'a' "
                           "of type "
                        << a.elementType() << ": leave out the scales";
}

/// Requires scales for a quantized B, and no scales for a bf16 B. With a bf16
/// B, rejects an f16 A. If both operands are unscaled, rejects a block size.
static LogicalResult verifyScalesOfB(MatmulOpInterface op, const Named &a,
                                     const Named &b) {
  if (isHalf(b.elementType()) != bool(op.getBScales())) {
    if (op.getBScales())
      return success();
    if (a.elementType().isF16())
      return errorAt(op, a)
             << "expected operand 'a' of type bf16, or quantized, with operand "
                "'b' of type bf16, found "
             << a.elementType() << ": quantize 'b', or pass both as bf16";
    if (!op.getAScales() && op.getBlockSize() != kPowerOfTwoBlockSize)
      return op.emitOpError("expected no block_size without scales, found ")
             << spellBlockSize(op.getBlockSize());
    if (op.getBBlockSize())
      return op.emitOpError("expected no b_block_size without scales of 'b', "
                            "found ")
             << spellBlockSize(op.getBlockSizeOfB());
    return success();
  }
  if (!op.getBScales())
    return errorAt(op, b) << "expected operand 'b' of type bf16 without "
                             "b_scales, found "
                          << b.elementType() << ": add the block scales";
  return errorAt(op, b) << "expected no b_scales with unquantized operand 'b' "
                           "of type "
                        << b.elementType() << ": leave out the scales";
}

/// Requires that both operands have scales of the same type, and that the block
/// size and element types fit the scale type.
static LogicalResult verifyOperandTypes(MatmulOpInterface op, const Named &a,
                                        const Named &b) {
  Named sa{op.getAScales(), "a_scales"}, sb{op.getBScales(), "b_scales"};
  if (!sa.value && !sb.value)
    return success();
  if (!sa.value)
    return verifyBlock(op, b, sb.elementType(), op.getBlockSizeOfB());
  if (!sb.value)
    return verifyBlock(op, a, sa.elementType(), op.getBlockSize());
  if (sa.elementType() != sb.elementType())
    return errorAt(op, sb) << "expected b_scales of type " << sa.elementType()
                           << " like a_scales, found " << sb.elementType()
                           << ": quantize both operands with one scale type";
  if (failed(verifyBlock(op, a, sa.elementType(), op.getBlockSize())))
    return failure();
  return verifyBlock(op, b, sb.elementType(), op.getBlockSizeOfB());
}

/// Verifies `promote`. The scales of both operands must cover whole partial
/// sums, except the blocks of an expanded B.
static LogicalResult verifyPromotion(MatmulOpInterface op) {
  std::optional<uint64_t> promote = op.getPromote();
  if (!promote)
    return success();
  if (*promote != 128 && *promote != 256 && *promote != 512)
    return op.emitOpError("expected promote = 128, 256 or 512, found ")
           << *promote;
  bool isExpandedB = isa<Float4E2M1FNType>(getElementTypeOrSelf(op.getB())) &&
                     op.getBlockSizeOfB() == kPowerOfTwoBlockSize;
  if (isExpandedB && op.getRaggedOrNone() == RaggedKind::Reduction)
    return op.emitOpError("expected ragged = rows with promote and 'b' of type "
                          "f4E2M1FN, found reduction: quantize 'b' to "
                          "f8E4M3FN and fold it");
  for (auto [scales, blockSize, name] :
       {std::tuple(op.getAScales(), op.getBlockSize(), "'a'"),
        {op.getBScales(), op.getBlockSizeOfB(), "'b'"}}) {
    if (isExpandedB && scales == op.getBScales())
      continue;
    const BlockFormat *format =
        scales ? findBlockFormat(getElementTypeOrSelf(scales), blockSize)
               : nullptr;
    if (format && format->isPromoted() &&
        blockSize >= static_cast<int64_t>(*promote))
      continue;
    InFlightDiagnostic diag = op.emitOpError("expected ")
                              << name << " in blocks of at least " << *promote
                              << " elements with promote = " << *promote
                              << ", found ";
    if (scales)
      diag << "blocks of " << spellBlockSize(blockSize);
    else
      diag << "no scales";
    return diag << ": fold the operand";
  }
  return success();
}

/// Requires row classes of both operands with 'where', and no quantized result.
static LogicalResult verifyWhere(MatmulOpInterface op, const Named &a,
                                 const Named &b) {
  size_t expected = op.getWhere() ? 2 : 0;
  if (op.getRowClasses().size() != expected)
    return op.emitOpError("expected ")
           << expected << " row classes with" << (expected ? "" : "out")
           << " 'where', found " << op.getRowClasses().size();
  if (op.getWhere() && op.getResultScales())
    return op.emitOpError("expected a single outs with 'where', found scales: "
                          "quantize the result by mx.quantize");
  std::pair<const Named &, StringRef> operands[] = {{a, "classes of a"},
                                                    {b, "classes of b"}};
  for (auto [classes, operand] : llvm::zip(op.getRowClasses(), operands)) {
    auto [elements, name] = operand;
    SmallVector<int64_t> shape(elements.shape().drop_back());
    shape.back() = getWordsOfRows(shape.back());
    if (failed(verifyShape(op, {classes, name}, shape)))
      return failure();
  }
  return success();
}

/// Returns the block size that must divide the reduction, or 1.
static int64_t getReductionDivisor(MatmulOpInterface op) {
  int64_t divisor = 1;
  for (auto [scales, block] : {std::pair(op.getAScales(), op.getBlockSize()),
                               {op.getBScales(), op.getBlockSizeOfB()}})
    if (scales && block != BlockFormat::kWhole)
      divisor = std::max<int64_t>(divisor, block);
  return divisor;
}

static LogicalResult verifyScalesOf(MatmulOpInterface op, const Named &scales,
                                    const Named &elements, BlockShape blockSize,
                                    RaggedKind ragged, int64_t groups) {
  if (!scales.value)
    return success();
  return verifyScales(op, scales, elements.shape(), blockSize, ragged, groups);
}

/// Returns B with its logical shape. Requires verified ranks of A and `outs`.
static Named getLogicalB(MatmulOpInterface op) {
  return {op.getB(), "b", llvm::to_vector<0>(getLogicalShapeOfB(op))};
}

/// Verifies the orders of both operands, and rejects an order that changes the
/// shape of A, because the logical shapes are derived from A.
static LogicalResult verifyOrders(MatmulOpInterface op, const Named &a,
                                  const Named &b) {
  OperandOrderAttrInterface ofA = getOrderOfA(op), ofB = getOrderOfB(op);
  if (ofA && !ofA.keepsShape())
    return errorAt(op, a) << "expected operand 'a' in an order that keeps the "
                             "shape, found "
                          << ofA;
  if (ofA && failed(verifyOrder(op, a, ofA, a.shape())))
    return failure();
  return ofB ? verifyOrder(op, b, ofB, b.shape()) : success();
}

/// Without an order, rejects encodings other than `#mx.ragged`.
static LogicalResult verifyEncoding(MatmulOpInterface op, const Named &operand,
                                    OperandOrderAttrInterface order,
                                    RaggedKind ragged, int64_t groups) {
  return order ? success() : verifyElementEncoding(op, operand, ragged, groups);
}

LogicalResult MatmulOp::verify() {
  if (failed(verifyForm(*this))) // matmul C1
    return failure();
  Named a{getA(), "a"}, out{getOut(), "outs"}; // matmul C2
  Named sa{getAScales(), "a_scales"}, sb{getBScales(), "b_scales"};
  int64_t rank = a.rank();
  // matmul C3
  if (failed(verifyMinRank(*this, a)) || failed(verifyRank(*this, out, rank)))
    return failure();
  Named b = getLogicalB(*this);
  if (failed(verifyRank(*this, b, rank)) ||
      failed(verifyScalesOfA(*this, a)) ||       // matmul C14
      failed(verifyScalesOfB(*this, a, b)) ||    // matmul C16
      failed(verifyOrders(*this, a, b)) ||       // matmul C15
      failed(verifyOperandTypes(*this, a, b)) || // matmul C4
      failed(verifyPromotion(*this)) ||          // matmul C17
      failed(verifyWhere(*this, a, b)))          // matmul C18
    return failure();
  for (int64_t i = 0; i < rank - 2; ++i) // matmul C5
    if (failed(verifyDim(*this, b, i, a.dim(i))) ||
        failed(verifyDim(*this, out, i, a.dim(i))) ||
        failed(verifyDim(*this, out, i, b.dim(i))))
      return failure();
  if (failed(verifyDim(*this, b, rank - 1, a.dim(rank - 1)))) // matmul C6
    return failure();
  int64_t divisor = getReductionDivisor(*this); // matmul C7
  if (failed(verifyMultiple(*this, a, rank - 1, divisor)) ||
      failed(verifyMultiple(*this, b, rank - 1, divisor)))
    return failure();
  // matmul C8
  if (failed(verifyDim(*this, out, rank - 2, a.dim(rank - 2))) ||
      failed(verifyDim(*this, out, rank - 1, b.dim(rank - 2))) ||
      // matmul C9
      // matmul C10
      failed(
          verifyScalesOf(*this, sa, a, getBlockSize(), RaggedKind::None, 0)) ||
      failed(verifyScalesOf(*this, sb, b, getBlockSizeOfB(), RaggedKind::None,
                            0)) ||
      // matmul C11
      failed(
          verifyEncoding(*this, a, getOrderOfA(*this), RaggedKind::None, 0)) ||
      failed(
          verifyEncoding(*this, b, getOrderOfB(*this), RaggedKind::None, 0)) ||
      failed(verifyNoEncoding(*this, out)) ||
      // matmul C12
      failed(verifyEpilogue(*this, getEpilogue(), out.elementType(), false)))
    return failure();
  // matmul C13
  return verifyEpilogue(*this, getEpilogue(), out.elementType(), true);
}

/// Restricts num_b, scatter and quantized results (C15 to C17).
static LogicalResult verifyResultForm(GroupedMatmulOp op) {
  bool isQuantized = op.getResultScales() != nullptr;
  Named out{op.getOuts()[0], "outs"};
  // grouped_matmul C15
  if (auto numB = static_cast<int64_t>(op.getNumB()); numB < 1)
    return op.emitOpError("expected num_b of at least 1, found ") << numB;
  if (op.getNumB() > 1 && op.getEpilogue().empty())
    return op.emitOpError("expected an epilogue that combines the "
                          "accumulators of num_b = ")
           << op.getNumB() << ", found none";
  bool hasForm = op.getNumB() > 1 || isQuantized || op.getScatter();
  if (hasForm && op.getRagged() != RaggedKind::Rows)
    return op.emitOpError("expected ragged = rows with num_b, scatter or "
                          "quantized outs, found reduction");
  if (hasForm && op.getAccumulate())
    return op.emitOpError("expected no 'accumulate' with num_b, scatter or "
                          "quantized outs, found 'accumulate'");
  // grouped_matmul C16
  if (!isQuantized &&
      !isa<Float32Type, BFloat16Type, Float16Type>(out.elementType()))
    return errorAt(op, out) << "expected outs of type f32, bf16 or f16, or "
                               "quantized elements and their scales, found "
                            << out.type();
  if (!isQuantized && op.getScaleRounding() != ScaleRounding::Ceil)
    return op.emitOpError(
        "expected quantized outs with scale_rounding, found other outs");
  if (op.getMasked() && op.getScatter())
    return op.emitOpError("expected no 'scatter' with 'masked', found both");
  if (!op.getScatter())
    return success();
  if (isQuantized || op.getNumB() > 1) // grouped_matmul C17
    return op.emitOpError("expected 1 operand in outs and num_b = 1 with "
                          "scatter, found ")
           << op.getOuts().size() << " and num_b = " << op.getNumB();
  if (!out.elementType().isF32())
    return errorAt(op, out) << "expected outs of type f32 with scatter, found "
                            << out.elementType();
  Named rows{op.getScatter(), "scatter"}, a{op.getA(), "a"};
  return verifyDim(op, rows, 0, a.dim(0));
}

/// Requires 'columns' to be a range of the columns of `outs`.
static LogicalResult verifyColumns(GroupedMatmulOp op, const Named &out) {
  if (!op.getColumns())
    return success();
  if (op.getRagged() != RaggedKind::Rows || op.getNumB() > 1 ||
      op.getOuts().size() > 1 || op.getMasked() || op.getScatter() ||
      op.getWhere())
    return op.emitOpError("expected ragged = rows, num_b = 1 and a single outs "
                          "without 'masked', 'scatter' and 'where' with "
                          "'columns'");
  ArrayRef<int64_t> range = *op.getColumns();
  int64_t all = out.dim(out.rank() - 1);
  if (range.size() == 2 && 0 <= range[0] && range[0] < range[1] &&
      !ShapedType::isDynamic(all) && range[1] <= all)
    return success();
  return errorAt(op, out) << "expected 'columns' to be [begin, end] with 0 <= "
                             "begin < end <= N, a static number of columns of "
                             "outs, found ["
                          << range << "] and " << out.type();
}

/// Checks elements and scales of a quantized result like those of mx.quantize.
static LogicalResult verifyQuantizedResult(GroupedMatmulOp op, int64_t groups) {
  Named elements{op.getOut(), "outs"};
  Named scales{op.getResultScales(), "scales"};
  const BlockFormat &format = getPowerOfTwoFormat(); // grouped_matmul C18
  Type scaleType = format.getScaleType(op.getContext());
  if (!format.takes(elements.elementType(), /*withIntegers=*/false) ||
      scales.elementType() != scaleType)
    return errorAt(op, elements)
           << "expected outs with quantized elements and " << scaleType
           << " scales, found " << elements.type() << " and " << scales.type();
  BlockShape block(format.blockSize);
  RaggedKind ragged = op.getMasked() ? RaggedKind::None : RaggedKind::Rows;
  if (failed(verifyMultiple(op, elements, elements.rank() - 1, block)))
    return failure();
  return verifyScales(op, scales, elements.shape(), block, ragged, groups);
}

/// Returns the required yield type of the epilogue. For a quantized result,
/// this is the actual yield type if that type can be quantized, else f32.
static Type getYieldedType(GroupedMatmulOp op) {
  if (!op.getResultScales())
    return cast<ShapedType>(op.getOuts()[0].getType()).getElementType();
  Block *block = op.getEpilogueBlock();
  auto yield =
      block && !block->empty() ? dyn_cast<YieldOp>(block->back()) : YieldOp();
  if (yield && yield.getValues().size() == 1 &&
      isa<Float32Type, BFloat16Type, Float16Type>(yield.getValue().getType()))
    return yield.getValue().getType();
  return Float32Type::get(op.getContext());
}

LogicalResult GroupedMatmulOp::verify() {
  if (failed(verifyForm(*this))) // grouped_matmul C1
    return failure();
  // grouped_matmul C2
  if ((getOuts().size() != 2 && failed(verifyOneOut(*this, getOuts()))) ||
      failed(verifyRagged(*this, getRagged(), getOffsets(),
                          /*mayBeEmpty=*/getMasked()))) // grouped_matmul C3
    return failure();
  if (getMasked() && getRagged() != RaggedKind::Rows) // grouped_matmul C19
    return emitOpError("expected ragged = rows with 'masked', found reduction");
  Named a{getA(), "a"}, out{getOuts()[0], "outs"};
  Named sa{getAScales(), "a_scales"}, sb{getBScales(), "b_scales"};
  bool rows = getRagged() == RaggedKind::Rows;
  // grouped_matmul C4
  if (failed(verifyRank(*this, a, getMasked() ? 3 : 2)) ||
      failed(verifyRank(*this, out, rows && !getMasked() ? 2 : 3)))
    return failure();
  Named b = getLogicalB(*this);
  if (failed(verifyRank(*this, b, rows ? 3 : 2)) ||
      failed(verifyScalesOfA(*this, a))) // grouped_matmul C20
    return failure();
  if (!getAScales() && getBScales() && !rows)
    return emitOpError("expected ragged = rows with unquantized operand 'a', "
                       "found reduction: quantize both operands, or neither");
  if (getAScales() && !getBScales() && !rows)
    return emitOpError("expected ragged = rows with unquantized operand 'b', "
                       "found reduction: quantize both operands, or neither");
  if (failed(verifyScalesOfB(*this, a, b)) ||    // grouped_matmul C22
      failed(verifyOrders(*this, a, b)) ||       // grouped_matmul C21
      failed(verifyOperandTypes(*this, a, b)) || // grouped_matmul C5
      failed(verifyPromotion(*this)) ||          // grouped_matmul C23
      failed(verifyWhere(*this, a, b)))          // grouped_matmul C24
    return failure();
  int64_t groups = getNumExperts(getOffsets()); // grouped_matmul C6
  if (failed(verifyDim(*this, rows ? b : out, 0, groups)) ||
      (getMasked() && (failed(verifyDim(*this, a, 0, groups)) ||
                       failed(verifyDim(*this, out, 0, groups)))))
    return failure();
  // grouped_matmul C7
  if (failed(verifyDim(*this, b, b.rank() - 1, a.dim(a.rank() - 1))))
    return failure();
  // grouped_matmul C8
  int64_t divisor = rows ? getReductionDivisor(*this) : kRaggedReductionAlign;
  if (failed(verifyMultiple(*this, a, a.rank() - 1, divisor)) ||
      failed(verifyMultiple(*this, b, b.rank() - 1, divisor)) ||
      failed(verifyResultForm(*this)))
    return failure();
  int64_t columns = b.dim(b.rank() - 2); // grouped_matmul C9
  if (failed(verifyMultiple(*this, b, b.rank() - 2, getNumB())))
    return failure();
  if (!ShapedType::isDynamic(columns))
    columns /= getNumB();
  if ((!getScatter() &&
       failed(verifyDim(*this, out, out.rank() - 2, a.dim(a.rank() - 2)))) ||
      failed(verifyDim(*this, out, out.rank() - 1, columns)) ||
      (getResultScales() && failed(verifyQuantizedResult(*this, groups))) ||
      failed(verifyColumns(*this, out))) // grouped_matmul C25
    return failure();
  // With ragged rows, B and its scales are an ordinary batch.
  RaggedKind raggedB = rows ? RaggedKind::None : RaggedKind::Reduction;
  RaggedKind raggedA = getMasked() ? RaggedKind::None : getRagged();
  // grouped_matmul C10
  // grouped_matmul C11
  if (failed(verifyScalesOf(*this, sa, a, getBlockSize(), raggedA, groups)) ||
      failed(
          verifyScalesOf(*this, sb, b, getBlockSizeOfB(), raggedB, groups)) ||
      // grouped_matmul C12
      failed(verifyEncoding(*this, a, getOrderOfA(*this), raggedA, groups)) ||
      failed(verifyEncoding(*this, b, getOrderOfB(*this), raggedB, groups)) ||
      failed(verifyNoEncoding(*this, out)))
    return failure();
  // grouped_matmul C13
  SmallVector<Type> accumulators(getNumB(), Float32Type::get(getContext()));
  if (failed(verifyRegion(*this, "epilogue", getEpilogue(), accumulators)))
    return failure();
  // grouped_matmul C14
  return verifyEpilogue(*this, getEpilogue(), getYieldedType(*this), true);
}
