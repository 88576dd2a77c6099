//===- ThreadRows.cpp - What a thread has of a tile -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ThreadRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value mx::mxgpu::getRowOfThread(KernelBuilder &body, FragmentType type,
                                int64_t number) {
  return FragmentRowOp::create(body, body.getIndexType(), number, type);
}

Value mx::mxgpu::getFirstRowOfWarp(KernelBuilder &body, FragmentType type) {
  Value warp = body.div(ThreadIdOp::create(body), target::kWarpSize);
  return body.mul(warp, body.index(type.getLayout().getWarpRows()));
}

Value mx::mxgpu::getColumnOfRun(KernelBuilder &body, FragmentType type,
                                int64_t number, Value first) {
  Value column =
      body.createOrFold<FragmentColumnOp>(body.getIndexType(), number, type);
  return matchPattern(column, m_Zero()) ? first : body.add(first, column);
}

static int64_t getCount(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

Value mx::mxgpu::takeElements(KernelBuilder &body, Value vector, int64_t first,
                              int64_t count) {
  if (count == getCount(vector))
    return vector;
  return vector::ExtractStridedSliceOp::create(
      body, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

Value mx::mxgpu::joinElements(KernelBuilder &body, ValueRange vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  int64_t count = 0;
  for (Value vector : vectors)
    count += getCount(vector);
  auto type = VectorType::get(
      {count}, cast<VectorType>(vectors.front().getType()).getElementType());
  Value joined = arith::ConstantOp::create(body, body.getZeroAttr(type));
  int64_t first = 0;
  for (Value vector : vectors) {
    joined = vector::InsertStridedSliceOp::create(
        body, vector, joined, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1});
    first += getCount(vector);
  }
  return joined;
}

ScaleWordPlace mx::mxgpu::getScaleWord(KernelBuilder &body, Value row) {
  Value inQuarter = arith::RemUIOp::create(body, row, body.index(32));
  return {inQuarter, body.div(row, 32)};
}
