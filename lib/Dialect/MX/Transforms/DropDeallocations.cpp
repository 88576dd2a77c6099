//===- DropDeallocations.cpp - Memory that is not given back --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A launch plan has a workspace, which it leaves as a whole. Upstream would
// compare addresses of buffers in host memory to find out who frees them.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXDROPDEALLOCATIONS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {
struct DropDeallocations final
    : mx::impl::MXDropDeallocationsBase<DropDeallocations> {
  void runOnOperation() override {
    // Whoever allocates by hand frees by hand; upstream, which finds the place
    // by itself, takes no such program.
    getOperation()->walk([](memref::DeallocOp op) {
      if (op.getMemref().getDefiningOp<memref::AllocOp>())
        op.erase();
    });
    getOperation()->walk([](bufferization::DeallocOp op) {
      OpBuilder builder(op);
      // Who owns nothing has a buffer cloned that it returns or yields, which
      // is always right.
      for (Value isOwner : op->getResults())
        if (!isOwner.use_empty())
          isOwner.replaceAllUsesWith(arith::ConstantOp::create(
              builder, op.getLoc(), builder.getBoolAttr(false)));
      op.erase();
    });
  }
};
} // namespace
