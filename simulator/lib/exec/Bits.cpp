//===- Bits.cpp - Logic, shifts and bit fields ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Logic and shift instructions", and the integer instructions for bit
// manipulation.
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "IntegerOps.h"

#include <algorithm>

using namespace mx::sim;
using ptx::Operand;
using ptx::Type;

namespace {

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
// Shift counts beyond the width give zero (or the sign).
template <class T>
T shiftLeft(T a, uint32_t n) {
  return n >= 8 * sizeof(T) ? 0 : T(a << n);
}
template <class T>
T shiftRight(T a, uint32_t n) {
  return n >= 8 * sizeof(T) ? (std::is_signed_v<T> && a < 0 ? T(-1) : T(0))
                            : T(a >> n);
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
  // The 32-bit form reads the low bytes of pos and len, and the 64-bit form
  // reads all bits (seen on sm_90).
  constexpr uint32_t most = sizeof(T) == 8 ? ~0u : 0xff;
  unsigned pos = std::min(posIn & most, 255u);
  unsigned len = std::min(lenIn & most, 255u);
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

/// Computes szext: extends the low n bits.
template <class T, bool Wrap>
T extend(T a, uint32_t n) {
  n = Wrap ? n & 31 : std::min(n, 32u);
  if (!n)
    return 0;
  return T(std::make_unsigned_t<T>(a) << (32 - n)) >> (32 - n);
}
/// Computes fns: returns the position of the `offset`-th set bit, counted
/// upwards from bit `base`, or downwards if `offset` is negative.
uint32_t findNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (base > 31)
    return ~0u;
  if (!offset)
    return mask >> base & 1 ? base : ~0u;
  int step = offset > 0 ? 1 : -1;
  uint32_t left = offset > 0 ? uint32_t(offset) : 0u - uint32_t(offset);
  for (int at = int(base); at >= 0 && at < 32; at += step)
    if (mask >> at & 1 && !--left)
      return uint32_t(at);
  return ~0u;
}

/// Computes bfi. a: bits to insert, b: destination of the insertion, c:
/// position; aux: slot of the length.
template <class T>
const Instr *bitFieldInsert(Warp &w, const Instr *i, uint32_t mask) {
  auto *d = w.at<LaneOf<T>>(i->d);
  auto *a = w.at<LaneOf<T>>(i->a), *b = w.at<LaneOf<T>>(i->b);
  auto *pos = w.at<uint32_t>(i->c);
  auto *len = w.at<uint32_t>(i->aux);
  forLanes(mask, [&](unsigned lane) {
    constexpr uint32_t most = sizeof(T) == 8 ? ~0u : 0xff;
    uint32_t p = pos[lane] & most, n = len[lane] & most;
    T m = bitMask<T>(p, n);
    T in = p >= 8 * sizeof(T) ? 0 : T(a[lane]) << p;
    d[lane] = (T(b[lane]) & ~m) | (in & m);
  });
  return i + 1;
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
/// Selects the bytes of {b, a} named by the nibbles of `c`. Bit 3 of a nibble
/// replicates the sign.
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
  // Expand the lookup table into masks to keep the loop branch-free.
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

/// Combines predicates by the four-bit truth table `aux`, indexed by (a, b).
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

void decodeLogic(Decoder &d, const IntHandlers &h, uint32_t table,
                 unsigned sources) {
  Type t;
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  if (t.kind != 'P')
    return emitIntegers(d, h, t, sources);
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
void decodeCnot(Decoder &d) { emitTyped(d, MX_INT_HANDLERS(logicalNot), 1); }

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
  emitIntegers(d, {{nullptr, nullptr, h[dir][mode], nullptr, nullptr, nullptr}},
               {'B', 32}, 3);
}

/// Computes p = (a != 0) or/and q. a: result of lop3, b: q; aux: 1 for and.
const Instr *testNonZero(Warp &w, const Instr *i, uint32_t mask) {
  const uint32_t *a = w.at<uint32_t>(i->a);
  uint32_t bits = 0, q = w.predicate(i->b);
  forLanes(mask,
           [&](unsigned lane) { bits |= uint32_t(a[lane] != 0) << lane; });
  setPredicate(w, i->d, i->aux ? bits & q : bits | q, mask);
  return i + 1;
}

void decodeLop3(Decoder &d) {
  int combine = d.takeAny({"or", "and"});
  if (!d.take("b32"))
    return d.unsupported("expects .b32");
  bool hasPredicate = combine >= 0;
  if (!d.expectOperands(hasPredicate ? 6 : 5, hasPredicate ? 6 : 5))
    return;
  int64_t table;
  if (!d.immediate(4, table))
    return;
  const Operand &dst = d.operand(0);
  if (hasPredicate && dst.kind != Operand::Pair)
    return d.unsupported("expects d|p");
  Type t{'B', 32};
  Slot a = d.use(1, t), b = d.use(2, t), c = d.use(3, t);
  Slot q = hasPredicate ? d.usePredicate(5) : kNoSlot;
  Slot out = d.def(hasPredicate ? dst.parts[0] : dst, 4);
  Slot p = hasPredicate ? d.defPredicate(dst.parts[1]) : kNoSlot;
  Instr &i = d.emit(lop3);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = c;
  i.aux = uint32_t(table) & 0xff;
  if (!hasPredicate)
    return;
  Instr &test = d.emit(testNonZero);
  test.d = p;
  test.a = out;
  test.b = q;
  test.aux = combine;
}

void decodePrmt(Decoder &d) {
  static const Handler modes[] = {map<permuteMode<0>>, map<permuteMode<1>>,
                                  map<permuteMode<2>>, map<permuteMode<3>>,
                                  map<permuteMode<4>>, map<permuteMode<5>>};
  d.take("b32");
  int mode = d.takeAny({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  Handler h = mode < 0 ? map<permute> : modes[mode];
  emitIntegers(d, {{nullptr, nullptr, h, nullptr, nullptr, nullptr}}, {'B', 32},
               3);
}

/// Decodes popc, clz and bfind, which return 32 bits.
void decodeCount(Decoder &d, Handler h32, Handler h64) {
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects a 32- or 64-bit type");
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
  emitTyped(d,
            IntHandlers{{nullptr, nullptr, map<reverseBits<uint32_t>>, nullptr,
                         map<reverseBits<uint64_t>>, nullptr}},
            1);
}
void decodeBfe(Decoder &d) {
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects a 32- or 64-bit type");
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
void decodeSzext(Decoder &d) {
  int mode = d.takeAny({"clamp", "wrap"});
  Type t;
  if (mode < 0 || !d.takeType(t) || t.bits != 32 || t.kind == 'F')
    return d.unsupported("expects .clamp or .wrap and .u32 or .s32");
  static const Handler h[2][2] = {
      {map<extend<uint32_t, false>>, map<extend<uint32_t, true>>},
      {map<extend<int32_t, false>>, map<extend<int32_t, true>>}};
  emitWords(d, h[t.kind == 'S'][mode], 2);
}
void decodeFns(Decoder &d) {
  if (!d.take("b32"))
    return d.unsupported("expects .b32");
  emitWords(d, map<findNthSet>, 3);
}
void decodeBmsk(Decoder &d) {
  bool wrap = d.takeAny({"clamp", "wrap"}) == 1;
  d.take("b32");
  emitIntegers(d,
               {{nullptr, nullptr, wrap ? map<bmskWrap> : map<bmskClamp>,
                 nullptr, nullptr, nullptr}},
               {'B', 32}, 2);
}
} // namespace

void mx::sim::addBitInstructions(DecodeTable &t) {
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
  t["szext"] = decodeSzext;
  t["fns"] = decodeFns;
}
