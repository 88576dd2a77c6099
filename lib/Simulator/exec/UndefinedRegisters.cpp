//===- UndefinedRegisters.cpp - what was loaded from nowhere --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "UndefinedRegisters.h"

#include "../machine/Machine.h"

using namespace mx::sim;

namespace {

/// What an instruction does with an undefined value.
enum class Use { Carries, CarriesToOthers, Stores, Computes };

Use useOf(std::string_view opcode) {
  static constexpr std::pair<std::string_view, Use> table[] = {
      {"mov", Use::Carries},          {"selp", Use::Carries},
      {"prmt", Use::Carries},         {"cvt", Use::Carries},
      {"shfl", Use::CarriesToOthers}, {"st", Use::Stores},
  };
  for (auto &[name, use] : table)
    if (opcode == name)
      return use;
  return Use::Computes;
}

} // namespace

void UndefinedRegisters::set(Warp &w, Slot slot, uint32_t lanes, uint32_t mask,
                             const Load &load) {
  auto it = entries.find(slot);
  uint32_t old = it == entries.end() ? 0 : it->second.lanes;
  uint32_t now = (old & ~mask) | (lanes & mask);
  if (now == old)
    return;
  if (!now) {
    entries.erase(it);
    --w.pendingCount;
    return;
  }
  if (!old)
    ++w.pendingCount;
  entries[slot] = {now, load};
}

void UndefinedRegisters::mark(Warp &w, Slot slot, uint32_t lanes,
                              const Load &load) {
  set(w, slot, lanes, lanes, load);
}

uint32_t UndefinedRegisters::lanes(Slot slot) const {
  auto it = entries.find(slot);
  return it == entries.end() ? 0 : it->second.lanes;
}

void UndefinedRegisters::check(Warp &w, const Instr *i, uint32_t mask) {
  if (entries.empty())
    return;
  const Program &p = w.machine->program;
  const InstrInfo &info = p.infoOf(i);
  uint32_t found = 0;
  bool isAddress = false;
  bool isElsewhere = false;
  Load load;
  for (uint32_t k = 0; k < info.numUses; ++k) {
    Slot s = p.uses[info.firstUse + k];
    auto it = s & kSlotConstant ? entries.end() : entries.find(s);
    if (it == entries.end() || !(it->second.lanes & mask))
      continue;
    found |= it->second.lanes & mask;
    load = it->second.load;
    isAddress |= s == i->a;
  }
  Use use = found && info.source ? useOf(info.source->opcode) : Use::Computes;
  if (use == Use::Stores)
    for (std::string_view m : info.source->modifiers)
      isElsewhere |= m == "global" || m == "local" || m == "param";
  if (found && (use == Use::Computes || isElsewhere ||
                (use == Use::Stores && isAddress))) {
    w.note(load.instr, FindingKind::UninitShared,
           "load of " +
               w.machine->describeShared(*w.cta, load.address, load.bytes) +
               ", which nobody has written; line " + std::to_string(info.line) +
               " uses it",
           found);
    // Once is enough: all that came of it counts as defined.
    w.pendingCount -= uint32_t(entries.size());
    entries.clear();
    return;
  }
  uint32_t lanes = use == Use::CarriesToOthers && found ? ~0u : found;
  for (uint32_t k = 0; k < info.numDefs; ++k)
    set(w, p.defs[info.firstDef + k], lanes, mask, load);
}
