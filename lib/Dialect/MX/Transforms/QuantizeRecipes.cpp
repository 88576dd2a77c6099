//===- QuantizeRecipes.cpp - Formats that products get --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "QuantizeRecipes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mx;

template <typename T>
static Type getRecipeElement(MLIRContext *context) {
  return T::get(context);
}

static constexpr Recipe kRecipes[] = {
    {"mxfp8-e4m3", getRecipeElement<Float8E4M3FNType>},
    {"mxfp8-e5m2", getRecipeElement<Float8E5M2Type>},
    {"mxfp6-e2m3", getRecipeElement<Float6E2M3FNType>},
    {"mxfp6-e3m2", getRecipeElement<Float6E3M2FNType>},
    {"mxfp4", getRecipeElement<Float4E2M1FNType>},
    {"nvfp4", getRecipeElement<Float4E2M1FNType>, /*isNVFP4=*/true},
};

bool Recipe::hasFourBits(MLIRContext *context) const {
  return isa<Float4E2M1FNType>(getElement(context));
}

Type Recipe::getScale(MLIRContext *context) const {
  return isNVFP4 ? Type(Float8E4M3FNType::get(context))
                 : Type(Float8E8M0FNUType::get(context));
}

int64_t Recipes::getMultiple(MLIRContext *context) const {
  int fours = a->hasFourBits(context) + b->hasFourBits(context);
  constexpr int64_t kMultiples[] = {32, 128, 64};
  return kMultiples[fours];
}

const Recipe *mx::findRecipe(StringRef name) {
  const Recipe *found = llvm::find_if(
      kRecipes, [&](const Recipe &recipe) { return recipe.name == name; });
  return found == std::end(kRecipes) ? nullptr : found;
}

std::string mx::listRecipes() {
  return llvm::join(llvm::map_range(kRecipes,
                                    [](const Recipe &recipe) -> std::string {
                                      return recipe.name.str();
                                    }),
                    ", ");
}
