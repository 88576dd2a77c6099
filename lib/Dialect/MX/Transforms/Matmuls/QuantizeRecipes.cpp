//===- QuantizeRecipes.cpp - Formats of quantized matmuls -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "QuantizeRecipes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mx;

int64_t Recipes::getMultiple(MLIRContext *context) const {
  auto hasFourBits = [](const Recipe &recipe) {
    return getInfo(recipe.element).bits == 4;
  };
  int fours = hasFourBits(*a) + hasFourBits(*b);
  constexpr int64_t kMultiples[] = {32, 128, 64};
  return kMultiples[fours];
}

/// Returns the first recipe that satisfies `is`, or null.
static const Recipe *findRecipeIf(function_ref<bool(const Recipe &)> is) {
  auto *found = llvm::find_if(getOperandFormats(), is);
  return found == getOperandFormats().end() ? nullptr : found;
}

/// Suffix of the recipes with folded operands.
static constexpr llvm::StringLiteral kFolded = "-fast";

/// Returns true if operands in this recipe can be folded.
static bool canFold(const Recipe &recipe) {
  return recipe.scale == getPowerOfTwoFormat().scale &&
         getInfo(recipe.element).bits == 8;
}

std::string mx::getRecipeName(const Recipe &recipe, bool isFolded) {
  return (recipe.name + (isFolded ? kFolded : "")).str();
}

static const Recipe *findRecipe(StringRef name, bool &isFolded) {
  isFolded = name.consume_back(kFolded);
  return findRecipeIf([&](const Recipe &recipe) {
    return recipe.name == name && (!isFolded || canFold(recipe));
  });
}

Recipes mx::findRecipes(StringRef a, StringRef b) {
  Recipes recipes;
  recipes.a = ::findRecipe(a, recipes.foldsA);
  recipes.b = ::findRecipe(b, recipes.foldsB);
  return recipes;
}

const Recipe *mx::findRecipe(Type element, Type scale) {
  MLIRContext *context = element.getContext();
  return findRecipeIf([&](const Recipe &recipe) {
    return recipe.getElementType(context) == element &&
           recipe.getBlockFormat().getScaleType(context) == scale;
  });
}

std::string mx::listRecipes() {
  SmallVector<std::string> names;
  for (bool isFolded : {false, true})
    for (const Recipe &recipe : getOperandFormats())
      if (!isFolded || canFold(recipe))
        names.push_back(getRecipeName(recipe, isFolded));
  return llvm::join(names, ", ");
}

/// Recipe of excluded operations.
static constexpr llvm::StringLiteral kNoRecipe = "none";

SmallVector<StringRef, 2> mx::getRecipeNames(Operation *op) {
  Attribute attr = op->getAttr(kRecipeAttr);
  if (auto name = dyn_cast_if_present<StringAttr>(attr))
    return SmallVector<StringRef, 2>(2, name.getValue());
  SmallVector<StringRef, 2> names;
  if (auto array = dyn_cast_if_present<ArrayAttr>(attr))
    for (auto name : array.getAsRange<StringAttr>())
      names.push_back(name.getValue());
  return names;
}

bool mx::isLeftAlone(Operation *op) {
  SmallVector<StringRef, 2> names = getRecipeNames(op);
  return !names.empty() &&
         llvm::all_of(names, [](StringRef name) { return name == kNoRecipe; });
}

//===----------------------------------------------------------------------===//
// Operands in block formats
//
// A matmul reads the source of dequantized operands, because requantizing them
// would return the same values.
//===----------------------------------------------------------------------===//

std::optional<StoredOperand>
mx::findStoredOperand(const MatmulMatch &matmul,
                      const MatmulMatch::Operand &operand) {
  // Expert groups require separate blocks or tiles of scales.
  auto dequantize = operand.tensor.getDefiningOp<DequantizeOp>();
  if (!dequantize || getRaggedOfOperand(matmul, operand) != RaggedKind::None ||
      operand.axis != 1 || dequantize.getOffsets() ||
      dequantize.getGlobalScale())
    return std::nullopt;
  Value elements = dequantize.getInput(), scales = dequantize.getScales();
  Type number = getElementTypeOrSelf(operand.tensor);
  auto elementsType = dyn_cast<RankedTensorType>(elements.getType());
  auto scalesType = dyn_cast<RankedTensorType>(scales.getType());
  // If the dequantized operand is f16, reading its source would change
  // infinities and zeros, because f16 has a smaller range than the scales.
  if (!elementsType || elementsType.getEncoding() || !scalesType ||
      scalesType.getRank() != elementsType.getRank() || number.isF16())
    return std::nullopt;
  const Recipe *recipe =
      findRecipe(elementsType.getElementType(), scalesType.getElementType());
  // A tensor factor applies to the whole matmul.
  if (!recipe || recipe->getBlockFormat().hasTensorFactor)
    return std::nullopt;
  return StoredOperand{recipe, elements, scales};
}

void mx::useStoredFormats(const MatmulMatch &matmul, Recipes &recipes) {
  if (recipes.a->getBlockFormat().hasTensorFactor ||
      recipes.b->getBlockFormat().hasTensorFactor)
    return;
  Recipes stored = recipes;
  if (auto operand = findStoredOperand(matmul, matmul.a))
    stored.a = operand->recipe;
  if (auto operand = findStoredOperand(matmul, matmul.b))
    stored.b = operand->recipe;
  // For 4-bit formats, the reduction must be a multiple of a larger number.
  int64_t size = getReductionSize(matmul);
  int64_t multiple = stored.getMultiple(matmul.a.tensor.getContext());
  if (matmul.ragged == RaggedKind::Reduction || ShapedType::isDynamic(size) ||
      size % multiple == 0)
    recipes = stored;
}
