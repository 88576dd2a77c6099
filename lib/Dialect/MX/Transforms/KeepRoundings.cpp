//===- KeepRoundings.cpp - Conversions that nothing may leave out ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Arithmetic on f16 and bf16 is rounded to its type after every operation, on
// all paths; extf(truncf(x)) is x only where flags allow it.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXKEEPROUNDINGS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {
struct KeepRoundings final : mx::impl::MXKeepRoundingsBase<KeepRoundings> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto widened = dyn_cast<arith::ExtFOp>(op))
        widened.setFastmathAttr({});
      else if (auto rounded = dyn_cast<arith::TruncFOp>(op))
        rounded.setFastmathAttr({});
    });
  }
};
} // namespace
