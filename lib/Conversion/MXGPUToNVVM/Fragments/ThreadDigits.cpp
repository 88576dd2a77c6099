//===- ThreadDigits.cpp - Where a thread's elements begin -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ThreadDigits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx::mxgpu;

Value mx::mxgpu::addThreadDigits(
    ImplicitLocOpBuilder &builder, Value number, int64_t count,
    FragmentLayoutAttr layout,
    llvm::function_ref<int64_t(const FragmentDigit &)> step) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, builder.getIntegerAttr(number.getType(), value));
  };
  Value sum;
  int64_t weight = 1;
  for (const FragmentDigit &digit : layout.getThreads()) {
    if (weight >= count)
      break;
    int64_t size = std::min(digit.size, count / weight);
    if (int64_t factor = size > 1 ? step(digit) : 0) {
      // LLVM shifts and masks where sizes are powers of two.
      Value value = number;
      if (weight > 1)
        value = arith::DivUIOp::create(builder, value, constant(weight));
      if (weight * size < count)
        value = arith::RemUIOp::create(builder, value, constant(size));
      if (factor > 1)
        value = arith::MulIOp::create(builder, value, constant(factor));
      sum =
          sum ? arith::AddIOp::create(builder, sum, value).getResult() : value;
    }
    weight *= digit.size;
  }
  return sum;
}
