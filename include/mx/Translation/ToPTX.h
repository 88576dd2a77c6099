//===- ToPTX.h - Translation of kernels to PTX ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_TRANSLATION_TOPTX_H
#define MX_TRANSLATION_TOPTX_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mx {

/// Writes the PTX of every `gpu.module` in `module`, in order. Kernels must be
/// `llvm.func`s, as `mx-to-nvvm` produces.
llvm::LogicalResult translateToPTX(mlir::ModuleOp module,
                                   llvm::raw_ostream &os);

/// Registers the NVVM target and the translations of all dialects in lowered
/// kernels, as serialization requires.
void registerPTXDialects(mlir::DialectRegistry &registry);

void registerToPTXTranslation();

} // namespace mx

#endif // MX_TRANSLATION_TOPTX_H
