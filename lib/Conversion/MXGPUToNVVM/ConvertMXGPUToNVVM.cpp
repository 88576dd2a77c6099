//===- ConvertMXGPUToNVVM.cpp - Lower the kernels of a gpu.module ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Kernel by kernel: the structure first, then one pattern per operation.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/Shared/VectorSizes.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_CONVERTMXGPUTONVVMPASS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// NVPTX aligns i64 to 4 bytes unless the module says otherwise.
static constexpr llvm::StringLiteral kDataLayout =
    "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

namespace {

struct ConvertMXGPUToNVVMPass final
    : mx::mxgpu::impl::ConvertMXGPUToNVVMPassBase<ConvertMXGPUToNVVMPass> {
  void runOnOperation() override {
    getOperation()->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                            StringAttr::get(&getContext(), kDataLayout));
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (failed(lower(kernel)))
        return signalPassFailure();
  }

  static LogicalResult lower(KernelOp kernel) {
    MLIRContext *context = kernel.getContext();
    if (failed(mx::verifyVectorSizes(kernel, mx::kMaxKernelVector)))
      return failure();
    unrollFragments(kernel);
    lowerMath(kernel);
    KernelContext kernelContext;
    FailureOr<LLVM::LLVMFuncOp> function = lowerKernel(kernel, kernelContext);
    if (failed(function))
      return failure();

    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](TensorMapType type) {
      return LLVM::LLVMPointerType::get(type.getContext());
    });
    converter.addConversion(
        [](SlotType type) { return getSlotType(type.getRing()); });
    converter.addConversion([](ScalesType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    addNarrowVectorConversions(converter);
    auto materialize = [](OpBuilder &builder, Type type, ValueRange inputs,
                          Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
          .getResult(0);
    };
    converter.addSourceMaterialization(materialize);
    converter.addTargetMaterialization(materialize);

    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<MXGPUDialect>();
    target.addLegalOp<RoleOp, RingOp, WorkSourceOp>();
    RewritePatternSet patterns(context);
    populateLoopPatterns(patterns, converter, kernelContext);
    populateWorkPatterns(patterns, converter, kernelContext);
    populateRingPatterns(patterns, converter, kernelContext);
    populateTensorCorePatterns(patterns, converter, kernelContext);
    populateAccumulatorPatterns(patterns, converter, kernelContext);
    populateStagingPatterns(patterns, converter, kernelContext);
    populateStorePatterns(patterns, converter, kernelContext);
    populateTilePatterns(patterns, converter, kernelContext);
    populateQuantizePatterns(patterns, converter, kernelContext);
    populateDequantizePatterns(patterns, converter, kernelContext);
    populateReducePatterns(patterns, converter, kernelContext);
    populateScalePatterns(patterns, converter, kernelContext);
    if (failed(applyPartialConversion(*function, target, std::move(patterns))))
      return failure();

    target.addIllegalOp<RoleOp>();
    RewritePatternSet rolePatterns(context);
    populateRolePatterns(rolePatterns, converter, kernelContext);
    if (failed(
            applyPartialConversion(*function, target, std::move(rolePatterns))))
      return failure();
    // Nothing uses them any more but one another: work sources their rings.
    function->walk([](WorkSourceOp source) { source.erase(); });
    function->walk([](RingOp ring) { ring.erase(); });
    return success();
  }
};

} // namespace
