//===- F32Scales.cpp - Codecs of f32 scales -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The scale of a block of zeros is 0. Elements are multiplied by the inverse of
// the scale, which is at most FLT_MAX.
//
//===----------------------------------------------------------------------===//

#include "F32Scales.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mx/BlockFormats/BlockFormat.h"
#include <cfloat>

using namespace mlir;
using namespace mx;

namespace {

class Numbers : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value f32(float value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  Value i32(int64_t value) {
    return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
  }
  Value toBits(Value number) {
    return arith::BitcastOp::create(*this, getI32Type(), number);
  }
  Value toFloat(Value bits) {
    return arith::BitcastOp::create(*this, getF32Type(), bits);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(*this, condition, yes, no);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, float b) {
    return arith::CmpFOp::create(*this, predicate, a, f32(b));
  }
};

/// Rounds the bits of a magnitude up to a power of two. Powers beyond the range
/// are infinite, and powers below the normal range are the least normal number.
Value roundUp(Numbers &b, Value bits) {
  constexpr int64_t kMantissa = (1 << 23) - 1;
  Value up = arith::AddIOp::create(b, bits, b.i32(kMantissa));
  up = arith::AndIOp::create(b, up, b.i32(~kMantissa));
  // A NaN stays a NaN, and a zero stays a zero.
  Value isNaN = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, bits,
                                      b.i32(0x7F800000));
  return b.select(isNaN, bits, up);
}

class F32Codec final : public ScaleCodec {
public:
  explicit F32Codec(bool isCeil) : isCeil(isCeil) {}

  EncodedScale encode(OpBuilder &builder, Location loc, Type element,
                      Value amax) const override {
    Numbers b(loc, builder);
    Value scale = arith::DivFOp::create(
        b, amax, b.f32(getInfo(*getFloatFormat(element)).maxFinite));
    Value bits = b.toBits(scale);
    if (isCeil) {
      bits = roundUp(b, bits);
      scale = b.toFloat(bits);
    }
    // Devices produce different NaN bits, so encode a fixed pattern.
    Value isNaN = b.compare(arith::CmpFPredicate::UNO, scale, 0);
    bits = b.select(isNaN, b.i32(0x7FC00000), bits);
    Value inverse = arith::DivFOp::create(b, b.f32(1), scale);
    Value isHuge = b.compare(arith::CmpFPredicate::OGT, inverse, FLT_MAX);
    inverse = b.select(isHuge, b.f32(FLT_MAX), inverse);
    Value isZero = b.compare(arith::CmpFPredicate::OEQ, scale, 0);
    return {bits, b.select(isZero, b.f32(0), inverse)};
  }

  Value decode(OpBuilder &builder, Location loc, Value bits) const override {
    return Numbers(loc, builder).toFloat(bits);
  }

private:
  bool isCeil;
};

} // namespace

const ScaleCodec &mx::getF32Codec(bool isCeil) {
  static const F32Codec exact(false), ceil(true);
  return isCeil ? ceil : exact;
}
