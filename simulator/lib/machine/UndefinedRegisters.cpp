//===- UndefinedRegisters.cpp - Propagation of undefined values -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "UndefinedRegisters.h"

#include "../ptx/OpcodeClass.h"
#include "Handlers.h"
#include "InstructionSet.h"
#include "Machine.h"

#include <algorithm>
#include <array>

using namespace mx::sim;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

void UndefinedRegisters::set(Warp &w, Slot slot, uint32_t lanes, uint32_t mask,
                             const Load &load) {
  auto it = entries.find(slot);
  uint32_t old = it == entries.end() ? 0 : it->second.lanes;
  uint32_t now = (old & ~mask) | (lanes & mask);
  if (!now) {
    if (old) {
      entries.erase(it);
      --w.pendingCount;
    }
    return;
  }
  if (!old)
    ++w.pendingCount;
  Entry &entry = entries[slot];
  entry.lanes = now;
  // If no further lane becomes undefined, keep the original load.
  if (lanes & mask)
    entry.load = load;
}

void UndefinedRegisters::mark(Warp &w, Slot slot, uint32_t lanes,
                              const Load &load) {
  set(w, slot, lanes, lanes, load);
}

uint32_t UndefinedRegisters::lanes(Slot slot) const {
  if (entries.empty() || slot == kNoSlot || slot & kSlotConstant)
    return 0;
  auto it = entries.find(slot & ~kSlotNegated);
  return it == entries.end() ? 0 : it->second.lanes;
}

void UndefinedRegisters::carry(Warp &w, Slot from, Slot to, uint32_t lanes,
                               uint32_t mask) {
  auto it = entries.find(from & ~kSlotNegated);
  set(w, to, lanes, mask, it == entries.end() ? Load() : it->second.load);
}

void UndefinedRegisters::report(Warp &w, const Instr *i, Slot slot,
                                uint32_t mask) {
  Load load = entries.at(slot & ~kSlotNegated).load;
  reportLoad(w, i, load, lanes(slot) & mask);
}

void UndefinedRegisters::reportLoad(Warp &w, const Instr *i, const Load &load,
                                    uint32_t lanes) {
  std::string what =
      load.isGlobal
          ? "load of " + w.machine->memory.describe(load.address, load.bytes)
      : load.isTensor
          ? "tcgen05.ld reads tensor memory at lane " +
                std::to_string(load.address >> 32) + ", column " +
                std::to_string(uint32_t(load.address))
          : "load of " +
                w.machine->describeShared(*w.cta, load.address, load.bytes);
  w.note(load.instr,
         load.isGlobal   ? FindingKind::UninitGlobal
         : load.isTensor ? FindingKind::UninitTensorMemory
                         : FindingKind::UninitShared,
         what + ", which has not been written; line " +
             std::to_string(w.machine->program.infoOf(i).line) + " uses it",
         lanes, /*isWarning=*/load.isGlobal);
  // Report once: treat all derived values as defined from now on.
  w.pendingCount -= uint32_t(entries.size() + local.size());
  entries.clear();
  local.clear();
}

//===----------------------------------------------------------------------===//
// Local memory
//===----------------------------------------------------------------------===//

static uint64_t localByte(unsigned lane, uint64_t offset) {
  return uint64_t(lane) << 32 | offset;
}

void UndefinedRegisters::storeLocal(Warp &w, Slot slot, unsigned lane,
                                    uint64_t offset, uint64_t bytes) {
  defineLocal(w, lane, offset, bytes);
  if (!(lanes(slot) >> lane & 1))
    return;
  const Load &load = entries.at(slot).load;
  for (uint64_t k = 0; k < bytes; ++k)
    w.pendingCount += local.emplace(localByte(lane, offset + k), load).second;
}

void UndefinedRegisters::loadLocal(Warp &w, Slot slot, unsigned lane,
                                   uint64_t offset, uint64_t bytes) {
  const Load *load = findLocal(lane, offset, bytes);
  set(w, slot, load ? 1u << lane : 0, 1u << lane, load ? *load : Load());
}

void UndefinedRegisters::copyLocal(Warp &w, unsigned lane, uint64_t from,
                                   uint64_t to, uint64_t bytes) {
  defineLocal(w, lane, to, bytes);
  for (uint64_t k = 0; k < bytes; ++k)
    if (const Load *load = findLocal(lane, from + k, 1)) {
      Load copy = *load;
      w.pendingCount += local.emplace(localByte(lane, to + k), copy).second;
    }
}

void UndefinedRegisters::defineLocal(Warp &w, unsigned lane, uint64_t offset,
                                     uint64_t bytes) {
  for (uint64_t k = 0; k < bytes && !local.empty(); ++k)
    w.pendingCount -= uint32_t(local.erase(localByte(lane, offset + k)));
}

void UndefinedRegisters::useLocal(Warp &w, const Instr *i, unsigned lane,
                                  uint64_t offset, uint64_t bytes) {
  if (const Load *load = findLocal(lane, offset, bytes))
    reportLoad(w, i, Load(*load), 1u << lane);
}

const UndefinedRegisters::Load *
UndefinedRegisters::findLocal(unsigned lane, uint64_t offset,
                              uint64_t bytes) const {
  for (uint64_t k = 0; k < bytes && !local.empty(); ++k)
    if (auto it = local.find(localByte(lane, offset + k)); it != local.end())
      return &it->second;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Checks of an instruction
//===----------------------------------------------------------------------===//

/// Returns the lanes in which one defined operand determines the result of
/// `and` or `or`, regardless of the other operand.
uint32_t UndefinedRegisters::settled(Warp &w, const Instr *i,
                                     const InstrInfo &info) const {
  const ptx::Instruction &source = *info.source;
  if (source.opcode == "setp") {
    // In setp.lt.and p, a, b, c, operand `c` is a predicate, or a copy of a
    // predicate if the operands are packed.
    const Slot *uses = &w.machine->program.uses[info.firstUse];
    if (std::find(uses, uses + info.numUses, i->c) == uses + info.numUses)
      return 0;
    uint32_t c = w.predicate(i->c);
    return (hasModifier(source, "and") ? ~c : c) & ~lanes(i->c);
  }
  bool isAnd = source.opcode == "and";
  auto settles = [&](Slot s) -> uint32_t {
    if (hasModifier(source, "pred"))
      return isAnd ? ~w.predicate(s) : w.predicate(s);
    uint32_t found = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      bool is64 = hasModifier(source, "b64");
      uint64_t value = is64 ? w.at<uint64_t>(s)[lane] : w.at<uint32_t>(s)[lane];
      uint64_t ones = is64                         ? ~0ull
                      : hasModifier(source, "b16") ? 0xffffull
                                                   : 0xffffffffull;
      found |= uint32_t((value & ones) == (isAnd ? 0 : ones)) << lane;
    }
    return found;
  };
  return (settles(i->a) & ~lanes(i->a)) | (settles(i->b) & ~lanes(i->b));
}

void UndefinedRegisters::check(Warp &w, const Instr *i, uint32_t group,
                               uint32_t executing) {
  if (entries.empty())
    return;
  const Program &p = w.machine->program;
  const InstrInfo &info = p.infoOf(i);
  Load load;
  auto look = [&](Slot s, uint32_t among) {
    uint32_t found = lanes(s) & among;
    if (found && (!load.instr || load.isGlobal))
      load = entries.at(s & ~kSlotNegated).load;
    return found;
  };
  // If the guard is undefined, the lane may or may not execute.
  uint32_t guarded = look(i->guard, group), used = 0;
  switch (info.flow) {
  case DataFlow::Stores:
    used = look(i->a, executing);
    break;
  case DataFlow::Shuffles:
    used = look(i->b, executing) | look(i->c, executing) |
           look(p.extra[i->aux >> 2], executing);
    break;
  case DataFlow::Gathers:
    used = look(i->b, executing);
    break;
  case DataFlow::Scales:
    for (uint32_t k = 0; k < info.numUses; ++k)
      if (Slot s = p.uses[info.firstUse + k]; lanes(s) & executing)
        used |= look(s, executing & p.instructions->lanesOfScales(w, i, s));
    break;
  case DataFlow::Moves:
    return checkElements(w, i, guarded, executing, load);
  case DataFlow::Selects: {
    uint32_t chosen = w.predicate(i->c);
    used = look(i->c, executing) | look(i->a, executing & chosen) |
           look(i->b, executing & ~chosen);
    break;
  }
  default:
    for (uint32_t k = 0; k < info.numUses; ++k)
      used |= look(p.uses[info.firstUse + k], executing);
    // This instruction branches over a guarded call.
    if (i->fn == branchIf)
      used |= look(i->a, executing);
  }
  bool carries = info.flow == DataFlow::Computes ||
                 info.flow == DataFlow::Selects || info.flow == DataFlow::Masks;
  if (!carries && used | guarded) {
    if (!load.isGlobal || !isWarpMma(*info.source))
      return reportLoad(w, i, load, used | guarded);
    used = guarded = 0;
  }
  if (info.flow == DataFlow::Stores || info.flow == DataFlow::Shuffles ||
      info.flow == DataFlow::Gathers)
    return;
  if (info.flow == DataFlow::Masks && used)
    used &= ~settled(w, i, info);
  uint32_t mask = executing | guarded;
  for (uint32_t k = 0; k < info.numDefs; ++k)
    set(w, p.defs[info.firstDef + k], used | guarded, mask, load);
}

void UndefinedRegisters::checkElements(Warp &w, const Instr *i,
                                       uint32_t guarded, uint32_t executing,
                                       const Load &guard) {
  const Slot *sources = &w.machine->program.extra[i->aux];
  const Slot *results = sources + i->aux2;
  // Read all sources before setting any result, which may be the source of
  // another element.
  std::array<Entry, kMaxVector> found;
  for (uint32_t k = 0; k < i->aux2; ++k) {
    uint32_t used = lanes(sources[k]) & executing;
    found[k] = {used | guarded, used ? entries.at(sources[k]).load : guard};
  }
  for (uint32_t k = 0; k < i->aux2; ++k)
    set(w, results[k], found[k].lanes, executing | guarded, found[k].load);
}
