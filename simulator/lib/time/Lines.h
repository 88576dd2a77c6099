//===- Lines.h - Cycles of warps by instruction -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cycles between two issues of a warp are charged to the second
// instruction. Waits after the issue, for example at barriers, are charged to
// the instruction itself. Straight-line code is ordered by issue, not by its
// order in the PTX. If the lanes diverge, a cycle is charged only to the group
// that is accounted first, so all charges of a warp add up to its lifetime.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_LINES_H
#define MXSIM_LIB_TIME_LINES_H

#include "mxsim/LineCost.h"

#include "../machine/Machine.h"
#include "Prices.h"

#include <unordered_map>

namespace mx::sim::time {

class Lines {
public:
  Lines(const Machine &machine, const std::vector<Price> &prices,
        bool hasMachineCode);
  void start(const Warp &w, uint64_t cycle);

  //===-- The running warp ------------------------------------------------===//

  /// Sets the group that resumes.
  void resume(const Warp &w);
  /// Records the operand wait of the next synchronization point.
  void await(Moment operand);
  /// Records machine code of PTX line `line`: ready at `due`, issued at
  /// `cycle`.
  void step(uint32_t line, uint64_t due, uint64_t cycle);
  /// Records an instruction with its operand wait and issue cycle.
  void issue(const Warp &w, const Instr *i, Moment operands, uint64_t cycle);
  /// Records the end of execution. `next`: next instruction of the group, or
  /// null.
  void end(const Warp &w, const Instr *i, const Instr *next);

  /// Returns the costs in the order of lines.
  std::vector<LineCost> costs() const;

private:
  struct Issued {
    uint64_t cycle, due; ///< issue cycle; earliest possible issue
    Moment operand;      ///< operand that the instruction awaited
    const Instr *instr;
  };
  /// A group of lanes of the warp.
  struct Strand {
    std::vector<Issued> issued; ///< not accounted yet
    const Instr *last = nullptr;
    Moment awaited = Moment(0, kIssue); ///< operand of the next instruction
    Wait wait = Wait::None;             ///< kind of wait of `last`
  };
  struct Book {
    uint64_t counted = 0; ///< all cycles before this cycle are charged
    std::vector<Strand> strands;
  };
  struct Cost {
    uint64_t executed = 0;
    std::array<uint64_t, kSpent> cycles = {};
  };

  size_t indexOf(const Instr *i) const {
    return size_t(i - machine.program.code.data());
  }
  Strand &enter(const Group &g);
  void count(const Instr *i, int64_t times);
  void spend(const Instr *i, Spent on, uint64_t until);
  void settle(Strand &s, uint64_t end);

  const Machine &machine;
  const std::vector<Price> &prices;
  const bool hasMachineCode;
  std::unordered_map<uint32_t, const Instr *> firstOf; ///< first instruction of
                                                       ///< each line
  std::vector<Spent> waits; ///< wait of each instruction after its issue
  std::vector<Cost> spent;  ///< indexed by instruction
  std::unordered_map<const Warp *, Book> books;
  Book *book = nullptr;    ///< book of the running warp
  uint32_t strand = 0;     ///< the running group
  uint64_t issuedUpTo = 0; ///< clock of the group after the issue
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_LINES_H
