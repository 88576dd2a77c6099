//===- MXToNVVM.cpp - Pipelines for NVIDIA GPUs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The IR after each step can be printed, parsed and verified.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/RequestCWrappers.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Conversion/MXGPUToPlan/MXGPUToPlan.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "mx/Pipelines/Pipelines.h"

using namespace mlir;
using namespace mx;

/// Converts scf, arith, vector and memref in kernels to the LLVM dialect.
static void addKernelsToLLVM(OpPassManager &pm) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  // Compute f16 and bf16 arithmetic in f32 and round, as on the CPU.
  arith::ArithEmulateUnsupportedFloatsOptions halves;
  halves.sourceTypeStrs = {"f16", "bf16"};
  halves.targetTypeStr = "f32";
  kernels.addPass(arith::createArithEmulateUnsupportedFloats(halves));
  kernels.addPass(math::createMathExtendToSupportedTypes());
  kernels.addPass(createMXKeepRoundings());
  // Run this pass before there are branches: it also merges equal blocks. If
  // two paths share a barrier, ptxas may leave a warp divergent there, and the
  // kernel hangs.
  kernels.addPass(createConvertVectorToLLVMPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertToLLVMPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
}

void mx::buildMXFusionPipeline(OpPassManager &pm,
                               const MXToNVVMOptions &options) {
  buildMXBeginPipeline(pm);
  pm.addPass(createMXGeneralizeQuantize());
  pm.addPass(createMXDecomposeGroups({options.chip, !options.peerStores}));
  pm.addPass(createMXClampIndices());
  pm.addPass(createMXDecomposeTensors({/*onDevice=*/true}));
  pm.addPass(createMXDefineArith());
  // Inline calls, because upstream tracks the ownership of returned buffers at
  // run time in host memory, which does not work for device memory. The inliner
  // must not simplify, because folding would evaluate functions of constants.
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  // Expand math before fusion, as on the CPU. Otherwise, canonicalization could
  // combine operations to a sigmoid on only one of the paths.
  pm.addPass(createMXExpandMath());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Verify again, because the canonicalizer may have found more constants.
  pm.addPass(createMXVerifyDims());
  if (options.fuse) {
    // Maximum bits per element for which the values of both axes fit in shared
    // memory, and the number of columns in a tile.
    constexpr int64_t kValueBits = 48, kConcatMultiple = 128;
    pm.addPass(createMXFusePrologues({kValueBits, kConcatMultiple}));
    pm.addPass(createMXFuseEpilogues());
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  }
  pm.addPass(createMXTileScales());
  pm.addPass(createMXGroupBatches());
}

/// Adds upstream's buffer deallocation. Plans free no memory, so `isPlan` keeps
/// only the copies of returned buffers that the function does not own.
static void addDeallocation(OpPassManager &pm, bool isPlan) {
  if (!isPlan) {
    bufferization::buildBufferDeallocationPipeline(
        pm, bufferization::BufferDeallocationPipelineOptions());
    return;
  }
  pm.addPass(memref::createExpandReallocPass({/*emitDeallocs=*/false}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  pm.addPass(createMXDropDeallocations());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Simplifies host code. Canonicalizes again after CSE, because host checks
/// fold after CSE has merged the compared sizes.
static void addHostSimplification(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
}

/// Lowers functions on tensors to matmuls without schedules.
static void addMatmuls(OpPassManager &pm, const MXToNVVMOptions &options) {
  buildMXFusionPipeline(pm, options);
  pm.addPass(createMXVerifyTensors({/*onDevice=*/true}));
}

/// Lowers the output of `addMatmuls` to functions that launch kernels. With
/// `hostReads`, a launch plan may read numbers from device memory.
static void addKernels(OpPassManager &pm, const MXToNVVMOptions &options,
                       bool hostReads) {
  pm.addPass(mxgpu::createMXSelectSchedule({options.chip, options.explain,
                                            options.maxSchedules, options.tuned,
                                            options.tunedGpu}));
  pm.addPass(mxgpu::createMXExpandSchedules());
  pm.addPass(createMXMaterializeLayouts());
  pm.addPass(mxgpu::createMXDequantizeOperands({options.chip}));
  pm.addPass(
      createMXFuseFakeQuantize({mxgpu::getQuantizeTileBits(options.chip)}));
  pm.addPass(mxgpu::createMXSelectQuantizeSchedule({options.chip}));
  addBufferization(pm);
  pm.addPass(createMXDropDeallocations());
  pm.addPass(createMXReturnWhole());
  addDeallocation(pm, /*isPlan=*/hostReads);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(mxgpu::createMXLinalgToLoops());
  pm.addPass(mxgpu::createMXLoopsToKernels({options.chip}));
  if (options.peerStores && hostReads)
    pm.addNestedPass<func::FuncOp>(mxgpu::createMXPeerStores());
  pm.addPass(mxgpu::createConvertMXToMXGPU({options.chip}));
  pm.addNestedPass<gpu::GPUModuleOp>(mxgpu::createMXGPUOverlapEpilogues());
  pm.addPass(mxgpu::createMXSinkScalars({hostReads}));
  pm.addPass(mxgpu::createMXStoreAsBytes());
  addHostSimplification(pm);
  pm.addPass(mxgpu::createMXGPUMergeKernels());
  pm.addNestedPass<gpu::GPUModuleOp>(mxgpu::createMXGPUAssignWarps());
  pm.addNestedPass<gpu::GPUModuleOp>(mxgpu::createMXGPUPipelineMmas());
  if (options.unrollK != 1)
    pm.addNestedPass<gpu::GPUModuleOp>(
        mxgpu::createMXGPUUnrollK({options.unrollK}));
  pm.addNestedPass<gpu::GPUModuleOp>(mxgpu::createMXGPUVerifyPipelines());
  pm.addNestedPass<gpu::GPUModuleOp>(mxgpu::createMXGPUVerifyResources());
}

void mx::buildMXToMatmulsPipeline(OpPassManager &pm,
                                  const MXToNVVMOptions &options) {
  pm.addPass(createMXDescribeEntries());
  // Plans use regions instead of blocks.
  pm.addPass(createLiftControlFlowToSCFPass());
  pm.addPass(createMXReplacePoison());
  addMatmuls(pm, options);
}

static void addMXToMXGPU(OpPassManager &pm, const MXToNVVMOptions &options) {
  buildMXToMatmulsPipeline(pm, options);
  addKernels(pm, options, /*hostReads=*/true);
}

static void addMXToPlan(OpPassManager &pm, const MXToNVVMOptions &options) {
  addMXToMXGPU(pm, options);
  // Only plans launch joined kernels; gpu.launch_func launches functions.
  pm.addPass(mxgpu::createMXGPUJoinLaunches({options.chip}));
  // Host code is sequential.
  OpPassManager &host = pm.nest<func::FuncOp>();
  host.addPass(createLowerAffinePass());
  host.addPass(createForallToForLoopPass());
  host.addPass(createParallelForToNestedForsPass());
  pm.addPass(mxgpu::createConvertMXGPUHostToPlan());
  addHostSimplification(pm);
  if (options.overlap)
    pm.addNestedPass<func::FuncOp>(mxgpu::createMXOverlapCollectives());
}

static void addMXToNVVM(OpPassManager &pm, const MXToNVVMOptions &options) {
  addMatmuls(pm, options);
  addKernels(pm, options, /*hostReads=*/false);
  pm.addPass(mxgpu::createConvertMXGPUHostToGPU());
  buildMXGPUToNVVMPipeline(pm);
}

using AddPasses = void (*)(OpPassManager &, const MXToNVVMOptions &);

static void addBesideHostCode(OpPassManager &pm, const MXToNVVMOptions &options,
                              AddPasses add) {
  if (!options.skipHostCode)
    return add(pm, options);
  pm.addPass(createMXSkipHostCode(
      [&](OpPassManager &passes) { add(passes, options); }));
}

void mx::buildMXToMXGPUPipeline(OpPassManager &pm,
                                const MXToNVVMOptions &options) {
  addBesideHostCode(pm, options, addMXToMXGPU);
}

void mx::buildMXToPlanPipeline(OpPassManager &pm,
                               const MXToNVVMOptions &options) {
  addBesideHostCode(pm, options, addMXToPlan);
}

void mx::buildMXToNVVMPipeline(OpPassManager &pm,
                               const MXToNVVMOptions &options) {
  addBesideHostCode(pm, options, addMXToNVVM);
}

void mx::buildMXGPUToNVVMPipeline(OpPassManager &pm) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(mxgpu::createMXGPUAssignWarps());
  kernels.addPass(mxgpu::createMXGPUUnrollFragments());
  kernels.addPass(mxgpu::createMXGPULowerCoordinates());
  kernels.addPass(mxgpu::createMXGPULowerMath());
  kernels.addPass(mxgpu::createMXGPULowerWork());
  kernels.addPass(mxgpu::createMXGPUInsertProxyFences());
  kernels.addPass(mxgpu::createMXGPULowerRings());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(mxgpu::createMXGPUSimplifyBarriers());
  kernels.addPass(mxgpu::createMXGPULowerKernels());
  kernels.addPass(mxgpu::createConvertMXGPUToNVVM());
  addKernelsToLLVM(pm);
  pm.addNestedPass<gpu::GPUModuleOp>(mxgpu::createMXGPUResolveLocations());
  // Convert locations to .loc directives. Do not use debug mode, because ptxas
  // does not optimize in debug mode.
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(
      {LLVM::DIEmissionKind::DebugDirectivesOnly}));
}

void mx::buildMXHostToLLVMPipeline(OpPassManager &pm) {
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = "isa";
  pm.addPass(createGpuModuleToBinaryPass(binary));
  pm.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  pm.addPass(createMXExpandReshapes());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createGpuToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}
