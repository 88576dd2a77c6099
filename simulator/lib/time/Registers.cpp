//===- Registers.cpp - Register uses and definitions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Registers.h"

#include <algorithm>
#include <unordered_map>

using namespace mx::sim;
using namespace mx::sim::time;

Registers::Registers(const Program &program) {
  std::unordered_map<Slot, uint32_t> numberOf;
  uint32_t first = 0;
  auto add = [&](Slot slot) {
    if (slot == kNoSlot || slot & kSlotConstant)
      return;
    auto [at, isNew] = numberOf.emplace(slot & ~kSlotNegated, numRegisters);
    numRegisters += isNew;
    uint32_t word = at->second / 64;
    auto part = std::find_if(parts.begin() + first, parts.end(),
                             [&](const Part &p) { return p.word == word; });
    if (part == parts.end())
      part = parts.insert(part, {word, 0});
    part->bits |= 1ull << at->second % 64;
  };
  for (size_t k = 0; k < program.code.size(); ++k) {
    const InstrInfo &info = program.info[k];
    Uses of;
    of.reads = first = uint32_t(parts.size());
    for (uint32_t u = 0; u < info.numUses; ++u)
      add(program.uses[info.firstUse + u]);
    add(program.code[k].guard);
    of.writes = first = uint32_t(parts.size());
    // Accumulators of wgmma are available after a wait instruction.
    if (!info.source || info.source->opcode != "wgmma")
      for (uint32_t d = 0; d < info.numDefs; ++d)
        add(program.defs[info.firstDef + d]);
    of.end = uint32_t(parts.size());
    uses.push_back(of);
  }
}
