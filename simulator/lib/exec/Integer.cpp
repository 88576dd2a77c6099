//===- Integer.cpp - Integer arithmetic -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Integer arithmetic instructions" and "Extended-precision integer
// arithmetic instructions". See Bits.cpp for logic and bit fields.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"
#include "Instructions.h"
#include "IntegerOps.h"

#include <algorithm>

using namespace mx::sim;
using ptx::Type;

void mx::sim::emitIntegers(Decoder &d, const IntHandlers &handlers, Type t,
                           unsigned sources, bool wide) {
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

void mx::sim::emitTyped(Decoder &d, const IntHandlers &handlers,
                        unsigned sources) {
  Type t;
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  emitIntegers(d, handlers, t, sources);
}

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
// PTX leaves division by zero unspecified. The functions below return the
// results of current hardware.
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
    return T(-1);
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
int32_t addSat(int32_t a, int32_t b) {
  int64_t s = int64_t(a) + b;
  return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
}
int32_t subSat(int32_t a, int32_t b) {
  int64_t s = int64_t(a) - b;
  return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
}
template <class T>
T sadOf(T a, T b, T c) {
  return add<T>(c, a < b ? sub<T>(b, a) : sub<T>(a, b));
}
/// Returns the 48-bit product of the low 24 bits.
template <class T>
int64_t product24(T a, T b) {
  auto s = [](T x) { return T(std::make_unsigned_t<T>(x) << 8) >> 8; };
  return int64_t(s(a)) * int64_t(s(b));
}
template <class T>
T mul24Lo(T a, T b) {
  return T(product24(a, b));
}
template <class T>
T mul24Hi(T a, T b) {
  return T(product24(a, b) >> 16);
}
template <class T>
T mad24Lo(T a, T b, T c) {
  return add<T>(mul24Lo<T>(a, b), c);
}
template <class T>
T mad24Hi(T a, T b, T c) {
  return add<T>(mul24Hi<T>(a, b), c);
}
int32_t mad24HiSat(int32_t a, int32_t b, int32_t c) {
  return addSat(mul24Hi<int32_t>(a, b), c);
}
int32_t madHiSat(int32_t a, int32_t b, int32_t c) {
  return addSat(mulHi<int32_t>(a, b), c);
}
int32_t minRelu(int32_t a, int32_t b) { return std::max(std::min(a, b), 0); }
int32_t maxRelu(int32_t a, int32_t b) { return std::max(std::max(a, b), 0); }
/// Computes add.cc, addc, sub.cc and subc. Bits of aux: 0 carry in, 1 carry
/// out, 2 subtract; aux2: carry predicate. Subtraction adds the complement and
/// one, so CC is set if there is no borrow (seen on sm_90).
template <class T>
const Instr *addCarry(Warp &w, const Instr *i, uint32_t mask) {
  auto *d = w.at<LaneOf<T>>(i->d);
  auto *a = w.at<LaneOf<T>>(i->a), *b = w.at<LaneOf<T>>(i->b);
  uint32_t cc = *w.at<uint32_t>(i->aux2), out = 0;
  bool subtract = i->aux & 4;
  forLanes(mask, [&](unsigned lane) {
    T x = a[lane], y = subtract ? T(~T(b[lane])) : T(b[lane]);
    T in = i->aux & 1 ? (cc >> lane) & 1 : subtract;
    unsigned __int128 r = (unsigned __int128)(x) + y + in;
    d[lane] = T(r);
    out |= uint32_t((r >> (8 * sizeof(T))) & 1) << lane;
  });
  if (i->aux & 2)
    setPredicate(w, i->aux2, out, mask);
  return i + 1;
}

/// Computes mad.cc and madc, encoded as in addCarry. Bit 3 of aux selects the
/// high half of the multiplication.
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

Slot carrySlot(Decoder &d) { return d.special(Special::Zero, 4, 1); }

void emitCarry(Decoder &d, bool subtract, bool carryIn) {
  Type t;
  bool out = d.take("cc");
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects a 32- or 64-bit type");
  if (!d.expectOperands(3, 3))
    return;
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
  emitIntegers(d, h, t, 2);
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
  emitIntegers(d, h, t, 2);
}

void decodeMul(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  int part = d.takeAny({"lo", "hi", "wide"});
  Type t;
  if (part < 0 || !d.takeType(t))
    return d.unsupported("expects .lo, .hi or .wide and a type");
  if (part == 0)
    return emitIntegers(d, MX_INT_HANDLERS(mulLo), t, 2);
  if (part == 1)
    return emitIntegers(d, MX_INT_HANDLERS(mulHi), t, 2);
  emitIntegers(d, MX_WIDE_HANDLERS(mulWide), t, 2, true);
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
  if (d.take("sat")) {
    if (part != 1 || !(t == Type{'S', 32}))
      return d.unsupported(".sat needs .hi.s32");
    return emitWords(d, map<madHiSat>, 3);
  }
  if (part == 0)
    return emitIntegers(d, MX_INT_HANDLERS(madLo), t, 3);
  if (part == 1)
    return emitIntegers(d, MX_INT_HANDLERS(madHi), t, 3);
  emitIntegers(d, MX_WIDE_HANDLERS(madWide), t, 3, true);
}

void decodeDiv(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatDivide(d);
  emitTyped(d, MX_INT_HANDLERS(divide), 2);
}
void decodeRem(Decoder &d) { emitTyped(d, MX_INT_HANDLERS(remainder), 2); }
void decodeRelu(Decoder &d, PackedOp op, Handler scalar) {
  if (d.take("s16x2"))
    return emitPacked16(d, op, true, /*relu=*/true);
  if (!d.take("s32"))
    return d.unsupported(".relu needs .s32 or .s16x2");
  emitWords(d, scalar, 2);
}

void decodeMin(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatMinMax(d, false);
  if (d.take("relu"))
    return decodeRelu(d, PackedOp::Min, map<minRelu>);
  if (d.take("u16x2"))
    return emitPacked16(d, PackedOp::Min, false);
  if (d.take("s16x2"))
    return emitPacked16(d, PackedOp::Min, true);
  emitTyped(d, MX_INT_HANDLERS(minimum), 2);
}
void decodeMax(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatMinMax(d, true);
  if (d.take("relu"))
    return decodeRelu(d, PackedOp::Max, map<maxRelu>);
  if (d.take("u16x2"))
    return emitPacked16(d, PackedOp::Max, false);
  if (d.take("s16x2"))
    return emitPacked16(d, PackedOp::Max, true);
  emitTyped(d, MX_INT_HANDLERS(maximum), 2);
}
void decodeAbs(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatSign(d, FloatSign::Abs);
  emitTyped(d, MX_INT_HANDLERS(absolute), 1);
}
void decodeNeg(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatSign(d, FloatSign::Neg);
  emitTyped(d, MX_INT_HANDLERS(negate), 1);
}
void decodeSad(Decoder &d) { emitTyped(d, MX_INT_HANDLERS(sadOf), 3); }

void decodeMul24(Decoder &d) {
  bool isMad = d.inst->opcode == "mad24";
  int part = d.takeAny({"lo", "hi"});
  bool sat = d.take("sat");
  Type t;
  if (part < 0 || !d.takeType(t) || t.bits != 32 || t.kind == 'F')
    return d.unsupported("expects .lo or .hi and a 32-bit type");
  bool isSigned = t.kind == 'S';
  if (sat && !(isMad && part == 1 && isSigned))
    return d.unsupported(".sat needs mad24.hi.s32");
  static const Handler h[2][2][2] = {
      {{map<mul24Lo<uint32_t>>, map<mul24Lo<int32_t>>},
       {map<mul24Hi<uint32_t>>, map<mul24Hi<int32_t>>}},
      {{map<mad24Lo<uint32_t>>, map<mad24Lo<int32_t>>},
       {map<mad24Hi<uint32_t>>, map<mad24Hi<int32_t>>}}};
  emitWords(d, sat ? map<mad24HiSat> : h[isMad][part][isSigned], isMad ? 3 : 2);
}

void decodeAddc(Decoder &d) { emitCarry(d, false, true); }
void decodeSubc(Decoder &d) { emitCarry(d, true, true); }

template <class A, class B>
int32_t dot4(uint32_t a, uint32_t b, int32_t c) {
  for (unsigned k = 0; k < 4; ++k)
    c = add<int32_t>(c, int32_t(A(a >> (8 * k))) * int32_t(B(b >> (8 * k))));
  return c;
}
/// Multiplies the halves of operand `a` by the two lower bytes of `b` (.lo) or
/// the two upper bytes (.hi), and adds both results to `c`.
template <class A, class B, unsigned Hi>
int32_t dot2(uint32_t a, uint32_t b, int32_t c) {
  for (unsigned k = 0; k < 2; ++k)
    c = add<int32_t>(c, int32_t(A(a >> (16 * k))) *
                            int32_t(B(b >> (8 * k + 16 * Hi))));
  return c;
}
template <unsigned Hi>
Handler pickDot2(bool signedA, bool signedB) {
  return signedA   ? signedB ? map<dot2<int16_t, int8_t, Hi>>
                             : map<dot2<int16_t, uint8_t, Hi>>
         : signedB ? map<dot2<uint16_t, int8_t, Hi>>
                   : map<dot2<uint16_t, uint8_t, Hi>>;
}
void decodeDp2a(Decoder &d) {
  int part = d.takeAny({"lo", "hi"});
  Type a, b;
  if (part < 0 || !d.takeType(a) || !d.takeType(b) || a.bits != 32 ||
      b.bits != 32)
    return d.unsupported("expects .lo or .hi and two 32-bit types");
  bool signedA = a.kind == 'S', signedB = b.kind == 'S';
  emitWords(
      d, part ? pickDot2<1>(signedA, signedB) : pickDot2<0>(signedA, signedB),
      3);
}

void decodeDp4a(Decoder &d) {
  Type a, b;
  if (!d.takeType(a) || !d.takeType(b) || a.bits != 32 || b.bits != 32)
    return d.unsupported("expects two 32-bit types");
  static const Handler h[2][2] = {
      {map<dot4<uint8_t, uint8_t>>, map<dot4<uint8_t, int8_t>>},
      {map<dot4<int8_t, uint8_t>>, map<dot4<int8_t, int8_t>>}};
  emitIntegers(d,
               {{nullptr, nullptr, h[a.kind == 'S'][b.kind == 'S'], nullptr,
                 nullptr, nullptr}},
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
  t["mad24"] = decodeMul24;
  t["div"] = decodeDiv;
  t["rem"] = decodeRem;
  t["min"] = decodeMin;
  t["max"] = decodeMax;
  t["abs"] = decodeAbs;
  t["neg"] = decodeNeg;
  t["sad"] = decodeSad;
  t["dp4a"] = decodeDp4a;
  t["dp2a"] = decodeDp2a;
}
