//===- Passes.h - Passes on the mx dialect ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes within the mx dialect, and external models for upstream passes.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_TRANSFORMS_PASSES_H
#define MX_DIALECT_MX_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mx {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "mx/Dialect/MX/Transforms/Passes.h.inc"

/// Attributes of arguments and results that mx-describe-entries sets: the type
/// before lowering, and the name for callers.
inline constexpr llvm::StringLiteral kEntryTypeAttr = "mx.type";
inline constexpr llvm::StringLiteral kEntryNameAttr = "mx.name";

/// Attribute of a linalg operation, set by mx-verify-tensors for remarks: the
/// reason why the operation is not part of a matmul or quantization.
inline constexpr llvm::StringLiteral kApartAttr = "mx.apart";

/// Registers tiling (scf.for, scf.forall, tile and fuse) of mx operations.
void registerTilingInterfaceExternalModels(mlir::DialectRegistry &registry);

void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace mx

#endif // MX_DIALECT_MX_TRANSFORMS_PASSES_H
