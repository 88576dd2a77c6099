//===- Prices.h - what instructions of PTX cost -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table by opcode, type and width. ptxas makes other code of PTX than one
// instruction for each: it drops moves, and 64-bit arithmetic takes several.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_PRICES_H
#define MXSIM_LIB_TIME_PRICES_H

#include "../machine/Program.h"
#include "Facts.h"
#include "Needs.h"

namespace mx::sim::time {

/// The pipes of a scheduler. An instruction of a warp takes a pipe of 32 lanes
/// for one cycle, one of 16 lanes for two.
enum class Pipe : uint8_t {
  None,
  Fma,      ///< 32 lanes: f32
  Alu,      ///< 16 lanes: integers, logic, comparisons, conversions of pairs
  Multiply, ///< 16 lanes: products of integers and of halves
  Convert,  ///< 8 lanes: shfl, conversions to 8 bits
  Special,  ///< 4 lanes: functions, conversions of integers
  Uniform,  ///< one value for a warp
  Count
};
constexpr unsigned kPipes = unsigned(Pipe::Count);
/// Cycles that an instruction takes each pipe.
constexpr std::array<unsigned, kPipes> kIntervals = {1, 1, 2, 2, 4, 8, 2};

struct Price {
  /// Machine instructions by pipe; each takes a slot of the scheduler.
  std::array<uint8_t, kPipes> counts = {};
  uint16_t slots = 0;   ///< all of them
  uint16_t latency = 0; ///< until the result can be used
  uint16_t tensor = 0;  ///< cycles of the quarter's tensor core: mma.sync
  Cause cause = kIssue; ///< of the latency
  /// Warps see each other in it: executed in the order of time.
  bool isPoint = false;
  /// mbarrier.try_wait that may fail: no loop repeats it, and the program does
  /// not say how long it may wait.
  bool isPeek = false;
  /// It asks L2, whose answers depend on who came first.
  bool isRequest = false;
  /// L1 does not keep what it loads.
  bool passesL1 = false;
  /// What comes after in the text is not executed before.
  bool endsBlock = false;
  /// What comes after begins when the result is there.
  bool holds = false;
  bool isBranch = false;

  //===-- With machine code (Schedule.h) ----------------------------------===//

  uint32_t block = 0;     ///< Schedule::begins
  uint32_t place = 0;     ///< cycles from the begin of its block to its issue
  uint32_t length = 0;    ///< of its block, in cycles
  uint8_t stall = 0;      ///< cycles from the issue of its last to the next
  bool isLeader = false;  ///< the first of its block
  bool isLast = false;    ///< and the last
  bool isFree = false;    ///< other instructions' machine code does its work
  bool isDropped = false; ///< ptxas has found it unnecessary
  bool jumps = true;      ///< its machine code has a branch
  bool isIndexed = false; ///< it loads constants, and a register says which
  Work work;
  /// Instructions from here on, one after the other, that take no time and of
  /// which nothing but registers knows.
  uint16_t quiet = 0;
  /// Executes it where not all of it is done, else null.
  Handler instead = nullptr;
};

struct Schedule;

/// The price of each instruction of a program. `listing`: its machine code
/// (MachineCode.h), or empty; `schedule`: the part of it that is the kernel's.
std::vector<Price> pricesOf(const Program &program, const Chip &chip,
                            std::string_view listing, Schedule &schedule);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_PRICES_H
