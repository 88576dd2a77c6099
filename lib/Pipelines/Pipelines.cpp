//===- Pipelines.cpp - Register the pipelines -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one list of pipelines by name.
//
//===----------------------------------------------------------------------===//

#include "mx/Pipelines/Pipelines.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void mx::registerMXPipelines() {
  PassPipelineRegistration<>(
      "mx-to-cpu",
      "Lower functions with mx operations to the LLVM dialect of the host",
      buildMXToCPUPipeline);
}
