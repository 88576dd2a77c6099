//===- Needs.h - Values that affect timing ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In launches without data, values are computed only if they can affect timing:
// branches, guards of accesses, addresses, and operands of barriers and
// engines. Other instructions only take time.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_NEEDS_H
#define MXSIM_LIB_TIME_NEEDS_H

#include "../machine/Program.h"

namespace mx::sim::time {

/// Work that remains for an instruction.
struct Work {
  enum Part : uint8_t {
    All,
    Time, ///< timing only
    /// Timing only. All lanes are active, so they need not reconverge.
    TimeTogether,
    Access, ///< computes addresses but moves no data
  } part = All;
  // Effects on memory.
  bool leavesOut = false; ///< omits its store
  bool stores = false;
  bool decides = false;  ///< its result affects timing
  bool passesOn = false; ///< its result is stored again
};

struct Needs {
  std::vector<Work> work; ///< indexed by instruction
  /// True if no byte of shared memory affects timing, so copies need not move
  /// data.
  bool leavesOutShared = false;
  /// An instruction with timing that depends on an MMA, or null. If set, all
  /// values are computed.
  const InstrInfo *ofMmas = nullptr;
};

/// Returns the remaining work of each instruction. With `onlyMmas`, omits only
/// the arithmetic of MMAs.
Needs findNeeds(const Program &program, bool onlyMmas);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_NEEDS_H
