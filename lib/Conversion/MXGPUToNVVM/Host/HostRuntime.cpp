//===- HostRuntime.cpp - Calls of the runtime -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "HostRuntime.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx::mxgpu;

Value mx::mxgpu::callRuntime(NVVMBuilder &builder, StringRef name, Type result,
                             ValueRange arguments, bool isVariadic) {
  auto module =
      builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    Type none = LLVM::LLVMVoidType::get(builder.getContext());
    ValueRange fixed = isVariadic ? arguments.take_front() : arguments;
    function = LLVM::LLVMFuncOp::create(
        builder, name,
        LLVM::LLVMFunctionType::get(result ? result : none,
                                    llvm::to_vector(fixed.getTypes()),
                                    isVariadic));
  }
  auto call = LLVM::CallOp::create(builder, function, arguments);
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

Value mx::mxgpu::storeArray(NVVMBuilder &builder, ArrayRef<Value> values,
                            Type type) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value array = LLVM::AllocaOp::create(
      builder, pointer, type,
      LLVM::ConstantOp::create(builder, builder.getI64Type(),
                               std::max<int64_t>(values.size(), 1)));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value address = LLVM::GEPOp::create(
        builder, pointer, type, array,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(builder, value, address);
  }
  return array;
}
