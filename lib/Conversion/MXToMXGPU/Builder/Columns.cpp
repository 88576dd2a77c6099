//===- Columns.cpp - Loads of consecutive columns -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Columns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

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
