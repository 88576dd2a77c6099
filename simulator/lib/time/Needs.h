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
    /// Timing only, with all lanes active: no reconvergence is needed.
    TimeTogether,
    Access, ///< computes addresses, moves no data
  } part = All;
  // Effects on memory.
  bool leavesOut = false; ///< omits its store
  bool stores = false;
  bool decides = false;  ///< its result affects timing
  bool passesOn = false; ///< its result is stored again
};

struct Needs {
  std::vector<Work> work; ///< indexed by instruction
  /// No byte of shared memory affects timing: copies need not move data.
  bool leavesOutShared = false;
  /// Instruction whose timing depends on an MMA, which requires all values; or
  /// null.
  const InstrInfo *ofMmas = nullptr;
};

/// `onlyMmas`: omit MMAs only.
Needs findNeeds(const Program &program, bool onlyMmas);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_NEEDS_H
