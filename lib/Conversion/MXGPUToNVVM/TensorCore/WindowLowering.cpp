//===- WindowLowering.cpp - Where the scales of tiles lie -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operands in f16 are exact where scales lie within a window: what a kernel
// finds of each tile, and what the next one makes of it.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx::mxgpu;

/// Powers of two above the largest scale that f16 has room for: 448 * 2^7. As
/// many are above the largest one whose multiplier bf16 has room for: 2^7 times
/// 2^120, as elements have their fields where those of bf16 are.
static constexpr int64_t kAbove = 7;

/// The largest scale. With it and the least ones below, sums of products of two
/// operands are normal numbers of f32, relative to references or not.
static constexpr int64_t kMost = 169;

/// Powers of two below the reference that a smallest scale may be. In f16 the
/// smallest element of f8E4M3FN, 2^-9, is then still a normal number: the
/// tensor core aligns subnormal ones as if they were 2^-14, and loses bits of
/// what it adds to them. In bf16 sums bind: the least product is 2^-126.
static constexpr int64_t kBelowInF16 = 5, kBelowInBF16 = 54;

/// In f16 a tile whose reference is less does not fit; in bf16 it takes this.
static constexpr int64_t kLeastInF16 = 87, kLeastInBF16 = 127;

/// Bytes of a row of a table, which is read at once.
static constexpr int64_t kRowBytes = 16;

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
    auto table = op.getTable();
    Value zero = builder.index(0), one = builder.index(1);
    Value last = arith::SubIOp::create(
        builder, memref::DimOp::create(builder, table, zero), one);
    Value tile = arith::MinUIOp::create(builder, adaptor.getTile(), last);
    auto type = VectorType::get({4}, builder.getI32Type());
    bool isBytes = table.getType().getElementType().isInteger(8);
    auto loaded =
        isBytes ? VectorType::get({kRowBytes}, builder.getI8Type()) : type;
    Value parts = vector::LoadOp::create(
        builder, loaded, table, ValueRange{tile, zero}, /*nontemporal=*/false,
        llvm::MaybeAlign(kRowBytes));
    if (isBytes)
      parts = vector::BitCastOp::create(builder, type, parts);
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
    auto compare = [&](arith::CmpIPredicate how, Value a, int64_t b) -> Value {
      return arith::CmpIOp::create(builder, how, a, builder.i32(b));
    };
    Value reference = builder.add(most, builder.i32(-kAbove));
    Value fits = compare(arith::CmpIPredicate::sle, most, kMost);
    if (op.getBf16())
      reference =
          arith::MaxSIOp::create(builder, reference, builder.i32(kLeastInBF16));
    else
      fits = arith::AndIOp::create(
          builder, fits,
          compare(arith::CmpIPredicate::sge, reference, kLeastInF16));
    Value spans =
        compare(arith::CmpIPredicate::sle, builder.add(reference, rest),
                255 + (op.getBf16() ? kBelowInBF16 : kBelowInF16));
    fits = arith::AndIOp::create(builder, fits, spans);
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
