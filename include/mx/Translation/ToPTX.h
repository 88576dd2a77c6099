//===- ToPTX.h - Print the kernels of a module as PTX -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the translation of lowered `gpu.module`s to PTX text.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TRANSLATION_TOPTX_H
#define MX_TRANSLATION_TOPTX_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mx {

/// Writes the PTX of every `gpu.module` in `module`, in order. The kernels
/// must be `llvm.func`s, as `mx-to-nvvm` leaves them.
llvm::LogicalResult translateToPTX(mlir::ModuleOp module,
                                   llvm::raw_ostream &os);

/// Adds what serialization of kernels needs: the NVVM target and the
/// translations of the dialects that lowered kernels are made of.
void registerPTXDialects(mlir::DialectRegistry &registry);

/// Registers `--mx-to-ptx`.
void registerToPTXTranslation();

} // namespace mx

#endif // MX_TRANSLATION_TOPTX_H
