//===- Blocks.cpp - Block structure of scales -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

std::string mx::import::printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Reason mx::import::checkResult(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<Float32Type, BFloat16Type, Float16Type>(element))
    return "its result is " + printType(element) +
           " instead of f32, bf16 or f16";
  if (auto ranked = dyn_cast<RankedTensorType>(type);
      ranked && ranked.getEncoding())
    return "its result has an encoding";
  return {};
}

bool mx::import::isElementType(Type type) {
  return getPowerOfTwoFormat().takes(type, /*withIntegers=*/false);
}

FailureOr<Index> mx::import::dropBlock(const Index &columns, int64_t block) {
  FailureOr<Indices> digits = split(columns, {ShapedType::kDynamic, block});
  if (failed(digits))
    return failure();
  return (*digits)[0];
}

/// Returns true if the dimensions of `scales` form a group for each index of
/// `rows`, and a group for `blocks`.
static bool areScalesOf(const Leaf &scales, ArrayRef<Index> rows,
                        const Index &blocks) {
  Indices groups(rows);
  groups.push_back(blocks);
  return succeeded(arrange(scales.dims, groups));
}

static bool hasEncoding(const Leaf &leaf) {
  return bool(cast<RankedTensorType>(leaf.tensor.getType()).getEncoding());
}

/// Returns the number of columns that share a scale, and sets `blocks` to the
/// indices of the blocks.
static std::optional<int64_t> findBlockSize(const Leaf &scales,
                                            ArrayRef<Index> rows,
                                            const Index &columns,
                                            Index &blocks) {
  // If the number of columns is not known, try powers of two.
  int64_t count = countValues(columns), end = count ? count : 1 << 20;
  for (int64_t block = 1; block <= end; ++block) {
    if (count ? count % block != 0 : !llvm::isPowerOf2_64(block))
      continue;
    FailureOr<Index> found = dropBlock(columns, block);
    if (failed(found) || !areScalesOf(scales, rows, *found))
      continue;
    blocks = *found;
    return block;
  }
  return std::nullopt;
}

Reason mx::import::findBlocks(const Factor &factor, ArrayRef<Index> rows,
                              const Index &columns, const Options &options,
                              Blocks &blocks) {
  const Leaf &scales = *factor.scales;
  int64_t wanted = getBlockFormat(scales.element).blockSize;
  if (hasEncoding(scales) || hasEncoding(factor.elements))
    return "its elements or scales have an encoding";
  std::optional<int64_t> size =
      findBlockSize(scales, rows, columns, blocks.index);
  if (size && *size % wanted == 0) {
    blocks.repeats = *size / wanted;
    return {};
  }
  if (size)
    return "each scale applies to " + std::to_string(*size) +
           (*size == 1 ? " element" : " elements") + ", not to a multiple of " +
           std::to_string(wanted) + " as required for scales of type " +
           printType(scales.element);
  // A last digit with a dynamic size may be a block.
  blocks.index = columns;
  if (columns.size() > 1 && columns.back().isDynamic()) {
    blocks.index.pop_back();
    if (areScalesOf(scales, rows, blocks.index))
      return options.dynamicBlocks
                 ? ""
                 : "its block size is not known; use dynamic-blocks to assume "
                   "a block size of " +
                       std::to_string(wanted);
  }
  return "its scales do not belong to blocks along the reduction dimension or "
         "the last dimension";
}

Value mx::import::arrangeScales(OpBuilder &builder, Location loc,
                                const Leaf &scales, ArrayRef<Index> rows,
                                const Blocks &blocks) {
  Indices groups(rows);
  groups.push_back(blocks.index);
  Value tensor = arrangeTensor(builder, loc, scales, groups);
  if (blocks.repeats == 1)
    return tensor;
  int64_t rank = groups.size();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor);
  sizes.push_back(builder.getIndexAttr(blocks.repeats));
  Value empty = makeEmpty(builder, loc, sizes, getElementTypeOrSelf(tensor));
  Value repeated =
      linalg::BroadcastOp::create(builder, loc, tensor, empty, rank)
          ->getResult(0);
  SmallVector<ReassociationIndices> dims;
  for (int64_t dim : llvm::seq(rank))
    dims.push_back({dim});
  dims.back().push_back(rank);
  return tensor::CollapseShapeOp::create(builder, loc, repeated, dims);
}

Value mx::import::dequantize(OpBuilder &builder, Location loc, Value elements,
                             Value scales, Type result) {
  Value empty = makeEmpty(
      builder, loc, tensor::getMixedSizes(builder, loc, elements), result);
  return DequantizeOp::create(
             builder, loc, TypeRange{empty.getType()}, elements, scales,
             /*global_scale=*/Value(), /*offsets=*/Value(), ValueRange{empty},
             RaggedKindAttr(), /*padded=*/false,
             BlockShape(getBlockFormat(getElementTypeOrSelf(scales)).blockSize))
      ->getResult(0);
}
