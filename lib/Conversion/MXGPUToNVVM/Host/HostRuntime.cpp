//===- HostRuntime.cpp - Calls of the runtime -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All buffers reside in device memory, and all calls use the default stream.
//===----------------------------------------------------------------------===//

#include "HostRuntime.h"
#include "../../Utils/HostCode.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx::mxgpu;

Value mx::mxgpu::callRuntime(NVVMBuilder &builder, StringRef name, Type result,
                             ValueRange arguments, bool isVariadic) {
  auto module =
      builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  ValueRange fixed = isVariadic ? arguments.take_front() : arguments;
  auto type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(builder.getContext()),
      llvm::to_vector(fixed.getTypes()), isVariadic);
  // If the module already declares the function with another type, the lookup
  // reports an error and the call does not verify.
  (void)LLVM::lookupOrCreateFn(builder, module, name, type.getParams(),
                               type.getReturnType(), isVariadic);
  auto call = LLVM::CallOp::create(builder, type, name, arguments);
  return result ? call.getResult() : Value();
}

static Value toPointer(NVVMBuilder &builder, Value address) {
  Value wide =
      arith::IndexCastUIOp::create(builder, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), wide);
}

Value mx::mxgpu::getBasePointer(NVVMBuilder &builder, Value memref) {
  return toPointer(
      builder, memref::ExtractAlignedPointerAsIndexOp::create(builder, memref));
}

Value mx::mxgpu::getPointer(NVVMBuilder &builder, Value memref) {
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (type && !type.getLayout().isIdentity()) {
    Value offset =
        memref::ExtractStridedMetadataOp::create(builder, memref).getOffset();
    Value bytes = builder.index(mx::getElementBits(type) / 8);
    address = builder.add(address, builder.mul(offset, bytes));
  }
  return toPointer(builder, address);
}

Value mx::mxgpu::getDefaultStream(NVVMBuilder &builder) {
  return LLVM::ZeroOp::create(builder,
                              LLVM::LLVMPointerType::get(builder.getContext()));
}

Value mx::mxgpu::allocateOnStack(NVVMBuilder &builder, Type type, int64_t count,
                                 unsigned alignment) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<FunctionOpInterface>(parent);
  if (!function)
    function = parent->getParentOfType<FunctionOpInterface>();
  // Insert after existing allocations.
  Block &entry = function.getFunctionBody().front();
  auto isAllocation = [](Operation &op) {
    return isa<LLVM::AllocaOp, LLVM::ConstantOp>(op);
  };
  builder.setInsertionPoint(
      &entry, llvm::find_if_not(entry.getOperations(), isAllocation));
  return LLVM::AllocaOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), type,
      LLVM::ConstantOp::create(builder, builder.getI64Type(), count),
      alignment);
}

Value mx::mxgpu::storeArray(NVVMBuilder &builder, ArrayRef<Value> values,
                            Type type) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value array =
      allocateOnStack(builder, type, std::max<int64_t>(values.size(), 1));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value address = LLVM::GEPOp::create(
        builder, pointer, type, array,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(builder, value, address);
  }
  return array;
}

//===----------------------------------------------------------------------===//
// Device memory
//===----------------------------------------------------------------------===//

/// Returns the size in bytes (i64) of a memref with identity layout.
static Value getBytes(NVVMBuilder &builder, MemRefType type,
                      ValueRange dynamicSizes) {
  Value bytes = builder.i64(llvm::divideCeil(mx::getElementBits(type), 8));
  for (int64_t size : type.getShape()) {
    Value factor;
    if (ShapedType::isDynamic(size)) {
      factor = arith::IndexCastOp::create(builder, builder.getI64Type(),
                                          dynamicSizes.front());
      dynamicSizes = dynamicSizes.drop_front();
    } else {
      factor = builder.i64(size);
    }
    bytes = builder.mul(bytes, factor);
  }
  return bytes;
}

static Value getBytes(NVVMBuilder &builder, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, memref, dim));
  return getBytes(builder, type, sizes);
}

static LogicalResult lowerDeviceAlloc(memref::AllocOp op,
                                      memref::AllocOp::Adaptor adaptor,
                                      ConversionPatternRewriter &rewriter) {
  if (failed(mx::verifyByteCount(op, op.getType())))
    return failure();
  NVVMBuilder builder(op.getLoc(), rewriter);
  Value isHostShared =
      arith::ConstantOp::create(builder, builder.getI8IntegerAttr(0));
  Value bytes = getBytes(builder, op.getType(), adaptor.getDynamicSizes());
  if (!op.getType().hasStaticShape()) {
    // An overflow of the multiplication must not yield a small size.
    Value fits = mx::createFitsAddressSpace(rewriter, op.getLoc(), op.getType(),
                                            adaptor.getDynamicSizes());
    bytes = builder.select(fits, bytes, builder.i64(-1));
  }
  Value pointer = callRuntime(builder, "mgpuMemAlloc",
                              LLVM::LLVMPointerType::get(builder.getContext()),
                              {bytes, getDefaultStream(builder), isHostShared});
  rewriter.replaceOp(op, buildMemRef(builder, op.getType(), pointer,
                                     adaptor.getDynamicSizes()));
  return success();
}

static Values lowerDeviceDealloc(NVVMBuilder &builder, memref::DeallocOp,
                                 memref::DeallocOp::Adaptor adaptor) {
  callRuntime(
      builder, "mgpuMemFree", Type(),
      {getPointer(builder, adaptor.getMemref()), getDefaultStream(builder)});
  return {};
}

/// Lowers a fill with zeros to a fill of bytes.
static LogicalResult lowerDeviceMemset(gpu::MemsetOp op,
                                       gpu::MemsetOp::Adaptor adaptor,
                                       ConversionPatternRewriter &rewriter) {
  auto type = cast<MemRefType>(op.getDst().getType());
  if (!type.getLayout().isIdentity())
    return rewriter.notifyMatchFailure(op, "expected an identity layout");
  NVVMBuilder builder(op.getLoc(), rewriter);
  Value zero = arith::ConstantOp::create(builder, builder.getI8IntegerAttr(0));
  callRuntime(builder, kMemset, builder.getI32Type(),
              {getPointer(builder, adaptor.getDst()), zero,
               getBytes(builder, adaptor.getDst()), getDefaultStream(builder)});
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult lowerDeviceCopy(memref::CopyOp op,
                                     memref::CopyOp::Adaptor adaptor,
                                     ConversionPatternRewriter &rewriter) {
  auto type = cast<MemRefType>(op.getSource().getType());
  auto targetType = cast<MemRefType>(op.getTarget().getType());
  if (!type.getLayout().isIdentity() || !targetType.getLayout().isIdentity())
    return rewriter.notifyMatchFailure(op, "expected identity layouts");
  NVVMBuilder builder(op.getLoc(), rewriter);
  callRuntime(builder, "mgpuMemcpy", Type(),
              {getPointer(builder, adaptor.getTarget()),
               getPointer(builder, adaptor.getSource()),
               getBytes(builder, adaptor.getSource()),
               getDefaultStream(builder)});
  rewriter.eraseOp(op);
  return success();
}

void mx::mxgpu::loadConstants(ModuleOp module) {
  SmallVector<memref::GetGlobalOp> references;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::GPUModuleOp>(op))
      return WalkResult::skip();
    if (auto reference = dyn_cast<memref::GetGlobalOp>(op))
      references.push_back(reference);
    return WalkResult::advance();
  });
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  for (memref::GetGlobalOp reference : references) {
    NVVMBuilder builder(reference.getLoc(), module.getContext());
    std::string name = (reference.getName() + "_on_device").str();
    if (!module.lookupSymbol(name)) {
      builder.setInsertionPointToStart(module.getBody());
      auto place = LLVM::GlobalOp::create(
          builder, pointer, /*isConstant=*/false, LLVM::Linkage::Internal, name,
          builder.getZeroAttr(builder.getI64Type()));
      place.removeValueAttr();
      builder.createBlock(&place.getInitializerRegion());
      LLVM::ReturnOp::create(builder,
                             LLVM::ZeroOp::create(builder, pointer).getRes());
    }
    SmallPtrSet<Operation *, 4> users(reference->user_begin(),
                                      reference->user_end());
    builder.setInsertionPointAfter(reference);
    Value place = LLVM::AddressOfOp::create(builder, pointer, name);
    Value data = getBasePointer(builder, reference);
    Value memory = callRuntime(
        builder, "mxLoadConstant", pointer,
        {place, data, getBytes(builder, reference.getType(), ValueRange())});
    Value onDevice = buildMemRef(builder, reference.getType(), memory, {});
    reference.getResult().replaceUsesWithIf(onDevice, [&](OpOperand &use) {
      return users.contains(use.getOwner());
    });
  }
}

void mx::mxgpu::addHostMemoryPatterns(const TypeConverter &converter,
                                      RewritePatternSet &patterns) {
  addPatterns<lowerDeviceAlloc, lowerDeviceDealloc, lowerDeviceMemset,
              lowerDeviceCopy>(converter, patterns);
}
