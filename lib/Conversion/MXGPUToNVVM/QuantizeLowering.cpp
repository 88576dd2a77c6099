//===- QuantizeLowering.cpp - Blocks of a quantizer in registers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The recipes of mx.quantize on the 32 elements that a thread holds. Maxima and
// scales are computed on the bits of f32 numbers, so that nothing depends on
// how subnormals or NaN are compared.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/FloatFormats.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static Value isInside(NVVMBuilder &builder, Value memref, Value row,
                      Value column) {
  Value inRows = builder.create<arith::CmpIOp>(
      arith::CmpIPredicate::ult, row, builder.create<memref::DimOp>(memref, 0));
  Value inColumns =
      builder.create<arith::CmpIOp>(arith::CmpIPredicate::ult, column,
                                    builder.create<memref::DimOp>(memref, 1));
  return builder.create<arith::AndIOp>(inRows, inColumns);
}

namespace {

struct LoadBlockLowering final : KernelPattern<LoadBlockOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getType());
    Value inside = isInside(builder, op.getSource(), adaptor.getRow(),
                            adaptor.getColumn());
    auto ifOp = builder.create<scf::IfOp>(type, inside, /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    Value loaded = builder.create<vector::LoadOp>(
        type, op.getSource(), ValueRange{adaptor.getRow(), adaptor.getColumn()},
        /*nontemporal=*/false, llvm::MaybeAlign(16));
    builder.create<scf::YieldOp>(loaded);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    Value zero = builder.create<arith::ConstantOp>(builder.getZeroAttr(type));
    builder.create<scf::YieldOp>(zero);
    rewriter.replaceOp(op, ifOp.getResults());
    return success();
  }
};

struct StoreBlockLowering final : KernelPattern<StoreBlockOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value inside =
        isInside(builder, op.getDest(), adaptor.getRow(), adaptor.getColumn());
    auto ifOp = builder.create<scf::IfOp>(inside, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.create<vector::StoreOp>(
        adaptor.getValue(), op.getDest(),
        ValueRange{adaptor.getRow(), adaptor.getColumn()},
        /*nontemporal=*/false, llvm::MaybeAlign(16));
    rewriter.eraseOp(op);
    return success();
  }
};

/// Scale (r, c) lies in tile (r / 128, c / 4) at byte
/// (r % 32) * 16 + (r / 32 % 4) * 4 + c % 4 (mx/Support/ScaleLayout.h).
struct StoreScalesLowering final : KernelPattern<StoreScalesOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto div = [&](Value value, int64_t by) -> Value {
      return builder.create<arith::DivUIOp>(value, builder.index(by));
    };
    auto rem = [&](Value value, int64_t by) -> Value {
      return builder.create<arith::RemUIOp>(value, builder.index(by));
    };
    Value row = adaptor.getRow();
    SmallVector<Value> position = {div(row, 128), div(adaptor.getBlock(), 4),
                                   rem(row, 32), rem(div(row, 32), 4),
                                   builder.index(0)};
    auto type = VectorType::get(
        {4}, cast<MemRefType>(op.getDest().getType()).getElementType());
    Value scales =
        builder.create<vector::FromElementsOp>(type, adaptor.getScales());
    builder.create<vector::StoreOp>(scales, op.getDest(), position,
                                    /*nontemporal=*/false, llvm::MaybeAlign(4));
    rewriter.eraseOp(op);
    return success();
  }
};

struct QuantizeBlockLowering final : KernelPattern<QuantizeBlockOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(QuantizeBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getInput().getType());
    int64_t size = type.getNumElements();
    auto wideType = VectorType::get(size, builder.getF32Type());
    Value wide = adaptor.getInput();
    if (!type.getElementType().isF32())
      wide = builder.create<arith::ExtFOp>(wideType, wide);
    Value scale =
        getScale(builder, op.getScaleRounding(), getAbsMaxBits(builder, wide));
    Value factor = builder.create<vector::BroadcastOp>(
        wideType, getInverse(builder, scale));
    Value scaled = builder.create<arith::MulFOp>(wide, factor);

    SmallVector<Value> pairs;
    for (int64_t i = 0; i < size; i += 2) {
      Value lo = extract(builder, scaled, i);
      Value hi = extract(builder, scaled, i + 1);
      pairs.push_back(builder.convertToNarrow(
          hi, lo, getElementTypeOrSelf(op.getElements().getType())));
    }
    Value words = builder.create<vector::FromElementsOp>(
        VectorType::get(size / 2, builder.getI16Type()), pairs);
    Value bytes = builder.create<vector::BitCastOp>(
        VectorType::get(size, builder.getI8Type()), words);
    Value elements =
        builder.create<arith::BitcastOp>(op.getElements().getType(), bytes);
    Value scaleByte =
        builder.create<arith::TruncIOp>(builder.getI8Type(), scale);
    rewriter.replaceOp(op, {elements, builder.create<arith::BitcastOp>(
                                          op.getScale().getType(), scaleByte)});
    return success();
  }

private:
  static Value extract(NVVMBuilder &builder, Value vector, int64_t i) {
    return builder.create<vector::ExtractOp>(vector, ArrayRef<int64_t>{i});
  }

  /// Without the sign, the bits of f32 numbers are ordered as unsigned
  /// integers: NaN, infinity, finite numbers.
  static Value getAbsMaxBits(NVVMBuilder &builder, Value wide) {
    auto type = VectorType::get(cast<VectorType>(wide.getType()).getShape(),
                                builder.getI32Type());
    Value bits = builder.create<arith::BitcastOp>(type, wide);
    Value mask = builder.create<arith::ConstantOp>(
        DenseElementsAttr::get(type, builder.getI32IntegerAttr(0x7FFFFFFF)));
    return builder.create<vector::ReductionOp>(
        vector::CombiningKind::MAXUI,
        builder.create<arith::AndIOp>(bits, mask));
  }

  /// The scale's byte, as i32.
  static Value getScale(NVVMBuilder &builder, ScaleRounding rounding,
                        Value absMaxBits) {
    const FloatFormatInfo &format = getInfo(FloatFormat::E4M3);
    if (rounding == ScaleRounding::Ceil) {
      // The conversion handles NaN (255) and infinity (254) itself.
      Value absMax =
          builder.create<arith::BitcastOp>(builder.getF32Type(), absMaxBits);
      Value inverseMax = builder.create<arith::ConstantOp>(
          builder.getF32FloatAttr(1.0f / format.maxFinite));
      Value quotient = builder.create<arith::MulFOp>(absMax, inverseMax);
      Value zero =
          builder.create<arith::ConstantOp>(builder.getF32FloatAttr(0.0f));
      Value pair = builder.convertToE8M0Up(zero, quotient);
      Value wide = builder.create<arith::ExtUIOp>(builder.getI32Type(), pair);
      return builder.create<arith::AndIOp>(wide, builder.i32(0xFF));
    }
    Value bits = absMaxBits;
    if (rounding == ScaleRounding::Even)
      bits = builder.add(bits, builder.i32(1 << (22 - format.mantissaBits)));
    Value exponent = builder.create<arith::ShRUIOp>(bits, builder.i32(23));
    Value scale =
        builder.create<arith::SubIOp>(exponent, builder.i32(format.emax));
    scale = builder.create<arith::MaxSIOp>(scale, builder.i32(0));
    scale = builder.create<arith::MinSIOp>(scale, builder.i32(254));
    return selectSpecial(builder, absMaxBits, scale);
  }

  /// Infinity gives 254, NaN 255.
  static Value selectSpecial(NVVMBuilder &builder, Value absMaxBits,
                             Value scale) {
    Value infinity = builder.i32(0x7F800000);
    Value isInfinity = builder.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                     absMaxBits, infinity);
    Value isNaN = builder.create<arith::CmpIOp>(arith::CmpIPredicate::ugt,
                                                absMaxBits, infinity);
    scale =
        builder.create<arith::SelectOp>(isInfinity, builder.i32(254), scale);
    return builder.create<arith::SelectOp>(isNaN, builder.i32(255), scale);
  }

  /// 2^(127 - scale) as f32: an exponent field of 254 - scale, except that
  /// scale 254 needs a subnormal and 255 is NaN.
  static Value getInverse(NVVMBuilder &builder, Value scale) {
    Value exponent = builder.create<arith::SubIOp>(builder.i32(254), scale);
    Value bits = builder.create<arith::ShLIOp>(exponent, builder.i32(23));
    auto replace = [&](int64_t special, int64_t by) {
      Value isSpecial = builder.create<arith::CmpIOp>(
          arith::CmpIPredicate::eq, scale, builder.i32(special));
      bits = builder.create<arith::SelectOp>(isSpecial, builder.i32(by), bits);
    };
    replace(254, 0x00400000);
    replace(255, 0x7FC00000);
    return builder.create<arith::BitcastOp>(builder.getF32Type(), bits);
  }
};

} // namespace

void mx::mxgpu::populateQuantizePatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         KernelContext &kernel) {
  patterns.add<LoadBlockLowering, StoreBlockLowering, StoreScalesLowering,
               QuantizeBlockLowering>(converter, patterns.getContext(), kernel);
}
