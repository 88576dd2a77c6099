//===- ResultElements.cpp - Elements of the result, of sums ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ResultElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void ResultElements::enter(const KernelArguments &arguments, Type type) {
  stored = type;
  alpha = arguments.get(Arg::Alpha);
  for (auto [value, inKernel] :
       llvm::zip_equal(region.getCaptures(), arguments.getAll(Arg::Captures)))
    region.capture(value, inKernel);
}

Value ResultElements::getFactor(Type vector) {
  return alpha ? vector::BroadcastOp::create(body, vector, alpha) : Value();
}

Value ResultElements::makeElements(ValueRange sums, const Columns &columns) {
  if (region)
    return region.emit(body, sums, columns).front();
  if (stored.isF32())
    return sums.front();
  auto type = cast<VectorType>(sums.front().getType());
  return arith::TruncFOp::create(body, VectorType::get(type.getShape(), stored),
                                 sums.front());
}

Value ResultElements::finish(ValueRange sums, const Columns &columns) {
  SmallVector<Value> scaled(sums);
  if (Value factor = getFactor(sums.front().getType()))
    for (Value &part : scaled)
      part = arith::MulFOp::create(body, part, factor);
  return makeElements(scaled, columns);
}

Value ResultElements::finishOnto(ValueRange sums, Value result, Value row,
                                 const Columns &columns, Value empty) {
  if (!op.getAccumulate())
    return finish(sums, columns);
  Value sum = sums.front(), factor = getFactor(sum.getType());
  Value old = loadColumns(body, result, row, columns);
  if (old.getType() != sum.getType())
    old = arith::ExtFOp::create(body, sum.getType(), old);
  Value total = factor ? math::FmaOp::create(body, sum, factor, old).getResult()
                       : arith::AddFOp::create(body, sum, old).getResult();
  // Nothing added leaves the value as it is, the sign of zero too.
  Value kept = arith::SelectOp::create(body, empty, old, total);
  return makeElements(kept, columns);
}
