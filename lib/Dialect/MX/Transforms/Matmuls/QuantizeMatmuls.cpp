//===- QuantizeMatmuls.cpp - Conversion of float matmuls to block formats -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts loops over expert groups first, and then the remaining matmuls.
// Quantizes operands along the reduction before each matmul. Other passes merge
// repeated quantizations.
//===----------------------------------------------------------------------===//

#include "../Import/Import.h"
#include "FoldOperands.h"
#include "QuantizeRecipes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mx;

static llvm::TrackingStatistic
    numQuantized("mx-quantize-matmuls", "numQuantized", "Matmuls quantized");

namespace mx {
#define GEN_PASS_DEF_MXQUANTIZEMATMULS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {

struct ElementsAndScales {
  Value elements, scales;
};

struct QuantizeMatmuls final
    : mx::impl::MXQuantizeMatmulsBase<QuantizeMatmuls> {
  using MXQuantizeMatmulsBase::MXQuantizeMatmulsBase;

  void runOnOperation() override;

private:
  LogicalResult readOptions();
  FailureOr<Recipes> getRecipes(const MatmulMatch &matmul);
  LogicalResult quantizeMatmul(linalg::LinalgOp op);
  LogicalResult rewrite(MatmulMatch matmul);
  Reason checkReduction(const MatmulMatch &matmul, const Recipes &recipes);
  ElementsAndScales quantize(IRRewriter &builder, const MatmulMatch &matmul,
                             const MatmulMatch::Operand &operand,
                             const Recipe &recipe);
  ElementsAndScales getElements(IRRewriter &builder, const MatmulMatch &matmul,
                                const MatmulMatch::Operand &operand,
                                const Recipe &recipe);

  /// Matmuls rewritten in this run.
  int64_t numRewritten = 0;
  /// Matmuls to fold at the end of this run.
  SmallVector<MatmulOpInterface> folded;
  Recipes defaults;
  ScaleRounding rounding = ScaleRounding::Ceil;
  ScaleLayoutKind layout = ScaleLayoutKind::Sf128x4;
};

} // namespace

/// Returns the sizes of `tensor`. Reads them from the producer if possible, so
/// that the tensor may become unused.
static SmallVector<OpFoldResult> getSizes(OpBuilder &builder, Location loc,
                                          Value tensor) {
  ReifiedRankedShapedTypeDims shapes;
  auto result = dyn_cast<OpResult>(tensor);
  if (result && isa<tensor::ConcatOp>(result.getOwner()) &&
      succeeded(reifyResultShapes(builder, result.getOwner(), shapes)))
    return shapes[result.getResultNumber()];
  return tensor::getMixedSizes(builder, loc, tensor);
}

/// Returns true if the operand is quantized along its columns, and rows are not
/// multiples of 16 bytes. The GPU reads 16 bytes at once.
static bool hasCutRows(const MatmulMatch::Operand &operand) {
  auto type = cast<RankedTensorType>(operand.tensor.getType());
  int64_t columns = type.getShape().back();
  return operand.axis == 0 && ShapedType::isStatic(columns) &&
         columns * type.getElementTypeBitWidth() % 128;
}

ElementsAndScales QuantizeMatmuls::quantize(IRRewriter &builder,
                                            const MatmulMatch &matmul,
                                            const MatmulMatch::Operand &operand,
                                            const Recipe &recipe) {
  linalg::LinalgOp op = matmul.op;
  Location loc = op.getLoc();
  MLIRContext *context = builder.getContext();
  const BlockFormat &format = recipe.getBlockFormat();
  RaggedKind ragged = getRaggedOfOperand(matmul, operand);
  Value input = operand.tensor;
  int64_t axis = operand.axis;
  SmallVector<OpFoldResult> sizes = getSizes(builder, loc, input);
  std::optional<GatheredRows> rows;
  // Kernels divide expert groups along the rows of the quantized tensor.
  if (ragged == RaggedKind::Reduction || hasCutRows(operand)) {
    input = transposeLast(builder, loc, input);
    axis = 1 - axis;
    std::swap(sizes.back(), *std::prev(sizes.end(), 2));
    if (ragged == RaggedKind::Reduction)
      ragged = RaggedKind::Rows;
  } else {
    rows = matchGather(input);
  }
  Value factor;
  if (format.hasTensorFactor)
    factor = arith::ConstantOp::create(builder, loc,
                                       builder.getF32FloatAttr(globalScale));
  auto quantize = QuantizeOp::create(
      builder, loc, input, recipe.getElementType(context),
      format.getScaleType(context), axis,
      factor ? ScaleRounding::Ceil : rounding, layout, factor, ragged,
      ragged == RaggedKind::None ? Value() : matmul.offsets, sizes);
  if (!rows)
    return {quantize.getResult(0), quantize.getResult(1)};
  FusedQuantizeOp fused = quantize.generalize(builder);
  fused.getInputsMutable().assign(rows->matrix);
  fused.getGatherMutable().assign(rows->numbers);
  return {fused.getResult(0), fused.getResult(1)};
}

/// Returns elements and scales in `recipe`: the source of a dequantized
/// operand, or a new quantization.
ElementsAndScales
QuantizeMatmuls::getElements(IRRewriter &builder, const MatmulMatch &matmul,
                             const MatmulMatch::Operand &operand,
                             const Recipe &recipe) {
  auto stored = findStoredOperand(matmul, operand);
  if (!stored || stored->recipe != &recipe)
    return quantize(builder, matmul, operand, recipe);
  Location loc = operand.tensor.getLoc();
  auto type = cast<RankedTensorType>(stored->scales.getType());
  if (getLayoutKind(type, type.getRank()) != ScaleLayoutKind::Linear)
    return {stored->elements, stored->scales};
  return {stored->elements,
          relayoutScales(builder, loc, stored->scales, layout)};
}

/// Returns a reason if the operands cannot be divided into blocks along the
/// reduction.
Reason QuantizeMatmuls::checkReduction(const MatmulMatch &matmul,
                                       const Recipes &recipes) {
  for (const MatmulMatch::Operand *operand : {&matmul.a, &matmul.b})
    if (getRaggedOfOperand(matmul, *operand) == RaggedKind::Rows &&
        hasCutRows(*operand))
      return "the rows of an operand with expert groups are not a multiple of "
             "16 bytes";
  if (matmul.ragged == RaggedKind::Reduction)
    return {}; // padded with zeros
  int64_t size = getReductionSize(matmul);
  int64_t multiple = recipes.getMultiple(&getContext());
  if (ShapedType::isDynamic(size))
    return dynamicReductions
               ? ""
               : "the size of its reduction dimension is not known; use "
                 "dynamic-reductions to check the size at run time";
  if (size % multiple)
    return "its reduction dimension of " + std::to_string(size) +
           " is not a multiple of " + std::to_string(multiple);
  return {};
}

LogicalResult QuantizeMatmuls::rewrite(MatmulMatch matmul) {
  FailureOr<Recipes> recipes = getRecipes(matmul);
  if (failed(recipes))
    return failure();
  if (!recipes->a)
    return success();
  if (Reason why = checkReduction(matmul, *recipes); !why.empty()) {
    matmul.op.emitRemark() << "not quantized: " << why;
    return success();
  }
  Operation *root = matmul.result.getDefiningOp();
  IRRewriter builder(root);
  Location loc = matmul.op.getLoc();
  // Round the f32 accumulator directly to the type of the rounding.
  Operation *rounding =
      matmul.accumulate ? nullptr : getRounding(matmul.result);
  Value replaced = rounding ? rounding->getResult(0) : matmul.result;
  Value out = matmul.out;
  if (!matmul.accumulate)
    out = tensor::EmptyOp::create(builder, loc,
                                  tensor::getMixedSizes(builder, loc, out),
                                  getElementTypeOrSelf(replaced));
  auto a = getElements(builder, matmul, matmul.a, *recipes->a);
  auto b = getElements(builder, matmul, matmul.b, *recipes->b);
  Value alpha;
  if (recipes->a->getBlockFormat().hasTensorFactor && globalScale != 1.0)
    alpha = arith::ConstantOp::create(
        builder, loc,
        builder.getF32FloatAttr(1.0 / (globalScale * globalScale)));
  MatmulOpInterface op;
  if (matmul.ragged == RaggedKind::None)
    op = MatmulOp::create(builder, loc, a.elements, a.scales, b.elements,
                          b.scales, out, /*epilogue=*/nullptr, alpha,
                          matmul.accumulate);
  else
    op = GroupedMatmulOp::create(builder, loc, a.elements, a.scales, b.elements,
                                 b.scales, matmul.offsets, out, matmul.ragged,
                                 /*epilogue=*/nullptr, /*numB=*/1, alpha,
                                 matmul.accumulate);
  replaced.replaceAllUsesWith(op.getResult());
  if (recipes->foldsA)
    folded.push_back(op);
  if (rounding)
    rounding->erase();
  root->erase();
  ++numQuantized;
  ++numRewritten;
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns the recipes of an operation, or null if it is excluded.
FailureOr<Recipes> QuantizeMatmuls::getRecipes(const MatmulMatch &matmul) {
  Recipes recipes = defaults;
  linalg::LinalgOp op = matmul.op;
  Attribute attr = op->getAttr(kRecipeAttr);
  if (isLeftAlone(op))
    return Recipes();
  if (attr) {
    SmallVector<StringRef, 2> names = getRecipeNames(op);
    if (names.size() == 2)
      recipes = findRecipes(names[0], names[1]);
    if (names.size() != 2 || !recipes.a || !recipes.b)
      return op.emitOpError("expected ")
             << kRecipeAttr << " to be \"none\", or one or two of the recipes "
             << listRecipes() << "; found " << attr;
  }
  if (matmul.isSwapped) {
    std::swap(recipes.a, recipes.b);
    std::swap(recipes.foldsA, recipes.foldsB);
  }
  if (!attr)
    useStoredFormats(matmul, recipes);
  if (recipes.a->scale != recipes.b->scale || recipes.foldsA != recipes.foldsB)
    return op.emitOpError("expected recipes of one block size for both "
                          "operands, found ")
           << getRecipeName(*recipes.a, recipes.foldsA) << " and "
           << getRecipeName(*recipes.b, recipes.foldsB);
  return recipes;
}

LogicalResult QuantizeMatmuls::readOptions() {
  auto fail = [&](StringRef option, StringRef expected, StringRef found) {
    return getOperation()->emitError("expected ")
           << option << " to be one of " << expected << ", found '" << found
           << "'";
  };
  StringRef a = lhsRecipe.empty() ? recipe : lhsRecipe;
  StringRef b = rhsRecipe.empty() ? recipe : rhsRecipe;
  defaults = findRecipes(a, b);
  if (!defaults.a || !defaults.b)
    return fail("the recipe", listRecipes(), defaults.a ? b : a);
  auto foundRounding = symbolizeScaleRounding(scaleRounding);
  if (!foundRounding)
    return fail("scale-rounding", "ceil, floor, even, fit", scaleRounding);
  rounding = *foundRounding;
  auto foundLayout = symbolizeScaleLayoutKind(scaleLayout);
  if (!foundLayout)
    return fail("scale-layout", "sf_128x4, linear", scaleLayout);
  layout = *foundLayout;
  if (!(globalScale > 0))
    return getOperation()->emitError("expected a global-scale above 0, found ")
           << double(globalScale);
  return success();
}

/// Quantizes a matmul, directly or after flattening.
LogicalResult QuantizeMatmuls::quantizeMatmul(linalg::LinalgOp op) {
  Reason why, ignored;
  if (isLeftAlone(op))
    return success();
  if (std::optional<MatmulMatch> matmul = matchMatmul(op, why))
    return rewrite(*matmul);
  if (why.empty())
    return success();
  auto flat = import::flattenContraction(op);
  std::optional<MatmulMatch> matmul =
      flat ? matchMatmul(flat->op, ignored) : std::nullopt;
  if (!matmul) {
    op.emitRemark() << "not quantized: " << why;
    if (flat)
      import::eraseContraction(*flat);
    return success();
  }
  // Update users first, because `rewrite` may replace the flat matmul's result.
  op->getResult(0).replaceAllUsesWith(flat->result);
  int64_t before = numRewritten;
  LogicalResult rewritten = rewrite(*matmul);
  if (numRewritten != before) {
    op->erase();
    return success();
  }
  flat->result.replaceAllUsesWith(op->getResult(0));
  import::eraseContraction(*flat);
  return rewritten;
}

void QuantizeMatmuls::runOnOperation() {
  if (failed(readOptions()))
    return signalPassFailure();
  SmallVector<scf::ForOp> loops;
  getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops) {
    Reason why;
    std::optional<MatmulMatch> matmul = matchGroupedLoop(loop, why);
    if (!matmul && !why.empty())
      loop.emitRemark() << "not a grouped matmul: " << why;
    if (matmul && failed(rewrite(*matmul)))
      return signalPassFailure();
  }
  SmallVector<linalg::LinalgOp> ops;
  // Collect contractions only: the rounding of a matmul is rewritten with it.
  getOperation()->walk([&](linalg::LinalgOp op) {
    if (linalg::isaContractionOpInterface(op))
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops)
    if (failed(quantizeMatmul(op)))
      return signalPassFailure();
  foldMatmuls(folded, Folding());
  folded.clear();
}
