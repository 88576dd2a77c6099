//===- Integer.cpp - integer, logic and bit instructions ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Integer arithmetic", "Extended-precision", "Logic and shift" and
// integer "Comparison and selection" instructions.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"
#include "Lanes.h"

#include <algorithm>
#include <limits>

using namespace mx::sim;
using ptx::Type;

namespace {

template <class T>
T add(T a, T b) {
  return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
}
template <class T>
T sub(T a, T b) {
  return T(std::make_unsigned_t<T>(a) - std::make_unsigned_t<T>(b));
}
template <class T>
T mulLo(T a, T b) {
  return T(uint64_t(a) * uint64_t(b));
}
template <class T>
T mulHi(T a, T b) {
  using Wide =
      std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return T((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
}
template <class T>
struct WideOf;
template <>
struct WideOf<uint16_t> {
  using type = uint32_t;
};
template <>
struct WideOf<int16_t> {
  using type = int32_t;
};
template <>
struct WideOf<uint32_t> {
  using type = uint64_t;
};
template <>
struct WideOf<int32_t> {
  using type = int64_t;
};
template <class T>
using Wide = typename WideOf<T>::type;
template <class T>
Wide<T> mulWide(T a, T b) {
  return Wide<T>(a) * Wide<T>(b);
}
template <class T>
T madLo(T a, T b, T c) {
  return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
}
template <class T>
T madHi(T a, T b, T c) {
  return add<T>(mulHi<T>(a, b), c);
}
template <class T>
Wide<T> madWide(T a, T b, Wide<T> c) {
  return add<Wide<T>>(mulWide<T>(a, b), c);
}
// PTX: division by zero gives an unspecified, machine-specific value; these
// are what current hardware gives.
template <class T>
T divide(T a, T b) {
  if (!b)
    return T(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return T(0 - std::make_unsigned_t<T>(a));
  return a / b;
}
template <class T>
T remainder(T a, T b) {
  if (!b)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return a % b;
}
template <class T>
T minimum(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T maximum(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T absolute(T a) {
  return a < 0 ? T(0 - std::make_unsigned_t<T>(a)) : a;
}
template <class T>
T negate(T a) {
  return T(0 - std::make_unsigned_t<T>(a));
}
template <class T>
T bitAnd(T a, T b) {
  return a & b;
}
template <class T>
T bitOr(T a, T b) {
  return a | b;
}
template <class T>
T bitXor(T a, T b) {
  return a ^ b;
}
template <class T>
T bitNot(T a) {
  return ~a;
}
template <class T>
T logicalNot(T a) {
  return a == 0;
}
// Shift counts beyond the width give all zeros (or signs).
template <class T>
T shiftLeft(T a, uint32_t n) {
  return n >= 8 * sizeof(T) ? 0 : T(a << n);
}
template <class T>
T shiftRight(T a, uint32_t n) {
  return n >= 8 * sizeof(T) ? (std::is_signed_v<T> && a < 0 ? T(-1) : T(0))
                            : T(a >> n);
}
int32_t addSat(int32_t a, int32_t b) {
  int64_t s = int64_t(a) + b;
  return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
}
int32_t subSat(int32_t a, int32_t b) {
  int64_t s = int64_t(a) - b;
  return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
}
template <class T>
uint32_t popCount(T a) {
  return __builtin_popcountll(a);
}
template <class T>
uint32_t leadingZeros(T a) {
  return a ? __builtin_clzll(a) - (64 - 8 * sizeof(T)) : 8 * sizeof(T);
}
template <class T>
T reverseBits(T a) {
  T r = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k)
    r |= T((a >> k) & 1) << (8 * sizeof(T) - 1 - k);
  return r;
}
template <class T, bool ShiftAmount>
uint32_t findLeadingBit(T a) {
  using U = std::make_unsigned_t<T>;
  U u = std::is_signed_v<T> && a < 0 ? U(~a) : U(a);
  if (!u)
    return ~0u;
  uint32_t zeros = leadingZeros<U>(u);
  return ShiftAmount ? zeros : 8 * sizeof(T) - 1 - zeros;
}
template <class T>
T bitFieldExtract(T a, uint32_t posIn, uint32_t lenIn) {
  constexpr unsigned msb = 8 * sizeof(T) - 1;
  using U = std::make_unsigned_t<T>;
  unsigned pos = posIn & 0xff, len = lenIn & 0xff;
  bool sign = false;
  if (std::is_signed_v<T> && len)
    sign = (U(a) >> std::min(pos + len - 1, msb)) & 1;
  U r = 0;
  if (pos <= msb) {
    r = U(a) >> pos;
    if (len <= msb)
      r &= (U(1) << len) - 1;
  }
  if (len == 0)
    return 0;
  unsigned have = pos > msb ? 0 : std::min(len, msb + 1 - pos);
  if (sign && have <= msb)
    r |= ~((U(1) << have) - 1);
  return T(r);
}
template <class T>
T bitMask(uint32_t pos, uint32_t len) {
  constexpr unsigned bits = 8 * sizeof(T);
  if (pos >= bits)
    return 0;
  T ones = len >= bits ? T(~T(0)) : T((T(1) << len) - 1);
  return ones << pos;
}
uint32_t bmskClamp(uint32_t a, uint32_t b) { return bitMask<uint32_t>(a, b); }
uint32_t bmskWrap(uint32_t a, uint32_t b) {
  return bitMask<uint32_t>(a & 31, b & 31);
}
template <class T>
uint32_t fieldOf(T a, uint32_t pos, uint32_t len);

/// bfi d, a (insert), b (into), c (pos), d (len).
template <class T>
const Instr *bitFieldInsert(Warp &w, const Instr *i, uint32_t mask) {
  auto *d = w.at<LaneOf<T>>(i->d);
  auto *a = w.at<LaneOf<T>>(i->a), *b = w.at<LaneOf<T>>(i->b);
  auto *pos = w.at<uint32_t>(i->c);
  auto *len = w.at<uint32_t>(i->aux);
  forLanes(mask, [&](unsigned lane) {
    uint32_t p = pos[lane] & 0xff, n = len[lane] & 0xff;
    T m = bitMask<T>(p, n);
    T in = p >= 8 * sizeof(T) ? 0 : T(a[lane]) << p;
    d[lane] = (T(b[lane]) & ~m) | (in & m);
  });
  return i + 1;
}

template <class T>
T sadOf(T a, T b, T c) {
  return add<T>(c, a < b ? sub<T>(b, a) : sub<T>(a, b));
}
template <class T>
T mul24Lo(T a, T b) {
  auto s = [](T x) { return T(std::make_unsigned_t<T>(x) << 8) >> 8; };
  return mulLo<T>(s(a), s(b));
}
uint32_t funnelLeftWrap(uint32_t a, uint32_t b, uint32_t c) {
  return uint32_t(((uint64_t(b) << 32 | a) << (c & 31)) >> 32);
}
uint32_t funnelLeftClamp(uint32_t a, uint32_t b, uint32_t c) {
  return c >= 32 ? a : funnelLeftWrap(a, b, c);
}
uint32_t funnelRightWrap(uint32_t a, uint32_t b, uint32_t c) {
  return uint32_t((uint64_t(b) << 32 | a) >> (c & 31));
}
uint32_t funnelRightClamp(uint32_t a, uint32_t b, uint32_t c) {
  return c >= 32 ? b : funnelRightWrap(a, b, c);
}
/// Bytes of {b, a} picked by nibbles; bit 3 of a nibble replicates the sign.
uint32_t permute(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t pool = uint64_t(b) << 32 | a;
  uint32_t r = 0;
  for (unsigned k = 0; k < 4; ++k) {
    uint32_t sel = c >> (4 * k);
    uint32_t byte = (pool >> (8 * (sel & 7))) & 0xff;
    if (sel & 8)
      byte = byte & 0x80 ? 0xff : 0;
    r |= byte << (8 * k);
  }
  return r;
}
uint32_t permuteByMode(unsigned mode, uint32_t a, uint32_t b, uint32_t c) {
  static const uint16_t table[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  return permute(a, b, table[mode][c & 3]);
}

template <unsigned Mode>
uint32_t permuteMode(uint32_t a, uint32_t b, uint32_t c) {
  return permuteByMode(Mode, a, b, c);
}

const Instr *lop3(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t *d = w.at<uint32_t>(i->d);
  const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b),
                 *c = w.at<uint32_t>(i->c);
  // The table's columns as masks, so the loop has no branch.
  uint32_t m[8];
  for (unsigned k = 0; k < 8; ++k)
    m[k] = (i->aux >> k) & 1 ? ~0u : 0;
  auto f = [&](unsigned lane) {
    uint32_t x = a[lane], y = b[lane], z = c[lane];
    d[lane] = (m[0] & ~x & ~y & ~z) | (m[1] & ~x & ~y & z) |
              (m[2] & ~x & y & ~z) | (m[3] & ~x & y & z) |
              (m[4] & x & ~y & ~z) | (m[5] & x & ~y & z) | (m[6] & x & y & ~z) |
              (m[7] & x & y & z);
  };
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane)
      f(lane);
  } else {
    forLanes(mask, f);
  }
  return i + 1;
}

/// Predicates: a table of four bits, indexed by (a, b).
const Instr *predicateLogic(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t a = w.predicate(i->a), b = w.predicate(i->b), r = 0;
  if (i->aux & 1)
    r |= ~a & ~b;
  if (i->aux & 2)
    r |= ~a & b;
  if (i->aux & 4)
    r |= a & ~b;
  if (i->aux & 8)
    r |= a & b;
  setPredicate(w, i->d, r, mask);
  return i + 1;
}

/// add.cc and relatives: aux2 is the carry's predicate; aux bit 0: carry in,
/// bit 1: carry out, bit 2: subtract.
template <class T>
const Instr *addCarry(Warp &w, const Instr *i, uint32_t mask) {
  auto *d = w.at<LaneOf<T>>(i->d);
  auto *a = w.at<LaneOf<T>>(i->a), *b = w.at<LaneOf<T>>(i->b);
  uint32_t cc = *w.at<uint32_t>(i->aux2), out = 0;
  bool subtract = i->aux & 4;
  forLanes(mask, [&](unsigned lane) {
    T x = a[lane], y = b[lane];
    T in = i->aux & 1 ? (cc >> lane) & 1 : 0;
    unsigned __int128 r = subtract ? (unsigned __int128)(x)-y - in
                                   : (unsigned __int128)(x) + y + in;
    d[lane] = T(r);
    out |= uint32_t((r >> (8 * sizeof(T))) & 1) << lane;
  });
  if (i->aux & 2)
    setPredicate(w, i->aux2, out, mask);
  return i + 1;
}

/// mad.lo.cc and relatives, as addCarry; aux bit 3: the high half.
template <class T>
const Instr *madCarry(Warp &w, const Instr *i, uint32_t mask) {
  auto *d = w.at<LaneOf<T>>(i->d);
  auto *a = w.at<LaneOf<T>>(i->a), *b = w.at<LaneOf<T>>(i->b),
       *c = w.at<LaneOf<T>>(i->c);
  using U = std::make_unsigned_t<T>;
  uint32_t cc = *w.at<uint32_t>(i->aux2), out = 0;
  forLanes(mask, [&](unsigned lane) {
    U p = i->aux & 8 ? U(mulHi<T>(T(a[lane]), T(b[lane])))
                     : U(mulLo<T>(T(a[lane]), T(b[lane])));
    unsigned __int128 r = (unsigned __int128)(p) + U(c[lane]) +
                          (i->aux & 1 ? (cc >> lane) & 1 : 0);
    d[lane] = toLane<U>(U(r));
    out |= uint32_t((r >> (8 * sizeof(T))) & 1) << lane;
  });
  if (i->aux & 2)
    setPredicate(w, i->aux2, out, mask);
  return i + 1;
}

//===----------------------------------------------------------------------===//
// Tables: one handler per type
//===----------------------------------------------------------------------===//

/// Handlers for u16 s16 u32 s32 u64 s64.
struct IntHandlers {
  Handler h[6];
  Handler operator[](Type t) const {
    unsigned width = t.bits == 16 ? 0 : t.bits == 32 ? 1 : t.bits == 64 ? 2 : 3;
    if (width == 3 || (t.kind != 'U' && t.kind != 'S' && t.kind != 'B'))
      return nullptr;
    return h[2 * width + (t.kind == 'S')];
  }
};
#define MX_INT_HANDLERS(f)                                                     \
  IntHandlers {                                                                \
    {                                                                          \
      map<f<uint16_t>>, map<f<int16_t>>, map<f<uint32_t>>, map<f<int32_t>>,    \
          map<f<uint64_t>>, map<f<int64_t>>                                    \
    }                                                                          \
  }
#define MX_WIDE_HANDLERS(f)                                                    \
  IntHandlers {                                                                \
    {                                                                          \
      map<f<uint16_t>>, map<f<int16_t>>, map<f<uint32_t>>, map<f<int32_t>>,    \
          nullptr, nullptr                                                     \
    }                                                                          \
  }

void emitMap(Decoder &d, const IntHandlers &handlers, Type t, unsigned sources,
             bool wide = false) {
  if (!d.expectOperands(sources + 1, sources + 1))
    return;
  Handler h = handlers[t];
  if (!h)
    return d.unsupported("no such type");
  Slot s[3] = {kNoSlot, kNoSlot, kNoSlot};
  for (unsigned k = 0; k < sources; ++k)
    s[k] =
        d.use(k + 1, wide && k == 2 ? Type{t.kind, uint16_t(2 * t.bits)} : t);
  Slot out = d.def(0, wide ? Type{t.kind, uint16_t(2 * t.bits)} : t);
  Instr &i = d.emit(h);
  i.d = out;
  i.a = s[0];
  i.b = s[1];
  i.c = s[2];
}

Slot carrySlot(Decoder &d) { return d.special(Special::Zero, 4, 1); }

void emitCarry(Decoder &d, bool subtract, bool carryIn) {
  Type t;
  bool out = d.take("cc");
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects a type of 32 or 64 bits");
  Slot a = d.use(1, t), b = d.use(2, t), dst = d.def(0, t);
  Instr &i = d.emit(t.bits == 32 ? addCarry<uint32_t> : addCarry<uint64_t>);
  i.d = dst;
  i.a = a;
  i.b = b;
  i.aux = carryIn | out << 1 | subtract << 2;
  i.aux2 = carrySlot(d);
}

bool isFloatType(const Decoder &d) {
  for (std::string_view m : d.modifiers())
    if (m[0] == 'f' || m.substr(0, 2) == "bf")
      return true;
  return false;
}

void decodeAdd(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  for (std::string_view m : d.modifiers())
    if (m == "cc")
      return emitCarry(d, false, false);
  bool sat = d.take("sat");
  Type t;
  if (d.take("u16x2") || d.take("s16x2"))
    return emitPacked16(d, PackedOp::Add, false);
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  IntHandlers h = MX_INT_HANDLERS(add);
  if (sat) {
    if (!(t == Type{'S', 32}))
      return d.unsupported(".sat needs .s32");
    h.h[3] = map<addSat>;
  }
  emitMap(d, h, t, 2);
}

void decodeSub(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  for (std::string_view m : d.modifiers())
    if (m == "cc")
      return emitCarry(d, true, false);
  bool sat = d.take("sat");
  Type t;
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  IntHandlers h = MX_INT_HANDLERS(sub);
  if (sat) {
    if (!(t == Type{'S', 32}))
      return d.unsupported(".sat needs .s32");
    h.h[3] = map<subSat>;
  }
  emitMap(d, h, t, 2);
}

void decodeMul(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  int part = d.takeAny({"lo", "hi", "wide"});
  Type t;
  if (part < 0 || !d.takeType(t))
    return d.unsupported("expects .lo, .hi or .wide and a type");
  if (part == 0)
    return emitMap(d, MX_INT_HANDLERS(mulLo), t, 2);
  if (part == 1)
    return emitMap(d, MX_INT_HANDLERS(mulHi), t, 2);
  emitMap(d, MX_WIDE_HANDLERS(mulWide), t, 2, true);
}

void decodeMad(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  int part = d.takeAny({"lo", "hi", "wide"});
  bool cc = d.take("cc");
  Type t;
  if (part < 0 || !d.takeType(t))
    return d.unsupported("expects .lo, .hi or .wide and a type");
  bool isMadc = d.inst->opcode == "madc";
  if (cc || isMadc) {
    if (part == 2 || (t.bits != 32 && t.bits != 64))
      return d.unsupported("no such type");
    Slot a = d.use(1, t), b = d.use(2, t), c = d.use(3, t), dst = d.def(0, t);
    bool isSigned = t.kind == 'S';
    Instr &i =
        d.emit(t.bits == 32 ? isSigned ? madCarry<int32_t> : madCarry<uint32_t>
               : isSigned   ? madCarry<int64_t>
                            : madCarry<uint64_t>);
    i.d = dst;
    i.a = a;
    i.b = b;
    i.c = c;
    i.aux = isMadc | cc << 1 | (part == 1) << 3;
    i.aux2 = carrySlot(d);
    return;
  }
  if (part == 0)
    return emitMap(d, MX_INT_HANDLERS(madLo), t, 3);
  if (part == 1)
    return emitMap(d, MX_INT_HANDLERS(madHi), t, 3);
  emitMap(d, MX_WIDE_HANDLERS(madWide), t, 3, true);
}

template <class Table>
void simple(Decoder &d, const Table &table, unsigned sources) {
  Type t;
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  emitMap(d, table, t, sources);
}

void decodeDiv(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatDivide(d);
  simple(d, MX_INT_HANDLERS(divide), 2);
}
void decodeRem(Decoder &d) { simple(d, MX_INT_HANDLERS(remainder), 2); }
void decodeMin(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatMinMax(d, false);
  if (d.take("u16x2"))
    return emitPacked16(d, PackedOp::Min, false);
  if (d.take("s16x2"))
    return emitPacked16(d, PackedOp::Min, true);
  simple(d, MX_INT_HANDLERS(minimum), 2);
}
void decodeMax(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatMinMax(d, true);
  if (d.take("u16x2"))
    return emitPacked16(d, PackedOp::Max, false);
  if (d.take("s16x2"))
    return emitPacked16(d, PackedOp::Max, true);
  simple(d, MX_INT_HANDLERS(maximum), 2);
}
void decodeAbs(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatSign(d, FloatSign::Abs);
  simple(d, MX_INT_HANDLERS(absolute), 1);
}
void decodeNeg(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatSign(d, FloatSign::Neg);
  simple(d, MX_INT_HANDLERS(negate), 1);
}
void decodeSad(Decoder &d) { simple(d, MX_INT_HANDLERS(sadOf), 3); }

void decodeMul24(Decoder &d) {
  if (!d.take("lo"))
    return d.unsupported("only .lo is supported");
  Type t;
  if (!d.takeType(t) || t.bits != 32)
    return d.unsupported("expects a type of 32 bits");
  emitMap(d,
          {{nullptr, nullptr, map<mul24Lo<uint32_t>>, map<mul24Lo<int32_t>>,
            nullptr, nullptr}},
          t, 2);
}

void decodeLogic(Decoder &d, const IntHandlers &h, uint32_t table,
                 unsigned sources) {
  Type t;
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  if (t.kind != 'P')
    return emitMap(d, h, t, sources);
  if (!d.expectOperands(sources + 1, sources + 1))
    return;
  Slot a = d.usePredicate(1), b = sources == 2 ? d.usePredicate(2) : a;
  Slot out = d.defPredicate(0);
  Instr &i = d.emit(predicateLogic);
  i.d = out;
  i.a = a;
  i.b = b;
  i.aux = table;
}
void decodeAnd(Decoder &d) { decodeLogic(d, MX_INT_HANDLERS(bitAnd), 8, 2); }
void decodeOr(Decoder &d) { decodeLogic(d, MX_INT_HANDLERS(bitOr), 14, 2); }
void decodeXor(Decoder &d) { decodeLogic(d, MX_INT_HANDLERS(bitXor), 6, 2); }
void decodeNot(Decoder &d) { decodeLogic(d, MX_INT_HANDLERS(bitNot), 1, 1); }
void decodeCnot(Decoder &d) { simple(d, MX_INT_HANDLERS(logicalNot), 1); }

void decodeShift(Decoder &d, const IntHandlers &h) {
  Type t;
  if (!d.takeType(t) || !h[t])
    return d.unsupported("no such type");
  if (!d.expectOperands(3, 3))
    return;
  Slot a = d.use(1, t), n = d.use(2, {'U', 32}), out = d.def(0, t);
  Instr &i = d.emit(h[t]);
  i.d = out;
  i.a = a;
  i.b = n;
}
void decodeShl(Decoder &d) { decodeShift(d, MX_INT_HANDLERS(shiftLeft)); }
void decodeShr(Decoder &d) { decodeShift(d, MX_INT_HANDLERS(shiftRight)); }

void decodeShf(Decoder &d) {
  int dir = d.takeAny({"l", "r"}), mode = d.takeAny({"clamp", "wrap"});
  if (dir < 0 || mode < 0 || !d.take("b32"))
    return d.unsupported("expects .l or .r, .clamp or .wrap, .b32");
  static const Handler h[2][2] = {
      {map<funnelLeftClamp>, map<funnelLeftWrap>},
      {map<funnelRightClamp>, map<funnelRightWrap>}};
  emitMap(d, {{nullptr, nullptr, h[dir][mode], nullptr, nullptr, nullptr}},
          {'B', 32}, 3);
}

void decodeLop3(Decoder &d) {
  if (d.modifiers().size() != 1 || !d.take("b32"))
    return d.unsupported("only lop3.b32 is supported");
  if (!d.expectOperands(5, 5))
    return;
  int64_t table;
  if (!d.immediate(4, table))
    return;
  Type t{'B', 32};
  Slot a = d.use(1, t), b = d.use(2, t), c = d.use(3, t), out = d.def(0, t);
  Instr &i = d.emit(lop3);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = c;
  i.aux = uint32_t(table) & 0xff;
}

void decodePrmt(Decoder &d) {
  static const Handler modes[] = {map<permuteMode<0>>, map<permuteMode<1>>,
                                  map<permuteMode<2>>, map<permuteMode<3>>,
                                  map<permuteMode<4>>, map<permuteMode<5>>};
  d.take("b32");
  int mode = d.takeAny({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  Handler h = mode < 0 ? map<permute> : modes[mode];
  emitMap(d, {{nullptr, nullptr, h, nullptr, nullptr, nullptr}}, {'B', 32}, 3);
}

/// Result always 32 bits: popc, clz, bfind.
void decodeCount(Decoder &d, Handler h32, Handler h64) {
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects a type of 32 or 64 bits");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = d.use(1, t), out = d.def(0, {'U', 32});
  Instr &i = d.emit(t.bits == 32 ? h32 : h64);
  i.d = out;
  i.a = a;
}
void decodePopc(Decoder &d) {
  decodeCount(d, map<popCount<uint32_t>>, map<popCount<uint64_t>>);
}
void decodeClz(Decoder &d) {
  decodeCount(d, map<leadingZeros<uint32_t>>, map<leadingZeros<uint64_t>>);
}
void decodeBfind(Decoder &d) {
  bool amount = d.take("shiftamt");
  bool isSigned = false;
  for (std::string_view m : d.modifiers())
    isSigned |= m[0] == 's';
  if (isSigned && amount)
    return decodeCount(d, map<findLeadingBit<int32_t, true>>,
                       map<findLeadingBit<int64_t, true>>);
  if (isSigned)
    return decodeCount(d, map<findLeadingBit<int32_t, false>>,
                       map<findLeadingBit<int64_t, false>>);
  if (amount)
    return decodeCount(d, map<findLeadingBit<uint32_t, true>>,
                       map<findLeadingBit<uint64_t, true>>);
  decodeCount(d, map<findLeadingBit<uint32_t, false>>,
              map<findLeadingBit<uint64_t, false>>);
}
void decodeBrev(Decoder &d) {
  simple(d,
         IntHandlers{{nullptr, nullptr, map<reverseBits<uint32_t>>, nullptr,
                      map<reverseBits<uint64_t>>, nullptr}},
         1);
}
void decodeBfe(Decoder &d) {
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects a type of 32 or 64 bits");
  if (!d.expectOperands(4, 4))
    return;
  static const IntHandlers h = {
      {nullptr, nullptr, map<bitFieldExtract<uint32_t>>,
       map<bitFieldExtract<int32_t>>, map<bitFieldExtract<uint64_t>>,
       map<bitFieldExtract<int64_t>>}};
  Slot a = d.use(1, t), p = d.use(2, {'U', 32}), n = d.use(3, {'U', 32});
  Slot out = d.def(0, t);
  Instr &i = d.emit(h[t]);
  i.d = out;
  i.a = a;
  i.b = p;
  i.c = n;
}
void decodeBfi(Decoder &d) {
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects .b32 or .b64");
  if (!d.expectOperands(5, 5))
    return;
  Slot a = d.use(1, t), b = d.use(2, t), p = d.use(3, {'U', 32}),
       n = d.use(4, {'U', 32});
  Slot out = d.def(0, t);
  Instr &i = d.emit(t.bits == 32 ? bitFieldInsert<uint32_t>
                                 : bitFieldInsert<uint64_t>);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = p;
  i.aux = n;
}
void decodeBmsk(Decoder &d) {
  bool wrap = d.takeAny({"clamp", "wrap"}) == 1;
  d.take("b32");
  emitMap(d,
          {{nullptr, nullptr, wrap ? map<bmskWrap> : map<bmskClamp>, nullptr,
            nullptr, nullptr}},
          {'B', 32}, 2);
}
void decodeAddc(Decoder &d) { emitCarry(d, false, true); }
void decodeSubc(Decoder &d) { emitCarry(d, true, true); }

/// Dot products of bytes.
template <class A, class B>
int32_t dot4(uint32_t a, uint32_t b, int32_t c) {
  for (unsigned k = 0; k < 4; ++k)
    c = add<int32_t>(c, int32_t(A(a >> (8 * k))) * int32_t(B(b >> (8 * k))));
  return c;
}
void decodeDp4a(Decoder &d) {
  Type a, b;
  if (!d.takeType(a) || !d.takeType(b) || a.bits != 32 || b.bits != 32)
    return d.unsupported("expects two types of 32 bits");
  static const Handler h[2][2] = {
      {map<dot4<uint8_t, uint8_t>>, map<dot4<uint8_t, int8_t>>},
      {map<dot4<int8_t, uint8_t>>, map<dot4<int8_t, int8_t>>}};
  emitMap(d,
          {{nullptr, nullptr, h[a.kind == 'S'][b.kind == 'S'], nullptr, nullptr,
            nullptr}},
          {'U', 32}, 3);
}

} // namespace

void mx::sim::addIntegerInstructions(DecodeTable &t) {
  t["add"] = decodeAdd;
  t["sub"] = decodeSub;
  t["mul"] = decodeMul;
  t["mad"] = decodeMad;
  t["madc"] = decodeMad;
  t["addc"] = decodeAddc;
  t["subc"] = decodeSubc;
  t["mul24"] = decodeMul24;
  t["div"] = decodeDiv;
  t["rem"] = decodeRem;
  t["min"] = decodeMin;
  t["max"] = decodeMax;
  t["abs"] = decodeAbs;
  t["neg"] = decodeNeg;
  t["sad"] = decodeSad;
  t["and"] = decodeAnd;
  t["or"] = decodeOr;
  t["xor"] = decodeXor;
  t["not"] = decodeNot;
  t["cnot"] = decodeCnot;
  t["shl"] = decodeShl;
  t["shr"] = decodeShr;
  t["shf"] = decodeShf;
  t["lop3"] = decodeLop3;
  t["prmt"] = decodePrmt;
  t["popc"] = decodePopc;
  t["clz"] = decodeClz;
  t["bfind"] = decodeBfind;
  t["brev"] = decodeBrev;
  t["bfe"] = decodeBfe;
  t["bfi"] = decodeBfi;
  t["bmsk"] = decodeBmsk;
  t["dp4a"] = decodeDp4a;
}
