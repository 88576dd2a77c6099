//===- ConvertMXToMXGPU.cpp - Replace mx operations by kernels ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Memrefs of the module's functions are device memory from here on, so that
// nothing but kernels may touch what is in them.
//
//===----------------------------------------------------------------------===//

#include "../Utils/Constants.h"
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_CONVERTMXTOMXGPU
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

gpu::GPUModuleOp mx::mxgpu::getKernelModule(ModuleOp module,
                                            const target::TargetInfo &target) {
  constexpr llvm::StringLiteral kName = "kernels";
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (kernels.getName() == kName)
      return kernels;
  // MLIR 22 verifies tcgen05 for sm_100a only; our own table was asked.
  auto attr = NVVM::NVVMTargetAttr::get(
      module.getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", target.chip,
      target.features, /*targetFlags=*/DictionaryAttr(),
      /*linkFiles=*/ArrayAttr(), /*verifyTarget=*/false);
  OpBuilder builder(module.getContext());
  auto kernels = gpu::GPUModuleOp::create(builder, module.getLoc(), kName);
  kernels.setTargetsAttr(builder.getArrayAttr({attr}));
  SymbolTable(module).insert(kernels);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  builder.getUnitAttr());
  return kernels;
}

/// Whether an operation refers to a global that is no constant. Constants are
/// copied to the device.
static bool isVariable(Operation *op) {
  auto reference = dyn_cast<memref::GetGlobalOp>(op);
  return reference && !isConstant(reference);
}

/// The host cannot write device memory: refuses operations that would. What it
/// reads mx-sink-scalars sees to.
static LogicalResult verifyHost(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::GPUModuleOp>(op))
      return WalkResult::skip();
    if (isa<memref::AllocaOp>(op) || isVariable(op)) {
      op->emitOpError("expected tensors in device memory, found one in the "
                      "memory of the host");
      return WalkResult::interrupt();
    }
    auto isPart = [](Type type) {
      auto memref = dyn_cast<MemRefType>(type);
      return memref && !memref.getLayout().isIdentity();
    };
    if (isa<memref::CopyOp>(op) &&
        llvm::any_of(op->getOperandTypes(), isPart)) {
      op->emitOpError("expected copies of whole tensors on the GPU, found one "
                      "of a part, as a slice that is returned, inserted or put "
                      "beside another is: return the whole tensor, or let the "
                      "caller put the parts together");
      return WalkResult::interrupt();
    }
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    // Copies and fills become the runtime's.
    if (!effects || isa<memref::LoadOp, LaunchOp, EncodeTensorMapOp,
                        memref::CopyOp, gpu::MemsetOp>(op))
      return WalkResult::advance();
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) &&
          (effects.getEffectOnValue<MemoryEffects::Read>(operand) ||
           effects.getEffectOnValue<MemoryEffects::Write>(operand))) {
        op->emitOpError("expected only mx operations on tensors in device "
                        "memory, found one that the host would run");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The loop or branch that gives a memref one of several buffers.
static Operation *findCarrier(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(memref);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : memref.getDefiningOp();
  return isa_and_present<RegionBranchOpInterface>(op) ? op : nullptr;
}

/// No kernel takes what only the run knows the strides of.
static LogicalResult verifyCarriers(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || type.getLayout().isIdentity() || mayHaveStride(type))
      continue;
    Operation *carrier = findCarrier(operand);
    if (!carrier)
      continue;
    InFlightDiagnostic diag = carrier->emitOpError(
        "expected each tensor that it carries to stay in one buffer on the "
        "GPU, found one that moves to another, so that only the run knows its "
        "layout: unroll it, or call the function once a round");
    diag.attachNote(op->getLoc())
        << "'" << op->getName() << "' takes the tensor";
    return diag;
  }
  return success();
}

namespace {
struct ConvertMXToMXGPUPass final
    : mx::mxgpu::impl::ConvertMXToMXGPUBase<ConvertMXToMXGPUPass> {
  using ConvertMXToMXGPUBase::ConvertMXToMXGPUBase;

  void runOnOperation() override {
    std::string error;
    const target::TargetInfo *target = target::lookupKernelTarget(chip, error);
    if (!target) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<linalg::LinalgOp>(op) ||
          (isa_and_present<MXDialect>(op->getDialect()) &&
           !isa<mx::YieldOp>(op)))
        ops.push_back(op);
    });
    gpu::GPUModuleOp module;
    SmallPtrSet<Operation *, 4> done;
    for (Operation *op : ops) {
      if (done.contains(op))
        continue;
      if (!op->getParentOfType<FunctionOpInterface>() ||
          op->getParentOfType<gpu::GPUModuleOp>()) {
        op->emitOpError("expected to be inside a function of the host");
        return signalPassFailure();
      }
      for (Value operand : op->getOperands())
        if (isa<TensorType>(operand.getType())) {
          op->emitOpError("expected memrefs, found ")
              << operand.getType() << ": bufferize first";
          return signalPassFailure();
        }
      // Bufferization casts what a loop carries to a type that says less.
      (void)memref::foldMemRefCast(op);
      if (failed(verifyCarriers(op)))
        return signalPassFailure();
      if (!module)
        module = getKernelModule(getOperation(), *target);
      if (failed(convert(op, module, *target, done)))
        return signalPassFailure();
    }
    if (failed(verifyHost(getOperation())))
      signalPassFailure();
  }

  static LogicalResult convert(Operation *op, gpu::GPUModuleOp module,
                               const target::TargetInfo &target,
                               SmallPtrSetImpl<Operation *> &done) {
    if (auto matmul = dyn_cast<MatmulOpInterface>(op))
      return convertMatmul(matmul, module, target);
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return convertFill(fill);
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      return convertReduction(linalgOp, module);
    if (auto amax = dyn_cast<AmaxOp>(op))
      return convertAmax(amax, module);
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      return convertQuantize(quantize, module, target);
    if (auto dequantize = dyn_cast<DequantizeOp>(op))
      return convertDequantize(dequantize, module, done);
    if (auto relayout = dyn_cast<RelayoutOp>(op))
      return convertRelayout(relayout, module);
    if (auto pack = dyn_cast<PackWeightsOp>(op))
      return convertPackWeights(pack, module);
    if (auto combine = dyn_cast<CombineOp>(op))
      return convertCombine(combine, module);
    return op->emitOpError("expected mx.quantize, mx.dequantize, mx.relayout, "
                           "mx.amax or mx.matmul on the GPU; this operation "
                           "has no kernel yet");
  }
};
} // namespace
