//===- Program.h - Compiled programs ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded program and its entries do not change, so that any number of
// threads may launch them.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_PROGRAM_H
#define MX_RUNTIME_LIB_PROGRAM_PROGRAM_H

#include "../Device.h"
#include "mx/Plan/Plan.h"
#include "mx_program.h"

struct mxEntryImpl {
  const mx::plan::Entry *plan;
  mx::runtime::Device *device;
  /// Of the manifest, in its order.
  const std::vector<mx::runtime::Function *> *kernels;
  const std::vector<mx::plan::Kernel> *kernelInfos;
  const std::vector<mx::plan::Constant> *constants;
  const std::vector<int64_t> *constantAddresses;
  /// What mxValueInfo points at.
  std::vector<std::vector<int64_t>> resultShapes;
  /// Of plan::findAddresses.
  std::vector<bool> addresses;
  /// No other entry has it, nor had: addresses are used again.
  int64_t serial = 0;
  /// Of runtime::canCache and countWords.
  bool canCache = false;
  size_t wordCount = 0;
};

namespace mx::runtime {

Error loadProgram(const char *directory, mxProgram &program);
Error loadProgram(const mxProgramParts &parts, mxProgram &program);
Error unloadProgram(mxProgram program);
Error getEntry(mxProgram program, const char *name, mxEntry &entry);
Error getEntry(mxProgram program, int32_t index, mxEntry &entry);
Error countEntries(mxProgram program, int32_t &count);
/// That the handle is alive.
Error checkEntry(mxEntry entry);

struct Call {
  const mxArgument *arguments;
  int32_t argumentCount;
  void *const *results = nullptr;
  int32_t resultCount = 0;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
  void *stream = nullptr;
};

/// The shape of result `index`, into `shape`.
Error getResultShape(const mxEntryImpl &entry, const Call &call, int32_t index,
                     int64_t *shape);
Error getWorkspaceBytes(const mxEntryImpl &entry, const Call &call,
                        size_t &bytes);
Error launchEntry(const mxEntryImpl &entry, const Call &call);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_PROGRAM_H
