//===- QuantizeRecipes.h - Formats that matmuls get -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_QUANTIZERECIPES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_QUANTIZERECIPES_H

#include "MatmulMatch.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mx/BlockFormats/BlockFormat.h"

namespace mx {

/// How a matmul's operand is quantized.
using Recipe = OperandFormat;

/// Those of both operands of a matmul.
struct Recipes {
  const Recipe *a = nullptr, *b = nullptr;

  /// What the reduction dimension must be a multiple of
  /// (docs/reference/Formats.md).
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

//===----------------------------------------------------------------------===//
// Operands that are in a block format
//===----------------------------------------------------------------------===//

/// What a program has quantized before, as the weights of a checkpoint.
struct StoredOperand {
  const Recipe *recipe;
  mlir::Value elements, scales;
};

/// The elements and scales of which `operand` has the numbers, if a matmul can
/// read them as they are: blocks lie along what is summed over.
std::optional<StoredOperand>
findStoredOperand(const MatmulMatch &matmul,
                  const MatmulMatch::Operand &operand);

/// Chooses the formats that operands are stored in.
void useStoredFormats(const MatmulMatch &matmul, Recipes &recipes);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_QUANTIZERECIPES_H
