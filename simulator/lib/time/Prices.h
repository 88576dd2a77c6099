//===- Prices.h - Costs of PTX instructions ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs by opcode, type and width. ptxas does not map PTX to machine code one
// to one. For example, it drops moves, and expands 64-bit arithmetic to several
// instructions.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_PRICES_H
#define MXSIM_LIB_TIME_PRICES_H

#include "../machine/Program.h"
#include "Facts.h"
#include "Needs.h"

namespace mx::sim::time {

/// Pipes of a scheduler. A warp instruction occupies a 32-lane pipe for one
/// cycle and a 16-lane pipe for two.
enum class Pipe : uint8_t {
  None,
  Fma,      ///< 32 lanes: f32
  Alu,      ///< 16 lanes: integers, logic, comparisons, conversions of pairs
  Multiply, ///< 16 lanes: integer and half multiplication
  Convert,  ///< 8 lanes: shfl, conversions to 8 bits
  Special,  ///< 4 lanes: functions, conversions of integers
  Uniform,  ///< one value per warp
  Count
};
constexpr unsigned kPipes = unsigned(Pipe::Count);
/// Cycles for which an instruction occupies each pipe.
constexpr std::array<unsigned, kPipes> kIntervals = {1, 1, 2, 2, 4, 8, 2};

struct Price {
  /// Machine instructions by pipe. Each takes a scheduler slot.
  std::array<uint8_t, kPipes> counts = {};
  uint16_t slots = 0;   ///< sum of `counts`
  uint16_t latency = 0; ///< cycles until the result is available
  uint16_t tensor = 0;  ///< tensor-core cycles of mma.sync
  Cause cause = kIssue; ///< cause of the latency
  /// True for synchronization points, which execute in time order.
  bool isPoint = false;
  /// True for an mbarrier.try_wait outside a polling loop and without a time
  /// limit. It may fail.
  bool isPeek = false;
  /// True for requests to L2. Responses depend on the order of requests.
  bool isRequest = false;
  /// Bypasses L1.
  bool passesL1 = false;
  /// Later instructions in the text do not issue before this instruction.
  bool endsBlock = false;
  /// Later instructions wait for the result.
  bool holds = false;
  bool isBranch = false;
  bool isWgmma = false;
  bool isShuffle = false;

  //===-- With machine code (Schedule.h) ----------------------------------===//

  uint32_t block = 0;     ///< index in Schedule::begins
  uint32_t place = 0;     ///< cycles from the start of the block to the issue
  uint32_t length = 0;    ///< cycles of the block
  uint8_t stall = 0;      ///< cycles from the issue of its last machine
                          ///< instruction to the next
  bool isLeader = false;  ///< first of its block
  bool isLast = false;    ///< last of its block
  bool isFree = false;    ///< covered by machine code of other instructions
  bool isDropped = false; ///< eliminated by ptxas
  bool jumps = true;      ///< machine code contains a branch
  bool isIndexed = false; ///< loads constants at an offset in a register
  Work work;
  /// Number of consecutive instructions, including this instruction, that take
  /// no time and only change registers.
  uint16_t quiet = 0;
  /// Handler of an instruction with reduced work, or null.
  Handler instead = nullptr;
};

struct Schedule;

/// Returns the price of each instruction. `listing` contains machine code
/// (MachineCode.h) or is empty. `schedule` receives the kernel's part of the
/// listing.
std::vector<Price> pricesOf(const Program &program, const Chip &chip,
                            std::string_view listing, Schedule &schedule);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_PRICES_H
