//===- Float.cpp - floating-point arithmetic ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Floating point instructions", "Half precision" and the packed
// types. Everything rounds once. The approximate functions give the correctly
// rounded value, which is within every bound that the ISA states.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"
#include "Lanes.h"

#include <cfenv>
#include <cmath>

using namespace mx::sim;
using mx::bitsOf;
using mx::doubleFromBits;
using mx::floatFromBits;
using ptx::Type;

double mx::sim::addToOdd(double p, double c) {
  double s = p + c;
  if (!std::isfinite(s))
    return s;
  double bb = s - p;
  double err = (p - (s - bb)) + (c - bb);
  if (err != 0 && !(bitsOf(s) & 1))
    s = std::nextafter(s, err > 0 ? HUGE_VAL : -HUGE_VAL);
  return s;
}

namespace {

enum class Format { F32, F64, F16, BF16, F16x2, BF16x2, F32x2, None };

Format takeFormat(Decoder &d) {
  static constexpr std::pair<const char *, Format> names[] = {
      {"f32", Format::F32},     {"f64", Format::F64},
      {"f16", Format::F16},     {"bf16", Format::BF16},
      {"f16x2", Format::F16x2}, {"bf16x2", Format::BF16x2},
      {"f32x2", Format::F32x2},
  };
  for (auto &[name, f] : names)
    if (d.take(name))
      return f;
  return Format::None;
}

unsigned laneBytes(Format f) {
  return f == Format::F64 || f == Format::F32x2 ? 8 : 4;
}

Type immediateType(Format f) {
  switch (f) {
  case Format::F64:
    return {'F', 64};
  case Format::F32:
    return {'F', 32};
  case Format::F32x2:
    return {'B', 64};
  default:
    return {'B', 32};
  }
}

// Scalar operations on the compute type. Bit 0: .ftz, bit 1: .sat.
constexpr unsigned kFtz = 1, kSat = 2, kRelu = 4;

template <unsigned M>
inline float input(float x) {
  return M & kFtz ? flush(x) : x;
}
template <unsigned M>
inline float output(float x) {
  if (M & kFtz)
    x = flush(x);
  if (M & kSat)
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; // NaN gives +0
  return canonical(x);
}
template <unsigned M>
float addF(float a, float b) {
  return output<M>(input<M>(a) + input<M>(b));
}
template <unsigned M>
float subF(float a, float b) {
  return output<M>(input<M>(a) - input<M>(b));
}
template <unsigned M>
float mulF(float a, float b) {
  return output<M>(input<M>(a) * input<M>(b));
}
// f64 keeps the payload of a NaN operand, unlike f32 (seen on sm_90).
double addD(double a, double b) { return a + b; }
double subD(double a, double b) { return a - b; }
double mulD(double a, double b) { return a * b; }

// Fused multiply-add: one instruction where the processor has it, else the
// library's (correct but slow) function.
#if defined(__x86_64__)
#define MX_FMA_TARGET __attribute__((target("avx2,fma")))
bool hasFma() {
  static const bool has =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  return has;
}
#else
#define MX_FMA_TARGET
bool hasFma() { return true; }
#endif

template <unsigned M>
MX_FMA_TARGET const Instr *fmaFast(Warp &w, const Instr *i, uint32_t mask) {
  float *d = w.at<float>(i->d);
  const float *a = w.at<float>(i->a), *b = w.at<float>(i->b),
              *c = w.at<float>(i->c);
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned l = 0; l < 32; ++l)
      d[l] = output<M>(
          __builtin_fmaf(input<M>(a[l]), input<M>(b[l]), input<M>(c[l])));
  } else {
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = __builtin_ctz(m);
      d[l] = output<M>(
          __builtin_fmaf(input<M>(a[l]), input<M>(b[l]), input<M>(c[l])));
    }
  }
  return i + 1;
}
template <unsigned M>
float fmaF(float a, float b, float c) {
  return output<M>(std::fma(input<M>(a), input<M>(b), input<M>(c)));
}
double fmaD(double a, double b, double c) { return std::fma(a, b, c); }

// Pairs of f32 in one 64-bit register.
template <float (*F)(float, float)>
uint64_t pair2(uint64_t a, uint64_t b) {
  return uint64_t(bitsOf(F(asFloat(a >> 32), asFloat(b >> 32)))) << 32 |
         bitsOf(F(asFloat(uint32_t(a)), asFloat(uint32_t(b))));
}
template <unsigned M>
MX_FMA_TARGET const Instr *fmaPairFast(Warp &w, const Instr *i, uint32_t mask) {
  float *d = w.at<float>(i->d);
  const float *a = w.at<float>(i->a), *b = w.at<float>(i->b),
              *c = w.at<float>(i->c);
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned l = 0; l < 64; ++l)
      d[l] = output<M>(
          __builtin_fmaf(input<M>(a[l]), input<M>(b[l]), input<M>(c[l])));
    return i + 1;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    for (unsigned l = 2 * lane; l < 2 * lane + 2; ++l)
      d[l] = output<M>(
          __builtin_fmaf(input<M>(a[l]), input<M>(b[l]), input<M>(c[l])));
  }
  return i + 1;
}
template <unsigned M>
uint64_t fmaPair(uint64_t a, uint64_t b, uint64_t c) {
  return uint64_t(bitsOf(
             fmaF<M>(asFloat(a >> 32), asFloat(b >> 32), asFloat(c >> 32))))
             << 32 |
         bitsOf(fmaF<M>(asFloat(uint32_t(a)), asFloat(uint32_t(b)),
                        asFloat(uint32_t(c))));
}

// 16-bit formats: exact widening, the operation in f32 or f64, one rounding.
struct HalfF16 {
  static float widen(uint16_t v) { return f16ToFloat(v); }
  static uint16_t narrow(float x) { return floatToF16(x); }
  static uint16_t narrowD(double x) {
    return uint16_t(mx::encodeF64(mx::FloatFormat::F16, x));
  }
};
struct HalfBF16 {
  static float widen(uint16_t v) { return bf16ToFloat(v); }
  static uint16_t narrow(float x) { return floatToBf16(x); }
  static uint16_t narrowD(double x) {
    return uint16_t(mx::encodeF64(mx::FloatFormat::BF16, x));
  }
};
// f32 has more than twice the bits of f16 and bf16, so that rounding first to
// f32 changes nothing for +, - and *.
template <class H, float (*F)(float, float)>
uint16_t half2(uint16_t a, uint16_t b) {
  return H::narrow(F(H::widen(a), H::widen(b)));
}
template <class H, float (*F)(float, float)>
uint32_t halfPair2(uint32_t a, uint32_t b) {
  return uint32_t(half2<H, F>(a >> 16, b >> 16)) << 16 |
         half2<H, F>(uint16_t(a), uint16_t(b));
}
template <class H, unsigned M>
uint16_t halfFma(uint16_t a, uint16_t b, uint16_t c) {
  double r = addToOdd(double(H::widen(a)) * H::widen(b), H::widen(c));
  if (M & kSat)
    r = r > 0 ? (r < 1 ? r : 1.0) : 0.0;
  if ((M & kRelu) && r < 0)
    r = 0;
  return H::narrowD(r);
}
template <class H, unsigned M>
uint32_t halfPairFma(uint32_t a, uint32_t b, uint32_t c) {
  return uint32_t(halfFma<H, M>(a >> 16, b >> 16, c >> 16)) << 16 |
         halfFma<H, M>(uint16_t(a), uint16_t(b), uint16_t(c));
}

// Directed roundings, rare: the processor's mode is switched for the loop.
enum class FOp { Add, Sub, Mul, Fma, Div, Sqrt };

template <class T>
__attribute__((noinline)) T evaluate(FOp op, volatile T a, volatile T b,
                                     volatile T c) {
  volatile T r = 0;
  switch (op) {
  case FOp::Add:
    r = a + b;
    break;
  case FOp::Sub:
    r = a - b;
    break;
  case FOp::Mul:
    r = a * b;
    break;
  case FOp::Fma:
    r = std::fma(a, b, c);
    break;
  case FOp::Div:
    r = a / b;
    break;
  case FOp::Sqrt:
    r = std::sqrt(a);
    break;
  }
  return r;
}

/// aux: FOp | rounding << 4 | flags << 8.
template <class T>
const Instr *directed(Warp &w, const Instr *i, uint32_t mask) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                              FE_UPWARD};
  T *d = w.at<T>(i->d);
  const T *a = w.at<T>(i->a), *b = w.at<T>(i->b), *c = w.at<T>(i->c);
  unsigned flags = i->aux >> 8;
  auto in = [&](T x) -> T {
    if constexpr (sizeof(T) == 4)
      return flags & kFtz ? flush(x) : x;
    return x;
  };
  std::fesetround(modes[(i->aux >> 4) & 3]);
  T r[32];
  forLanes(mask, [&](unsigned lane) {
    r[lane] =
        evaluate<T>(FOp(i->aux & 15), in(a[lane]), in(b[lane]), in(c[lane]));
  });
  std::fesetround(FE_TONEAREST);
  forLanes(mask, [&](unsigned lane) {
    T x = in(r[lane]);
    if (flags & kSat)
      x = x > 0 ? (x < 1 ? x : T(1)) : T(0);
    if constexpr (sizeof(T) == 4)
      x = canonical(x);
    d[lane] = x;
  });
  return i + 1;
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
  static Handler get() { return hasFma() ? fmaFast<M> : map<fmaF<M>>; }
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
  static Handler get() { return hasFma() ? fmaPairFast<M> : map<fmaPair<M>>; }
};

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
    if (flags & kRelu)
      return Packed ? map<halfPairFma<H, kRelu>> : map<halfFma<H, kRelu>>;
    if (sat)
      return Packed ? map<halfPairFma<H, kSat>> : map<halfFma<H, kSat>>;
    return Packed ? map<halfPairFma<H, 0>> : map<halfFma<H, 0>>;
  default:
    return nullptr;
  }
#undef MX_HALF
}

Slot useFormat(Decoder &d, size_t k, Format f) {
  return d.use(d.operandAt(k), laneBytes(f), immediateType(f));
}
Slot defFormat(Decoder &d, size_t k, Format f) {
  return d.def(d.operandAt(k), laneBytes(f));
}

void emitFormat(Decoder &d, Handler h, Format f, unsigned sources,
                uint32_t aux = 0) {
  if (!h)
    return d.unsupported("no such combination of modifiers");
  if (!d.expectOperands(sources + 1, sources + 1))
    return;
  Slot s[3];
  for (unsigned k = 0; k < 3; ++k)
    s[k] = k < sources ? useFormat(d, k + 1, f) : s[0];
  Slot out = defFormat(d, 0, f);
  Instr &i = d.emit(h);
  i.d = out;
  i.a = s[0];
  i.b = s[1];
  i.c = s[2];
  i.aux = aux;
}

} // namespace

void mx::sim::decodeFloatArithmetic(Decoder &d) {
  std::string_view name = d.inst->opcode;
  FOp op = name == "add"   ? FOp::Add
           : name == "sub" ? FOp::Sub
           : name == "mul" ? FOp::Mul
                           : FOp::Fma;
  int rounding = d.takeAny({"rn", "rz", "rm", "rp"});
  unsigned flags = (d.take("ftz") ? kFtz : 0) | (d.take("sat") ? kSat : 0) |
                   (d.take("relu") ? kRelu : 0);
  d.take("noftz");
  Format f = takeFormat(d);
  unsigned sources = op == FOp::Fma ? 3 : 2;
  if (f == Format::None)
    return d.unsupported("expects a floating-point type");
  if (rounding > 0) {
    if (f != Format::F32 && f != Format::F64)
      return d.unsupported("only .rn for this type");
    return emitFormat(d, f == Format::F32 ? directed<float> : directed<double>,
                      f, sources, unsigned(op) | rounding << 4 | flags << 8);
  }
  Handler h = nullptr;
  unsigned ff = flags & 3;
  switch (f) {
  case Format::F32:
    h = op == FOp::Add   ? byFlags<PickAdd>(ff)
        : op == FOp::Sub ? byFlags<PickSub>(ff)
        : op == FOp::Mul ? byFlags<PickMul>(ff)
                         : byFlags<PickFma>(ff);
    break;
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
  // .ftz has no meaning for bf16 and is refused for f16: see below.
  case Format::F16:
    h = flags & kFtz ? nullptr : halfHandler<HalfF16, false>(op, flags);
    break;
  case Format::F16x2:
    h = flags & kFtz ? nullptr : halfHandler<HalfF16, true>(op, flags);
    break;
  case Format::BF16:
    h = flags & kFtz ? nullptr : halfHandler<HalfBF16, false>(op, flags);
    break;
  case Format::BF16x2:
    h = flags & kFtz ? nullptr : halfHandler<HalfBF16, true>(op, flags);
    break;
  case Format::None:
    break;
  }
  emitFormat(d, h, f, sources);
}

//===----------------------------------------------------------------------===//
// Division, square root, approximations
//===----------------------------------------------------------------------===//

namespace {

template <unsigned M>
float divF(float a, float b) {
  return output<M>(input<M>(a) / input<M>(b));
}
double divD(double a, double b) { return a / b; }

template <unsigned M>
float rcpF(float a) {
  return output<M>(1.0f / input<M>(a));
}
template <unsigned M>
float sqrtF(float a) {
  return output<M>(std::sqrt(input<M>(a)));
}
template <unsigned M>
float rsqrtF(float a) {
  double x = input<M>(a);
  return output<M>(x == 0 ? std::copysign(HUGE_VALF, float(x))
                          : float(1.0 / std::sqrt(x)));
}
template <unsigned M>
float exp2F(float a) {
  return output<M>(float(std::exp2(double(input<M>(a)))));
}
template <unsigned M>
float log2F(float a) {
  return output<M>(float(std::log2(double(input<M>(a)))));
}
template <unsigned M>
float sinF(float a) {
  return output<M>(float(std::sin(double(input<M>(a)))));
}
template <unsigned M>
float cosF(float a) {
  return output<M>(float(std::cos(double(input<M>(a)))));
}
template <unsigned M>
float tanhF(float a) {
  return output<M>(float(std::tanh(double(input<M>(a)))));
}
double rcpD(double a) { return 1.0 / a; }
double sqrtD(double a) { return std::sqrt(a); }
double rsqrtD(double a) { return 1.0 / std::sqrt(a); }

template <class H, float (*F)(float)>
uint16_t half1(uint16_t a) {
  return H::narrow(F(H::widen(a)));
}
template <class H, float (*F)(float)>
uint32_t halfPair1(uint32_t a) {
  return uint32_t(half1<H, F>(a >> 16)) << 16 | half1<H, F>(uint16_t(a));
}

struct Unary {
  Handler plain, ftz, f64;
  Handler f16, f16x2, bf16, bf16x2;
};

void decodeUnary(Decoder &d, const Unary &u, FOp directedOp = FOp::Add) {
  d.take("approx");
  d.take("full");
  int rounding = d.takeAny({"rn", "rz", "rm", "rp"});
  bool ftz = d.take("ftz");
  Format f = takeFormat(d);
  if (rounding > 0) {
    if (directedOp == FOp::Add || (f != Format::F32 && f != Format::F64))
      return d.unsupported("only .rn for this type");
    Handler h = f == Format::F32 ? directed<float> : directed<double>;
    uint32_t aux = unsigned(directedOp) | rounding << 4 | (ftz ? kFtz : 0) << 8;
    if (directedOp == FOp::Sqrt)
      return emitFormat(d, h, f, 1, aux);
    // rcp: one over the operand.
    Slot a = useFormat(d, 1, f), out = defFormat(d, 0, f);
    Instr &i = d.emit(h);
    i.d = out;
    i.a = f == Format::F32 ? d.constant(bitsOf(1.0f), 4)
                           : d.constant(bitsOf(1.0), 8);
    i.b = i.c = a;
    i.aux = aux;
    return;
  }
  Handler h = nullptr;
  switch (f) {
  case Format::F32:
    h = ftz ? u.ftz : u.plain;
    break;
  case Format::F64:
    h = u.f64;
    break;
  case Format::F16:
    h = u.f16;
    break;
  case Format::F16x2:
    h = u.f16x2;
    break;
  case Format::BF16:
    h = u.bf16;
    break;
  case Format::BF16x2:
    h = u.bf16x2;
    break;
  default:
    break;
  }
  emitFormat(d, h, f, 1);
}

void decodeRcp(Decoder &d) {
  decodeUnary(d,
              {map<rcpF<0>>, map<rcpF<kFtz>>, map<rcpD>, nullptr, nullptr,
               nullptr, nullptr},
              FOp::Div);
}
void decodeSqrt(Decoder &d) {
  decodeUnary(d,
              {map<sqrtF<0>>, map<sqrtF<kFtz>>, map<sqrtD>, nullptr, nullptr,
               nullptr, nullptr},
              FOp::Sqrt);
}
void decodeRsqrt(Decoder &d) {
  decodeUnary(d, {map<rsqrtF<0>>, map<rsqrtF<kFtz>>, map<rsqrtD>, nullptr,
                  nullptr, nullptr, nullptr});
}
void decodeEx2(Decoder &d) {
  decodeUnary(
      d, {map<exp2F<0>>, map<exp2F<kFtz>>, nullptr,
          map<half1<HalfF16, exp2F<0>>>, map<halfPair1<HalfF16, exp2F<0>>>,
          map<half1<HalfBF16, exp2F<0>>>, map<halfPair1<HalfBF16, exp2F<0>>>});
}
void decodeLg2(Decoder &d) {
  decodeUnary(d, {map<log2F<0>>, map<log2F<kFtz>>, nullptr, nullptr, nullptr,
                  nullptr, nullptr});
}
void decodeSin(Decoder &d) {
  decodeUnary(d, {map<sinF<0>>, map<sinF<kFtz>>, nullptr, nullptr, nullptr,
                  nullptr, nullptr});
}
void decodeCos(Decoder &d) {
  decodeUnary(d, {map<cosF<0>>, map<cosF<kFtz>>, nullptr, nullptr, nullptr,
                  nullptr, nullptr});
}
void decodeTanh(Decoder &d) {
  decodeUnary(
      d, {map<tanhF<0>>, map<tanhF<kFtz>>, nullptr,
          map<half1<HalfF16, tanhF<0>>>, map<halfPair1<HalfF16, tanhF<0>>>,
          map<half1<HalfBF16, tanhF<0>>>, map<halfPair1<HalfBF16, tanhF<0>>>});
}

//===----------------------------------------------------------------------===//
// Minimum, maximum, sign
//===----------------------------------------------------------------------===//

constexpr unsigned kNaN = 2, kXorSign = 4, kAbs = 8, kMax = 16;

/// aux bits: kFtz, kNaN (NaN wins), kXorSign, kAbs, kMax.
inline float minMax(unsigned m, float a, float b) {
  if (m & kFtz) {
    a = flush(a);
    b = flush(b);
  }
  uint32_t sign = (bitsOf(a) ^ bitsOf(b)) & 0x80000000u;
  if (m & (kAbs | kXorSign)) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  float r;
  if (a != a || b != b) {
    r = (m & kNaN) || (a != a && b != b) ? floatFromBits(mx::kF32CanonicalNaN)
        : a != a                         ? b
                                         : a;
  } else {
    // -0 < +0 here.
    bool aFirst = a < b || (a == b && std::signbit(a));
    r = aFirst == !(m & kMax) ? a : b;
  }
  if ((m & kXorSign) && r == r)
    r = floatFromBits((bitsOf(r) & 0x7FFFFFFFu) | sign);
  return r;
}

const Instr *minMaxF32(Warp &w, const Instr *i, uint32_t mask) {
  float *d = w.at<float>(i->d);
  const float *a = w.at<float>(i->a), *b = w.at<float>(i->b),
              *c = w.at<float>(i->c);
  unsigned m = i->aux;
  // The common case without NaN, vectorised: max.f32 and max.abs.
  if (mask == ~0u && !(m & (kFtz | kXorSign)) && i->b == i->c) {
    bool clean = true;
    uint32_t keep = m & kAbs ? 0x7FFFFFFFu : ~0u;
    const uint32_t *x = w.at<uint32_t>(i->a), *y = w.at<uint32_t>(i->b);
    uint32_t special = 0;
    for (unsigned l = 0; l < 32; ++l)
      special |= uint32_t((x[l] & 0x7FFFFFFFu) > 0x7F800000u) |
                 uint32_t((y[l] & 0x7FFFFFFFu) > 0x7F800000u);
    clean = !special;
    if (clean) {
      // Ordered as signed integers after folding the negative half.
      int32_t *out = w.at<int32_t>(i->d);
      bool isMax = m & kMax;
      MX_LANES_INDEPENDENT
      for (unsigned l = 0; l < 32; ++l) {
        int32_t p = x[l] & keep, q = y[l] & keep;
        int32_t ps = p ^ int32_t(uint32_t(p >> 31) >> 1);
        int32_t qs = q ^ int32_t(uint32_t(q >> 31) >> 1);
        out[l] = (ps > qs) == isMax ? p : q;
      }
      return i + 1;
    }
  }
  bool three = i->b != i->c;
  forLanes(mask, [&](unsigned lane) {
    float r = minMax(m, a[lane], b[lane]);
    d[lane] = three ? minMax(m, r, c[lane]) : r;
  });
  return i + 1;
}
const Instr *minMaxF64(Warp &w, const Instr *i, uint32_t mask) {
  double *d = w.at<double>(i->d);
  const double *a = w.at<double>(i->a), *b = w.at<double>(i->b);
  forLanes(mask, [&](unsigned lane) {
    double x = a[lane], y = b[lane];
    bool aFirst = x < y || (x == y && std::signbit(x));
    d[lane] = x != x                       ? (y != y ? canonical(y) : y)
              : y != y                     ? x
              : aFirst == !(i->aux & kMax) ? x
                                           : y;
  });
  return i + 1;
}
template <class H>
uint16_t minMaxHalf(unsigned m, uint16_t a, uint16_t b) {
  return H::narrow(minMax(m, H::widen(a), H::widen(b)));
}
template <class H, bool Packed>
const Instr *minMax16(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t *d = w.at<uint32_t>(i->d);
  const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b),
                 *c = w.at<uint32_t>(i->c);
  bool three = i->b != i->c;
  forLanes(mask, [&](unsigned l) {
    uint32_t r = minMaxHalf<H>(i->aux, a[l], b[l]);
    if (three)
      r = minMaxHalf<H>(i->aux, r, c[l]);
    if (Packed) {
      uint32_t h = minMaxHalf<H>(i->aux, a[l] >> 16, b[l] >> 16);
      if (three)
        h = minMaxHalf<H>(i->aux, h, c[l] >> 16);
      r |= h << 16;
    }
    d[l] = r;
  });
  return i + 1;
}

template <class T, T Mask, bool Flip>
T signBits(T a) {
  return Flip ? a ^ Mask : a & T(~Mask);
}

/// A NaN becomes the canonical one (seen on sm_90).
template <bool Neg>
uint32_t signF32(uint32_t a) {
  uint32_t magnitude = a & 0x7FFFFFFFu;
  return magnitude > 0x7F800000u ? mx::kF32CanonicalNaN
         : Neg                   ? a ^ 0x80000000u
                                 : magnitude;
}

template <bool Neg>
float flushSign(float x) {
  return flush(Neg ? -x : std::fabs(x));
}

template <PackedOp Op, class T>
uint32_t packed16(uint32_t a, uint32_t b) {
  auto one = [](T x, T y) -> uint16_t {
    if (Op == PackedOp::Add)
      return uint16_t(x + y);
    return uint16_t((x < y) == (Op == PackedOp::Min) ? x : y);
  };
  return uint32_t(one(T(a >> 16), T(b >> 16))) << 16 | one(T(a), T(b));
}

/// testp, copysign.
float copySign(float a, float b) { return std::copysign(b, a); }
double copySignD(double a, double b) { return std::copysign(b, a); }

void decodeCopysign(Decoder &d) {
  Format f = takeFormat(d);
  emitFormat(d,
             f == Format::F32   ? map<copySign>
             : f == Format::F64 ? map<copySignD>
                                : nullptr,
             f, 2);
}

const Instr *testProperty(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned lane) {
    int c = i->aux2 ? std::fpclassify(w.at<double>(i->a)[lane])
                    : std::fpclassify(w.at<float>(i->a)[lane]);
    bool r = false;
    switch (i->aux) {
    case 0:
      r = c != FP_NAN && c != FP_INFINITE;
      break;
    case 1:
      r = c == FP_INFINITE;
      break;
    case 2:
      r = c != FP_NAN;
      break;
    case 3:
      r = c == FP_NAN;
      break;
    case 4:
      r = c == FP_NORMAL;
      break;
    case 5:
      r = c == FP_SUBNORMAL;
      break;
    }
    bits |= uint32_t(r) << lane;
  });
  setPredicate(w, i->d, bits, mask);
  return i + 1;
}
void decodeTestp(Decoder &d) {
  int k = d.takeAny(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Format f = takeFormat(d);
  if (k < 0 || (f != Format::F32 && f != Format::F64))
    return d.unsupported("expects a property and .f32 or .f64");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = useFormat(d, 1, f), out = d.defPredicate(0);
  Instr &i = d.emit(testProperty);
  i.d = out;
  i.a = a;
  i.aux = k;
  i.aux2 = f == Format::F64;
}

} // namespace

void mx::sim::decodeFloatDivide(Decoder &d) {
  d.takeAny({"approx", "full"});
  int rounding = d.takeAny({"rn", "rz", "rm", "rp"});
  unsigned flags = d.take("ftz") ? kFtz : 0;
  Format f = takeFormat(d);
  if (f != Format::F32 && f != Format::F64)
    return d.unsupported("expects .f32 or .f64");
  if (rounding > 0)
    return emitFormat(d, f == Format::F32 ? directed<float> : directed<double>,
                      f, 2, unsigned(FOp::Div) | rounding << 4 | flags << 8);
  emitFormat(d,
             f == Format::F64 ? map<divD>
             : flags          ? map<divF<kFtz>>
                              : map<divF<0>>,
             f, 2);
}

void mx::sim::decodeFloatMinMax(Decoder &d, bool isMax) {
  unsigned m = (d.take("ftz") ? kFtz : 0) | (d.take("NaN") ? kNaN : 0) |
               (d.take("xorsign") ? kXorSign : 0) | (d.take("abs") ? kAbs : 0) |
               (isMax ? kMax : 0);
  Format f = takeFormat(d);
  Handler h = f == Format::F32      ? minMaxF32
              : f == Format::F64    ? minMaxF64
              : f == Format::F16    ? minMax16<HalfF16, false>
              : f == Format::F16x2  ? minMax16<HalfF16, true>
              : f == Format::BF16   ? minMax16<HalfBF16, false>
              : f == Format::BF16x2 ? minMax16<HalfBF16, true>
                                    : nullptr;
  if (!h)
    return d.unsupported("no such type");
  if (!d.expectOperands(3, 4))
    return;
  Slot a = useFormat(d, 1, f), b = useFormat(d, 2, f);
  Slot c = d.numOperands() == 4 ? useFormat(d, 3, f) : b;
  Slot out = defFormat(d, 0, f);
  Instr &i = d.emit(h);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = c;
  i.aux = m;
}

void mx::sim::decodeFloatSign(Decoder &d, FloatSign op) {
  bool ftz = d.take("ftz");
  Format f = takeFormat(d);
  bool neg = op == FloatSign::Neg;
  Handler h = nullptr;
  switch (f) {
  case Format::F32:
    h = neg ? map<signF32<true>> : map<signF32<false>>;
    break;
  case Format::F64:
    h = neg ? map<signBits<uint64_t, 1ull << 63, true>>
            : map<signBits<uint64_t, 1ull << 63, false>>;
    break;
  case Format::F16:
  case Format::BF16:
    h = neg ? map<signBits<uint32_t, 0x8000u, true>>
            : map<signBits<uint32_t, 0x8000u, false>>;
    break;
  case Format::F16x2:
  case Format::BF16x2:
    h = neg ? map<signBits<uint32_t, 0x80008000u, true>>
            : map<signBits<uint32_t, 0x80008000u, false>>;
    break;
  default:
    break;
  }
  if (ftz && f == Format::F32)
    h = neg ? map<flushSign<true>> : map<flushSign<false>>;
  else if (ftz)
    h = nullptr;
  emitFormat(d, h, f, 1);
}

void mx::sim::emitPacked16(Decoder &d, PackedOp op, bool isSigned) {
  Handler h = op == PackedOp::Add ? map<packed16<PackedOp::Add, uint16_t>>
              : op == PackedOp::Min
                  ? isSigned ? map<packed16<PackedOp::Min, int16_t>>
                             : map<packed16<PackedOp::Min, uint16_t>>
              : isSigned ? map<packed16<PackedOp::Max, int16_t>>
                         : map<packed16<PackedOp::Max, uint16_t>>;
  emitFormat(d, h, Format::F16x2, 2);
}

void mx::sim::addFloatInstructions(DecodeTable &t) {
  t["fma"] = decodeFloatArithmetic;
  t["rcp"] = decodeRcp;
  t["sqrt"] = decodeSqrt;
  t["rsqrt"] = decodeRsqrt;
  t["ex2"] = decodeEx2;
  t["lg2"] = decodeLg2;
  t["sin"] = decodeSin;
  t["cos"] = decodeCos;
  t["tanh"] = decodeTanh;
  t["copysign"] = decodeCopysign;
  t["testp"] = decodeTestp;
}
