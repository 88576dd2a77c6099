//===- Bufferization.cpp - From tensors to buffers ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Encodings do not survive bufferization, so layouts are made explicit first.
//
//===----------------------------------------------------------------------===//

#include "Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

void mx::addBufferization(OpPassManager &pm) {
  pm.addPass(createMXMaterializeLayouts());
  pm.addPass(createMXNormalizeViews());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  // A loop may yield a matmul into a buffer other than the one it was given.
  options.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMXSendWhole());
}
