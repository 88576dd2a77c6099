//===- Pipelines.cpp - Registration of pipelines --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers all pipelines by name, and builds their common parts.
//===----------------------------------------------------------------------===//

#include "mx/Pipelines/Pipelines.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

void mx::buildMXBeginPipeline(OpPassManager &pm) {
  pm.addPass(createMXVerifyDims());
  pm.addPass(createMXNormalizeViews());
}

// Layouts are materialized first, because bufferization drops encodings.
void mx::addBufferization(OpPassManager &pm) {
  pm.addPass(createMXMaterializeLayouts());
  pm.addPass(createMXNormalizeViews());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  // A loop may yield the result of a matmul in a new buffer.
  options.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  // Merge equal slices. The canonicalizer then removes copies to themselves.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMXSendWhole());
}

void mx::registerMXPipelines() {
  PassPipelineRegistration<>(
      "mx-to-cpu",
      "Lower functions with mx operations to the LLVM dialect of the host",
      buildMXToCPUPipeline);
  PassPipelineRegistration<MXToNVVMOptions>(
      "mx-to-nvvm",
      "Lower functions with mx operations to GPU kernels and host code",
      buildMXToNVVMPipeline);
  PassPipelineRegistration<MXToNVVMOptions>(
      "mx-to-mxgpu",
      "Lower functions with mx operations to launches of allocated kernels",
      buildMXToMXGPUPipeline);
  PassPipelineRegistration<MXToNVVMOptions>(
      "mx-to-plan",
      "Lower functions with mx operations to launch plans of allocated kernels",
      buildMXToPlanPipeline);
  PassPipelineRegistration<>(
      "mx-host-to-llvm",
      "Lower the host code of mx-to-nvvm to the LLVM dialect with PTX kernels",
      buildMXHostToLLVMPipeline);
}
