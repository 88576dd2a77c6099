//===- CheckLoops.cpp - Loops that would not end --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// scf assumes that loops count upwards. A step that comes from data may be 0 or
// less, and the loop would not end.
//
//===----------------------------------------------------------------------===//

#include "EndProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Support/CallMessages.h"

namespace mx {
#define GEN_PASS_DEF_MXCHECKLOOPS
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;
using namespace mx;

namespace {

bool isUnsigned(Operation *loop) {
  auto forOp = dyn_cast<scf::ForOp>(loop);
  return forOp && forOp.getUnsignedCmp();
}

/// In 64 bits, as messages show it.
Value widen(OpBuilder &builder, Location loc, Value step, bool isUnsigned) {
  Type i64 = builder.getI64Type();
  if (step.getType() == i64)
    return step;
  if (step.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, i64, step);
  if (step.getType().getIntOrFloatBitWidth() > 64)
    return arith::TruncIOp::create(builder, loc, i64, step);
  return isUnsigned ? Value(arith::ExtUIOp::create(builder, loc, i64, step))
                    : Value(arith::ExtSIOp::create(builder, loc, i64, step));
}

void requireUpwards(Operation *loop, Value step, ModuleOp module) {
  OpBuilder builder(loop);
  Location loc = loop->getLoc();
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(step.getType()));
  Value isUpwards = arith::CmpIOp::create(
      builder, loc,
      isUnsigned(loop) ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt,
      step, zero);
  createEndProgramUnless(builder, loc, module, isUpwards,
                         "error: " + std::string(kLoopStepMessage) + "%ld\n",
                         widen(builder, loc, step, isUnsigned(loop)));
}

struct CheckLoopsPass final : mx::impl::MXCheckLoopsBase<CheckLoopsPass> {
  void runOnOperation() override {
    SmallVector<std::pair<Operation *, Value>> steps;
    getOperation().walk([&](LoopLikeOpInterface loop) {
      std::optional<SmallVector<OpFoldResult>> found = loop.getLoopSteps();
      if (!found)
        return;
      for (OpFoldResult step : *found) {
        std::optional<int64_t> known = getConstantIntValue(step);
        if (auto value = dyn_cast<Value>(step); value && !(known && *known > 0))
          steps.push_back({loop, value});
      }
    });
    for (auto [loop, step] : steps)
      requireUpwards(loop, step, getOperation());
  }
};

} // namespace
