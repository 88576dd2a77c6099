//===- Needs.h - which values decide something ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where only the time of a launch counts, values are computed as far as they
// can decide something: a branch, which lanes access memory, an address, an
// operand of a barrier or of an engine. All others are left out, and their
// instructions only take their time.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_NEEDS_H
#define MXSIM_LIB_TIME_NEEDS_H

#include "../machine/Program.h"

namespace mx::sim::time {

/// What is done of an instruction.
struct Work {
  enum Part : uint8_t {
    All,
    Time, ///< nothing but to take its time
    /// The same, where all lanes of the warp are there: they need not meet.
    TimeTogether,
    Access, ///< a load or store goes to its addresses, and moves nothing
  } part = All;
  // What it does with bytes of memory.
  bool leavesOut = false; ///< it does not store what it should
  bool stores = false;
  bool decides = false;  ///< something decides by what it loads
  bool passesOn = false; ///< it loads what is stored again
};

struct Needs {
  std::vector<Work> work; ///< by instruction
  /// No byte of shared memory decides anything: copies need not move them.
  bool leavesOutShared = false;
  /// The instruction that decides by an MMA, so that all values are computed,
  /// or null.
  const InstrInfo *ofMmas = nullptr;
};

/// `onlyMmas`: all else is computed, whatever it is good for.
Needs findNeeds(const Program &program, bool onlyMmas);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_NEEDS_H
