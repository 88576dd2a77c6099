//===- ExpandExponentials.h - exp and sigmoid as IEEE operations *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See docs/Math.md for the sequences and their errors.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_EXPANDEXPONENTIALS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_EXPANDEXPONENTIALS_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace mx {

/// 1 / (1 + exp(-x)) and x / (1 + exp(-x)). Run before `exp` is expanded.
void populateSigmoidExpansionPatterns(mlir::RewritePatternSet &patterns);

/// exp, in place of upstream's expansion.
void populateExpExpansionPatterns(mlir::RewritePatternSet &patterns);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_EXPANDEXPONENTIALS_H
