//===- LeftOut.cpp - Omission of values in timed launches -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../machine/LeftOut.h"

#include "../machine/InstructionSet.h"
#include "../machine/Lanes.h"
#include "../ptx/OpcodeClass.h"
#include "Stopwatch.h"

using namespace mx::sim;
using namespace mx::sim::time;

static const Instr *takeTime(Warp &, const Instr *i, uint32_t) { return i + 1; }

static const Instr *takeTimeTogether(Warp &w, const Instr *i, uint32_t mask) {
  return mask == w.live ? i + 1 : i->fn(w, i, mask);
}

static const Instr *takeTimeOfMma(Warp &w, const Instr *i, uint32_t mask) {
  if (mask != w.live)
    return i->fn(w, i, mask);
  ++w.counts.mmas;
  return i + 1;
}

void Model::leaveOut(const std::vector<Work> &work) {
  for (size_t k = 0; k < prices.size(); ++k) {
    prices[k].work = work[k];
    switch (work[k].part) {
    case Work::All:
      break;
    case Work::Time:
      prices[k].instead = takeTime;
      break;
    case Work::TimeTogether:
      prices[k].instead = isWarpMma(*machine.program.info[k].source)
                              ? takeTimeOfMma
                              : takeTimeTogether;
      break;
    case Work::Access:
      prices[k].instead = machine.program.instructions->touchOf(
          *machine.program.info[k].source);
      break;
    }
  }
  findQuiet();
}

/// Returns true if the instruction takes no time and changes registers only.
static bool isQuiet(const Price &price, DataFlow flow) {
  bool computes = flow == DataFlow::Computes || flow == DataFlow::Selects ||
                  flow == DataFlow::Masks || flow == DataFlow::Moves;
  return (price.instead ? price.instead == takeTime : computes) &&
         price.isFree && !price.isPoint && !price.isRequest &&
         !price.isLeader && !price.isLast && !price.isBranch && !price.slots &&
         !price.tensor;
}

/// Computes Price::quiet. Line costs require every instruction to be timed, so
/// they disable this shortcut.
void Model::findQuiet() {
  if (!hasMachineCode || lines)
    return;
  constexpr unsigned kMost = 1024;
  unsigned count = 0;
  for (size_t k = prices.size(); k--;) {
    DataFlow flow = machine.program.info[k].flow;
    count = isQuiet(prices[k], flow) ? std::min(count + 1, kMost) : 0;
    prices[k].quiet = uint16_t(count);
  }
}

/// Tracks omitted bytes of an access. A load with a control or address
/// dependence on omitted bytes ends the launch. After a load that forwards
/// omitted bytes, it is unknown which stored bytes have values.
void Stopwatch::followLeftOut(Warp &w, ptx::Space space,
                              const uint64_t addresses[32], uint32_t bytes,
                              uint32_t mask, bool isWrite) {
  const Work &work = priceOf(current).work;
  bool isShared = space == ptx::Space::Shared;
  bool marks =
      work.leavesOut || (isWrite && (passesOnLeftOut || model.passesOnLeftOut));
  if (!(marks || work.stores || work.decides || work.passesOn) ||
      (isShared && w.cta->leavesOut))
    return;
  for (uint32_t m = mask; m;) {
    // Adjacent lanes form a range.
    unsigned lane = firstLane(m);
    uint64_t begin = addresses[lane], end = begin;
    uint32_t lanes = 0;
    for (; m && addresses[firstLane(m)] == end; m &= m - 1, end += bytes)
      lanes |= 1u << firstLane(m);
    LeftOut &set = isShared
                       ? *w.cta->cluster->ctas[begin >> kRankShift]->leftOut
                       : *machine.memory.leftOut;
    uint64_t at = isShared ? begin & kOffsetMask : begin;
    if (marks)
      set.mark(at, end - begin);
    else if (work.stores)
      set.clear(at, end - begin);
    if (!(work.decides || work.passesOn) || !set.meets(at, end - begin))
      continue;
    passesOnLeftOut = true;
    if (!work.decides)
      continue;
    w.fail(current, FindingKind::LeftOut,
           "a branch or an address may depend on " +
               describeAddress(w, space, begin, end - begin) +
               ", which --data=none has left out: run it with --data=values",
           lanes);
    return;
  }
}
