//===- F32Scales.cpp - Codecs of f32 scales -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scale of a block of zeros is 0. Elements are multiplied by the inverse of
// the scale, which is at most FLT_MAX.
//===----------------------------------------------------------------------===//

#include "mx/BlockFormats/F32Scales.h"
#include <cfloat>

using namespace mlir;
using namespace mx;

Value ScaleArith::f32(float value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value ScaleArith::compare(arith::CmpFPredicate predicate, Value a, float b) {
  return arith::CmpFOp::create(*this, predicate, a, f32(b));
}

Value ScaleArith::getScale(Type element, Value amax) {
  return arith::DivFOp::create(
      *this, amax, f32(getInfo(*getFloatFormat(element)).maxFinite));
}

Value ScaleArith::invert(Value scale) {
  Value inverse = arith::DivFOp::create(*this, f32(1), scale);
  Value isHuge = compare(arith::CmpFPredicate::OGT, inverse, FLT_MAX);
  inverse = select(isHuge, f32(FLT_MAX), inverse);
  Value isZero = compare(arith::CmpFPredicate::OEQ, scale, 0);
  return select(isZero, f32(0), inverse);
}

/// Rounds the bits of a magnitude up to a power of two. Powers beyond the range
/// are infinite, and powers below the normal range are the least normal number.
static Value roundUp(ScaleArith &b, Value bits) {
  constexpr int64_t kMantissa = (1 << 23) - 1;
  Value up = b.andBits(b.add(bits, kMantissa), ~kMantissa);
  // A NaN stays a NaN, and a zero stays a zero.
  return b.select(b.isBelow(b.i32(0x7F800000), bits), bits, up);
}

namespace {
class F32Codec final : public ScaleCodec {
public:
  explicit F32Codec(bool isCeil) : isCeil(isCeil) {}

  EncodedScale encode(OpBuilder &builder, Location loc, Type element,
                      Value amax) const override {
    ScaleArith b(loc, builder);
    Value scale = b.getScale(element, amax);
    Value bits = b.toBits(scale);
    if (isCeil) {
      bits = roundUp(b, bits);
      scale = b.toFloat(bits);
    }
    // Devices produce different NaN bits, so encode a fixed pattern.
    Value isNaN = b.compare(arith::CmpFPredicate::UNO, scale, 0);
    bits = b.select(isNaN, b.i32(0x7FC00000), bits);
    return {bits, b.invert(scale)};
  }

  Value decode(OpBuilder &builder, Location loc, Value bits) const override {
    return ScaleArith(loc, builder).toFloat(bits);
  }

private:
  bool isCeil;
};
} // namespace

const ScaleCodec &mx::getF32Codec(bool isCeil) {
  static const F32Codec exact(false), ceil(true);
  return isCeil ? ceil : exact;
}
