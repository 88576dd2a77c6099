//===- FillMemory.cpp - Fills of device memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The runtime, and launch plans, fill memory with equal bytes: zeros.
//
//===----------------------------------------------------------------------===//

#include "../Utils/Constants.h"
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void mx::mxgpu::clearMemory(KernelBuilder &host, Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  // E8M0 has no 0; its smallest number has these bits.
  auto float_ = dyn_cast<FloatType>(element);
  TypedAttr zero =
      float_ ? TypedAttr(host.getFloatAttr(
                   element, APFloat(float_.getFloatSemantics(),
                                    APInt::getZero(float_.getWidth()))))
             : TypedAttr(host.getIntegerAttr(element, 0));
  gpu::MemsetOp::create(host, TypeRange(), ValueRange(), memref,
                        arith::ConstantOp::create(host, zero));
}

/// Whether all bytes of the memref are elements of it alone.
static bool ownsItsBytes(MemRefType type) {
  bool isNarrow = getElementBits(type) < 8;
  return type.getLayout().isIdentity() && !type.getElementType().isInteger(1) &&
         (!isNarrow || type.getRank() == 2);
}

bool mx::mxgpu::isMemset(linalg::FillOp op) {
  auto type = dyn_cast<MemRefType>(op.getDpsInits()[0].getType());
  return type && isZeroBits(op.getInputs()[0]) && ownsItsBytes(type);
}

LogicalResult mx::mxgpu::convertFill(linalg::FillOp op) {
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  if (!isZeroBits(op.getInputs()[0]))
    return op.emitOpError("expected a constant whose bits are all 0 on the "
                          "GPU, which fills memory with zeros; found another "
                          "value: make the tensor an argument of the function, "
                          "or add the value where it is used");
  if (!ownsItsBytes(type))
    return op.emitOpError("expected whole tensors of elements of whole bytes, "
                          "or matrices of fewer bits, on the GPU, found ")
           << type;
  KernelBuilder host(op.getLoc(), op);
  clearMemory(host, toBytes(host, op.getDpsInits()[0]));
  op.erase();
  return success();
}
