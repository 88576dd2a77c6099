//===- MathLowering.cpp - Arithmetic with fewer GPU instructions ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces expensive divisions, clamps and conversions of bf16 pairs with
// shorter instruction sequences. The results are bitwise equal.
//===----------------------------------------------------------------------===//

#include "../Common/Lowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MX/IR/NormalReciprocal.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPULOWERMATH
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// Returns true for f32 and vectors of f32.
static bool isF32(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return type.isF32() || (vector && vector.getElementType().isF32() &&
                          vector.getRank() == 1 && !vector.isScalable());
}

/// Applies `function` to a number, or to each element of a vector.
static Value map(NVVMBuilder &builder, Value value,
                 function_ref<Value(Value)> function) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return function(value);
  SmallVector<Value> results;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    results.push_back(function(
        vector::ExtractOp::create(builder, value, ArrayRef<int64_t>{i})));
  return vector::FromElementsOp::create(builder, vector, results);
}

static std::optional<APFloat> getConstant(Value value) {
  APFloat constant(0.0f);
  if (matchPattern(value, m_ConstantFloat(&constant)))
    return constant;
  return std::nullopt;
}

/// Replaces a reciprocal with rcp.approx, which is within 1 ulp (PTX ISA), and
/// a Newton step. The result is correctly rounded (docs/reference/Math.md,
/// ReciprocalTest.cpp).
static LogicalResult normalReciprocal(arith::DivFOp op,
                                      PatternRewriter &rewriter) {
  if (!isF32(op.getType()) || !op->hasAttr(mx::kNormalReciprocalName) ||
      !matchPattern(op.getLhs(), m_OneFloat()))
    return failure();
  NVVMBuilder builder(op.getLoc(), rewriter);
  Value x = op.getRhs();
  Value guess = map(builder, x, [&](Value element) {
    return builder.approximateReciprocal(element);
  });
  Value minusX = LLVM::FNegOp::create(builder, x);
  Value error = LLVM::FMAOp::create(builder, minusX, guess, op.getLhs());
  rewriter.replaceOpWithNewOp<LLVM::FMAOp>(op, guess, error, guess);
  return success();
}

/// Matches minimum(maximum(x, -limit), limit).
static LogicalResult clampMagnitude(arith::MinimumFOp op,
                                    PatternRewriter &rewriter) {
  auto above = op.getLhs().getDefiningOp<arith::MaximumFOp>();
  if (!isF32(op.getType()) || !above)
    return failure();
  std::optional<APFloat> low = getConstant(above.getRhs());
  std::optional<APFloat> high = getConstant(op.getRhs());
  if (!low || !high || high->isNaN() || high->isNegative() ||
      neg(*low) != *high)
    return failure();
  NVVMBuilder builder(op.getLoc(), rewriter);
  Value limit = arith::ConstantOp::create(
      builder, builder.getFloatAttr(builder.getF32Type(), *high));
  rewriter.replaceOp(op, map(builder, above.getLhs(), [&](Value x) {
                       return builder.clampMagnitude(x, limit);
                     }));
  return success();
}

/// Converts each half of a bf16 word to f32 with a single instruction and
/// without extracting 16-bit values, because bf16 is the upper half of f32.
static LogicalResult widenPairs(arith::ExtFOp op, PatternRewriter &rewriter) {
  auto from = dyn_cast<VectorType>(op.getIn().getType());
  if (!from || !from.getElementType().isBF16() || !isF32(op.getType()) ||
      from.getNumElements() % 2)
    return failure();
  NVVMBuilder builder(op.getLoc(), rewriter);
  auto number = [&](int32_t value) -> Value {
    auto type =
        VectorType::get(from.getNumElements() / 2, builder.getI32Type());
    return arith::ConstantOp::create(builder,
                                     DenseElementsAttr::get(type, value));
  };
  Value low16 = number(16), upper = number(int32_t(0xFFFF0000));
  Value words = vector::BitCastOp::create(builder, low16.getType(), op.getIn());
  Value low = builder.shiftLeft(words, low16);
  Value high = builder.andBits(words, upper);
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(
      op, op.getType(), vector::InterleaveOp::create(builder, low, high));
  return success();
}

namespace {
struct LowerMathPass final
    : mx::mxgpu::impl::MXGPULowerMathBase<LowerMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(normalReciprocal);
    patterns.add(clampMagnitude);
    patterns.add(widenPairs);
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto kernel : getOperation().getOps<KernelOp>())
      walkAndApplyPatterns(kernel, frozen);
  }
};
} // namespace
