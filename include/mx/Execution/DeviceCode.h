//===- DeviceCode.h - Compile a module for a GPU ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Shared by programs that run in process and programs written to a directory.
//
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_DEVICECODE_H
#define MX_EXECUTION_DEVICECODE_H

#include "mx/Target/TargetInfo.h"
#include "mx/Translation/ToManifest.h"
#include <string>

namespace mx {

struct MXToNVVMOptions;

/// Options of code for a GPU: those of `mx-to-nvvm` that users choose.
struct DeviceOptions {
  std::string chip = target::kDefaultChip;
  /// Print to stderr which schedule each matmul gets, and why.
  bool explain = false;
  /// Whether operations are fused.
  bool fuse = true;
  /// Most schedules of a matmul of unknown sizes.
  int64_t maxSchedules = target::kMaxSchedules;
  /// Table of measured schedules, and the GPU whose entries are taken.
  std::string tuned, tunedGpu;
};

/// Sets the pipeline's options to those of a module without host code.
void setPipelineOptions(MXToNVVMOptions &pipeline,
                        const DeviceOptions &options);

/// Plans, constants and kernels of a program.
struct DeviceCode : HostPart {
  /// Empty without kernels.
  std::string ptx;
};

/// Lowers `module`, which contains no host code, in place. Errors are
/// diagnostics. Writes the module after each pass to the directory `saveTemps`
/// unless that is empty.
llvm::FailureOr<DeviceCode>
compileDeviceCode(mlir::ModuleOp module, const DeviceOptions &options,
                  const std::string &saveTemps = {});

} // namespace mx

#endif // MX_EXECUTION_DEVICECODE_H
