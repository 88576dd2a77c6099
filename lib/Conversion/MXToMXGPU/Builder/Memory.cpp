//===- Memory.cpp - Device memory, and loads of columns -------------------===//
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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Host code
//===----------------------------------------------------------------------===//

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
  SmallVector<ReassociationIndices> reassociation;
  if (type.getRank())
    reassociation.push_back({0, 1});
  return memref::ExpandShapeOp::create(
      host, MemRefType::get(shape, type.getElementType()), memref,
      reassociation, sizes);
}

//===----------------------------------------------------------------------===//
// Loads of consecutive columns
//===----------------------------------------------------------------------===//

bool Columns::areWhole() const { return !last; }

static int64_t getBytes(MemRefType type) {
  return type.getElementTypeBitWidth() / 8;
}

int64_t mx::mxgpu::getRowAlignment(MemRefType type, int64_t dynamic) {
  if (!isContiguous(type))
    return 0; // of a part: read element by element
  if (type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
    return dynamic;
  int64_t bytes =
      type.getRank() > 1 ? type.getShape().back() * getBytes(type) : 0;
  return bytes % 32 == 0 ? 32 : bytes % 16 == 0 ? 16 : 0;
}

Value mx::mxgpu::isAligned(KernelBuilder &builder, Value memref,
                           int64_t alignment, Value offset) {
  auto type = cast<MemRefType>(memref.getType());
  Value bits = memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  auto include = [&](Value elements) {
    Value bytes = builder.mul(elements, builder.index(getBytes(type)));
    bits = arith::OrIOp::create(builder, bits, bytes);
  };
  if (type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
    include(builder.dim(memref, type.getRank() - 1));
  if (offset)
    include(offset);
  Value low =
      arith::AndIOp::create(builder, bits, builder.index(alignment - 1));
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, low,
                               builder.index(0));
}

int64_t mx::mxgpu::getLoadAlignment(MemRefType type, int64_t count) {
  int64_t alignment = getRowAlignment(type, /*dynamic=*/16);
  while (alignment && count * getBytes(type) % alignment)
    alignment = alignment == 32 ? 16 : 0;
  return alignment;
}

static Value loadPresentColumns(KernelBuilder &builder, Value source,
                                ValueRange indices, const Columns &columns,
                                Value offset, Value end) {
  auto type = cast<MemRefType>(source.getType());
  auto vector = VectorType::get({columns.count}, type.getElementType());
  auto getPlace = [&](Value column) {
    SmallVector<Value> place(indices);
    Value last = offset ? builder.add(column, offset) : column;
    if (end)
      last = arith::MaxSIOp::create(builder,
                                    arith::MinSIOp::create(builder, last, end),
                                    builder.index(0));
    place.push_back(last);
    return place;
  };
  int64_t alignment = getLoadAlignment(type, columns.count);
  if (columns.areWhole() && alignment && !end)
    return vector::LoadOp::create(
        builder, vector, source, getPlace(columns.first), /*nontemporal=*/false,
        llvm::MaybeAlign(alignment));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < columns.count; ++i) {
    Value column = builder.add(columns.first, i);
    if (!columns.areWhole())
      column = arith::MinUIOp::create(builder, column, columns.last);
    elements.push_back(
        memref::LoadOp::create(builder, source, getPlace(column)));
  }
  return vector::FromElementsOp::create(builder, vector, elements);
}

Value mx::mxgpu::loadColumns(KernelBuilder &builder, Value source,
                             ValueRange indices, const Columns &columns,
                             Value offset, Value end) {
  if (!columns.isPresent || indices.empty())
    return loadPresentColumns(builder, source, indices, columns, offset, end);
  auto type = VectorType::get(
      {columns.count}, cast<MemRefType>(source.getType()).getElementType());
  auto ifOp = scf::IfOp::create(builder, type, columns.isPresent,
                                /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, loadPresentColumns(builder, source, indices,
                                                   columns, offset, end));
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(
      builder, arith::ConstantOp::create(builder, builder.getZeroAttr(type))
                   .getResult());
  return ifOp.getResult(0);
}
