//===- EntryCall.h - Calls of entries on host arrays ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by mx-launch and mx-run.
//===----------------------------------------------------------------------===//

#ifndef MX_LAUNCH_ENTRYCALL_H
#define MX_LAUNCH_ENTRYCALL_H

#include "mx_program.h"
#include "mxsim/io/Npy.h"

#include <chrono>
#include <memory>

namespace mx {

/// Copies `inputs` to the device, launches the entry and copies the results
/// back. The types of `inputs` must match the entry. On failure returns false
/// and sets `why`. If `why` is empty, the error is the runtime's last error.
bool callEntry(mxEntry entry, const std::vector<const NpyArray *> &inputs,
               std::vector<NpyArray> &results, std::string &why);

/// Clears the runtime's last error and returns its message and mxStatus.
std::string takeRuntimeMessage(int &status);

void printSimulatorCounters();

/// Prints the duration of each part of a run to stderr, if enabled.
class LapTimer {
public:
  explicit LapTimer(bool enabled) : enabled(enabled) {}
  void lap(const char *part);

private:
  using Clock = std::chrono::steady_clock;
  bool enabled;
  Clock::time_point start = Clock::now();
};

struct UnloadProgram {
  void operator()(mxProgram program) const { (void)mxProgramUnload(program); }
};
using LoadedProgram = std::unique_ptr<mxProgramImpl, UnloadProgram>;

/// Loads a program from memory. Returns null after a runtime error. Messages
/// refer to `code` as `name`.
LoadedProgram loadProgram(const std::string &manifest, const std::string &code,
                          const std::string &data, const char *name);

struct DestroyGroup {
  void operator()(mxGroup group) const { (void)mxGroupDestroy(group); }
};
using OwnedGroup = std::unique_ptr<mxGroupImpl, DestroyGroup>;

} // namespace mx

#endif // MX_LAUNCH_ENTRYCALL_H
