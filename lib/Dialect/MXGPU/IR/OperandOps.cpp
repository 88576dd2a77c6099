//===- OperandOps.cpp - Verifiers of register operand operations ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Covers conversions of register fragments to operands of matrix instructions.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Half of the smallest block size: a part of a permuted tile holds half of the
/// columns of a block.
static constexpr int64_t kSmallestBlock = 8;

/// Checks the types of elements and scales.
static LogicalResult verifyFormats(DequantizeFragmentOp op, Type element,
                                   Type scale) {
  const BlockFormat *format = findBlockFormat(scale);
  if (!format) // dequantize_fragment C1
    return op.emitOpError("expected scales of ")
           << listScaleTypes() << ", found " << scale;
  if (format->takes(element, /*withIntegers=*/false))
    return success();
  // dequantize_fragment C2
  return op.emitOpError("expected elements of ")
         << format->listElements(/*withIntegers=*/false) << " with scales of "
         << scale << ", found " << element;
}

/// Returns true if threads hold the same elements in both layouts, with pairs
/// in the same order.
static bool isReordered(FragmentLayoutAttr from, FragmentLayoutAttr to) {
  ArrayRef<FragmentMode> old = from.getValues(), values = to.getValues();
  return from.getThreads() == to.getThreads() &&
         old.take_front() == values.take_front() && old.front().size % 2 == 0 &&
         std::is_permutation(old.begin(), old.end(), values.begin(),
                             values.end());
}

LogicalResult DequantizeFragmentOp::verify() {
  FragmentType input = getInput().getType(), result = getType();
  auto scales = cast<VectorType>(getScales().getType());
  if (failed(verifyFormats(*this, input.getElementType(),
                           scales.getElementType())))
    return failure();
  FragmentLayoutAttr layout = input.getLayout();
  // dequantize_fragment C7
  if (getReference() && (!isa<Float8E4M3FNType>(input.getElementType()) ||
                         !isPowerOfTwoScale(scales.getElementType())))
    return emitOpError("expected f8E4M3FN with power-of-two scales and a "
                       "reference, found ")
           << input.getElementType() << " and " << scales.getElementType();
  if (getFinite() && !getReference()) // dequantize_fragment C8
    return emitOpError("expected a reference with finite, found none: add one, "
                       "or leave finite out");
  bool isF16 = getReference() && !getFinite();
  Type number = isF16 ? Type(Float16Type::get(getContext()))
                      : Type(BFloat16Type::get(getContext()));
  auto expected = FragmentType::get(number, layout);
  // dequantize_fragment C3
  if (result != expected && (result.getElementType() != number ||
                             !isReordered(layout, result.getLayout())))
    return emitOpError("expected a result of ")
           << expected << ", or with its registers in another order, found "
           << result;
  int64_t block = getBlock();
  // dequantize_fragment C4
  if (block < kSmallestBlock || !llvm::isPowerOf2_64(block))
    return emitOpError("expected blocks of a power of two columns, ")
           << kSmallestBlock << " or more, found " << block;
  int64_t rows = layout.getRowOffsets().size();
  int64_t blocks = layout.getBlocks(block).size();
  // dequantize_fragment C5
  if (auto type = VectorType::get({rows, blocks}, scales.getElementType());
      scales != type)
    return emitOpError("expected ")
           << type << ", the scales of the rows and blocks that a thread holds"
           << ", found " << scales;
  if (layout.getNumValues() % 4) // dequantize_fragment C6
    return emitOpError("expected elements that fill words of 32 bits of a "
                       "thread, found ")
           << layout.getNumValues() << " in " << input;
  return success();
}

LogicalResult LoadScaleRangeOp::verify() {
  // load_scale_range C1
  MemRefType type = getTable().getType();
  if (type.getDimSize(1) * type.getElementTypeBitWidth() != 128)
    return emitOpError("expected a table of 16 bytes a row, found ") << type;
  return success();
}
