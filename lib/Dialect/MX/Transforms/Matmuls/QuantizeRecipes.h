//===- QuantizeRecipes.h - Formats of quantized matmuls ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_QUANTIZERECIPES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_QUANTIZERECIPES_H

#include "MatmulMatch.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mx/BlockFormats/BlockFormat.h"

namespace mx {

/// Block format of an operand.
using Recipe = OperandFormat;

/// Recipes of both operands of a matmul.
struct Recipes {
  const Recipe *a = nullptr, *b = nullptr;
  /// True if the operand is folded.
  bool foldsA = false, foldsB = false;

  /// Returns the required divisor of the reduction dimension
  /// (docs/reference/Formats.md).
  int64_t getMultiple(mlir::MLIRContext *context) const;
};

/// Returns the recipes of these names. An unknown recipe is null.
Recipes findRecipes(llvm::StringRef a, llvm::StringRef b);
/// Returns the recipe of an unfolded operand, or null.
const Recipe *findRecipe(mlir::Type element, mlir::Type scale);
/// Returns the name that `findRecipes` accepts.
std::string getRecipeName(const Recipe &recipe, bool isFolded);

std::string listRecipes();

/// Operation attribute that overrides the recipe: a name, or a pair of names.
inline constexpr llvm::StringLiteral kRecipeAttr = "mx.recipe";

/// Returns the recipe names of both operands, or a list of another length if
/// the attribute is missing or invalid.
llvm::SmallVector<llvm::StringRef, 2> getRecipeNames(mlir::Operation *op);

/// Returns true if the attribute excludes the operation from quantization.
bool isLeftAlone(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Operands in block formats
//===----------------------------------------------------------------------===//

/// Operand that the program has quantized, such as weights of a checkpoint.
struct StoredOperand {
  const Recipe *recipe;
  mlir::Value elements, scales;
};

/// Returns the elements and scales from which `operand` was dequantized, if a
/// matmul can read them directly. This requires blocks along the reduction.
std::optional<StoredOperand>
findStoredOperand(const MatmulMatch &matmul,
                  const MatmulMatch::Operand &operand);

/// Replaces recipes by the formats in which operands are stored.
void useStoredFormats(const MatmulMatch &matmul, Recipes &recipes);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_QUANTIZERECIPES_H
