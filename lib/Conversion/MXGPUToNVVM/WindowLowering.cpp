//===- WindowLowering.cpp - Where the scales of tiles lie -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operands in f16 are exact where scales lie within a window: what a kernel
// finds of each tile, and what the next one makes of it.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

struct WarpMaxLowering final : OpConversionPattern<WarpMaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(WarpMaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    rewriter.replaceOp(op, builder.largestInWarp(adaptor.getValue()));
    return success();
  }
};

struct LoadWindowLowering final : OpConversionPattern<LoadWindowOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadWindowOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value table = op.getTable();
    Value zero = builder.index(0), one = builder.index(1);
    Value last = arith::SubIOp::create(
        builder, memref::DimOp::create(builder, table, zero), one);
    Value tile = arith::MinUIOp::create(builder, adaptor.getTile(), last);
    auto type = VectorType::get({4}, builder.getI32Type());
    Value parts =
        vector::LoadOp::create(builder, type, table, ValueRange{tile, zero});
    auto largest = [&](Value numbers) -> Value {
      return vector::ReductionOp::create(builder, vector::CombiningKind::MAXUI,
                                         numbers);
    };
    auto constant = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(
          builder, DenseElementsAttr::get(
                       type, builder.getI32IntegerAttr(number).getValue()));
    };
    Value most = largest(arith::ShRUIOp::create(builder, parts, constant(16)));
    Value rest =
        largest(arith::AndIOp::create(builder, parts, constant(0xFFFF)));
    // Powers of two above the largest scale that f16 has room for: 448 * 2^7.
    // The smallest element of f8E4M3FN is 2^-9, and times 2^-5 still a normal
    // number of f16: the tensor core aligns subnormal ones as if they were
    // 2^-14, and loses bits of what it adds to them.
    constexpr int64_t kAbove = 7, kSpan = 12;
    constexpr int64_t kLeastReference = 87, kMostReference = 162;
    Value reference = builder.add(most, builder.i32(-kAbove));
    auto compare = [&](arith::CmpIPredicate how, Value a, int64_t b) -> Value {
      return arith::CmpIOp::create(builder, how, a, builder.i32(b));
    };
    Value spans = compare(arith::CmpIPredicate::sle, builder.add(most, rest),
                          255 + kSpan);
    Value isHigh =
        compare(arith::CmpIPredicate::sge, reference, kLeastReference);
    Value isLow = compare(arith::CmpIPredicate::sle, reference, kMostReference);
    Value fits = arith::AndIOp::create(
        builder, spans, arith::AndIOp::create(builder, isHigh, isLow));
    rewriter.replaceOp(op, {reference, fits});
    return success();
  }
};

} // namespace

void mx::mxgpu::populateWindowPatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter) {
  patterns.add<WarpMaxLowering, LoadWindowLowering>(converter,
                                                    patterns.getContext());
}
