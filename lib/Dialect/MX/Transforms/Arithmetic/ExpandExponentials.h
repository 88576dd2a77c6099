//===- ExpandExponentials.h - Sigmoids as IEEE operations -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See docs/reference/Math.md for the sequences and their errors.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_EXPANDEXPONENTIALS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_EXPANDEXPONENTIALS_H

#include "mlir/IR/PatternMatch.h"

namespace mx {

/// 1 / (1 + exp(-x)) and x / (1 + exp(-x)). Run before `exp` is expanded.
void populateSigmoidExpansionPatterns(mlir::RewritePatternSet &patterns);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_EXPANDEXPONENTIALS_H
