//===- ExpandHalfConversions.cpp - f16 and bf16 by integer arithmetic -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Epilogues and the operations around mx convert between f32 and its halves.
// Left to LLVM, that is a call of a library that a JIT may not find, and a
// rounding that differs with the host's instructions in NaNs and, from f64, by
// a second rounding.
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_EXPANDHALFCONVERSIONS
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;
using namespace mx::cpu;

namespace {

bool isHalf(Type type) { return isa<Float16Type, BFloat16Type>(type); }
bool isFull(Type type) { return isa<Float32Type, Float64Type>(type); }

/// f32 as an f64; an f64 stays.
Value toF64(Numbers &numbers, OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isF64())
    return value;
  Int bits(builder, loc, Int(builder, loc, value).as(builder.getI32Type()));
  return numbers.widenToF64(bits);
}

struct ExpandHalfConversionsPass final
    : mx::impl::ExpandHalfConversionsBase<ExpandHalfConversionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      expand(op, module);
  }

  void expand(Operation *op, ModuleOp module) {
    Value input = op->getOperand(0);
    Type from = input.getType(), to = op->getResult(0).getType();
    bool narrows = isFull(from) && isHalf(to);
    if (!narrows && !(isHalf(from) && isFull(to)))
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Numbers numbers(builder, loc, module);
    Value result;
    if (narrows) {
      result = numbers.round(toF64(numbers, builder, loc, input), to);
    } else {
      Int bits = numbers.widenToF32(input);
      result = to.isF64() ? numbers.widenToF64(bits) : bits.as(to);
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
};

} // namespace
