//===- Float.cpp - Floating-point arithmetic ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Floating point instructions", "Half precision" and "Mixed
// precision": add, sub, mul, mad and fma. Every operation rounds once.
//===----------------------------------------------------------------------===//

#include "../machine/Lanes.h"
#include "FloatOps.h"
#include "Instructions.h"

#include <algorithm>
#include <cmath>

using namespace mx::sim;

namespace {

/// Returns p + c rounded to odd, so that a second rounding to fewer bits is
/// correct.
double addToOdd(double p, double c) {
  double s = p + c;
  if (!std::isfinite(s))
    return s;
  double bb = s - p;
  double err = (p - (s - bb)) + (c - bb);
  if (err != 0 && !(bitsOf(s) & 1))
    s = std::nextafter(s, err > 0 ? HUGE_VAL : -HUGE_VAL);
  return s;
}

template <unsigned M>
float addF(float a, float b) {
  return output<M>(input<M>(a) + input<M>(b));
}
template <unsigned M>
float subF(float a, float b) {
  return output<M>(input<M>(a) - input<M>(b));
}
/// .ftz flushes results below this limit with unbounded exponent. For
/// example, the product of 0x1.fffffep-1 and 0x1p-126 is flushed although it
/// rounds to 0x1p-126.
constexpr double kFlushBelow = 0x1.ffffffp-127;
template <unsigned M>
float mulF(float a, float b) {
  if (M & kFtz) {
    double p = double(input<M>(a)) * double(input<M>(b)); // exact
    return output<M>(std::fabs(p) < kFlushBelow ? std::copysign(0.0f, float(p))
                                                : float(p));
  }
  return output<M>(a * b);
}
double addD(double a, double b) { return lastNaN(a + b, a, b, b); }
double subD(double a, double b) { return lastNaN(a - b, a, b, b); }
double mulD(double a, double b) { return lastNaN(a * b, a, b, b); }

// Fused multiply-add uses the instruction of the host if there is one, and
// otherwise the library function, which is correct but slow.
#if defined(__x86_64__)
#define MX_FMA_TARGET __attribute__((target("avx2,fma")))
bool hasFma() {
  static const bool has = kHasAvx2 && __builtin_cpu_supports("fma");
  return has;
}
#else
#define MX_FMA_TARGET
bool hasFma() { return true; }
#endif

template <unsigned M, unsigned N>
MX_FMA_TARGET const Instr *fmaFast(Warp &w, const Instr *i, uint32_t mask) {
  float *d = w.at<float>(i->d);
  const float *a = w.at<float>(i->a), *b = w.at<float>(i->b),
              *c = w.at<float>(i->c);
  auto one = [&](unsigned l) MX_FMA_TARGET {
    return __builtin_fmaf(input<M>(a[l]), input<M>(b[l]), input<M>(c[l]));
  };
  if (M & kFtz) {
    // The destination may alias a source, so store results only after checking
    // that none is tiny.
    bool tiny = false;
    float r[32 * N];
    forLanes(mask, [&](unsigned lane) MX_FMA_TARGET {
      for (unsigned l = lane * N; l < lane * N + N; ++l) {
        r[l] = one(l);
        tiny |= std::fabs(r[l]) == 0x1p-126f;
      }
    });
    forLanes(mask, [&](unsigned lane) MX_FMA_TARGET {
      for (unsigned l = lane * N; l < lane * N + N; ++l)
        d[l] = output<M>(tiny ? flushTiny(r[l], input<M>(a[l]), input<M>(b[l]),
                                          input<M>(c[l]),
                                          [](float x, float y, float z) {
                                            return std::fma(x, y, z);
                                          })
                              : r[l]);
    });
    return i + 1;
  }
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned l = 0; l < 32 * N; ++l)
      d[l] = output<M>(one(l));
  } else {
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned lane = __builtin_ctz(m);
      for (unsigned l = lane * N; l < lane * N + N; ++l)
        d[l] = output<M>(one(l));
    }
  }
  return i + 1;
}
template <unsigned M>
float fmaF(float a, float b, float c) {
  float x = input<M>(a), y = input<M>(b), z = input<M>(c);
  auto fused = [](float p, float q, float r) { return std::fma(p, q, r); };
  float r = std::fma(x, y, z);
  return output<M>(M & kFtz ? flushTiny(r, x, y, z, fused) : r);
}
double fmaD(double a, double b, double c) {
  return lastNaN(std::fma(a, b, c), a, b, c);
}

// Pairs of f32 in a 64-bit register.
template <float (*F)(float, float)>
uint64_t pair2(uint64_t a, uint64_t b) {
  return uint64_t(bitsOf(F(asFloat(a >> 32), asFloat(b >> 32)))) << 32 |
         bitsOf(F(asFloat(uint32_t(a)), asFloat(uint32_t(b))));
}
template <unsigned M>
uint64_t fmaPair(uint64_t a, uint64_t b, uint64_t c) {
  return uint64_t(bitsOf(
             fmaF<M>(asFloat(a >> 32), asFloat(b >> 32), asFloat(c >> 32))))
             << 32 |
         bitsOf(fmaF<M>(asFloat(uint32_t(a)), asFloat(uint32_t(b)),
                        asFloat(uint32_t(c))));
}

// f32 has more than twice the precision of f16 and bf16, so an intermediate
// rounding to f32 does not change the result of an addition, subtraction or
// multiplication.
template <class H, float (*F)(float, float)>
uint16_t half2(uint16_t a, uint16_t b) {
  return H::narrow(F(H::widen(a), H::widen(b)));
}
template <class H, float (*F)(float, float)>
uint32_t halfPair2(uint32_t a, uint32_t b) {
  return uint32_t(half2<H, F>(a >> 16, b >> 16)) << 16 |
         half2<H, F>(uint16_t(a), uint16_t(b));
}
/// Flag for fma with .oob: the result is +0 if a factor is kOobNaN, which
/// tensor copies write for elements outside the tensor (PTX ISA).
constexpr unsigned kOob = 8;
constexpr uint16_t kOobNaN = 0x7FF7; ///< either sign (seen on sm_90)

template <class H, unsigned M>
uint16_t halfFma(uint16_t a, uint16_t b, uint16_t c) {
  if (M & kOob && ((a & 0x7FFF) == kOobNaN || (b & 0x7FFF) == kOobNaN))
    return 0;
  double r = addToOdd(double(H::widen(a)) * H::widen(b), H::widen(c));
  if (M & kSat)
    r = r > 0 ? (r < 1 ? r : 1.0) : 0.0;
  if ((M & kRelu) && r <= 0)
    r = 0;
  return H::narrowD(r);
}
template <class H, unsigned M>
uint32_t halfPairFma(uint32_t a, uint32_t b, uint32_t c) {
  return uint32_t(halfFma<H, M>(a >> 16, b >> 16, c >> 16)) << 16 |
         halfFma<H, M>(uint16_t(a), uint16_t(b), uint16_t(c));
}

template <template <unsigned> class Pick>
Handler byFlags(unsigned flags) {
  switch (flags) {
  case 0:
    return Pick<0>::get();
  case 1:
    return Pick<1>::get();
  case 2:
    return Pick<2>::get();
  }
  return Pick<3>::get();
}
template <unsigned M>
struct PickAdd {
  static Handler get() { return map<addF<M>>; }
};
template <unsigned M>
struct PickSub {
  static Handler get() { return map<subF<M>>; }
};
template <unsigned M>
struct PickMul {
  static Handler get() { return map<mulF<M>>; }
};
template <unsigned M>
struct PickFma {
  static Handler get() { return hasFma() ? fmaFast<M, 1> : map<fmaF<M>>; }
};
template <unsigned M>
struct PickAddPair {
  static Handler get() { return map<pair2<addF<M>>>; }
};
template <unsigned M>
struct PickSubPair {
  static Handler get() { return map<pair2<subF<M>>>; }
};
template <unsigned M>
struct PickMulPair {
  static Handler get() { return map<pair2<mulF<M>>>; }
};
template <unsigned M>
struct PickFmaPair {
  static Handler get() { return hasFma() ? fmaFast<M, 2> : map<fmaPair<M>>; }
};

template <class H, unsigned M, bool Packed>
Handler halfFmaHandler() {
  return Packed ? map<halfPairFma<H, M>> : map<halfFma<H, M>>;
}
template <class H, bool Packed>
Handler halfHandler(FOp op, unsigned flags) {
  bool sat = flags & kSat;
#define MX_HALF(f) Packed ? map<halfPair2<H, f>> : map<half2<H, f>>
  switch (op) {
  case FOp::Add:
    return sat ? MX_HALF(addF<kSat>) : MX_HALF(addF<0>);
  case FOp::Sub:
    return sat ? MX_HALF(subF<kSat>) : MX_HALF(subF<0>);
  case FOp::Mul:
    return sat ? MX_HALF(mulF<kSat>) : MX_HALF(mulF<0>);
  case FOp::Fma:
    switch (flags & (kSat | kRelu | kOob)) {
    case 0:
      return halfFmaHandler<H, 0, Packed>();
    case kSat:
      return halfFmaHandler<H, kSat, Packed>();
    case kRelu:
      return halfFmaHandler<H, kRelu, Packed>();
    case kOob:
      return halfFmaHandler<H, kOob, Packed>();
    case kOob | kRelu:
      return halfFmaHandler<H, kOob | kRelu, Packed>();
    }
    return nullptr;
  default:
    return nullptr;
  }
#undef MX_HALF
}

} // namespace

/// Returns the f32 handler and, for a directed rounding, its `aux`.
static Handler arithmeticF32(FOp op, int rounding, unsigned flags,
                             uint32_t &aux) {
  aux = 0;
  if (rounding > 0) {
    aux = unsigned(op) | unsigned(rounding) << 4 | flags << 8;
    return directedHandler(Format::F32);
  }
  return op == FOp::Add   ? byFlags<PickAdd>(flags)
         : op == FOp::Sub ? byFlags<PickSub>(flags)
         : op == FOp::Mul ? byFlags<PickMul>(flags)
                          : byFlags<PickFma>(flags);
}

/// Decodes f32 add, sub and fma with f16 or bf16 operands, and widens the
/// operands.
static void decodeMixed(Decoder &d, FOp op, int rounding, unsigned flags,
                        bool isF16) {
  unsigned narrow = op == FOp::Fma ? 2 : 1;
  if (op == FOp::Mul || flags & ~kSat)
    return d.unsupported("no such combination of modifiers");
  if (!d.expectOperands(narrow + 2, narrow + 2))
    return;
  Slot s[3] = {kNoSlot, kNoSlot, kNoSlot};
  for (unsigned k = 0; k < narrow; ++k) {
    Slot from = d.use(k + 1, {'B', 16});
    s[k] = d.temporary(4);
    Instr &i = d.emit(isF16 ? map<f16ToFloat> : map<bf16ToFloat>);
    i.d = s[k];
    i.a = from;
  }
  s[narrow] = d.use(narrow + 1, {'F', 32});
  if (narrow == 1)
    s[2] = s[1];
  Slot out = d.def(0, {'F', 32});
  uint32_t aux;
  Instr &i = d.emit(arithmeticF32(op, rounding, flags, aux));
  i.d = out;
  i.a = s[0];
  i.b = s[1];
  i.c = s[2];
  i.aux = aux;
}

void mx::sim::decodeFloatArithmetic(Decoder &d) {
  std::string_view name = d.inst->opcode;
  FOp op = name == "add"   ? FOp::Add
           : name == "sub" ? FOp::Sub
           : name == "mul" ? FOp::Mul
                           : FOp::Fma;
  int rounding = d.takeAny({"rn", "rz", "rm", "rp"});
  unsigned flags = (d.take("ftz") ? kFtz : 0) | (d.take("sat") ? kSat : 0) |
                   (d.take("relu") ? kRelu : 0) | (d.take("oob") ? kOob : 0);
  d.take("noftz");
  Format f = takeFormat(d);
  unsigned sources = op == FOp::Fma ? 3 : 2;
  if (f == Format::None)
    return d.unsupported("expects a floating-point type");
  bool isHalf = f != Format::F32 && f != Format::F64 && f != Format::F32x2;
  if (rounding > 0 && isHalf)
    return d.unsupported("only .rn for this type");
  if (!isHalf && flags & (kRelu | kOob))
    return d.unsupported("no such combination of modifiers");
  if (f == Format::F32 && (d.take("f16") || d.take("bf16")))
    return decodeMixed(d, op, rounding, flags,
                       std::find(d.inst->modifiers.begin(),
                                 d.inst->modifiers.end(),
                                 "f16") != d.inst->modifiers.end());
  if (rounding > 0)
    return emitFormat(d, directedHandler(f), f, sources,
                      unsigned(op) | rounding << 4 | flags << 8);
  Handler h = nullptr;
  unsigned ff = flags & 3;
  bool ftz = flags & kFtz;
  switch (f) {
  case Format::F32: {
    uint32_t aux;
    h = arithmeticF32(op, rounding, ff, aux);
    break;
  }
  case Format::F32x2:
    h = op == FOp::Add   ? byFlags<PickAddPair>(ff)
        : op == FOp::Sub ? byFlags<PickSubPair>(ff)
        : op == FOp::Mul ? byFlags<PickMulPair>(ff)
                         : byFlags<PickFmaPair>(ff);
    break;
  case Format::F64:
    h = flags            ? nullptr
        : op == FOp::Add ? map<addD>
        : op == FOp::Sub ? map<subD>
        : op == FOp::Mul ? map<mulD>
                         : map<fmaD>;
    break;
  case Format::F16:
    h = ftz ? halfHandler<HalfF16Ftz, false>(op, flags)
            : halfHandler<HalfF16, false>(op, flags);
    break;
  case Format::F16x2:
    h = ftz ? halfHandler<HalfF16Ftz, true>(op, flags)
            : halfHandler<HalfF16, true>(op, flags);
    break;
  // bf16 supports no .ftz, and .sat only for fma.
  case Format::BF16:
    h = ftz ? nullptr : halfHandler<HalfBF16, false>(op, flags);
    break;
  case Format::BF16x2:
    h = ftz ? nullptr : halfHandler<HalfBF16, true>(op, flags);
    break;
  case Format::None:
    break;
  }
  emitFormat(d, h, f, sources);
}

void mx::sim::addFloatInstructions(DecodeTable &t) {
  t["fma"] = decodeFloatArithmetic;
}
