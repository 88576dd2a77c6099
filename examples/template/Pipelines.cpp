//===- Pipelines.cpp - From linalg and TOSA to kernels --------------------===//
//
// The headers of mx declare functions that create its passes and pipelines, so
// these can be combined with the passes of this compiler.
//
//===----------------------------------------------------------------------===//

#include "mx/Pipelines/Pipelines.h"
#include "Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace {

struct MyOptions : public PassPipelineOptions<MyOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc("GPU to compile for"),
                           llvm::cl::init("sm_100a")};
  Option<int64_t> minElements{
      *this, "min-elements",
      llvm::cl::desc("Minimum number of elements of weights in MXFP4"),
      llvm::cl::init(1 << 20)};
};

} // namespace

/// Converts matmuls of linalg and TOSA to block-scaled matmuls on tensors,
/// which mx-run and mx-compile accept. Matmuls that are not block-scaled yet
/// are quantized with the recipes that ChooseRecipes selects.
static void buildQuantize(OpPassManager &pm, const MyOptions &options) {
  pm.addPass(mx::createMXImportScaled());
  pm.addNestedPass<func::FuncOp>(
      my::createMyChooseRecipes({options.minElements}));
  pm.addPass(mx::createMXQuantizeMatmuls());
  pm.addPass(createCSEPass());
  pm.addPass(mx::createMXFusePrologues());
}

/// Runs the quantization, then generates kernels and the host code that
/// launches them.
static void buildToNVVM(OpPassManager &pm, const MyOptions &options) {
  buildQuantize(pm, options);
  mx::MXToNVVMOptions kernels;
  kernels.chip = options.chip.getValue();
  mx::buildMXToNVVMPipeline(pm, kernels);
}

void my::registerMyPipelines() {
  PassPipelineRegistration<MyOptions>(
      "my-quantize", "From linalg and TOSA to block-scaled matmuls",
      buildQuantize);
  PassPipelineRegistration<MyOptions>(
      "my-to-nvvm", "From linalg and TOSA to kernels", buildToNVVM);
}
