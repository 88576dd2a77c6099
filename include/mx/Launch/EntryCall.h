//===- EntryCall.h - Call an entry on arrays of the host --------*- C++ -*-===//
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

/// Copies `inputs`, whose types are those of the entry, to the device, launches
/// the entry and copies the results back. Returns false after an error: its
/// message is `why`, or the runtime's last error if that is empty.
bool callEntry(mxEntry entry, const std::vector<const NpyArray *> &inputs,
               std::vector<NpyArray> &results, std::string &why);

/// Clears the runtime's last error and returns its message and mxStatus.
std::string takeRuntimeMessage(int &status);

/// Prints the simulator's work, if any, to stderr.
void printSimulatorCounters();

/// Prints times of parts to stderr, if enabled.
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

/// Loads a program from memory; null after an error of the runtime. `code` is
/// called `name` in messages.
LoadedProgram loadProgram(const std::string &manifest, const std::string &code,
                          const std::string &data, const char *name);

struct DestroyGroup {
  void operator()(mxGroup group) const { (void)mxGroupDestroy(group); }
};
using OwnedGroup = std::unique_ptr<mxGroupImpl, DestroyGroup>;

} // namespace mx

#endif // MX_LAUNCH_ENTRYCALL_H
