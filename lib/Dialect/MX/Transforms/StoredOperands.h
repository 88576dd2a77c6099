//===- StoredOperands.h - Operands that are in a block format ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_STOREDOPERANDS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_STOREDOPERANDS_H

#include "MatmulMatch.h"
#include "QuantizeRecipes.h"

namespace mx {

/// What a program has quantized before, as the weights of a checkpoint.
struct StoredOperand {
  const Recipe *recipe;
  mlir::Value elements, scales;
};

/// The elements and scales of which `operand` has the numbers, if a product can
/// read them as they are: blocks lie along what is summed over.
std::optional<StoredOperand>
findStoredOperand(const MatmulMatch &product,
                  const MatmulMatch::Operand &operand);

/// Chooses the formats that operands are stored in.
void useStoredFormats(const MatmulMatch &product, Recipes &recipes);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_STOREDOPERANDS_H
