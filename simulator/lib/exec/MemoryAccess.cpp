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

/// Reports ranges of an access to the order check. Each range of a strong
/// access is reported alone unless `isQuiet` is set.
void follow(Warp &w, const Instr *i, Space space, AccessRange *ranges,
            size_t count, Touch touch, AccessOrder how, bool isQuiet) {
  Order &order = *w.order();
  AccessKind kind{touch, how.strength != Strength::Weak, /*isCas=*/false,
                  /*isAnyProxy=*/false, how.scope};
  bool synchronizes = how.strength == Strength::Synchronizing;
  for (size_t n = 0; n < count;) {
    uint64_t address = ranges[n].address;
    Space where = findSpace(space, address);
    bool isGlobal = where == Space::Global;
    uint64_t rank = address >> kRankShift;
    // Group weak accesses of the same memory.
    size_t first = n;
    for (; n < count; ++n) {
      uint64_t next = ranges[n].address;
      if (findSpace(space, next) != where ||
          (where == Space::Shared && next >> kRankShift != rank) ||
          (!isQuiet && n > first))
        break;
      if (where == Space::Shared)
        ranges[n].address = next & kOffsetMask;
    }
    if (!isGlobal && where != Space::Shared)
      continue;
    if (!isQuiet && touch == Touch::Read)
      order.strongRead(w, isGlobal, address, synchronizes, how.scope);
    AccessRanges group{ranges + first, n - first};
    if (isGlobal)
      order.accessGlobal(w, i, group, kind);
    else
      order.accessShared(w, i, *w.cta->cluster->ctas[rank], group, kind);
    if (!isQuiet && touch != Touch::Read)
      order.strongWrite(w, isGlobal, address, synchronizes, how.scope);
  }
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
  AccessRange range{address, bytes, lanes, LaneRun()};
  if (w.order())
    follow(w, i, space, &range, 1, touch, AccessOrder(), /*isQuiet=*/true);
}

void mx::sim::followLanes(Warp &w, const Instr *i, Space space, Slot base,
                          bool is64, int64_t offset, uint64_t bytes,
                          uint32_t mask, Touch touch, AccessOrder how,
                          bool isQuiet) {
  auto addressOf = [&](unsigned lane) {
    return laneAddress(w, base, is64, offset, lane);
  };
  bool isSilent = touch == Touch::SilentWrite;
  AccessRange ranges[32];
  auto runOf = [&](unsigned first, bool isRow, bool isSame) {
    return isRow && bytes >= 4
               ? LaneRun{Lane(first + 1), uint8_t(firstLane(bytes))}
           : isSame && touch == Touch::Read ? LaneRun{kSeveralLanes}
                                            : LaneRun();
  };
  // Merge adjacent accesses of neighboring lanes. The lanes of a range are
  // known if they access successive words, or all the same bytes.
  size_t count = 0;
  for (uint32_t m = mask; m;) {
    unsigned first = firstLane(m), lane = first;
    AccessRange &r = ranges[count++];
    r.address = addressOf(first);
    r.bytes = bytes;
    bool isRow = true, isSame = true;
    for (m &= m - 1; m && isQuiet; m &= m - 1) {
      unsigned next = firstLane(m);
      uint64_t from = addressOf(next) - r.address;
      if (from > r.bytes)
        break;
      isRow &= from == r.bytes && next == lane + 1;
      isSame &= from == 0;
      r.bytes = std::max(r.bytes, from + bytes);
      lane = next;
    }
    r.lanes = mask & ((2u << lane) - 1) & (~0u << first);
    if (!isSilent)
      r.run = lane == first ? LaneRun{Lane(first + 1)}
                            : runOf(first, isRow, isSame);
  }
  if (count)
    follow(w, i, space, ranges, count, touch, how, isQuiet);
}
