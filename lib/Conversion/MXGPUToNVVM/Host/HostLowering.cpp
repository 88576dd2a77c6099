//===- HostLowering.cpp - Launches, tensor maps and run-time checks -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers launches with the parameter order of LowerKernels.cpp. Tensor maps
// must be passed by value. A pointer operand would verify, but the kernel would
// read garbage.
//
// All operations use the default stream. A function synchronizes the stream
// only once, before it returns, so its results are available to the caller
// and its kernels can still overlap.
//===----------------------------------------------------------------------===//

#include "../../Utils/HostCode.h"
#include "HostRuntime.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Dialect/MXGPU/IR/TensorMaps.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_CONVERTMXGPUHOSTTOGPU
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

Values lowerEncodeTensorMap(NVVMBuilder &builder, EncodeTensorMapOp op,
                            EncodeTensorMapOp::Adaptor) {
  TensorMapType type = op.getType();
  auto source = cast<MemRefType>(op.getSource().getType());
  int64_t rank = source.getRank();
  SmallVector<Value> sizes, strides;
  for (int64_t dim = 0; dim < rank; ++dim)
    sizes.push_back(memref::DimOp::create(builder, op.getSource(), dim));
  if (source.getLayout().isIdentity())
    strides = mx::getIdentityStrides(builder, op.getLoc(), sizes);
  else
    strides = memref::ExtractStridedMetadataOp::create(builder, op.getSource())
                  .getStrides();
  mx::TensorMapNumbers numbers =
      mx::getTensorMapNumbers(builder, op, sizes, strides);
  auto toWords = [&](ArrayRef<Value> values) {
    return llvm::map_to_vector(values, [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, builder.getI64Type(), value);
    });
  };
  SmallVector<Value> box, elementStrides;
  for (int64_t size : llvm::reverse(type.getBox())) {
    box.push_back(builder.i32(size));
    elementStrides.push_back(builder.i32(1));
  }
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto mapType = LLVM::LLVMArrayType::get(builder.getI8Type(),
                                          mx::target::kTensorMapBytes);
  Value map = allocateOnStack(builder, mapType, /*count=*/1,
                              mx::target::kTensorMapAlignment);
  auto enumerator = [&](auto value) {
    return builder.i32(static_cast<int64_t>(value));
  };
  callRuntime(
      builder, "mxTensorMapEncodeTiled", i32,
      {map, enumerator(*getMapType(type)), builder.i32(rank),
       getPointer(builder, op.getSource()),
       storeArray(builder, toWords(numbers.dims), i64),
       storeArray(builder, toWords(numbers.strides), i64),
       storeArray(builder, box, i32), storeArray(builder, elementStrides, i32),
       enumerator(mx::target::TensorMapInterleave::None),
       enumerator(toSwizzle(type.getSwizzle())),
       enumerator(getMapL2(op.getL2Promotion())), enumerator(kMapFill)});
  return {LLVM::LoadOp::create(builder, mapType, map)};
}

Values lowerSmCount(NVVMBuilder &builder, SmCountOp, SmCountOp::Adaptor) {
  Value count =
      callRuntime(builder, "mxMultiprocessorCount", builder.getI32Type(), {});
  return {arith::IndexCastOp::create(builder, builder.getIndexType(), count)};
}

/// Returns the location of an error, escaped for a printf format.
std::string getPlaceInFormat(Location loc) {
  std::string escaped;
  for (char c : mx::getPlace(loc))
    escaped.append(c == '%' ? 2 : 1, c);
  return escaped;
}

/// Lowers a failed requirement to an error report. Execution continues, because
/// the runtime launches nothing after an error.
Values lowerRequire(NVVMBuilder &builder, RequireOp op,
                    RequireOp::Adaptor adaptor) {
  auto ifOp = scf::IfOp::create(builder, builder.isNot(adaptor.getCondition()),
                                /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  SmallVector<Value> arguments = {mx::getConstantText(
      builder, op.getLoc(), op->getParentOfType<ModuleOp>(), "mx_require_text_",
      getPlaceInFormat(op.getLoc()) + op.getMessage().str())};
  for (Value value : adaptor.getValues())
    arguments.push_back(
        arith::IndexCastOp::create(builder, builder.getI64Type(), value));
  callRuntime(builder, "mxReportError", Type(), arguments,
              /*isVariadic=*/true);
  return {};
}

constexpr int64_t kLaunchProgrammatic = 1;

LogicalResult lowerLaunch(LaunchOp op, LaunchOp::Adaptor adaptor,
                          ConversionPatternRewriter &rewriter) {
  auto kernel =
      SymbolTable::lookupNearestSymbolFrom<KernelOp>(op, op.getKernelAttr());
  if (!kernel)
    return rewriter.notifyMatchFailure(op, "expected a kernel");
  NVVMBuilder builder(op.getLoc(), rewriter);
  rewriter.modifyOpInPlace(kernel, [&] { // required by gpu.launch_func
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    rewriter.getUnitAttr());
  });
  SmallVector<Value> parameters;
  for (auto [original, value] :
       llvm::zip_equal(op.getArgs(), adaptor.getArgs())) {
    auto memref = dyn_cast<MemRefType>(original.getType());
    if (!memref) {
      parameters.push_back(
          original.getType().isIndex()
              ? arith::IndexCastOp::create(builder, builder.getI64Type(), value)
              : value);
      continue;
    }
    auto taken = cast<MemRefType>(getParameterType(memref));
    parameters.push_back(taken == memref ? getBasePointer(builder, original)
                                         : getPointer(builder, original));
    for (Value number : getDynamicNumbers(builder, original, taken))
      parameters.push_back(
          arith::IndexCastOp::create(builder, builder.getI64Type(), number));
  }
  // Use i64 sizes, because gpu-to-llvm drops the stream if it converts sizes.
  Value one = builder.i64(1);
  Value ctas = arith::IndexCastOp::create(builder, builder.getI64Type(),
                                          adaptor.getGrid());
  Value threads = builder.i64(kernel.getNumThreads());
  Value bytes = builder.i32(getSharedBytes(kernel));
  Value stream = getDefaultStream(builder);
  // The translation of gpu.launch_func to LLVM IR allocates the parameters on
  // the stack at the launch. The runtime copies them, so the stack is restored
  // after the launch and does not grow in a loop.
  Value stack;
  if (!op->getBlock()->isEntryBlock() ||
      !isa<FunctionOpInterface>(op->getParentOp()))
    stack = LLVM::StackSaveOp::create(builder, stream.getType());
  // gpu.launch_func has no flag for programmatic dependent launch, which is
  // legal only for kernels that wait for their predecessors.
  if (!kernel.getBody().getOps<WaitDependenciesOp>().empty())
    callRuntime(builder, "mxNextLaunchFlags", Type(),
                {builder.i32(kLaunchProgrammatic)});
  gpu::LaunchFuncOp::create(
      builder, op.getKernelAttr(), gpu::KernelDim3{ctas, one, one},
      gpu::KernelDim3{threads, one, one}, bytes, parameters, stream);
  if (stack)
    LLVM::StackRestoreOp::create(builder, stack);
  rewriter.eraseOp(op);
  return success();
}

/// Returns true if an operation enqueues work on the default stream.
bool isQueued(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  StringRef callee = call ? call.getCallee().value_or("") : "";
  return isa<gpu::LaunchFuncOp>(op) || callee.starts_with("mgpu") ||
         callee == kMemset;
}

/// Waits for enqueued work before a function returns.
void waitForQueued(func::FuncOp function) {
  WalkResult queues = function.walk([](Operation *op) {
    return isQueued(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!queues.wasInterrupted())
    return;
  for (Block &block : function.getBody())
    if (auto end = dyn_cast<func::ReturnOp>(block.getTerminator())) {
      NVVMBuilder builder(end.getLoc(), end.getContext());
      builder.setInsertionPoint(end);
      callRuntime(builder, "mgpuStreamSynchronize", Type(),
                  {getDefaultStream(builder)});
    }
}

struct ConvertMXGPUHostToGPUPass final
    : mx::mxgpu::impl::ConvertMXGPUHostToGPUBase<ConvertMXGPUHostToGPUPass> {
  void runOnOperation() override {
    if (failed(verifySupport()))
      return signalPassFailure();
    loadConstants(getOperation());
    MLIRContext *context = &getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](mx::mxgpu::TensorMapType type) {
      return LLVM::LLVMArrayType::get(IntegerType::get(type.getContext(), 8),
                                      mx::target::kTensorMapBytes);
    });
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<EncodeTensorMapOp, SmCountOp, RequireOp, LaunchOp>();
    // All buffers are device memory, even in functions without launches,
    // because callers pass and expect device memory.
    target.addIllegalOp<memref::AllocOp, memref::DeallocOp, memref::CopyOp,
                        gpu::MemsetOp>();
    RewritePatternSet patterns(context);
    mx::addPatterns<lowerEncodeTensorMap, lowerSmCount, lowerRequire,
                    lowerLaunch>(converter, patterns);
    addHostMemoryPatterns(converter, patterns);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    getOperation().walk(waitForQueued);
    // Upstream's debug scopes assume that inlined code is in an llvm.func. At
    // that point, only kernels are in an llvm.func.
    getOperation().walk<WalkOrder::PreOrder>([](Operation *op) {
      if (isa<gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      while (auto site = dyn_cast<CallSiteLoc>(op->getLoc()))
        op->setLoc(site.getCallee());
      return WalkResult::advance();
    });
  }

  /// Reports operations that no pattern supports.
  LogicalResult verifySupport() {
    WalkResult result = getOperation().walk(
        [](Operation *op) -> WalkResult { return verifySupport(op); });
    return failure(result.wasInterrupted());
  }

  static LogicalResult verifySupport(Operation *op) {
    if (isa<mx::RankOp, mx::PeersOp, mx::BarrierOp, mx::WindowOp,
            mx::AllGatherOp, mx::AllToAllOp>(op))
      return op->emitOpError(
          "expected a launch plan for operations that involve several ranks, "
          "found host code that calls the runtime: compile with mx-compile, or "
          "run mx-to-plan");
    if (auto kernel = dyn_cast<KernelOp>(op); kernel && kernel.getJoinedAttr())
      return op->emitOpError("expected a launch plan for joined kernels, found "
                             "host code that calls the runtime: compile with "
                             "mx-compile, or run mx-to-plan");
    if (auto encode = dyn_cast<EncodeTensorMapOp>(op))
      return mx::verifyMapElements(encode);
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
          op, launch.getKernelAttr());
      if (kernel && !kernel.getBody().getOps<mx::mxbar::PlacedRingOp>().empty())
        return op->emitOpError("expected a kernel with rings: run "
                               "convert-mxgpu-host-to-gpu before "
                               "mxgpu-lower-rings");
    }
    if (auto memset = dyn_cast<gpu::MemsetOp>(op))
      if (!mx::isZeroBits(memset.getValue()) ||
          mx::getElementBits(memset.getValue().getType()) % 8 ||
          memset.getAsyncToken())
        return op->emitOpError(
            "expected a constant whose bytes are all 0, and no async token");
    if (!isa<memref::AllocOp, memref::DeallocOp, memref::CopyOp, gpu::MemsetOp>(
            op))
      return success();
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    for (Type type : types) {
      auto memref = dyn_cast<BaseMemRefType>(type);
      if (!memref || isa<memref::DeallocOp>(op))
        continue;
      auto ranked = dyn_cast<MemRefType>(type);
      if (!ranked || !ranked.getLayout().isIdentity() ||
          !ranked.getElementType().isIntOrIndexOrFloat())
        return op->emitOpError("expected memrefs with numeric elements and "
                               "identity layout in device memory, found ")
               << type;
    }
    return success();
  }
};

} // namespace
