//===- ExpandHostCode.cpp - Expansion of host operations ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands arithmetic that LLVM computes differently from GPUs, and views that
// upstream's lowering does not support.
//===----------------------------------------------------------------------===//

#include "FormatArith.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "mx/Conversion/MXToCPU/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace mx {
#define GEN_PASS_DEF_MXEXPANDHOSTARITH
#define GEN_PASS_DEF_MXEXPANDHALFCONVERSIONS
#define GEN_PASS_DEF_MXEXPANDRESHAPES
#define GEN_PASS_DEF_MXEXPANDSTRIDEDCOPIES
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

// GPUs support f16 and bf16 fma and maxima that order -0 below 0, and copy bf16
// values as bits. On hosts, LLVM calls a library or rounds twice for fma,
// returns either zero as a maximum of 0 and -0, and converts bf16 values that
// are copied.

namespace {

/// Returns the maximum or minimum. If the operands are equal, their bits differ
/// at most in the sign of zero. In this case the maximum is the bitwise AND of
/// the operands, and the minimum is their bitwise OR.
template <typename EqualOp>
Value getExtreme(OpBuilder &builder, Location loc, Value a, Value b,
                 arith::CmpFPredicate isBetter) {
  Type integers = builder.getIntegerType(
      getElementTypeOrSelf(a.getType()).getIntOrFloatBitWidth());
  if (auto shaped = dyn_cast<ShapedType>(a.getType()))
    integers = shaped.clone(integers);
  auto bitsOf = [&](Value x) -> Value {
    return arith::BitcastOp::create(builder, loc, integers, x);
  };
  auto choose = [&](Value x, Value y, Value otherwise) -> Value {
    Value condition = arith::CmpFOp::create(builder, loc, isBetter, x, y);
    return arith::SelectOp::create(builder, loc, condition, x, otherwise);
  };
  Value bitsOfA = bitsOf(a), bitsOfB = bitsOf(b);
  Value bits = EqualOp::create(builder, loc, bitsOfA, bitsOfB);
  Value equal = arith::BitcastOp::create(builder, loc, a.getType(), bits);
  return choose(a, b, choose(b, a, equal));
}

/// Expands a maximum or minimum. On x86, LLVM may not propagate a signaling
/// NaN, and the variants that ignore NaN do not order zeros.
template <typename OpT, typename EqualOp, bool leavesOutNaN>
struct ExpandExtreme final : OpRewritePattern<OpT> {
  ExpandExtreme(MLIRContext *context, arith::CmpFPredicate isBetter)
      : OpRewritePattern<OpT>(context), isBetter(isBetter) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value a = op.getLhs(), b = op.getRhs();
    auto isNaN = [&](Value x, Value y) -> Value {
      return arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO, x,
                                   y);
    };
    Value result = getExtreme<EqualOp>(rewriter, loc, a, b, isBetter);
    if constexpr (leavesOutNaN) {
      result = arith::SelectOp::create(rewriter, loc, isNaN(b, b), a, result);
      rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNaN(a, a), b, result);
    } else {
      Value nan = arith::AddFOp::create(rewriter, loc, a, b);
      rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNaN(a, b), nan,
                                                   result);
    }
    return success();
  }

  arith::CmpFPredicate isBetter;
};

} // namespace

/// Expands an fma of f16 or bf16 with one rounding. The f64 product is exact.
/// The sum is rounded to odd, so its last bit represents all lost bits. The f64
/// significand has at least two more bits than those of f16 and bf16, so truncf
/// rounds correctly.
static LogicalResult expandHalfFma(math::FmaOp op, PatternRewriter &rewriter) {
  Type element = getElementTypeOrSelf(op.getType());
  if (!element.isF16() && !element.isBF16())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto as = [&](Type element) -> Type {
    if (auto shaped = dyn_cast<ShapedType>(op.getType()))
      return shaped.clone(element);
    return element;
  };
  Type doubles = as(b.getF64Type()), integers = as(b.getI64Type());
  auto constant = [&](Type type, TypedAttr value) -> Value {
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return arith::ConstantOp::create(b, value);
  };
  auto integer = [&](int64_t value) {
    return constant(integers, b.getI64IntegerAttr(value));
  };
  auto widen = [&](Value x) -> Value {
    return arith::ExtFOp::create(b, doubles, x);
  };
  auto sub = [&](Value x, Value y) -> Value {
    return arith::SubFOp::create(b, x, y);
  };
  auto bitsOf = [&](Value x) -> Value {
    return arith::BitcastOp::create(b, integers, x);
  };
  // Lambdas called in separate statements fix the order of operations.
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  Value x = widen(op.getA()), y = widen(op.getB()), addend = widen(op.getC());
  Value product = arith::MulFOp::create(b, x, y);
  // sum + error is exact (Knuth's TwoSum). For infinities error is NaN.
  Value sum = add(product, addend);
  Value added = sub(sum, product);
  Value lostOfProduct = sub(product, sub(sum, added));
  Value lostOfAddend = sub(addend, added);
  Value error = add(lostOfProduct, lostOfAddend);
  Value bits = bitsOf(sum);
  Value zero = constant(doubles, b.getF64FloatAttr(0.0));
  Value isRounded =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, error, zero);
  Value one = integer(1), none = integer(0), minusOne = integer(-1);
  Value last = arith::AndIOp::create(b, bits, one);
  Value isEven = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, last, none);
  // If the error has the sum's sign, the exact value is larger in magnitude.
  Value signs = arith::XOrIOp::create(b, bits, bitsOf(error));
  Value isBeyond =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, signs, none);
  Value step = arith::SelectOp::create(b, isBeyond, one, minusOne);
  Value next = arith::AddIOp::create(b, bits, step);
  Value moves = arith::AndIOp::create(b, isRounded, isEven);
  Value odd = arith::SelectOp::create(b, moves, next, bits);
  rewriter.replaceOpWithNewOp<arith::TruncFOp>(
      op, op.getType(), arith::BitcastOp::create(b, doubles, odd));
  return success();
}

/// Selects bits. On hosts with bf16 conversions, LLVM selects f32 and converts
/// the result, which flushes subnormals.
static LogicalResult selectHalfBits(arith::SelectOp op,
                                    PatternRewriter &rewriter) {
  Type element = getElementTypeOrSelf(op.getType());
  if (!element.isF16() && !element.isBF16())
    return failure();
  Type integers = rewriter.getI16Type();
  if (auto shaped = dyn_cast<ShapedType>(op.getType()))
    integers = shaped.clone(integers);
  auto bitsOf = [&](Value x) -> Value {
    return arith::BitcastOp::create(rewriter, op.getLoc(), integers, x);
  };
  Value yes = bitsOf(op.getTrueValue()), no = bitsOf(op.getFalseValue());
  Value selected = arith::SelectOp::create(rewriter, op.getLoc(),
                                           op.getCondition(), yes, no);
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), selected);
  return success();
}

struct ExpandHostArithPass final
    : mx::impl::MXExpandHostArithBase<ExpandHostArithPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExtreme<arith::MaximumFOp, arith::AndIOp, false>,
                 ExpandExtreme<arith::MaxNumFOp, arith::AndIOp, true>>(
        &getContext(), arith::CmpFPredicate::OGT);
    patterns.add<ExpandExtreme<arith::MinimumFOp, arith::OrIOp, false>,
                 ExpandExtreme<arith::MinNumFOp, arith::OrIOp, true>>(
        &getContext(), arith::CmpFPredicate::OLT);
    patterns.add(expandHalfFma);
    patterns.add(selectHalfBits);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

//===----------------------------------------------------------------------===//
// Conversions of f16 and bf16
//
// LLVM calls a library that a JIT may not find, or uses host instructions. Such
// instructions return different NaNs on different hosts and round f64 twice.
//===----------------------------------------------------------------------===//

namespace {

bool isHalf(Type type) { return isa<Float16Type, BFloat16Type>(type); }
bool isFull(Type type) { return isa<Float32Type, Float64Type>(type); }

/// Widens f32 to f64; f64 is unchanged.
Value toF64(FormatArith &numbers, OpBuilder &builder, Location loc,
            Value value) {
  if (value.getType().isF64())
    return value;
  Int bits(builder, loc, Int(builder, loc, value).as(builder.getI32Type()));
  return numbers.widenToF64(bits);
}

struct ExpandHalfConversionsPass final
    : mx::impl::MXExpandHalfConversionsBase<ExpandHalfConversionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      expand(op, module);
  }

  void expand(Operation *op, ModuleOp module) {
    Value input = op->getOperand(0), result = op->getResult(0);
    Type from = getElementTypeOrSelf(input), to = getElementTypeOrSelf(result);
    bool narrows = isFull(from) && isHalf(to);
    auto vector = dyn_cast<VectorType>(result.getType());
    if ((!narrows && !(isHalf(from) && isFull(to))) ||
        (vector && vector.isScalable()))
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    FormatArith numbers(builder, loc, module);
    auto convert = [&](Value number) -> Value {
      if (narrows)
        return numbers.round(toF64(numbers, builder, loc, number), to);
      Int bits = numbers.widenToF32(number);
      return to.isF64() ? numbers.widenToF64(bits) : bits.as(to);
    };
    Value converted;
    if (vector) {
      SmallVector<Value> elements;
      for (SmallVector<int64_t> place : StaticTileOffsetRange(
               vector.getShape(), SmallVector<int64_t>(vector.getRank(), 1)))
        elements.push_back(
            convert(vector::ExtractOp::create(builder, loc, input, place)));
      converted =
          vector::FromElementsOp::create(builder, loc, vector, elements);
    } else {
      converted = convert(input);
    }
    result.replaceAllUsesWith(converted);
    op->erase();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Dimensions that expand to several dynamic dimensions
//
// Upstream computes the dynamic size with a division, and crashes if a second
// size is dynamic or a static size is 0. This pattern uses the size operands.
//===----------------------------------------------------------------------===//

namespace {

/// Returns true if the static sizes do not determine the dynamic size.
bool isOpen(memref::ExpandShapeOp op) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  return llvm::any_of(op.getReassociationIndices(),
                      [&](const ReassociationIndices &group) {
                        int64_t dynamic = 0, empty = 0;
                        for (int64_t dim : group) {
                          dynamic += ShapedType::isDynamic(shape[dim]);
                          empty += shape[dim] == 0;
                        }
                        return dynamic > 1 || (dynamic && empty);
                      });
}

LogicalResult expandReshape(memref::ExpandShapeOp op,
                            PatternRewriter &rewriter) {
  if (!isOpen(op))
    return failure();
  Location loc = op.getLoc();
  auto source =
      memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> given = source.getConstifiedMixedStrides();
  SmallVector<OpFoldResult> strides(sizes.size());
  AffineExpr product =
      rewriter.getAffineSymbolExpr(0) * rewriter.getAffineSymbolExpr(1);
  for (auto [stride, group] : llvm::zip(given, op.getReassociationIndices()))
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = stride;
      stride = affine::makeComposedFoldedAffineApply(rewriter, loc, product,
                                                     {stride, sizes[dim]});
    }
  rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
      op, op.getResultType(), source.getBaseBuffer(),
      source.getConstifiedMixedOffset(), sizes, strides);
  return success();
}

struct ExpandReshapesPass final
    : mx::impl::MXExpandReshapesBase<ExpandReshapesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(expandReshape);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Copies between views as loops
//
// For non-contiguous arrays, upstream lowers memref.copy to a call of
// memrefCopy in MLIR's runner library, which the process may not contain.
//===----------------------------------------------------------------------===//

namespace {

bool isContiguous(Value array) {
  auto type = dyn_cast<MemRefType>(array.getType());
  return !type || type.getLayout().isIdentity();
}

void expand(memref::CopyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  int64_t rank = cast<MemRefType>(op.getTarget().getType()).getRank();
  SmallVector<Value> indices;
  for (int64_t i = 0; i < rank; ++i) {
    Value size = memref::DimOp::create(builder, loc, op.getTarget(), i);
    auto loop = scf::ForOp::create(builder, loc, zero, size, one);
    indices.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value element = memref::LoadOp::create(builder, loc, op.getSource(), indices);
  memref::StoreOp::create(builder, loc, element, op.getTarget(), indices);
  op.erase();
}

struct ExpandStridedCopiesPass final
    : mx::impl::MXExpandStridedCopiesBase<ExpandStridedCopiesPass> {
  void runOnOperation() override {
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp op) {
      bool ranked = isa<MemRefType>(op.getSource().getType()) &&
                    isa<MemRefType>(op.getTarget().getType());
      if (ranked &&
          !(isContiguous(op.getSource()) && isContiguous(op.getTarget())))
        copies.push_back(op);
    });
    llvm::for_each(copies, expand);
  }
};

} // namespace
