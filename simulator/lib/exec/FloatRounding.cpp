//===- FloatRounding.cpp - Directed roundings -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Rounding modifiers": .rz, .rm and .rp of f32, f64 and f32x2.
// Directed roundings are rare, so the processor's rounding mode is switched
// around the loop.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"

#include <cfenv>
#include <cmath>

using namespace mx::sim;

namespace {

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

/// Evaluates an operation, and flushes tiny results of .ftz as in flushTiny.
/// Tiny sums of f32 are exact, so they need no correction.
template <class T>
T evaluateFlushed(FOp op, unsigned flags, T a, T b, T c) {
  T r = evaluate<T>(op, a, b, c);
  if constexpr (sizeof(T) == 4) {
    auto fma = [&](float x, float y, float z) {
      return evaluate<float>(op, x, y, z);
    };
    if (flags & kFtz && (op == FOp::Mul || op == FOp::Fma))
      return flushTiny(r, a, b, c, fma);
    if (flags & kFtz && op == FOp::Div && std::fabs(r) == 0x1p-126f) {
      float large =
          std::fabs(a) < 1 ? fma(a * 0x1p40f, b, 0) : fma(a, b * 0x1p-40f, 0);
      if (std::fabs(large) < 0x1p-86f)
        return std::copysign(T(0), r);
    }
  }
  return r;
}

/// aux: FOp | rounding << 4 | flags << 8. Processes N values per lane.
template <class T, unsigned N>
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
  T r[32 * N];
  forLanes(mask, [&](unsigned lane) {
    for (unsigned k = lane * N; k < lane * N + N; ++k)
      r[k] = evaluateFlushed<T>(FOp(i->aux & 15), flags, in(a[k]), in(b[k]),
                                in(c[k]));
  });
  std::fesetround(FE_TONEAREST);
  forLanes(mask, [&](unsigned lane) {
    for (unsigned k = lane * N; k < lane * N + N; ++k) {
      T x = in(r[k]);
      if (sizeof(T) == 8 && FOp(i->aux & 15) != FOp::Div)
        x = lastNaN(x, a[k], b[k], c[k]);
      if (flags & kSat)
        x = x > 0 ? (x < 1 ? x : T(1)) : T(0);
      if constexpr (sizeof(T) == 4)
        x = canonical(x);
      d[k] = x;
    }
  });
  return i + 1;
}

} // namespace

Handler mx::sim::directedHandler(Format f) {
  return f == Format::F32     ? directed<float, 1>
         : f == Format::F64   ? directed<double, 1>
         : f == Format::F32x2 ? directed<float, 2>
                              : nullptr;
}
