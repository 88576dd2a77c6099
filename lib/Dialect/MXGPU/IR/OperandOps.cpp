//===- OperandOps.cpp - Verifiers of register operand operations ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Half of the smallest block size, because a part of a permuted tile holds
/// half of the columns of a block.
static constexpr int64_t kSmallestBlock = 8;

static LogicalResult verifyFormats(DequantizeFragmentOp op, Type element,
                                   Type scale) {
  const BlockFormat *format = findBlockFormat(scale);
  if (!format) // dequantize_fragment C1
    return op.emitOpError("expected scales of type ")
           << listScaleTypes() << ", found " << scale;
  if (format->takes(element, /*withIntegers=*/false))
    return success();
  return op.emitOpError("expected elements of type ") // dequantize_fragment C2
         << format->listElements(/*withIntegers=*/false) << " with scales of "
         << scale << ", found " << element;
}

/// Returns true if each thread holds the same elements in both layouts, and
/// pairs of registers keep their order.
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
    return emitOpError("'reference' requires f8E4M3FN elements and "
                       "power-of-two scales, found ")
           << input.getElementType() << " and " << scales.getElementType();
  if (getFinite() && !getReference()) // dequantize_fragment C8
    return emitOpError(
        "'finite' requires a reference: add 'reference' or omit 'finite'");
  bool isF16 = getReference() && !getFinite();
  Type number = isF16 ? Type(Float16Type::get(getContext()))
                      : Type(BFloat16Type::get(getContext()));
  auto expected = FragmentType::get(number, layout);
  // dequantize_fragment C3
  if (result != expected && (result.getElementType() != number ||
                             !isReordered(layout, result.getLayout())))
    return emitOpError("expected a result of type ")
           << expected << ", or of this type with reordered registers, found "
           << result;
  int64_t block = getBlock();
  // dequantize_fragment C4
  if (block < kSmallestBlock || !llvm::isPowerOf2_64(block))
    return emitOpError("expected a power-of-two block size of at least ")
           << kSmallestBlock << ", found " << block;
  int64_t rows = layout.getRowOffsets().size();
  int64_t blocks = layout.getBlocks(block).size();
  if (auto type = VectorType::get({rows, blocks}, scales.getElementType());
      scales != type) // dequantize_fragment C5
    return emitOpError("expected ")
           << type << ", with one scale for each row and block of a thread"
           << ", found " << scales;
  if (layout.getNumValues() % 4) // dequantize_fragment C6
    return emitOpError("expected the elements of each thread to fill 32-bit "
                       "words, found ")
           << layout.getNumValues() << " in " << input;
  return success();
}

LogicalResult LoadScaleRangeOp::verify() {
  MemRefType type = getTable().getType(); // load_scale_range C1
  if (type.getDimSize(1) * type.getElementTypeBitWidth() != 128)
    return emitOpError("expected a table with 16-byte rows, found ") << type;
  return success();
}
