//===- MXToCPU.cpp - Pipeline of the reference path -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bufferizes tensors, lowers mx operations to loops, and lowers the loops to
// the LLVM dialect with upstream passes. A caller owns the buffers returned
// by an entry and frees their allocated pointers.
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Pipelines/Pipelines.h"

using namespace mlir;
using namespace mx;

/// Expands f16 and bf16 arithmetic to f32. Each operation rounds once.
/// Conversions use integer arithmetic.
static void addHalfExpansion(OpPassManager &pm) {
  arith::ArithEmulateUnsupportedFloatsOptions options;
  options.sourceTypeStrs = {"f16", "bf16"};
  options.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(options));
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(mx::createMXExpandHostArith());
  pm.addPass(mx::createMXExpandHalfConversions());
}

/// Lowers loops and memrefs to the LLVM dialect.
static void addUpstreamLowering(OpPassManager &pm) {
  pm.addPass(mx::createMXExpandReshapes());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void mx::buildMXToCPUPipeline(OpPassManager &pm) {
  buildMXBeginPipeline(pm);
  pm.addPass(createMXGeneralizeQuantize());
  pm.addPass(createMXDecomposeGroups());
  pm.addPass(createMXClampIndices());
  pm.addPass(createMXDecomposeTensors());
  pm.addPass(createMXVerifyTensors());
  pm.addPass(createMXDefineArith());
  pm.addPass(createMXExpandMath());
  pm.addPass(createCanonicalizerPass());
  // Verify again, because canonicalization may have found more constants.
  pm.addPass(createMXVerifyDims());
  addBufferization(pm);
  pm.addPass(createMXDropDeallocations());
  pm.addPass(createMXCheckAccesses());
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createForallToForLoopPass());
  pm.addPass(createMXCheckLoops());
  pm.addPass(createConvertMXToCPU());
  bufferization::buildBufferDeallocationPipeline(
      pm, bufferization::BufferDeallocationPipelineOptions());
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createMXExpandStridedCopies());
  pm.addPass(createMXCheckAllocations());
  addHalfExpansion(pm);
  pm.addPass(createMXRequestEntryWrappers());
  addUpstreamLowering(pm);
  pm.addPass(createMXVerifyLowered());
}
