//===- Passes.h - Passes on the mx dialect ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Passes that stay within the mx dialect, and the interfaces through which
// upstream passes work on it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_TRANSFORMS_PASSES_H
#define MX_DIALECT_MX_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mx {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "mx/Dialect/MX/Transforms/Passes.h.inc"

/// Of an argument or result of a function: its type before it was lowered, as
/// mx-describe-entries leaves it, and the name it has for callers.
inline constexpr llvm::StringLiteral kEntryTypeAttr = "mx.type";
inline constexpr llvm::StringLiteral kEntryNameAttr = "mx.name";

/// Of a linalg operation: why it is not part of a matmul or quantization, as
/// mx-verify-tensors leaves it for remarks.
inline constexpr llvm::StringLiteral kApartAttr = "mx.apart";

/// Tiling (scf.for, scf.forall, tile and fuse) of the mx operations.
void registerTilingInterfaceExternalModels(mlir::DialectRegistry &registry);

/// One-shot bufferization of the mx operations.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace mx

#endif // MX_DIALECT_MX_TRANSFORMS_PASSES_H
