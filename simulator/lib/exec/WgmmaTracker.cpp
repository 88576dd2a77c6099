//===- WgmmaTracker.cpp - Registers in use by wgmma -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Labels each register with the last wgmma group that uses it.
//===----------------------------------------------------------------------===//

#include "WgmmaTracker.h"

#include <algorithm>

using namespace mx::sim;

WgmmaTracker::Use *WgmmaTracker::find(Slot slot) {
  size_t at = slot / 128;
  return !(slot & kSlotConstant) && at < uses.size() ? &uses[at] : nullptr;
}

void WgmmaTracker::add(Warp &w, Slot slot, bool isWritten) {
  if (slot & kSlotConstant)
    return;
  if (uses.size() <= slot / 128)
    uses.resize(std::max<size_t>(slot / 128 + 1, w.pending.size()));
  Use &use = uses[slot / 128];
  w.pendingCount += !use.any();
  use.isComplete = false;
  (isWritten ? use.writes : use.reads) = group + 1;
}

void WgmmaTracker::wait(Warp &w, uint64_t left) {
  // Operations of group g are labeled g + 1. Groups below `group` are
  // committed.
  uint64_t done = left < group ? group - left : 0;
  for (Use &use : uses) {
    bool was = use.any();
    if (use.writes && use.writes <= done) {
      use.writes = 0;
      use.isComplete = true;
    }
    if (use.reads <= done)
      use.reads = 0;
    w.pendingCount -= was && !use.any();
  }
}

void WgmmaTracker::clear(Warp &w) {
  for (Use &use : uses) {
    w.pendingCount -= use.any();
    use = Use();
  }
}

void WgmmaTracker::fence() {
  isFenced = true;
  fragments.clear();
  for (Use &use : uses)
    use.isAccessed = false;
}

bool WgmmaTracker::checkFence(Warp &w, const Instr *i) {
  bool isMissing = !isFenced;
  const Slot *accumulators = &w.machine->program.extra[i->aux];
  for (unsigned r = 0; r < unsigned(i->imm); ++r)
    if (const Use *use = find(accumulators[r]))
      isMissing |= use->isAccessed;
  WgmmaSources a = wgmmaSources(w, i);
  for (unsigned r = 0; r < a.count; ++r) {
    Fragment now = {a.slots[r], {}};
    std::copy_n(w.at<uint32_t>(now.slot), now.lanes.size(), now.lanes.begin());
    auto isSlot = [&](const Fragment &f) { return f.slot == now.slot; };
    auto found = std::find_if(fragments.begin(), fragments.end(), isSlot);
    if (found == fragments.end())
      fragments.push_back(now);
    else
      isMissing |= found->lanes != now.lanes;
  }
  if (!isMissing)
    return true;
  fence(); // report each missing fence once
  w.note(i, {FindingKind::LoadBeforeWait, Situation::WgmmaFence},
         "wgmma.mma_async uses registers with no wgmma.fence since "
         "other instructions accessed them",
         w.mask);
  return !w.machine->stopped;
}

bool WgmmaTracker::check(Warp &w, const Instr *i) {
  auto report = [&](const char *what) {
    w.note(i, {FindingKind::LoadBeforeWait, Situation::WgmmaWait},
           std::string(what) + " before wgmma.wait_group", w.mask);
    clear(w);
    return !w.machine->stopped;
  };
  if (WgmmaSources a = wgmmaSources(w, i); a.isMultiply) {
    // Operations on the same accumulator execute in order.
    for (unsigned r = 0; r < a.count; ++r)
      if (Use *use = find(a.slots[r]); use && use->writes)
        return report("an accumulator of wgmma.mma_async is read as A");
    return true;
  }
  const Program &p = w.machine->program;
  const InstrInfo &info = p.infoOf(i);
  Use carried;
  for (uint32_t k = 0; k < info.numUses; ++k)
    if (Use *use = find(p.uses[info.firstUse + k]))
      carried.writes = std::max(carried.writes, use->writes);
  const char *what = nullptr;
  if (carried.writes && !info.isMove)
    what = "an accumulator of wgmma.mma_async is read";
  for (uint32_t k = 0; k < info.numDefs; ++k)
    if (Use *use = find(p.defs[info.firstDef + k])) {
      if (use->writes)
        what = "an accumulator of wgmma.mma_async is written";
      else if (use->reads)
        what = "a register of A of wgmma.mma_async is written";
    }
  if (what)
    return report(what);
  auto access = [&](Use *use) {
    if (!use || !use->isComplete || info.isMove)
      return;
    use->isComplete = false;
    use->isAccessed = true;
    w.pendingCount -= !use->any();
  };
  for (uint32_t k = 0; k < info.numUses; ++k)
    access(find(p.uses[info.firstUse + k]));
  for (uint32_t k = 0; k < info.numDefs; ++k)
    access(find(p.defs[info.firstDef + k]));
  // Compilers rename accumulators with moves, so a move is not reported as a
  // read.
  if (carried.writes)
    for (uint32_t k = 0; k < info.numDefs; ++k)
      if (Use *use = find(p.defs[info.firstDef + k])) {
        w.pendingCount += !use->any();
        use->writes = carried.writes;
      }
  return true;
}
