//===- StoredOperands.cpp - Operands that are in a block format -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A product of numbers that were dequantized reads what they were made of: to
// quantize them again would give the same numbers.
//
//===----------------------------------------------------------------------===//

#include "StoredOperands.h"

using namespace mlir;
using namespace mx;

std::optional<StoredOperand>
mx::findStoredOperand(const MatmulMatch &product,
                      const MatmulMatch::Operand &operand) {
  // Groups have blocks, or tiles of scales, of their own.
  auto dequantize = operand.tensor.getDefiningOp<DequantizeOp>();
  if (!dequantize || getRaggedOfOperand(product, operand) != RaggedKind::None ||
      operand.axis != 1 || dequantize.getOffsets() ||
      dequantize.getGlobalScale())
    return std::nullopt;
  Value elements = dequantize.getInput(), scales = dequantize.getScales();
  Type number = getElementTypeOrSelf(operand.tensor);
  auto elementsType = dyn_cast<RankedTensorType>(elements.getType());
  auto scalesType = dyn_cast<RankedTensorType>(scales.getType());
  // f16 has not the range of scales: its infinities and zeros would be numbers.
  if (!elementsType || elementsType.getEncoding() || !scalesType ||
      scalesType.getRank() != elementsType.getRank() || number.isF16())
    return std::nullopt;
  const Recipe *recipe =
      findRecipe(elementsType.getElementType(), scalesType.getElementType());
  // The factor of NVFP4 belongs to the whole product.
  if (!recipe || recipe->isNVFP4)
    return std::nullopt;
  return StoredOperand{recipe, elements, scales};
}

void mx::useStoredFormats(const MatmulMatch &product, Recipes &recipes) {
  if (recipes.a->isNVFP4 || recipes.b->isNVFP4)
    return;
  Recipes stored = recipes;
  if (auto operand = findStoredOperand(product, product.a))
    stored.a = operand->recipe;
  if (auto operand = findStoredOperand(product, product.b))
    stored.b = operand->recipe;
  // A format of 4 bits wants more of the reduction than others.
  int64_t size = getReductionSize(product);
  int64_t multiple = stored.getMultiple(product.a.tensor.getContext());
  if (product.ragged == RaggedKind::Reduction || ShapedType::isDynamic(size) ||
      size % multiple == 0)
    recipes = stored;
}
