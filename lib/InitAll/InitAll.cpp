//===- InitAll.cpp - Register what mx adds to MLIR ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one list of the project's dialects, passes and pipelines.
//
//===----------------------------------------------------------------------===//

#include "mx/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Pipelines/Pipelines.h"

void mx::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mx::MXDialect, mx::mxgpu::MXGPUDialect>();
  mx::registerTilingInterfaceExternalModels(registry);
  mx::registerBufferizableOpInterfaceExternalModels(registry);
}

void mx::registerAllPasses() {
  mx::registerMXPasses();
  mx::registerMXToCPUPasses();
  mx::registerMXPipelines();
}
