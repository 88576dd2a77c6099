//===- Schedule.h - where ptxas has put instructions ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp issues machine code in order. Within a block, each instruction has a
// place: the cycles after the block's begin at which it issues if nothing keeps
// it. What does keep it (a result that comes later, a pipe that others use)
// delays what comes after it in the machine code, not in the PTX.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_SCHEDULE_H
#define MXSIM_LIB_TIME_SCHEDULE_H

#include "Prices.h"
#include "Registers.h"

namespace mx::sim::time {

/// An instruction of machine code: what it takes, and when if nothing keeps it.
struct Step {
  uint32_t place = 0;
  uint32_t waits = 0;     ///< in Schedule::waits
  uint16_t tensor = 0;    ///< cycles of the quarter's tensor core
  uint16_t constants = 0; ///< the line of constants that it reads; 0: none
  Pipe pipe = Pipe::None;
  /// Its constants come later, when this counter says so.
  bool loads = false;
  uint8_t counter = 0;
  uint8_t counters = 0; ///< for which it waits, bit by bit
};

struct Schedule {
  std::vector<Step> steps;     ///< of one block after the other, by place
  std::vector<uint32_t> lines; ///< of the PTX, of each step; 0: none
  /// Registers (Registers.h) that steps wait for by counters, in each list
  /// once; the first list is empty. ptxas may use a result before the code that
  /// comes before the use in the PTX.
  std::vector<std::vector<Registers::Part>> waits = {{}};
  /// Where the steps of each block of the PTX begin, and their end. Empty
  /// without machine code.
  std::vector<uint32_t> begins;
  /// Lines of constants have numbers from 1 to this one.
  uint32_t lastConstants = 0;
  /// That of the first line with parameters, where a register may say which of
  /// them are read, else 0; and where in that line they begin.
  uint32_t parameters = 0, parametersBegin = 0;
  bool isEmpty() const { return begins.empty(); }
};

/// Gives each instruction its block, its place, and what it takes of the pipes,
/// from its machine code; an empty schedule where the listing does not have the
/// kernel, or has it of another text.
///
/// Blocks of machine code belong to a block of PTX from which many of their
/// instructions come, and which is in as many loops. ptxas unrolls loops, and
/// repeats code where paths part: of what is there n times, one counts.
Schedule readSchedule(const Program &program, const Chip &chip,
                      std::string_view listing, std::vector<Price> &prices);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_SCHEDULE_H
