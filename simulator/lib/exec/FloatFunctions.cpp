//===- FloatFunctions.cpp - Division, roots and approximations ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: div, rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh. Approximate
// functions return the correctly rounded value, which satisfies all error
// bounds of the ISA.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"
#include "Instructions.h"

#include <cmath>

using namespace mx::sim;

namespace {

/// Divides. Flushes results like mulF (Float.cpp).
template <unsigned M>
float divF(float a, float b) {
  if (M & kFtz) {
    double q = double(input<M>(a)) / double(input<M>(b));
    return output<M>(std::fabs(q) < 0x1.ffffffp-127
                         ? std::copysign(0.0f, float(q))
                         : input<M>(a) / input<M>(b));
  }
  return output<M>(a / b);
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
/// Computes div.approx as a * (1/b). For the largest values of b, 1/b is
/// flushed to zero.
template <unsigned M>
float divApprox(float a, float b) {
  float x = input<M>(a), y = input<M>(b);
  if (std::fabs(y) > 0x1p126f && std::isfinite(y))
    y = std::copysign(HUGE_VALF, y);
  return output<M>(x / y);
}
/// Clears the lower 32 bits. rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64
/// neither read nor write these bits.
double upperHalf(double x) {
  uint64_t b = bitsOf(x) & ~0xFFFFFFFFull;
  if (x != x)
    return doubleFromBits(0x7FFFFFFF00000000ull);
  return doubleFromBits(b & 0x7FF0000000000000ull ? b : b & 1ull << 63);
}
double rcpCoarse(double a) { return upperHalf(1.0 / upperHalf(a)); }
double rsqrtCoarse(double a) {
  return upperHalf(1.0 / std::sqrt(upperHalf(a)));
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
  Handler coarse; ///< .approx.ftz.f64
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
    Handler h = directedHandler(f);
    if (!d.expectOperands(2, 2))
      return;
    uint32_t aux = unsigned(directedOp) | rounding << 4 | (ftz ? kFtz : 0) << 8;
    if (directedOp == FOp::Sqrt)
      return emitFormat(d, h, f, 1, aux);
    // rcp divides one by the operand.
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
    h = ftz ? u.coarse : u.f64;
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
               nullptr, nullptr, map<rcpCoarse>},
              FOp::Div);
}
void decodeSqrt(Decoder &d) {
  decodeUnary(d,
              {map<sqrtF<0>>, map<sqrtF<kFtz>>, map<sqrtD>, nullptr, nullptr,
               nullptr, nullptr, nullptr},
              FOp::Sqrt);
}
void decodeRsqrt(Decoder &d) {
  decodeUnary(d, {map<rsqrtF<0>>, map<rsqrtF<kFtz>>, map<rsqrtD>, nullptr,
                  nullptr, nullptr, nullptr, map<rsqrtCoarse>});
}
void decodeEx2(Decoder &d) {
  decodeUnary(d,
              {map<exp2F<0>>, map<exp2F<kFtz>>, nullptr,
               map<half1<HalfF16, exp2F<0>>>, map<halfPair1<HalfF16, exp2F<0>>>,
               map<half1<HalfBF16, exp2F<kFtz>>>,
               map<halfPair1<HalfBF16, exp2F<kFtz>>>, nullptr});
}
void decodeLg2(Decoder &d) {
  decodeUnary(d, {map<log2F<0>>, map<log2F<kFtz>>, nullptr, nullptr, nullptr,
                  nullptr, nullptr, nullptr});
}
void decodeSin(Decoder &d) {
  decodeUnary(d, {map<sinF<0>>, map<sinF<kFtz>>, nullptr, nullptr, nullptr,
                  nullptr, nullptr, nullptr});
}
void decodeCos(Decoder &d) {
  decodeUnary(d, {map<cosF<0>>, map<cosF<kFtz>>, nullptr, nullptr, nullptr,
                  nullptr, nullptr, nullptr});
}
void decodeTanh(Decoder &d) {
  decodeUnary(d,
              {map<tanhF<0>>, map<tanhF<kFtz>>, nullptr,
               map<half1<HalfF16, tanhF<0>>>, map<halfPair1<HalfF16, tanhF<0>>>,
               map<half1<HalfBF16, tanhF<0>>>,
               map<halfPair1<HalfBF16, tanhF<0>>>, nullptr});
}

} // namespace

void mx::sim::decodeFloatDivide(Decoder &d) {
  bool isApprox = d.takeAny({"approx", "full"}) == 0;
  int rounding = d.takeAny({"rn", "rz", "rm", "rp"});
  unsigned flags = d.take("ftz") ? kFtz : 0;
  Format f = takeFormat(d);
  if (f != Format::F32 && f != Format::F64)
    return d.unsupported("expects .f32 or .f64");
  if (rounding > 0)
    return emitFormat(d, directedHandler(f), f, 2,
                      unsigned(FOp::Div) | rounding << 4 | flags << 8);
  emitFormat(d,
             f == Format::F64 ? map<divD>
             : isApprox       ? flags ? map<divApprox<kFtz>> : map<divApprox<0>>
             : flags          ? map<divF<kFtz>>
                              : map<divF<0>>,
             f, 2);
}

void mx::sim::addFloatFunctions(DecodeTable &t) {
  t["rcp"] = decodeRcp;
  t["sqrt"] = decodeSqrt;
  t["rsqrt"] = decodeRsqrt;
  t["ex2"] = decodeEx2;
  t["lg2"] = decodeLg2;
  t["sin"] = decodeSin;
  t["cos"] = decodeCos;
  t["tanh"] = decodeTanh;
}
