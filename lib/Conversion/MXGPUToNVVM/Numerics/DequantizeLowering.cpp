//===- DequantizeLowering.cpp - Elements times scales in registers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The product of an element and a scale is exact in f32 (DequantizeMath). What
// is left is one rounding, of the conversion. The factor of an NVFP4 tensor has
// 24 bits, so that its product is rounded to odd first, from which any narrower
// result rounds as from the exact number.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "DequantizeMath.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

using Values = SmallVector<Value>;

/// The product towards zero, with the last bit set where it is not exact: where
/// those downwards and upwards differ.
static Value multiplyToOdd(NVVMBuilder &builder, Value a, Value b) {
  auto getBits = [&](Direction direction) -> Value {
    return arith::BitcastOp::create(builder, builder.getI32Type(),
                                    builder.multiply(a, b, direction));
  };
  Value down = getBits(Direction::Down), up = getBits(Direction::Up);
  Value isInexact =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, down, up);
  Value last = arith::ExtUIOp::create(builder, builder.getI32Type(), isInexact);
  Value odd =
      arith::OrIOp::create(builder, getBits(Direction::TowardsZero), last);
  return arith::BitcastOp::create(builder, builder.getF32Type(), odd);
}

/// Words of the result's type.
static Values pack(NVVMBuilder &builder, ArrayRef<Value> numbers, Type type) {
  Values words;
  if (type.isF32()) {
    for (Value number : numbers)
      words.push_back(
          arith::BitcastOp::create(builder, builder.getI32Type(), number));
    return words;
  }
  for (size_t i = 0; i < numbers.size(); i += 2)
    words.push_back(builder.convertToHalves(numbers[i + 1], numbers[i], type));
  return words;
}

namespace {
struct DequantizeBlockLowering final : OpConversionPattern<DequantizeBlockOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(DequantizeBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getType());
    Values codes = splitWords(builder, flatten(builder, adaptor.getInput()));
    Values scales = splitScales(builder, adaptor.getScale());
    Values words;
    for (auto [row, scale] : llvm::enumerate(scales)) {
      size_t count = codes.size() / scales.size();
      llvm::append_range(
          words, dequantize(builder, op, adaptor.getDecode(),
                            ArrayRef(codes).slice(row * count, count), scale));
    }
    auto flat = VectorType::get(type.getNumElements(), type.getElementType());
    Value result = joinWords(builder, words, flat);
    if (flat != type)
      result = vector::ShapeCastOp::create(builder, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static Value flatten(NVVMBuilder &builder, Value vector) {
    auto type = cast<VectorType>(vector.getType());
    if (type.getRank() == 1)
      return vector;
    auto flat = VectorType::get(type.getNumElements(), type.getElementType());
    return vector::ShapeCastOp::create(builder, flat, vector);
  }

  /// Those of all rows.
  static Values splitScales(NVVMBuilder &builder, Value scale) {
    auto type = dyn_cast<VectorType>(scale.getType());
    if (!type)
      return {scale};
    Values scales;
    for (int64_t row = 0; row < type.getNumElements(); ++row)
      scales.push_back(vector::ExtractOp::create(builder, scale, row));
    return scales;
  }

  /// The words of a block's numbers.
  static Values dequantize(NVVMBuilder &builder, DequantizeBlockOp op,
                           Value decode, ArrayRef<Value> codes, Value scale) {
    DequantizeMath math(builder, getElementTypeOrSelf(op.getInput().getType()),
                        hasNarrowConversions(op));
    Type type = getElementTypeOrSelf(op.getType());
    bool nvfp4 = isa<Float8E4M3FNType>(scale.getType());
    Value byte = arith::BitcastOp::create(builder, builder.getI8Type(), scale);
    Value factor = math.decodeScale(byte, nvfp4);
    Values numbers = math.decode(codes);
    for (Value &number : numbers) {
      number = arith::MulFOp::create(builder, number, factor);
      if (decode)
        number =
            type.isF32()
                ? arith::MulFOp::create(builder, number, decode).getResult()
                : multiplyToOdd(builder, number, decode);
    }
    return pack(builder, numbers, type);
  }
};
} // namespace

void mx::mxgpu::populateDequantizePatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter) {
  patterns.add<DequantizeBlockLowering>(converter, patterns.getContext());
}
