//===- ReturnWhole.cpp - Results are arrays of their own ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Upstream returns a part of a buffer that happens to have the layout of a
// whole one. Who calls a launch plan gives it memory for the result, no more.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXRETURNWHOLE
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

static bool isPart(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::SubViewOp>(view.getOperation()))
      return true;
    memref = view.getViewSource();
  }
  return false;
}

namespace {
struct ReturnWhole final : mx::impl::MXReturnWholeBase<ReturnWhole> {
  void runOnOperation() override {
    getOperation()->walk([](func::ReturnOp op) {
      OpBuilder builder(op);
      for (OpOperand &operand : op->getOpOperands()) {
        auto type = dyn_cast<MemRefType>(operand.get().getType());
        if (!type || !type.getLayout().isIdentity() || !isPart(operand.get()))
          continue;
        SmallVector<Value> sizes;
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          if (type.isDynamicDim(dim))
            sizes.push_back(memref::DimOp::create(builder, op.getLoc(),
                                                  operand.get(), dim));
        Value whole =
            memref::AllocOp::create(builder, op.getLoc(), type, sizes);
        memref::CopyOp::create(builder, op.getLoc(), operand.get(), whole);
        operand.set(whole);
      }
    });
  }
};
} // namespace
