//===- ChooseRecipes.cpp - Formats of matmuls by the size of weights ------===//

#include "Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/IR/Builders.h"

namespace my {
#define GEN_PASS_DEF_MYCHOOSERECIPES
#include "Passes.h.inc"
} // namespace my

using namespace mlir;

/// Attribute that mx-quantize-matmuls reads. Contains a recipe for both
/// operands, or an array with a recipe for each operand.
static constexpr llvm::StringLiteral kRecipeAttr = "mx.recipe";

namespace {

struct ChooseRecipes final
    : public my::impl::MyChooseRecipesBase<ChooseRecipes> {
  using MyChooseRecipesBase::MyChooseRecipesBase;

  void runOnOperation() override {
    getOperation().walk([&](linalg::LinalgOp op) {
      if (linalg::isaContractionOpInterface(op) && !op->hasAttr(kRecipeAttr))
        op->setAttr(kRecipeAttr, chooseRecipe(op));
    });
  }

private:
  Attribute chooseRecipe(linalg::LinalgOp op) {
    Builder builder(op->getContext());
    auto weight = cast<ShapedType>(op.getDpsInputs()[1].getType());
    if (!weight.hasStaticShape())
      op->emitRemark("has weights of a dynamic size: they become MXFP8");
    else if (weight.getNumElements() >= minElements)
      return builder.getStrArrayAttr({"mxfp8", "mxfp4"});
    return builder.getStringAttr("mxfp8");
  }
};

} // namespace
