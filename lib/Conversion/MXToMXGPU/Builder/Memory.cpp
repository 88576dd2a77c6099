//===- Memory.cpp - Device memory in host code ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "../../Utils/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value mx::mxgpu::collapseLeading(KernelBuilder &host, Value memref,
                                 int64_t count) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  if (count < 2)
    return memref;
  SmallVector<ReassociationIndices> dims(1);
  for (int64_t dim = 0; dim < count; ++dim)
    dims[0].push_back(dim);
  for (int64_t dim = count; dim < rank; ++dim)
    dims.push_back({dim});
  return memref::CollapseShapeOp::create(host, memref, dims);
}

Value mx::mxgpu::toBytes(KernelBuilder &host, Value elements) {
  auto type = cast<MemRefType>(elements.getType());
  MemRefType bytes = getStorageType(type);
  if (bytes == type)
    return elements;
  return UnrealizedConversionCastOp::create(host, bytes, elements).getResult(0);
}

Value mx::mxgpu::getAddress(KernelBuilder &host, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(host, memref);
  if (cast<MemRefType>(memref.getType()).getLayout().isIdentity())
    return address;
  memref = toBytes(host, memref);
  auto type = cast<MemRefType>(memref.getType());
  auto view = memref::ExtractStridedMetadataOp::create(host, memref);
  Value bytes = host.index(type.getElementTypeBitWidth() / 8);
  return host.add(address, host.mul(view.getOffset(), bytes));
}

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

Value mx::mxgpu::allocateList(KernelBuilder &host, Value size) {
  return memref::AllocOp::create(
      host, MemRefType::get({ShapedType::kDynamic}, host.getI32Type()),
      ValueRange(size));
}

Value mx::mxgpu::toRow(KernelBuilder &host, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() > 1) {
    auto all = llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
    memref = memref::CollapseShapeOp::create(
        host, memref, ArrayRef<ReassociationIndices>{all});
  }
  type = cast<MemRefType>(memref.getType());
  OpFoldResult one = host.getIndexAttr(1);
  SmallVector<int64_t> shape = {1};
  SmallVector<OpFoldResult> sizes = {one};
  llvm::append_range(shape, type.getShape());
  llvm::append_range(sizes, memref::getMixedSizes(host, host.getLoc(), memref));
  shape.resize(2, 1); // of a number
  sizes.resize(2, one);
  SmallVector<ReassociationIndices> parts;
  if (type.getRank())
    parts.push_back({0, 1});
  return memref::ExpandShapeOp::create(
      host, MemRefType::get(shape, type.getElementType()), memref, parts,
      sizes);
}
