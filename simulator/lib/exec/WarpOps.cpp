//===- WarpOps.cpp - Warp-wide instructions -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: shfl, vote, match, redux, elect, bar.warp.sync.
//===----------------------------------------------------------------------===//

#include "../machine/Lanes.h"
#include "FloatOps.h"
#include "Instructions.h"

#include <cmath>

using namespace mx::sim;
using ptx::Operand;
using ptx::Type;

namespace {

/// Calls `f` for the lanes of each member mask once all members have arrived.
/// Lanes that execute together may specify different masks, for example if each
/// half of a warp specifies itself (PTX ISA: "executing threads ... same
/// membermask").
template <class F>
const Instr *forMembers(Warp &w, const Instr *i, Slot s, uint32_t mask, F &&f) {
  const uint32_t *members = w.at<uint32_t>(s);
  uint32_t guardedOff = w.mask & ~mask;
  auto sameAs = [&](unsigned lane, uint32_t among) {
    uint32_t same = 0;
    forLanes(among, [&](unsigned other) {
      same |= uint32_t(members[other] == members[lane]) << other;
    });
    return same;
  };
  uint32_t first = s & kSlotConstant ? mask : sameAs(firstLane(mask), mask);
  if (first == mask) {
    if (!w.collect(i, mask, members[firstLane(mask)]))
      return nullptr;
    f(mask);
    return i + 1;
  }
  bool isComplete = true;
  for (uint32_t left = mask; left;) {
    unsigned lane = firstLane(left);
    uint32_t same = sameAs(lane, left);
    isComplete &= !(members[lane] & w.live & ~same);
    left &= ~same;
  }
  for (uint32_t left = mask; left;) {
    uint32_t same = sameAs(firstLane(left), left);
    left &= ~same;
    if (isComplete) {
      w.meet(same);
      f(same);
      continue;
    }
    // A member has not arrived, so fork a group for each mask. The groups wait
    // separately.
    Group &g = w.group();
    if (!left) {
      g.mask = w.mask = same | guardedOff;
      return i;
    }
    Group other = w.fork();
    other.pc = i;
    other.mask = same;
    other.conv = g.conv;
    w.groups.push_back(other);
  }
  return i + 1;
}

/// Marks the results of all `members` as undefined if `i->a` is undefined in
/// any of them. `second` is another result, or kNoSlot.
void carryToAll(Warp &w, const Instr *i, Slot second, uint32_t members) {
  if (__builtin_expect(!w.pendingCount, 1))
    return;
  uint32_t undefined = w.undefined.lanes(i->a) & members ? members : 0;
  if (second != kNoSlot)
    w.undefined.carry(w, i->a, second, undefined, members);
  w.undefined.carry(w, i->a, i->d, undefined, members);
}

/// a: value, b: lane or delta, c: clamp and segment; aux: mode | index in extra
/// of the member mask << 2; aux2: predicate or kNoSlot.
[[gnu::always_inline]] inline const Instr *shuffle(Warp &w, const Instr *i,
                                                   uint32_t mask) {
  return forMembers(
      w, i, w.machine->program.extra[i->aux >> 2], mask, [&](uint32_t mask) {
        const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b),
                       *c = w.at<uint32_t>(i->c);
        uint32_t values[32], valid = 0, undefined = 0;
        int sources[32];
        std::memcpy(values, a, sizeof values);
        auto select = [&](bool isUp, auto &&sourceOf) {
          for (int lane = 0; lane < 32; ++lane) {
            int seg = (c[lane] >> 8) & 31, first = lane & seg,
                last = first | (c[lane] & 31 & ~seg);
            int j = sourceOf(lane, int(b[lane] & 31), first, seg);
            bool p = isUp ? j >= last : j <= last;
            sources[lane] = p ? j : lane;
            valid |= uint32_t(p) << lane;
          }
        };
        switch (i->aux & 3) {
        case 0: // up
          select(true, [](int lane, int b, int, int) { return lane - b; });
          break;
        case 1: // down
          select(false, [](int lane, int b, int, int) { return lane + b; });
          break;
        case 2: // bfly
          select(false, [](int lane, int b, int, int) { return lane ^ b; });
          break;
        case 3: // idx
          select(false, [](int, int b, int first, int seg) {
            return first | (b & ~seg);
          });
          break;
        }
        uint32_t *d = w.at<uint32_t>(i->d);
        forLanes(mask, [&](unsigned lane) { d[lane] = values[sources[lane]]; });
        if (uint32_t from = w.undefined.lanes(i->a))
          forLanes(mask, [&](unsigned lane) {
            undefined |= (from >> sources[lane] & 1) << lane;
          });
        if (i->aux2 != kNoSlot)
          setPredicate(w, i->aux2, valid, mask);
        if (w.pendingCount) {
          w.undefined.carry(w, i->a, i->d, undefined, mask);
          if (i->aux2 != kNoSlot)
            w.undefined.carry(w, i->a, i->aux2, 0, mask);
        }
      });
}

void decodeShfl(Decoder &d) {
  d.take("sync");
  int mode = d.takeAny({"up", "down", "bfly", "idx"});
  if (mode < 0 || !d.take("b32"))
    return d.unsupported("expects a mode and .b32");
  if (!d.expectOperands(5, 5))
    return;
  Type t{'B', 32};
  Slot p = kNoSlot, out;
  if (d.operand(0).kind == Operand::Pair) {
    out = d.def(d.operand(0).parts[0], 4);
    p = d.defPredicate(d.operand(0).parts[1]);
  } else {
    out = d.def(0, t);
  }
  Slot a = d.use(1, t), b = d.use(2, t), c = d.use(3, t), m = d.use(4, t);
  uint32_t extra = d.addExtra(m);
  Instr &i = d.emit(forVectors<shuffle>());
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = c;
  i.aux = unsigned(mode) | extra << 2;
  i.aux2 = p;
}

/// a: predicate, b: member mask; aux: 0 ballot, 1 all, 2 any, 3 uni.
const Instr *vote(Warp &w, const Instr *i, uint32_t mask) {
  return forMembers(w, i, i->b, mask, [&](uint32_t mask) {
    uint32_t ballot = w.predicate(i->a) & mask;
    bool r = i->aux == 1   ? ballot == mask
             : i->aux == 2 ? ballot != 0
                           : ballot == mask || !ballot;
    if (i->aux)
      setPredicate(w, i->d, r ? ~0u : 0, mask);
    else
      forLanes(mask,
               [&](unsigned lane) { w.at<uint32_t>(i->d)[lane] = ballot; });
    carryToAll(w, i, kNoSlot, mask);
  });
}
void decodeVote(Decoder &d) {
  if (!d.take("sync"))
    return d.unsupported("only vote.sync is supported");
  int k = d.takeAny({"ballot", "all", "any", "uni"});
  if (k < 0 || !(k ? d.take("pred") : d.take("b32")))
    return d.unsupported("expects a mode and a type");
  if (!d.expectOperands(3, 3))
    return;
  Slot p = d.usePredicate(1), m = d.use(2, {'B', 32});
  Slot out = k ? d.defPredicate(0) : d.def(0, {'B', 32});
  Instr &i = d.emit(vote);
  i.d = out;
  i.a = p;
  i.b = m;
  i.aux = k;
}

template <class L>
const Instr *match(Warp &w, const Instr *i, uint32_t mask) {
  return forMembers(w, i, i->b, mask, [&](uint32_t mask) {
    const L *a = w.at<L>(i->a);
    uint32_t *d = w.at<uint32_t>(i->d), same[32] = {};
    forLanes(mask, [&](unsigned x) {
      forLanes(mask,
               [&](unsigned y) { same[x] |= uint32_t(a[x] == a[y]) << y; });
    });
    if (i->aux) { // all
      bool equal = same[firstLane(mask)] == mask;
      forLanes(mask, [&](unsigned lane) { d[lane] = equal ? mask : 0; });
      if (i->aux2 != kNoSlot)
        setPredicate(w, i->aux2, equal ? ~0u : 0, mask);
    } else {
      forLanes(mask, [&](unsigned lane) { d[lane] = same[lane]; });
    }
    carryToAll(w, i, i->aux2, mask);
  });
}
void decodeMatch(Decoder &d) {
  int k = d.takeAny({"any", "all"});
  Type t;
  if (k < 0 || !d.take("sync") || !d.takeType(t) ||
      (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects .any or .all, .sync and a type");
  if (!d.expectOperands(3, 3))
    return;
  Slot p = kNoSlot, out;
  if (d.operand(0).kind == Operand::Pair) {
    out = d.def(d.operand(0).parts[0], 4);
    p = d.defPredicate(d.operand(0).parts[1]);
  } else {
    out = d.def(0, {'B', 32});
  }
  Slot a = d.use(1, t), m = d.use(2, {'B', 32});
  Instr &i = d.emit(t.bits == 64 ? match<uint64_t> : match<uint32_t>);
  i.d = out;
  i.a = a;
  i.b = m;
  i.aux = k;
  i.aux2 = p;
}

/// aux, bits 0 to 2: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; bit 3: signed;
/// bit 4: f32; bit 5: abs; bit 6: NaN.
const Instr *redux(Warp &w, const Instr *i, uint32_t mask) {
  return forMembers(w, i, i->b, mask, [&](uint32_t mask) {
    const uint32_t *a = w.at<uint32_t>(i->a);
    unsigned op = i->aux & 7;
    bool isSigned = i->aux & 8;
    uint32_t r = a[firstLane(mask)];
    if (i->aux & 16) {
      bool abs = i->aux & 32, nan = i->aux & 64, any = false, poisoned = false;
      float best = 0;
      forLanes(mask, [&](unsigned lane) {
        float x = asFloat(a[lane]);
        if (abs)
          x = std::fabs(x);
        if (x != x) {
          poisoned = true;
          return;
        }
        bool less = x < best || (x == best && std::signbit(x));
        if (!any || less == (op == 1))
          best = x;
        any = true;
      });
      r = !any || (nan && poisoned) ? kF32CanonicalNaN : bitsOf(best);
    } else {
      bool first = true;
      forLanes(mask, [&](unsigned lane) {
        uint32_t x = a[lane];
        if (first) {
          first = false;
          return;
        }
        bool less = isSigned ? int32_t(x) < int32_t(r) : x < r;
        switch (op) {
        case 0:
          r += x;
          break;
        case 1:
          r = less ? x : r;
          break;
        case 2:
          r = less ? r : x;
          break;
        case 3:
          r &= x;
          break;
        case 4:
          r |= x;
          break;
        case 5:
          r ^= x;
          break;
        }
      });
    }
    forLanes(mask, [&](unsigned lane) { w.at<uint32_t>(i->d)[lane] = r; });
    carryToAll(w, i, kNoSlot, mask);
  });
}
void decodeRedux(Decoder &d) {
  d.take("sync");
  int op = d.takeAny({"add", "min", "max", "and", "or", "xor"});
  uint32_t flags = (d.take("abs") ? 32 : 0) | (d.take("NaN") ? 64 : 0);
  Type t;
  if (op < 0 || !d.takeType(t) || t.bits != 32)
    return d.unsupported("expects an operation and a 32-bit type");
  if (t.kind == 'F' ? op != 1 && op != 2 : flags != 0)
    return d.unsupported("no such operation on this type");
  if (!d.expectOperands(3, 3))
    return;
  Slot a = d.use(1, t), m = d.use(2, {'B', 32}), out = d.def(0, t);
  Instr &i = d.emit(redux);
  i.d = out;
  i.a = a;
  i.b = m;
  i.aux = op | (t.kind == 'S') << 3 | (t.kind == 'F') << 4 | flags;
}

/// Elects the lowest member. As on hardware, the choice depends only on the
/// mask.
const Instr *elect(Warp &w, const Instr *i, uint32_t mask) {
  return forMembers(w, i, i->a, mask, [&](uint32_t mask) {
    unsigned leader = firstLane(mask);
    forLanes(mask, [&](unsigned lane) { w.at<uint32_t>(i->d)[lane] = leader; });
    setPredicate(w, i->aux2, 1u << leader, mask);
  });
}
void decodeElect(Decoder &d) {
  if (!d.take("sync"))
    return d.unsupported("expects .sync");
  if (!d.expectOperands(2, 2) || d.operand(0).kind != Operand::Pair)
    return d.unsupported("expects d|p, membermask");
  Slot m = d.use(1, {'B', 32});
  Slot out = d.def(d.operand(0).parts[0], 4);
  Slot p = d.defPredicate(d.operand(0).parts[1]);
  Instr &i = d.emit(elect);
  i.d = out;
  i.a = m;
  i.aux2 = p;
}

} // namespace

const Instr *mx::sim::warpSync(Warp &w, const Instr *i, uint32_t mask) {
  return forMembers(w, i, i->a, mask, [](uint32_t) {});
}

void mx::sim::addWarpInstructions(DecodeTable &t) {
  t["shfl"] = decodeShfl;
  t["vote"] = decodeVote;
  t["match"] = decodeMatch;
  t["redux"] = decodeRedux;
  t["elect"] = decodeElect;
}
