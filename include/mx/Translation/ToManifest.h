//===- ToManifest.h - The host part of a module as a manifest ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the translation of functions with launches to launch plans.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TRANSLATION_TOMANIFEST_H
#define MX_TRANSLATION_TOMANIFEST_H

#include "mlir/IR/BuiltinOps.h"
#include "mx/Plan/Plan.h"

namespace mx {

/// The file that a manifest names as its kernels.
inline constexpr const char *kManifestPtx = "kernels.ptx";

/// The plans of the public functions of a module as `mx-to-plan` leaves it:
/// kernels are allocated mxgpu.kernels. What a plan cannot express is an error
/// at the operation.
llvm::FailureOr<plan::Manifest> buildManifest(mlir::ModuleOp module);

/// Registers `--mx-to-manifest`.
void registerToManifestTranslation();

} // namespace mx

#endif // MX_TRANSLATION_TOMANIFEST_H
