//===- VerifyShapes.cpp - Verification of argument shapes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before a call, the shapes of the arguments are propagated through a copy of
// the function, and its operations are verified. Errors therefore have the same
// messages and locations as errors about static shapes.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Execution/Program.h"
#include "mx/Pipelines/Pipelines.h"

using namespace mlir;
using namespace mx;

/// Returns the type of an argument with the shape of its array. The logical
/// shape of a tiled layout cannot be inferred from the array and stays dynamic.
static RankedTensorType refine(RankedTensorType type, const NpyArray &array) {
  if (hasTiledLayout(type))
    return type;
  ArrayType layout = llvm::cantFail(getArrayType(type));
  SmallVector<int64_t> shape(array.shape.begin(), array.shape.end());
  if (layout.packing != 1)
    shape.back() *= layout.packing;
  return type.clone(shape);
}

LogicalResult mx::verifyShapes(func::FuncOp entry,
                               ArrayRef<NpyArray> arguments) {
  OwningOpRef<ModuleOp> module = entry->getParentOfType<ModuleOp>().clone();
  auto function = cast<func::FuncOp>(module->lookupSymbol(entry.getSymName()));
  // Nothing calls the copy, so its type may change.
  function.setSymName(
      (entry.getSymName() + "__with_shapes_of_arguments").str());
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (auto [argument, array] :
       llvm::zip_equal(body.getArguments(), arguments)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.hasStaticShape())
      continue;
    RankedTensorType refined = refine(type, array);
    if (refined == type)
      continue;
    argument.setType(refined);
    auto cast =
        tensor::CastOp::create(builder, argument.getLoc(), type, argument);
    argument.replaceAllUsesExcept(cast.getResult(), cast);
  }
  function.setType(builder.getFunctionType(body.getArgumentTypes(),
                                           function.getResultTypes()));

  PassManager pm(module->getContext());
  // Verify once at the end, where errors are reported.
  pm.enableVerifier(false);
  buildMXBeginPipeline(pm);
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  if (failed(pm.run(*module)))
    return failure();
  return verify(function);
}
