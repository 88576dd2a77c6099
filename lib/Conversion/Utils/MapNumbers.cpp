//===- MapNumbers.cpp - The numbers of tensor maps ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "MapNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Dialect/MXGPU/IR/TensorMaps.h"

using namespace mlir;
using namespace mx;

LogicalResult mx::verifyMapElements(mxgpu::EncodeTensorMapOp op) {
  // Narrower elements have become bytes.
  Type stored = cast<MemRefType>(op.getSource().getType()).getElementType();
  bool isBelowByte = stored.getIntOrFloatBitWidth() < 8;
  if (mxgpu::getMapType(op.getType()) && !isBelowByte)
    return success();
  return op.emitOpError("expected elements of one byte, f16, bf16 or f32, "
                        "found ")
         << (isBelowByte ? stored : op.getType().getElementType());
}

SmallVector<Value> mx::getIdentityStrides(OpBuilder &builder, Location loc,
                                          ValueRange sizes) {
  SmallVector<Value> strides(sizes.size());
  Value stride = arith::ConstantIndexOp::create(builder, loc, 1);
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    if (dim > 0) // that of the whole is of no use
      stride = arith::MulIOp::create(builder, loc, stride, sizes[dim]);
  }
  return strides;
}

TensorMapNumbers mx::getTensorMapNumbers(OpBuilder &builder,
                                         mxgpu::EncodeTensorMapOp op,
                                         ValueRange sizes, ValueRange strides) {
  Location loc = op.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto source = cast<MemRefType>(op.getSource().getType());
  int64_t bits = op.getType().getElementType().getIntOrFloatBitWidth();
  Value bytes = constant(source.getElementTypeBitWidth() / 8);
  TensorMapNumbers numbers;
  for (int64_t rank = source.getRank(), dim = rank - 1; dim >= 0; --dim) {
    Value size = sizes[dim];
    // Narrow elements are counted as such, without gaps.
    if (dim + 1 == rank && bits < 8)
      size = arith::DivUIOp::create(
          builder, loc, arith::MulIOp::create(builder, loc, size, constant(8)),
          constant(bits));
    numbers.dims.push_back(size);
    if (dim > 0)
      numbers.strides.push_back(
          arith::MulIOp::create(builder, loc, strides[dim - 1], bytes));
  }
  return numbers;
}
