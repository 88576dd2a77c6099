//===- DeviceCode.h - Compilation of modules for a GPU ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compilation that in-process programs and programs in directories share.
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_DEVICECODE_H
#define MX_EXECUTION_DEVICECODE_H

#include "mx/Target/TargetInfo.h"
#include "mx/Translation/ToManifest.h"
#include <string>

namespace mx {

struct MXToNVVMOptions;

/// User options of `mx-to-nvvm`.
struct DeviceOptions {
  std::string chip = target::kDefaultChip;
  /// Print the schedule of each matmul and its reasons to stderr.
  bool explain = false;
  bool fuse = true;
  /// Maximum number of schedules for a matmul with dynamic sizes.
  int64_t maxSchedules = target::kMaxSchedules;
  /// Let kernels access windows of other ranks.
  bool peerStores = false;
  /// Table of measured schedules, and the GPU whose entries are used.
  std::string tuned, tunedGpu;
};

/// Sets the pipeline options for a module without host code.
void setPipelineOptions(MXToNVVMOptions &pipeline,
                        const DeviceOptions &options);

/// Plans, constants and kernels of a program.
struct DeviceCode : HostPart {
  /// Empty without kernels.
  std::string ptx;
};

/// Lowers `module`, which must not contain host code, in place. Reports errors
/// as diagnostics. Writes the module after each pass to the directory
/// `saveTemps` unless that is empty.
llvm::FailureOr<DeviceCode>
compileDeviceCode(mlir::ModuleOp module, const DeviceOptions &options,
                  const std::string &saveTemps = {});

} // namespace mx

#endif // MX_EXECUTION_DEVICECODE_H
