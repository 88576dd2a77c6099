//===- Compare.cpp - Comparison and selection -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Comparison and selection instructions": setp, set, selp, slct.
//===----------------------------------------------------------------------===//

#include "../machine/Lanes.h"
#include "FloatOps.h"

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
    // Ordered comparison: false if either operand is NaN.
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

/// Computes d = compare(a, b), combined with predicate c by aux (1 and, 2 or, 3
/// xor, 0 not at all); aux2: slot for the complement, or kNoSlot.
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
struct F16FtzValue {
  uint16_t bits;
  operator float() const { return HalfF16Ftz::widen(bits); }
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

const Instr *copyPredicate(Warp &w, const Instr *i, uint32_t mask) {
  setPredicate(w, i->d, w.predicate(i->a), mask);
  return i + 1;
}

/// Flushes an operand of setp.ftz.
template <class T>
T flushInput(T x) {
  return flush(x);
}

uint32_t upperHalf(uint32_t x) { return x >> 16; }

/// Source type of a comparison and its handler. Packed sources contain two
/// values.
struct Source {
  Type type;
  Handler handler = nullptr;
  bool isPacked = false;
};

Source takeSource(Decoder &d, Cmp c, bool ftz) {
  auto halves = std::make_index_sequence<Count>();
  Source s;
  s.type = {'B', 16};
  bool isF16x2 = d.take("f16x2"), isBF16x2 = !isF16x2 && d.take("bf16x2");
  if (isF16x2 || isBF16x2) {
    s.isPacked = true;
    s.type = {'B', 32};
  }
  if (isF16x2 || (!isBF16x2 && d.take("f16"))) {
    s.handler =
        ftz ? pickHalf<F16FtzValue>(c, halves) : pickHalf<F16Value>(c, halves);
    return s;
  }
  if (isBF16x2 || d.take("bf16")) {
    s.handler = pickHalf<BF16Value>(c, halves);
    return s;
  }
  if (!d.takeType(s.type))
    return s;
  bool is16 = s.type.bits == 16, is32 = s.type.bits == 32,
       is64 = s.type.bits == 64;
  switch (s.type.kind) {
  case 'F':
    s.handler = is32 ? pick<float>(c) : is64 ? pick<double>(c) : nullptr;
    break;
  case 'S':
    s.handler = is16   ? pick<int16_t>(c)
                : is32 ? pick<int32_t>(c)
                : is64 ? pick<int64_t>(c)
                       : nullptr;
    break;
  case 'U':
  case 'B':
    s.handler = is16   ? pick<uint16_t>(c)
                : is32 ? pick<uint32_t>(c)
                : is64 ? pick<uint64_t>(c)
                       : nullptr;
    break;
  }
  return s;
}

Cmp takeCompare(Decoder &d) {
  for (unsigned k = 0; k < Count; ++k)
    if (d.take(kNames[k]))
      return Cmp(k);
  return Count;
}

Slot copied(Decoder &d, Handler h, Slot s) {
  Slot out = d.temporary(4);
  Instr &i = d.emit(h);
  i.d = out;
  i.a = s;
  return out;
}

/// Emits a comparison with result p and complement q. For packed operands, p is
/// the result for the lower halves and `upper` the result for the upper halves.
bool emitCompare(Decoder &d, Slot p, Slot q, Slot upper) {
  Cmp c = takeCompare(d);
  if (c == Count) {
    d.unsupported("expects a comparison");
    return false;
  }
  uint32_t combine = d.takeAny({"and", "or", "xor"}) + 1;
  bool ftz = d.take("ftz");
  Source source = takeSource(d, c, ftz);
  if (!source.handler) {
    d.unsupported("no such type");
    return false;
  }
  if (source.isPacked != (upper != kNoSlot)) {
    d.unsupported(source.isPacked ? "a packed comparison has two results"
                                  : "only a packed comparison has two results");
    return false;
  }
  size_t count = combine ? 4 : 3;
  if (!d.expectOperands(count, count))
    return false;
  Slot a = d.use(1, source.type), b = d.use(2, source.type);
  Slot other = combine ? d.usePredicate(3) : kNoSlot;
  if (ftz && source.type == Type{'F', 32}) {
    a = copied(d, map<flushInput<float>>, a);
    b = copied(d, map<flushInput<float>>, b);
  }
  auto emit = [&](Slot to, Slot not_, Slot x, Slot y) {
    Instr &i = d.emit(source.handler);
    i.d = to;
    i.a = x;
    i.b = y;
    i.c = other;
    i.aux = combine;
    i.aux2 = not_;
  };
  if (!source.isPacked) {
    emit(p, q, a, b);
    return true;
  }
  // Copy the predicate operand. The first result may overwrite the original.
  if (combine) {
    Slot kept = d.temporaryPredicate();
    Instr &i = d.emit(copyPredicate);
    i.d = kept;
    i.a = other;
    other = kept;
  }
  Slot highA = copied(d, map<upperHalf>, a),
       highB = copied(d, map<upperHalf>, b);
  emit(p, kNoSlot, a, b);
  emit(upper, kNoSlot, highA, highB);
  return true;
}

bool hasPackedSource(Decoder &d) {
  return !d.modifiers().empty() &&
         (d.modifiers().back() == "f16x2" || d.modifiers().back() == "bf16x2");
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
  if (hasPackedSource(d))
    emitCompare(d, p, kNoSlot, q);
  else
    emitCompare(d, p, q, kNoSlot);
}

/// Converts predicate a to the result type; aux: value for true.
const Instr *fromPredicate(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t p = *w.at<uint32_t>(i->a), *d = w.at<uint32_t>(i->d);
  forLanes(mask, [&](unsigned lane) { d[lane] = p >> lane & 1 ? i->aux : 0; });
  return i + 1;
}
/// Converts two predicates to a packed result. a: lower half, b: upper half;
/// aux: value for true.
const Instr *fromPredicates(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t p = *w.at<uint32_t>(i->a), q = *w.at<uint32_t>(i->b);
  uint32_t *d = w.at<uint32_t>(i->d);
  forLanes(mask, [&](unsigned lane) {
    d[lane] = (p >> lane & 1 ? i->aux : 0) | (q >> lane & 1 ? i->aux << 16 : 0);
  });
  return i + 1;
}

void decodeSet(Decoder &d) {
  // set.cmp.dtype.stype: the result type is first.
  struct Result {
    std::string_view name;
    uint32_t one;
  };
  static constexpr Result results[] = {
      {"u32", ~0u},      {"s32", ~0u},       {"f32", 0x3F800000u},
      {"u16", 0xFFFFu},  {"s16", 0xFFFFu},   {"f16", 0x3C00u},
      {"bf16", 0x3F80u}, {"f16x2", 0x3C00u}, {"bf16x2", 0x3F80u},
  };
  // Search in modifier order, because the source type may be in the table too.
  const Result *result = nullptr;
  for (std::string_view m : d.modifiers()) {
    for (const Result &r : results)
      if (!result && r.name == m)
        result = &r;
    if (result)
      break;
  }
  if (!result || !d.take(result->name))
    return d.unsupported("expects the type of the result");
  bool isPair = hasPackedSource(d);
  if (!isPair && result->name.back() == '2' && result->name.size() > 4)
    return d.unsupported("only a packed comparison has two results");
  Slot p = d.temporaryPredicate();
  Slot q = isPair ? d.temporaryPredicate() : kNoSlot;
  Slot out = d.def(0, {'B', 32});
  if (!emitCompare(d, p, kNoSlot, q))
    return;
  Instr &i = d.emit(isPair ? fromPredicates : fromPredicate);
  i.d = out;
  i.a = p;
  i.b = q;
  i.aux = result->one;
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
    // Negative zero selects `a`, as does a negative input flushed by .ftz to
    // negative zero.
    bool first = Float ? w.at<float>(i->c)[lane] >= 0 ||
                             (i->aux && flush(w.at<float>(i->c)[lane]) == 0)
                       : w.at<int32_t>(i->c)[lane] >= 0;
    d[lane] = first ? a[lane] : b[lane];
  });
  return i + 1;
}

void decodeSlct(Decoder &d) {
  bool ftz = d.take("ftz");
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
  i.aux = ftz;
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
