//===- Schedule.h - Machine code schedule of PTX instructions ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp issues machine code in order. The offset of an instruction in its
// block is its issue cycle without delays. A delay, such as a late operand or a
// busy pipe, shifts all later machine code, regardless of the order in the PTX.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_SCHEDULE_H
#define MXSIM_LIB_TIME_SCHEDULE_H

#include "Prices.h"
#include "Registers.h"

namespace mx::sim::time {

/// Machine instruction with its offset and resources.
struct Step {
  uint32_t place = 0;
  uint32_t waits = 0;     ///< index in Schedule::waits
  uint16_t tensor = 0;    ///< tensor-core cycles
  uint16_t constants = 0; ///< constant line read, or 0
  Pipe pipe = Pipe::None;
  /// Loads the constants asynchronously; `counter` signals the arrival.
  bool loads = false;
  uint8_t counter = 0;
  uint8_t counters = 0; ///< mask of counters to wait for
  bool readsThree = false;
};

struct Schedule {
  std::vector<Step> steps;     ///< steps of each block, ordered by offset
  std::vector<uint32_t> lines; ///< PTX line of each step, or 0
  /// Lists of registers (Registers.h) that steps wait for through counters,
  /// without duplicates. The first list is empty. ptxas may schedule the use of
  /// a result before code that precedes the use in the PTX.
  std::vector<std::vector<Registers::Part>> waits = {{}};
  /// First step of each PTX block, and the end. Empty without machine code.
  std::vector<uint32_t> begins;
  /// Constant lines are numbered from 1 to `lastConstants`.
  uint32_t lastConstants = 0;
  /// Number of the first line of parameters, and offset of the parameters in
  /// that line. The number is 0 unless a register indexes parameters.
  uint32_t parameters = 0, parametersBegin = 0;
  bool isEmpty() const { return begins.empty(); }
};

/// Assigns block, offset and pipe usage from machine code to each instruction.
/// Returns an empty schedule if the listing lacks the kernel or contains a
/// different version.
///
/// A block of machine code belongs to the PTX block with the same loop depth
/// from which most of its instructions come. If ptxas unrolled or duplicated
/// code n times, only one copy is timed.
Schedule readSchedule(const Program &program, const Chip &chip,
                      std::string_view listing, std::vector<Price> &prices);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_SCHEDULE_H
