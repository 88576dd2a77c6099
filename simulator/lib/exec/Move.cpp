//===- Move.cpp - Moves and address conversions ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: mov (with packing and unpacking), cvta, mapa, getctarank, isspacep,
// createpolicy.
//===----------------------------------------------------------------------===//

#include "../machine/Lanes.h"
#include "Instructions.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

template <class L>
const Instr *move(Warp &w, const Instr *i, uint32_t mask) {
  L *d = w.at<L>(i->d);
  const L *a = w.at<L>(i->a);
  if (mask == ~0u) {
    std::memmove(d, a, 32 * sizeof(L));
  } else {
    forLanes(mask, [&](unsigned lane) { d[lane] = a[lane]; });
  }
  return i + 1;
}
struct Wide128 {
  uint64_t lo, hi;
};

const Instr *movePredicate(Warp &w, const Instr *i, uint32_t mask) {
  setPredicate(w, i->d, w.predicate(i->a), mask);
  return i + 1;
}

const Instr *pack64(Warp &w, const Instr *i, uint32_t mask) {
  uint64_t *d = w.at<uint64_t>(i->d);
  const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b);
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane)
      d[lane] = a[lane] | uint64_t(b[lane]) << 32;
  } else {
    forLanes(mask, [&](unsigned lane) {
      d[lane] = a[lane] | uint64_t(b[lane]) << 32;
    });
  }
  return i + 1;
}
const Instr *unpack64(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t *a = w.at<uint32_t>(i->d), *b = w.at<uint32_t>(i->b);
  const uint64_t *s = w.at<uint64_t>(i->a);
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane) {
      a[lane] = uint32_t(s[lane]);
      b[lane] = uint32_t(s[lane] >> 32);
    }
  } else {
    forLanes(mask, [&](unsigned lane) {
      a[lane] = uint32_t(s[lane]);
      b[lane] = uint32_t(s[lane] >> 32);
    });
  }
  return i + 1;
}

/// aux: first element in extra; aux2: number of elements | bytes per element <<
/// 8 | register bytes per element and lane << 16 | total register bytes per
/// lane << 24.
struct Pieces {
  unsigned count, bytes, lane, whole;
  explicit Pieces(const Instr *i)
      : count(i->aux2 & 0xff), bytes((i->aux2 >> 8) & 0xff),
        lane((i->aux2 >> 16) & 0xff), whole(i->aux2 >> 24) {}
};
const Instr *pack(Warp &w, const Instr *i, uint32_t mask) {
  Pieces p(i);
  const Slot *slots = &w.machine->program.extra[i->aux];
  char *d = w.at<char>(i->d);
  forLanes(mask, [&](unsigned lane) {
    char v[16] = {};
    for (unsigned k = 0; k < p.count; ++k)
      std::memcpy(v + k * p.bytes, w.at<char>(slots[k]) + lane * p.lane,
                  p.bytes);
    std::memcpy(d + lane * p.whole, v, p.whole);
  });
  return i + 1;
}
const Instr *unpack(Warp &w, const Instr *i, uint32_t mask) {
  Pieces p(i);
  const Slot *slots = &w.machine->program.extra[i->aux];
  const char *a = w.at<char>(i->a);
  forLanes(mask, [&](unsigned lane) {
    char v[16];
    std::memcpy(v, a + lane * p.whole, p.whole);
    for (unsigned k = 0; k < p.count; ++k) {
      uint64_t e = 0;
      std::memcpy(&e, v + k * p.bytes, p.bytes);
      std::memcpy(w.at<char>(slots[k]) + lane * p.lane, &e, p.lane);
    }
  });
  return i + 1;
}

Handler moveOf(unsigned laneBytes) {
  return laneBytes == 4   ? move<uint32_t>
         : laneBytes == 8 ? move<uint64_t>
                          : move<Wide128>;
}

/// aux: slots of the sources and then of the results in extra; aux2: number of
/// elements.
template <class L>
const Instr *moveElements(Warp &w, const Instr *i, uint32_t mask) {
  const Slot *sources = &w.machine->program.extra[i->aux];
  const Slot *results = sources + i->aux2;
  forLanes(mask, [&](unsigned lane) {
    L values[kMaxVector];
    for (unsigned k = 0; k < i->aux2; ++k)
      values[k] = w.at<L>(sources[k])[lane];
    for (unsigned k = 0; k < i->aux2; ++k)
      w.at<L>(results[k])[lane] = values[k];
  });
  return i + 1;
}

/// Decodes mov.v2 and mov.v4, which move all elements simultaneously.
void decodeVectorMov(Decoder &d, unsigned count, Type t) {
  if (d.elements(d.operand(0)).size() != count ||
      d.elements(d.operand(1)).size() != count)
    return d.unsupported("expects vectors of " + std::to_string(count) +
                         " elements");
  d.markMove();
  unsigned lane = t.bits <= 32 ? 4 : t.bits / 8;
  std::vector<Slot> slots;
  for (const Operand &part : d.operand(1).parts)
    slots.push_back(d.use(part, lane, t));
  for (const Operand &part : d.operand(0).parts)
    slots.push_back(d.def(part, lane));
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(lane == 4   ? moveElements<uint32_t>
                    : lane == 8 ? moveElements<uint64_t>
                                : moveElements<Wide128>);
  i.aux = first;
  i.aux2 = count;
}

void decodeMov(Decoder &d) {
  if (d.modifiers().empty())
    return d.unsupported("expects a type");
  Type t;
  unsigned count = d.takeVector();
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  if (!d.expectOperands(2, 2))
    return;
  if (count > 1)
    return t.kind == 'P' ? d.unsupported("predicates cannot be vector elements")
                         : decodeVectorMov(d, count, t);
  const Operand &dst = d.operand(0), &src = d.operand(1);
  if (t.kind == 'P') {
    Slot a = d.usePredicate(1), out = d.defPredicate(0);
    Instr &i = d.emit(movePredicate);
    i.d = out;
    i.a = a;
    return;
  }
  unsigned whole = t.bits <= 32 ? 4 : t.bits / 8;
  if (dst.kind == Operand::Vector || src.kind == Operand::Vector) {
    bool isPack = src.kind == Operand::Vector;
    if (isPack && dst.kind == Operand::Vector)
      return d.unsupported("only one side may be a vector");
    const std::vector<Operand> &parts = isPack ? src.parts : dst.parts;
    unsigned n = parts.size();
    if ((n != 2 && n != 4) || t.bits / n < 8)
      return d.unsupported("expects 2 or 4 elements");
    unsigned bytes = t.bits / 8 / n, lane = bytes <= 4 ? 4 : 8;
    Slot s[4];
    for (unsigned k = 0; k < n; ++k)
      s[k] = isPack ? d.use(parts[k], lane) : d.def(parts[k], lane);
    Slot other = isPack ? d.def(0, t) : d.use(1, t);
    d.markMove();
    if (t.bits == 64 && n == 2) {
      Instr &i = d.emit(isPack ? pack64 : unpack64);
      i.d = isPack ? other : s[0];
      i.a = isPack ? s[0] : other;
      i.b = s[1];
      return;
    }
    uint32_t first = d.program.extra.size();
    for (unsigned k = 0; k < n; ++k)
      d.addExtra(s[k]);
    Instr &i = d.emit(isPack ? pack : unpack);
    i.d = i.a = other;
    i.aux = first;
    i.aux2 = n | bytes << 8 | lane << 16 | whole << 24;
    return;
  }
  if (t.bits == 8)
    return d.unsupported("no such type");
  Slot a = d.use(1, t), out = d.def(0, t);
  d.markMove();
  Instr &i = d.emit(moveOf(whole));
  i.d = out;
  i.a = a;
}

/// Computes d = a + imm in 64 or 32 bits.
template <class L>
const Instr *addImmediate(Warp &w, const Instr *i, uint32_t mask) {
  L *d = w.at<L>(i->d);
  const L *a = w.at<L>(i->a);
  forLanes(mask, [&](unsigned lane) { d[lane] = L(a[lane] + i->imm); });
  return i + 1;
}

uint64_t windowOf(Space s) {
  switch (s) {
  case Space::Shared:
    return kSharedWindow;
  case Space::Local:
    return kLocalWindow;
  case Space::Param:
    return kParamWindow;
  default:
    return 0;
  }
}

void decodeCvta(Decoder &d) {
  bool to = d.take("to");
  Space s = d.takeSpace();
  if (s == Space::Generic || !d.take("u64"))
    return d.unsupported("expects a state space and .u64");
  if (!d.expectOperands(2, 2))
    return;
  // PTX also allows the name of a parameter variable as the operand.
  Slot a = d.use(1, {'U', 64}), out = d.def(0, {'U', 64});
  Instr &i = d.emit(addImmediate<uint64_t>);
  i.d = out;
  i.a = a;
  i.imm = to ? -int64_t(windowOf(s)) : int64_t(windowOf(s));
}

/// Computes an address even for an invalid rank, since compilers hoist mapa out
/// of the branch that guards the access. As on an H200, the low 8 bits of the
/// rank become part of the address. Only an access to a nonexistent CTA is
/// reported.
template <class L, bool Generic>
const Instr *mapa(Warp &w, const Instr *i, uint32_t mask) {
  L *d = w.at<L>(i->d);
  const L *a = w.at<L>(i->a);
  const uint32_t *rank = w.at<uint32_t>(i->b);
  constexpr L window = Generic ? L(kSharedWindow) : L(0);
  forLanes(mask, [&](unsigned lane) {
    d[lane] = L(((a[lane] - window) & kOffsetMask) | L(rank[lane] & 0xff)
                                                         << kRankShift) +
              window;
  });
  return i + 1;
}

void decodeMapa(Decoder &d) {
  bool isGeneric = d.takeSpace() != Space::Shared;
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64) ||
      (isGeneric && t.bits == 32))
    return d.unsupported("expects .u32 or .u64");
  if (!d.expectOperands(3, 3))
    return;
  Slot a = d.use(1, t), b = d.use(2, {'U', 32}), out = d.def(0, t);
  Instr &i = d.emit(isGeneric      ? mapa<uint64_t, true>
                    : t.bits == 64 ? mapa<uint64_t, false>
                                   : mapa<uint32_t, false>);
  i.d = out;
  i.a = a;
  i.b = b;
}

template <class L>
const Instr *getCtaRank(Warp &w, const Instr *i, uint32_t mask) {
  const L *a = w.at<L>(i->a);
  uint32_t *d = w.at<uint32_t>(i->d);
  forLanes(mask, [&](unsigned lane) {
    d[lane] = uint32_t((a[lane] - L(i->imm)) >> kRankShift);
  });
  return i + 1;
}

void decodeGetCtaRank(Decoder &d) {
  bool isGeneric = d.takeSpace() != Space::Shared;
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects .u32 or .u64");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = d.use(1, t), out = d.def(0, {'U', 32});
  Instr &i = d.emit(t.bits == 64 ? getCtaRank<uint64_t> : getCtaRank<uint32_t>);
  i.d = out;
  i.a = a;
  i.imm = isGeneric ? int64_t(kSharedWindow) : 0;
}

/// Returns true for the address of a constant variable. Constant and global
/// variables share an address range.
bool isConstantAddress(const Warp &w, uint64_t address) {
  for (const ptx::Module *m : w.machine->module.linked)
    for (const ptx::Variable *v : m->globals)
      if (v->space == Space::Const && v->placed &&
          address - v->address < v->bytes)
        return true;
  return false;
}

const Instr *isSpace(Warp &w, const Instr *i, uint32_t mask) {
  const uint64_t *a = w.at<uint64_t>(i->a);
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned lane) {
    uint64_t off = a[lane] - uint64_t(i->imm);
    // Any address outside the shared and local windows is global, except for
    // constants. Kernel parameters are therefore global (PTX ISA, isspacep).
    bool in = Space(i->aux) == Space::Global
                  ? a[lane] - kSharedWindow >= kWindowBytes &&
                        a[lane] - kLocalWindow >= kWindowBytes &&
                        !isConstantAddress(w, a[lane])
                  : off < kWindowBytes &&
                        (!i->aux2 || (off >> kRankShift) == w.cta->rank);
    bits |= uint32_t(in) << lane;
  });
  setPredicate(w, i->d, bits, mask);
  return i + 1;
}

const Instr *isConstant(Warp &w, const Instr *i, uint32_t mask) {
  const uint64_t *a = w.at<uint64_t>(i->a);
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned lane) {
    bits |= uint32_t(isConstantAddress(w, a[lane])) << lane;
  });
  setPredicate(w, i->d, bits, mask);
  return i + 1;
}

void decodeIsSpacep(Decoder &d) {
  bool own = false;
  for (std::string_view m : d.modifiers())
    own |= m == "shared::cta" || m == "shared";
  Space s = d.takeSpace();
  if (s == Space::Generic)
    return d.unsupported("expects a state space");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = d.use(1, {'U', 64}), p = d.defPredicate(0);
  if (s == Space::Const) {
    Instr &i = d.emit(isConstant);
    i.d = p;
    i.a = a;
    return;
  }
  Instr &i = d.emit(isSpace);
  i.d = p;
  i.a = a;
  i.aux = unsigned(s);
  i.aux2 = own;
  i.imm = int64_t(windowOf(s));
}

/// Decodes createpolicy. Cache policies have no effect here, so any value
/// works.
void decodeCreatePolicy(Decoder &d) {
  while (!d.modifiers().empty())
    d.take(d.modifiers().front());
  Slot out = d.def(0, {'B', 64});
  Instr &i = d.emit(move<uint64_t>);
  i.d = out;
  i.a = d.constant(0, 8);
}

const Instr *activeMask(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t *d = w.at<uint32_t>(i->d);
  forLanes(mask, [&](unsigned lane) { d[lane] = mask; });
  return i + 1;
}
void decodeActiveMask(Decoder &d) {
  d.take("b32");
  Slot out = d.def(0, {'B', 32});
  d.emit(activeMask).d = out;
}

} // namespace

namespace mx::sim {
void addCompareInstructions(DecodeTable &t);
}

void mx::sim::addMoveInstructions(DecodeTable &t) {
  addCompareInstructions(t);
  t["mov"] = decodeMov;
  t["cvta"] = decodeCvta;
  t["mapa"] = decodeMapa;
  t["getctarank"] = decodeGetCtaRank;
  t["isspacep"] = decodeIsSpacep;
  t["createpolicy"] = decodeCreatePolicy;
  t["activemask"] = decodeActiveMask;
}
