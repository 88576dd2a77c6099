//===- MemoryAccess.cpp - Resolution of addresses to bytes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds and alignment of each access are checked even if other checks are
// disabled. Then the access is reported to the order check.
//===----------------------------------------------------------------------===//

#include "MemoryAccess.h"

#include "../time/Stopwatch.h"

using namespace mx::sim;
using ptx::Space;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Space mx::sim::findSpace(Space space, uint64_t &address) {
  if (space == Space::Generic) {
    space = Space::Global;
    if (address - kSharedWindow < kWindowBytes) {
      space = Space::Shared;
      address -= kSharedWindow;
    } else if (address - kLocalWindow < kWindowBytes) {
      space = Space::Local;
      address -= kLocalWindow;
    } else if (address - kParamWindow < kWindowBytes) {
      space = Space::Param;
      address -= kParamWindow;
    }
  }
  if (space == Space::Param && address >= kLocalParams) {
    space = Space::Local;
    address -= kLocalParams;
  }
  return space;
}

bool mx::sim::checkOwnCta(Warp &w, const Instr *i, const char *what,
                          uint64_t address, uint64_t bytes, unsigned lane,
                          bool isOwnOnly) {
  if (address >> kRankShift == w.cta->rank ||
      !(isOwnOnly || w.machine->program.infoOf(i).isOfOwnCta))
    return true;
  w.fail(i, {FindingKind::OutOfBounds, Situation::ForeignCta},
         std::string(what) + " out of bounds: " +
             w.machine->describeShared(*w.cta, address, bytes) +
             ": expected an address of the executing CTA for .shared::cta",
         1u << lane);
  return false;
}

uint8_t *mx::sim::resolveAddress(Warp &w, const Instr *i, Space space,
                                 uint64_t address, uint64_t bytes,
                                 unsigned lane, bool isWrite,
                                 uint32_t *unwritten) {
  uint8_t *p = nullptr;
  uint64_t original = address;
  Space where = findSpace(space, address);
  if (address & (bytes - 1)) {
    w.fail(i, FindingKind::Misaligned,
           std::string(isWrite ? "store" : "load") + " of " +
               describeAddress(w, space, original, bytes) +
               " is not aligned to its size",
           1u << lane);
    return nullptr;
  }
  switch (where) {
  case Space::Shared: {
    Cta *owner = nullptr;
    p = w.machine->shared(w, address, bytes, owner);
    if (p &&
        !checkOwnCta(w, i, isWrite ? "store" : "load", address, bytes, lane))
      return nullptr;
    if (p && owner->tracker && !owner->tracker->written.empty()) {
      uint8_t *written =
          owner->tracker->written.data() + (address & kOffsetMask);
      if (isWrite)
        std::memset(written, 1, bytes);
      else if (!std::memchr(written, 0, bytes))
        break;
      else if (unwritten)
        *unwritten |= 1u << lane;
      else
        w.note(i, FindingKind::UninitShared,
               "load of " + describeAddress(w, space, original, bytes) +
                   ", which has not been written",
               1u << lane);
    }
    break;
  }
  case Space::Local: {
    uint32_t frame = w.machine->program.localBytes;
    if (address <= frame && bytes <= frame - address)
      p = w.local + uint64_t(lane) * frame + address;
    if (__builtin_expect(w.pendingCount, 0) && p) {
      if (isWrite)
        w.undefined.defineLocal(w, lane, address, bytes);
      else if (!unwritten)
        w.undefined.useLocal(w, i, lane, address, bytes);
    }
    break;
  }
  case Space::Param:
    if (address <= w.machine->params.size() &&
        bytes <= w.machine->params.size() - address && !isWrite)
      p = w.machine->params.data() + address;
    break;
  default:
    p = w.global().translate(address, bytes, isWrite);
    break;
  }
  if (!p)
    w.fail(i, FindingKind::OutOfBounds,
           std::string(isWrite ? "store" : "load") +
               " out of bounds: " + describeAddress(w, space, original, bytes),
           1u << lane);
  return p;
}

AccessOrder mx::sim::takeOrder(Decoder &d, bool isLoad) {
  Strength s = Strength::Weak;
  for (std::string_view m : d.modifiers()) {
    if (m == "acq_rel" || m == (isLoad ? "acquire" : "release"))
      s = Strength::Synchronizing;
    else if (s == Strength::Weak &&
             (m == "volatile" || m == "relaxed" || m == "mmio"))
      s = Strength::Relaxed;
  }
  return {s, d.takeMemoryQualifiers()};
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// Reports a contiguous range accessed by one or more lanes.
void followRun(Warp &w, const Instr *i, Space space, uint64_t address,
               uint64_t bytes, uint32_t mask, Touch touch, AccessOrder how,
               LaneRun run) {
  Order &order = *w.order();
  if (space == Space::Generic) {
    space = Space::Global;
    if (address - kSharedWindow < kWindowBytes) {
      space = Space::Shared;
      address -= kSharedWindow;
    } else if (address - kLocalWindow < kWindowBytes ||
               address - kParamWindow < kWindowBytes) {
      return;
    }
  }
  bool isStrong = how.strength != Strength::Weak,
       isGlobal = space != Space::Shared;
  bool synchronizes = how.strength == Strength::Synchronizing;
  if (isStrong && touch == Touch::Read)
    order.strongRead(w, isGlobal, address, synchronizes, how.scope);
  if (isGlobal)
    order.accessGlobal(w, i, address, bytes, mask, touch, isStrong,
                       /*isCas=*/false, how.scope, run);
  else
    order.accessShared(w, i, *w.cta->cluster->ctas[address >> kRankShift],
                       address & kOffsetMask, bytes, mask, touch, isStrong,
                       /*isAnyProxy=*/false, /*isCas=*/false, run);
  if (isStrong && touch != Touch::Read)
    order.strongWrite(w, isGlobal, address, synchronizes, how.scope);
}

} // namespace

void mx::sim::timeLanes(Warp &w, Space space, Slot base, bool is64,
                        int64_t offset, uint64_t bytes, uint32_t mask,
                        bool isWrite) {
  if (!w.watch || !mask)
    return;
  uint64_t addresses[32] = {};
  Space where = space;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    addresses[lane] = laneAddress(w, base, is64, offset, lane);
    where = findSpace(space, addresses[lane]);
  }
  w.watch->access(w, where, addresses, uint32_t(bytes), mask, isWrite);
}

void mx::sim::followOne(Warp &w, const Instr *i, Space space, uint64_t address,
                        uint64_t bytes, uint32_t lanes, Touch touch) {
  if (w.order())
    followRun(w, i, space, address, bytes, lanes, touch, AccessOrder(),
              LaneRun());
}

void mx::sim::followLanes(Warp &w, const Instr *i, Space space, Slot base,
                          bool is64, int64_t offset, uint64_t bytes,
                          uint32_t mask, Touch touch, AccessOrder how) {
  // Merge adjacent accesses of neighboring lanes. A run attributes its bytes if
  // the lanes access successive words, or all lanes the same bytes.
  uint64_t begin = 0, end = 0;
  uint32_t lanes = 0;
  unsigned last = 0;
  bool isRow = true, isSame = true;
  auto follow = [&] {
    LaneRun run;
    if (touch == Touch::SilentWrite)
      ;
    else if (!(lanes & (lanes - 1)))
      run.first = Lane(last + 1);
    else if (isRow && bytes >= 4)
      run = {Lane(firstLane(lanes) + 1), uint8_t(firstLane(bytes))};
    else if (isSame && touch == Touch::Read)
      run.first = kSeveralLanes;
    followRun(w, i, space, begin, end - begin, lanes, touch, how, run);
  };
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t a = laneAddress(w, base, is64, offset, lane);
    if (lanes && how.strength == Strength::Weak && a >= begin && a <= end) {
      isRow &= a == end && lane == last + 1;
      isSame &= a == begin;
      end = std::max(end, a + bytes);
      lanes |= 1u << lane;
      last = lane;
      continue;
    }
    if (lanes)
      follow();
    begin = a;
    end = a + bytes;
    lanes = 1u << lane;
    last = lane;
    isRow = isSame = true;
  }
  if (lanes)
    follow();
}
