//===- ReplacePoison.cpp - Tensors that nothing looks at ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Upstream's bufferization knows no ub.poison, which it makes itself.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXREPLACEPOISON
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {
struct ReplacePoison final : mx::impl::MXReplacePoisonBase<ReplacePoison> {
  void runOnOperation() override {
    getOperation()->walk([](ub::PoisonOp op) {
      auto type = dyn_cast<RankedTensorType>(op.getType());
      if (!type)
        return;
      OpBuilder builder(op);
      SmallVector<Value> sizes;
      for (size_t dim = 0, end = type.getNumDynamicDims(); dim < end; ++dim)
        sizes.push_back(
            arith::ConstantIndexOp::create(builder, op.getLoc(), 0));
      op.replaceAllUsesWith(
          tensor::EmptyOp::create(builder, op.getLoc(), type, sizes)
              .getResult());
      op.erase();
    });
  }
};
} // namespace
