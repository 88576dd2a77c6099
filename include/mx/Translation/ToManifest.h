//===- ToManifest.h - Translation of host code to manifests -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_TRANSLATION_TOMANIFEST_H
#define MX_TRANSLATION_TOMANIFEST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Plan/Plan.h"

namespace mx {

/// File names of kernels and constants in manifests.
inline constexpr const char *kManifestPtx = "kernels.ptx";
inline constexpr const char *kManifestData = "constants.bin";

/// Host part of a program: plans, and the bytes of constants.
struct HostPart {
  plan::Manifest manifest;
  std::string data;
};

/// Builds the plans of a module's public functions from the output of
/// `mx-to-plan`. Kernels are allocated mxgpu.kernels. Operations that a plan
/// cannot express are reported as errors.
llvm::FailureOr<HostPart> buildHostPart(mlir::ModuleOp module);

/// Reports an error for a called function without a body. All ways to run a
/// program use this message.
llvm::LogicalResult refuseMissingBody(mlir::func::FuncOp function);

/// Erases host functions and keeps the kernels for lowering.
void eraseHostPart(mlir::ModuleOp module);

/// Registers `--mx-to-manifest`, and `--mx-to-constants` for the constants.
void registerToManifestTranslation();

} // namespace mx

#endif // MX_TRANSLATION_TOMANIFEST_H
