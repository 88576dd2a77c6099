//===- ExpandErrorFunctions.cpp - erf and erfc --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// erf is odd, and 1 - erfc(|x|) from 1 on, where erfc is a power of 2 of a
// polynomial. erfc, which may be far less than erf's last bit, is computed in
// f64.
//
//===----------------------------------------------------------------------===//

#include "MathSequence.h"

using namespace mlir;
using namespace mx;

namespace {

/// erf(x) = x + x * N(x^2) up to 1, log2(erfc(x)) = F(x) from 1 to 4: least
/// largest error relative to erf, the coefficients rounded one after another.
constexpr float kNear[] = {0x1.06eba8p-3f,  -0x1.81273ep-2f, 0x1.ce2ce6p-4f,
                           -0x1.b7f71ap-6f, 0x1.53f224p-8f,  -0x1.a3515ep-11f,
                           0x1.4772p-14f};
constexpr float kFar[] = {-0x1.025e0cp-11f, -0x1.a04486p+0f, -0x1.d75f54p-1f,
                          -0x1.30a442p-3f,  0x1.021736p-5f,  -0x1.16b008p-8f,
                          0x1.19eeb4p-12f};
/// From here on erf is 1 in f32.
constexpr float kErfLimit = 4.0f;

/// erfc(a) = exp(-a^2) / (1 + 2 a) * C((a - 3) / (a + 3)) on [0, 11].
constexpr double kErfc[] = {
    0x1.40c522d7e490ap+0,   -0x1.15c084bc3a3c2p-3,  -0x1.85a15c581a868p-5,
    0x1.098366d0e5457p-3,   -0x1.e88b801bce242p-4,  0x1.17ca2190a06d8p-4,
    -0x1.8574da9aafb04p-6,  0x1.4b8fd4f95186dp-9,   0x1.ef2edd848ca5cp-10,
    -0x1.99543b307edd0p-11, -0x1.bfebab5f8e42ep-14, 0x1.09204a1024fe2p-13,
    0x1.341848d3ca32ap-17,  -0x1.415d1650210dap-16, -0x1.3ce7230cf8607p-18};
/// From here on erfc is less than half of the least f32.
constexpr float kErfcLimit = 11.0f;

} // namespace

Value mx::emitErf(Sequence &s, ValueRange operands) {
  Value x = operands[0], size = s.magnitude(x), square = s.mul(x, x);
  Value near = s.fma(x, s.polynomial<float>(square, kNear), x);
  Value limited = arith::MinimumFOp::create(s, size, s.number(kErfLimit));
  Value power = emitSmallPower(s, s.polynomial<float>(limited, kFar));
  Value far = s.withSignOf(s.sub(s.number(1.0f), power), x);
  return s.select(s.less(size, s.number(1.0f)), near, far);
}

Value mx::emitErfc(Sequence &s, ValueRange operands) {
  Value x = s.widen(s.clamp(operands[0], kErfcLimit)), a = s.magnitude(x);
  Value three = s.wideNumber(3.0), one = s.wideNumber(1.0);
  // One division for 1 / (a + 3) and 1 / (1 + 2 a).
  Value sum = s.add(a, three), under = s.fma(a, s.wideNumber(2.0), one);
  Value reciprocal = s.div(one, s.mul(sum, under));
  Value t = s.mul(s.mul(s.sub(a, three), under), reciprocal);
  Value scaled = s.mul(s.mul(s.polynomial<double>(t, kErfc), sum), reciprocal);
  Value tail = s.mul(scaled, emitWideExp(s, s.negate(s.mul(a, a))));
  Value isLeft = s.less(x, s.wideNumber(0.0));
  Value other = s.sub(s.wideNumber(2.0), tail);
  return s.narrow(s.select(isLeft, other, tail));
}
