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

#include "FormatArith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_MXEXPANDHALFCONVERSIONS
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

bool isHalf(Type type) { return isa<Float16Type, BFloat16Type>(type); }
bool isFull(Type type) { return isa<Float32Type, Float64Type>(type); }

/// f32 as an f64; an f64 stays.
Value toF64(FormatArith &numbers, OpBuilder &builder, Location loc,
            Value value) {
  if (value.getType().isF64())
    return value;
  Int bits(builder, loc, Int(builder, loc, value).as(builder.getI32Type()));
  return numbers.widenToF64(bits);
}

struct ExpandHalfConversionsPass final
    : mx::impl::MXExpandHalfConversionsBase<ExpandHalfConversionsPass> {
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
    Value input = op->getOperand(0), result = op->getResult(0);
    Type from = getElementTypeOrSelf(input), to = getElementTypeOrSelf(result);
    bool narrows = isFull(from) && isHalf(to);
    auto vector = dyn_cast<VectorType>(result.getType());
    if ((!narrows && !(isHalf(from) && isFull(to))) ||
        (vector && vector.isScalable()))
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    FormatArith numbers(builder, loc, module);
    auto convert = [&](Value number) -> Value {
      if (narrows)
        return numbers.round(toF64(numbers, builder, loc, number), to);
      Int bits = numbers.widenToF32(number);
      return to.isF64() ? numbers.widenToF64(bits) : bits.as(to);
    };
    Value converted;
    if (vector) {
      SmallVector<Value> elements;
      for (SmallVector<int64_t> place : StaticTileOffsetRange(
               vector.getShape(), SmallVector<int64_t>(vector.getRank(), 1)))
        elements.push_back(
            convert(vector::ExtractOp::create(builder, loc, input, place)));
      converted =
          vector::FromElementsOp::create(builder, loc, vector, elements);
    } else {
      converted = convert(input);
    }
    result.replaceAllUsesWith(converted);
    op->erase();
  }
};

} // namespace
