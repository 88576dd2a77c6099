//===- ToManifest.h - The host part of a module as a manifest ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the translation of functions with launches to launch plans.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TRANSLATION_TOMANIFEST_H
#define MX_TRANSLATION_TOMANIFEST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Plan/Plan.h"

namespace mx {

/// The files that a manifest names as its kernels and its constants.
inline constexpr const char *kManifestPtx = "kernels.ptx";
inline constexpr const char *kManifestData = "constants.bin";

/// What a program is beside its kernels: plans, and the bytes of constants.
struct HostPart {
  plan::Manifest manifest;
  std::string data;
};

/// The plans of the public functions of a module as `mx-to-plan` leaves it:
/// kernels are allocated mxgpu.kernels. What a plan cannot express is an error
/// at the operation.
llvm::FailureOr<HostPart> buildHostPart(mlir::ModuleOp module);

/// Reports the declaration of a function that is called, in the same words for
/// every way to run a program.
llvm::LogicalResult refuseMissingBody(mlir::func::FuncOp function);

/// Leaves the kernels, to be lowered.
void eraseHostPart(mlir::ModuleOp module);

/// Registers `--mx-to-manifest`, and `--mx-to-constants` for the bytes.
void registerToManifestTranslation();

} // namespace mx

#endif // MX_TRANSLATION_TOMANIFEST_H
