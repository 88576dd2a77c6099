//===- ExpandMath.cpp - Transcendental functions as IEEE operations -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries and approximate instructions differ between targets in the last
// bits. These expansions are shared by all targets. docs/reference/Math.md
// documents their errors.
//===----------------------------------------------------------------------===//

#include "MathSequence.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/Shared/VectorSizes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXEXPANDMATH
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {

/// Keeps math.tanh. An upstream pattern expands this operation last, with
/// Eigen's approximation.
Value emitTanh(Sequence &s, ValueRange operands) {
  return math::TanhOp::create(s, operands[0]);
}

/// Rounds half-integers away from zero. The fraction is exact.
Value emitRound(Sequence &s, ValueRange operands) {
  Value x = operands[0], whole = math::TruncOp::create(s, x);
  Value rest = s.magnitude(s.sub(x, whole));
  Value isMore = s.less(rest, s.numberLike(x, 0.5));
  Value step = s.select(isMore, s.numberLike(x, 0.0), s.numberLike(x, 1.0));
  // The fraction of infinity is NaN, so `rest` differs from itself.
  Value isFinite = s.equal(rest, rest);
  Value rounded = s.add(whole, s.withSignOf(step, x));
  return s.withSignOf(s.select(isFinite, rounded, s.add(x, x)), x);
}

Value emitClamp(Sequence &s, ValueRange operands) {
  Value above = arith::MaximumFOp::create(s, operands[0], operands[1]);
  return arith::MinimumFOp::create(s, above, operands[2]);
}

Value getInfinity(Sequence &s, Value x) {
  return s.numberLike(x, std::numeric_limits<double>::infinity());
}

Value emitIsInf(Sequence &s, ValueRange operands) {
  Value x = operands[0];
  return s.equal(s.magnitude(x), getInfinity(s, x));
}

Value emitIsNormal(Sequence &s, ValueRange operands) {
  Value x = operands[0], size = s.magnitude(x);
  auto type = cast<FloatType>(getElementTypeOrSelf(x));
  APFloat least = APFloat::getSmallestNormalized(type.getFloatSemantics());
  Value isLess = s.less(size, s.constant(FloatAttr::get(type, least)));
  Value isFinite = s.less(size, getInfinity(s, x));
  Value isNotLess = s.xorBits(isLess, s.constant(s.getBoolAttr(true)));
  return s.andBits(isFinite, isNotLess);
}

/// Type in which a function is computed.
enum class In { F32, ItsType };

struct Function {
  StringLiteral name;
  EmitFunction *emit;
  In in = In::F32;
};

constexpr Function kFunctions[] = {
    {"acos", emitAcos},
    {"acosh", emitAcosh},
    {"asin", emitAsin},
    {"asinh", emitAsinh},
    {"atan", emitAtan},
    {"atan2", emitAtan2},
    {"atanh", emitAtanh},
    {"cbrt", emitCbrt},
    {"clampf", emitClamp, In::ItsType},
    {"cos", emitCos},
    {"cosh", emitCosh},
    {"erf", emitErf},
    {"erfc", emitErfc},
    {"exp", emitExp},
    {"exp2", emitExp2},
    {"expm1", emitExpm1},
    {"fpowi", emitFPowI},
    {"isinf", emitIsInf, In::ItsType},
    {"isnormal", emitIsNormal, In::ItsType},
    {"log", emitLog},
    {"log10", emitLog10},
    {"log1p", emitLog1p},
    {"log2", emitLog2},
    {"powf", emitPowf},
    {"round", emitRound, In::ItsType},
    {"rsqrt", emitRsqrt},
    {"sin", emitSin},
    {"sinh", emitSinh},
    {"tan", emitTan},
    {"tanh", emitTanh},
};

/// Functions that every target computes exactly.
constexpr StringLiteral kExact[] = {"absf",  "ceil",     "copysign", "floor",
                                    "fma",   "isfinite", "isnan",    "sqrt",
                                    "trunc", "roundeven"};

StringRef getName(Operation *op) { return op->getName().stripDialect(); }

const Function *findFunction(Operation *op) {
  const auto *it = llvm::find_if(kFunctions, [&](const Function &function) {
    return function.name == getName(op);
  });
  return it == std::end(kFunctions) ? nullptr : it;
}

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value));
}

bool isSincos(Operation *op) { return isa<math::SincosOp>(op); }

/// Returns true for float functions of math that are not exact.
bool isFunction(Operation *op) {
  return isa_and_present<math::MathDialect>(op->getDialect()) &&
         llvm::any_of(op->getOperands(), isFloat) &&
         !llvm::is_contained(kExact, getName(op));
}

LogicalResult verify(Operation *op) {
  const Function *function = findFunction(op);
  if (!function && !isSincos(op))
    return op->emitOpError("has no sequence of IEEE operations: expected one "
                           "of math.")
           << llvm::join(llvm::map_range(kFunctions,
                                         [](const Function &function) {
                                           return function.name.str();
                                         }),
                         ", ")
           << " or sincos";
  bool isAnyWidth = function && function->in == In::ItsType;
  for (Value operand : op->getOperands()) {
    Type element = getElementTypeOrSelf(operand);
    if (isFloat(operand) && !element.isF16() && !element.isBF16() &&
        !element.isF32() && !(isAnyWidth && element.isF64()))
      return op->emitOpError("expected ")
             << (isAnyWidth ? "f16, bf16, f32 or f64" : "f16, bf16 or f32")
             << ", found " << element << ": convert the operand";
    Type type = operand.getType();
    auto vector = dyn_cast<VectorType>(type);
    if ((vector && vector.isScalable()) ||
        (isa<ShapedType>(type) && !isa<VectorType, RankedTensorType>(type)))
      return op->emitOpError("expected scalars, fixed-size vectors or ranked "
                             "tensors, found ")
             << type;
  }
  return success();
}

/// Rewrites an operation on tensors as a linalg.generic on elements.
Operation *moveToElements(RewriterBase &rewriter, Operation *op) {
  Location loc = op->getLoc();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, op->getOperand(0));
  SmallVector<Value> outs;
  SmallVector<Type> elements;
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    elements.push_back(tensor.getElementType());
    outs.push_back(tensor::EmptyOp::create(
        rewriter, loc, sizes, tensor.getElementType(), tensor.getEncoding()));
    if (outs.back().getType() != type)
      outs.back() = tensor::CastOp::create(rewriter, loc, type, outs.back());
  }
  unsigned rank = sizes.size();
  SmallVector<AffineMap> maps(op->getNumOperands() + outs.size(),
                              rewriter.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  Operation *inner = nullptr;
  auto generic = linalg::GenericOp::create(
      rewriter, loc, op->getResultTypes(), op->getOperands(), outs, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        inner = builder.create(loc, op->getName().getIdentifier(),
                               arguments.take_front(op->getNumOperands()),
                               elements, op->getAttrs());
        linalg::YieldOp::create(builder, loc, inner->getResults());
      });
  rewriter.replaceOp(op, generic.getResults());
  return inner;
}

void expand(RewriterBase &rewriter, const Function &function, Operation *op) {
  Sequence sequence(rewriter, op->getLoc(), op->getOperand(0).getType());
  Type f32 = sequence.like(rewriter.getF32Type());
  bool isNarrow = function.in == In::F32 &&
                  !getElementTypeOrSelf(op->getOperand(0)).isF32();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isNarrow && isFloat(operand)
                           ? arith::ExtFOp::create(sequence, f32, operand)
                           : operand);
  Value result = function.emit(sequence, operands);
  if (isNarrow)
    result =
        arith::TruncFOp::create(sequence, op->getResult(0).getType(), result);
  rewriter.replaceOp(op, result);
}

struct ExpandMath final : mx::impl::MXExpandMathBase<ExpandMath> {
  using MXExpandMathBase::MXExpandMathBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    MXExpandMathBase::getDependentDialects(registry);
    registry.insert<scf::SCFDialect>();
  }

  void runOnOperation() override {
    // Scalar sequences and upstream patterns unroll vectors.
    if (failed(verifyVectorSizes(getOperation(), kMaxHostVector)))
      return signalPassFailure();
    if (failed(expandSigmoids()) || failed(expandFunctions()) ||
        failed(expandTanh()))
      signalPassFailure();
  }

private:
  // Disables folding, which would call the host's math library.
  static GreedyRewriteConfig getConfig() {
    GreedyRewriteConfig config;
    config.enableFolding(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    return config;
  }

  LogicalResult expandSigmoids() {
    RewritePatternSet patterns(&getContext());
    populateSigmoidExpansionPatterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns),
                                 getConfig());
  }

  LogicalResult expandFunctions() {
    SmallVector<Operation *> functions;
    getOperation()->walk([&](Operation *op) {
      if (isFunction(op))
        functions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *&op : functions) {
      if (failed(verify(op)))
        return failure();
      rewriter.setInsertionPoint(op);
      if (isa<RankedTensorType>(op->getOperand(0).getType()))
        op = moveToElements(rewriter, op);
    }
    for (Operation *op : functions) {
      rewriter.setInsertionPoint(op);
      auto both = dyn_cast<math::SincosOp>(op);
      if (!both) {
        expand(rewriter, *findFunction(op), op);
        continue;
      }
      Value x = both.getOperand();
      Operation *sin = math::SinOp::create(rewriter, op->getLoc(), x);
      Operation *cos = math::CosOp::create(rewriter, op->getLoc(), x);
      rewriter.replaceOp(op, {sin->getResult(0), cos->getResult(0)});
      for (Operation *one : {sin, cos}) {
        rewriter.setInsertionPoint(one);
        expand(rewriter, *findFunction(one), one);
      }
    }
    return success();
  }

  LogicalResult expandTanh() {
    RewritePatternSet patterns(&getContext());
    populatePolynomialApproximateTanhPattern(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns),
                                 getConfig());
  }
};

} // namespace
