//===- QuantizeRecipes.h - Formats that products get ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_QUANTIZERECIPES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_QUANTIZERECIPES_H

#include "mlir/IR/BuiltinTypes.h"

namespace mx {

/// Elements and scales of an operand.
struct Recipe {
  llvm::StringLiteral name;
  mlir::Type (*getElement)(mlir::MLIRContext *);
  bool isNVFP4 = false;

  bool hasFourBits(mlir::MLIRContext *context) const;
  mlir::Type getScale(mlir::MLIRContext *context) const;
};

/// Those of both operands of a product.
struct Recipes {
  const Recipe *a = nullptr, *b = nullptr;

  /// What the reduction dimension must be a multiple of (docs/Formats.md).
  int64_t getMultiple(mlir::MLIRContext *context) const;
};

/// Null if there is no such recipe.
const Recipe *findRecipe(llvm::StringRef name);
const Recipe *findRecipe(mlir::Type element, mlir::Type scale);

/// Their names, for messages.
std::string listRecipes();

/// Of an operation that has a recipe, or two, of its own.
inline constexpr llvm::StringLiteral kRecipeAttr = "mx.recipe";

/// The names of both operands' recipes; not two if the attribute is missing, or
/// of another form.
llvm::SmallVector<llvm::StringRef, 2> getRecipeNames(mlir::Operation *op);

/// Whether the attribute says so.
bool isLeftAlone(mlir::Operation *op);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_QUANTIZERECIPES_H
