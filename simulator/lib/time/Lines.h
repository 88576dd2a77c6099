//===- Lines.h - cycles of warps by instruction -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp's cycles from one instruction's issue to the next one's belong to the
// next one: it has waited and issued in them. What an instruction waits for
// after its issue is its own. Instructions of straight code, and machine code
// of lines, are taken in the order in which they issue, not in that of the PTX.
// Each cycle counts once: where lanes have parted, for those whose instruction
// is looked at first. So the cycles of all instructions of a warp are those of
// its life.
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
  /// The life of a warp begins.
  void start(const Warp &w, uint64_t cycle);

  //===-- Of the warp that runs -------------------------------------------===//

  /// The group that goes on.
  void resume(const Warp &w);
  /// The point of synchronization that comes next has waited for an operand.
  void await(Moment operand);
  /// Machine code of a line of the PTX has issued at `cycle`; it was due then.
  void step(uint32_t line, uint64_t due, uint64_t cycle);
  /// An instruction whose operands were there, and which began, then.
  void issue(const Warp &w, const Instr *i, Moment operands, uint64_t cycle);
  /// It has been executed, and its group goes on at `next`, or waits.
  void end(const Warp &w, const Instr *i, const Instr *next);

  /// In the order of lines.
  std::vector<LineCost> costs() const;

private:
  struct Issued {
    uint64_t cycle, due; ///< its issue; when it could have issued
    Moment operand;      ///< that it has waited for
    const Instr *instr;
  };
  /// A group of lanes.
  struct Strand {
    std::vector<Issued> issued; ///< that are not accounted for yet
    const Instr *last = nullptr;
    Moment awaited = Moment(0, kIssue); ///< by the instruction that comes next
    Wait wait = Wait::None;             ///< in `last`
  };
  struct Book {
    uint64_t counted = 0; ///< up to this cycle
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
  std::unordered_map<uint32_t, const Instr *> firstOf; ///< each line
  std::vector<Spent> waits; ///< for what each instruction does, once issued
  std::vector<Cost> spent;  ///< by instruction
  std::unordered_map<const Warp *, Book> books;
  Book *book = nullptr;    ///< of the warp that runs
  uint32_t strand = 0;     ///< of its group that runs
  uint64_t issuedUpTo = 0; ///< its clock after the issue
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_LINES_H
