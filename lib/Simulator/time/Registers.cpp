//===- Registers.cpp - registers that instructions wait for ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Registers.h"

#include <algorithm>
#include <unordered_map>

using namespace mx::sim;
using namespace mx::sim::time;

Registers::Registers(const Program &program) {
  std::unordered_map<Slot, uint32_t> numberOf;
  auto add = [&](Slot slot) {
    if (slot == kNoSlot || slot & kSlotConstant)
      return;
    auto [at, isNew] = numberOf.emplace(slot & ~kSlotNegated, numRegisters);
    numRegisters += isNew;
    numbers.push_back(at->second);
  };
  // Each once.
  auto close = [&](uint32_t first) {
    std::sort(numbers.begin() + first, numbers.end());
    numbers.erase(std::unique(numbers.begin() + first, numbers.end()),
                  numbers.end());
    return uint32_t(numbers.size());
  };
  for (size_t k = 0; k < program.code.size(); ++k) {
    const InstrInfo &info = program.info[k];
    Uses of;
    of.reads = uint32_t(numbers.size());
    for (uint32_t u = 0; u < info.numUses; ++u)
      add(program.uses[info.firstUse + u]);
    add(program.code[k].guard);
    of.writes = close(of.reads);
    // Products are read after a wait for them, which ends later than they are
    // issued.
    if (!info.source || info.source->opcode != "wgmma")
      for (uint32_t d = 0; d < info.numDefs; ++d)
        add(program.defs[info.firstDef + d]);
    of.end = close(of.writes);
    uses.push_back(of);
  }
}
