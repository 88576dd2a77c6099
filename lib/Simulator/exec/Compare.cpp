//===- Compare.cpp - comparison and selection -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Comparison and selection instructions": setp, set, selp, slct.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"
#include "Lanes.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Type;

namespace {

enum Cmp : uint8_t {
  EQ,
  NE,
  LT,
  LE,
  GT,
  GE,
  LO,
  LS,
  HI,
  HS,
  EQU,
  NEU,
  LTU,
  LEU,
  GTU,
  GEU,
  NUM,
  NAN_,
  Count
};
constexpr std::string_view kNames[] = {
    "eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
    "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

template <class T, Cmp C>
bool compare(T a, T b) {
  if constexpr (C == EQ)
    return a == b;
  else if constexpr (C == NE)
    // Ordered: false when one is NaN.
    return a < b || a > b;
  else if constexpr (C == LT || C == LO)
    return a < b;
  else if constexpr (C == LE || C == LS)
    return a <= b;
  else if constexpr (C == GT || C == HI)
    return a > b;
  else if constexpr (C == GE || C == HS)
    return a >= b;
  else if constexpr (C == EQU)
    return !(a < b || a > b);
  else if constexpr (C == NEU)
    return !(a == b);
  else if constexpr (C == LTU)
    return !(a >= b);
  else if constexpr (C == LEU)
    return !(a > b);
  else if constexpr (C == GTU)
    return !(a <= b);
  else if constexpr (C == GEU)
    return !(a < b);
  else if constexpr (C == NUM)
    return a == a && b == b;
  else
    return a != a || b != b;
}

/// d = compare(a, b); aux bits 0-1: 1 and, 2 or, 3 xor with predicate c;
/// aux2: the predicate that gets the complement, or kNoSlot.
template <class T, Cmp C>
const Instr *setp(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t r = compareLanes<T, compare<T, C>>(w, i, mask);
  if (i->aux | (i->aux2 != kNoSlot)) {
    uint32_t n = ~r, c = i->aux ? w.predicate(i->c) : 0;
    switch (i->aux) {
    case 1:
      r &= c;
      n &= c;
      break;
    case 2:
      r |= c;
      n |= c;
      break;
    case 3:
      r ^= c;
      n ^= c;
      break;
    }
    if (i->aux2 != kNoSlot)
      setPredicate(w, i->aux2, n, mask);
  }
  setPredicate(w, i->d, r, mask);
  return i + 1;
}

template <class T, size_t... K>
Handler pickCompare(Cmp c, std::index_sequence<K...>) {
  static constexpr Handler h[] = {setp<T, Cmp(K)>...};
  return h[c];
}
template <class T>
Handler pick(Cmp c) {
  return pickCompare<T>(c, std::make_index_sequence<Count>());
}

struct F16Value {
  uint16_t bits;
  operator float() const { return f16ToFloat(bits); }
};
struct BF16Value {
  uint16_t bits;
  operator float() const { return bf16ToFloat(bits); }
};
template <class V, Cmp C>
bool compareHalf(V a, V b) {
  return compare<float, C>(float(a), float(b));
}
template <class V, Cmp C>
const Instr *setpHalf(Warp &w, const Instr *i, uint32_t mask) {
  const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b);
  uint32_t r = 0;
  forLanes(mask, [&](unsigned lane) {
    r |= uint32_t(compareHalf<V, C>(V{uint16_t(a[lane])}, V{uint16_t(b[lane])}))
         << lane;
  });
  uint32_t n = ~r, c = i->aux ? w.predicate(i->c) : 0;
  if (i->aux == 1) {
    r &= c;
    n &= c;
  } else if (i->aux == 2) {
    r |= c;
    n |= c;
  } else if (i->aux == 3) {
    r ^= c;
    n ^= c;
  }
  if (i->aux2 != kNoSlot)
    setPredicate(w, i->aux2, n, mask);
  setPredicate(w, i->d, r, mask);
  return i + 1;
}
template <class V, size_t... K>
Handler pickHalf(Cmp c, std::index_sequence<K...>) {
  static constexpr Handler h[] = {setpHalf<V, Cmp(K)>...};
  return h[c];
}

/// For setp with .ftz: the flushed copies are compared.
template <class T>
T flushInput(T x) {
  return flush(x);
}

Handler handlerFor(Decoder &d, Cmp c, std::string_view &typeName, Type &t) {
  if (d.take("f16")) {
    t = {'B', 16};
    return pickHalf<F16Value>(c, std::make_index_sequence<Count>());
  }
  if (d.take("bf16")) {
    t = {'B', 16};
    return pickHalf<BF16Value>(c, std::make_index_sequence<Count>());
  }
  if (!d.takeType(t))
    return nullptr;
  switch (t.kind) {
  case 'F':
    return t.bits == 32   ? pick<float>(c)
           : t.bits == 64 ? pick<double>(c)
                          : nullptr;
  case 'S':
    return t.bits == 16   ? pick<int16_t>(c)
           : t.bits == 32 ? pick<int32_t>(c)
           : t.bits == 64 ? pick<int64_t>(c)
                          : nullptr;
  case 'U':
  case 'B':
    return t.bits == 16   ? pick<uint16_t>(c)
           : t.bits == 32 ? pick<uint32_t>(c)
           : t.bits == 64 ? pick<uint64_t>(c)
                          : nullptr;
  }
  return nullptr;
}

Cmp takeCompare(Decoder &d) {
  for (unsigned k = 0; k < Count; ++k)
    if (d.take(kNames[k]))
      return Cmp(k);
  return Count;
}

Slot flushed(Decoder &d, Slot s) {
  Slot out = d.special(Special::Zero, 4, 2 + d.program.code.size());
  Instr &i = d.emit(map<flushInput<float>>);
  i.d = out;
  i.a = s;
  return out;
}

/// Emits the comparison of `inst` and leaves the predicates to the caller.
bool emitCompare(Decoder &d, Slot p, Slot q, size_t numSources) {
  Cmp c = takeCompare(d);
  if (c == Count) {
    d.unsupported("expects a comparison");
    return false;
  }
  uint32_t combine = d.takeAny({"and", "or", "xor"}) + 1;
  bool ftz = d.take("ftz");
  std::string_view typeName;
  Type t;
  Handler h = handlerFor(d, c, typeName, t);
  if (!h) {
    d.unsupported("no such type");
    return false;
  }
  if (!d.expectOperands(numSources + (combine != 0),
                        numSources + (combine != 0)))
    return false;
  Slot a = d.use(1, t), b = d.use(2, t);
  Slot other = combine ? d.usePredicate(3) : kNoSlot;
  if (ftz && t == Type{'F', 32}) {
    a = flushed(d, a);
    b = flushed(d, b);
  }
  Instr &i = d.emit(h);
  i.d = p;
  i.a = a;
  i.b = b;
  i.c = other;
  i.aux = combine;
  i.aux2 = q;
  return true;
}

void decodeSetp(Decoder &d) {
  if (!d.expectOperands(3, 4))
    return;
  Slot p, q = kNoSlot;
  if (d.operand(0).kind == Operand::Pair) {
    p = d.defPredicate(d.operand(0).parts[0]);
    q = d.defPredicate(d.operand(0).parts[1]);
  } else {
    p = d.defPredicate(0);
  }
  emitCompare(d, p, q, 3);
}

/// aux: what true is, per type of the result.
const Instr *fromPredicate(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t p = *w.at<uint32_t>(i->a), *d = w.at<uint32_t>(i->d);
  forLanes(mask, [&](unsigned lane) { d[lane] = p >> lane & 1 ? i->aux : 0; });
  return i + 1;
}

void decodeSet(Decoder &d) {
  // set.cmp.dtype.stype: the first type is that of the result.
  Type result;
  if (!d.takeType(result) || result.bits != 32)
    return d.unsupported("expects a result of .u32, .s32 or .f32");
  bool isFloat = result.kind == 'F';
  Slot p = d.scratchPredicate();
  Slot out = d.def(0, {'B', 32});
  if (!emitCompare(d, p, kNoSlot, 3))
    return;
  Instr &i = d.emit(fromPredicate);
  i.d = out;
  i.a = p;
  i.aux = isFloat ? 0x3F800000u : ~0u;
}

template <class L>
const Instr *selp(Warp &w, const Instr *i, uint32_t mask) {
  L *d = w.at<L>(i->d);
  const L *a = w.at<L>(i->a), *b = w.at<L>(i->b);
  uint32_t p = w.predicate(i->c);
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane)
      d[lane] = (p >> lane) & 1 ? a[lane] : b[lane];
  } else {
    forLanes(mask, [&](unsigned lane) {
      d[lane] = (p >> lane) & 1 ? a[lane] : b[lane];
    });
  }
  return i + 1;
}

void decodeSelp(Decoder &d) {
  Type t;
  if (!d.takeType(t) || t.bits > 64 || t.kind == 'P')
    return d.unsupported("expects a type of 16 to 64 bits");
  if (!d.expectOperands(4, 4))
    return;
  Slot a = d.use(1, t), b = d.use(2, t), p = d.usePredicate(3);
  Slot out = d.def(0, t);
  Instr &i = d.emit(t.bits == 64 ? selp<uint64_t> : selp<uint32_t>);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = p;
}

template <class L, bool Float>
const Instr *slct(Warp &w, const Instr *i, uint32_t mask) {
  L *d = w.at<L>(i->d);
  const L *a = w.at<L>(i->a), *b = w.at<L>(i->b);
  forLanes(mask, [&](unsigned lane) {
    bool first =
        Float ? w.at<float>(i->c)[lane] >= 0 : w.at<int32_t>(i->c)[lane] >= 0;
    d[lane] = first ? a[lane] : b[lane];
  });
  return i + 1;
}

void decodeSlct(Decoder &d) {
  d.take("ftz");
  Type t, c;
  if (!d.takeType(t) || !d.takeType(c) || c.bits != 32)
    return d.unsupported("expects a type and .s32 or .f32");
  if (!d.expectOperands(4, 4))
    return;
  Slot a = d.use(1, t), b = d.use(2, t), s = d.use(3, c), out = d.def(0, t);
  bool isFloat = c.kind == 'F', wide = t.bits == 64;
  Instr &i =
      d.emit(wide      ? isFloat ? slct<uint64_t, true> : slct<uint64_t, false>
             : isFloat ? slct<uint32_t, true>
                       : slct<uint32_t, false>);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = s;
}

} // namespace

namespace mx::sim {
void addCompareInstructions(DecodeTable &t) {
  t["setp"] = decodeSetp;
  t["set"] = decodeSet;
  t["selp"] = decodeSelp;
  t["slct"] = decodeSlct;
}
} // namespace mx::sim
