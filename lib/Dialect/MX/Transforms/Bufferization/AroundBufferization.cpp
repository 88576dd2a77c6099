//===- AroundBufferization.cpp - Passes around bufferization --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXDESCRIBEENTRIES
#define GEN_PASS_DEF_MXREPLACEPOISON
#define GEN_PASS_DEF_MXRETURNWHOLE
#define GEN_PASS_DEF_MXSENDWHOLE
#define GEN_PASS_DEF_MXDROPDEALLOCATIONS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Before bufferization: types of functions
//
// Lowering replaces the types of arguments and results by their storage types.
// Callers need the original types to interpret the bytes.
//===----------------------------------------------------------------------===//

namespace {

struct DescribeEntries final
    : mx::impl::MXDescribeEntriesBase<DescribeEntries> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal())
        continue;
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
        function.setArgAttr(index, mx::kEntryTypeAttr, TypeAttr::get(type));
      for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
        function.setResultAttr(index, mx::kEntryTypeAttr, TypeAttr::get(type));
    }
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Before bufferization: poison
//
// Upstream's bufferization does not support ub.poison, although upstream passes
// create it.
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// After bufferization: results
//
// Upstream returns a slice of a buffer if the slice has an identity layout.
// However, callers of launch plans allocate memory only for the elements of the
// result.
//===----------------------------------------------------------------------===//

static Value copyToWhole(OpBuilder &builder, Location loc, Value memref,
                         MemRefType type) {
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, loc, memref, dim));
  Value whole = memref::AllocOp::create(builder, loc, type, sizes);
  memref::CopyOp::create(builder, loc, memref, whole);
  return whole;
}

static bool isSlice(Value memref) {
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
        if (!type || !type.getLayout().isIdentity() || !isSlice(operand.get()))
          continue;
        operand.set(copyToWhole(builder, op.getLoc(), operand.get(), type));
      }
    });
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// After bufferization: collectives
//===----------------------------------------------------------------------===//

static bool isWhole(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  return !type || type.getLayout().isIdentity();
}

namespace {
struct SendWhole final : mx::impl::MXSendWholeBase<SendWhole> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) -> WalkResult {
      // Its kernel copies pieces of contiguous rows.
      if (auto gather = dyn_cast<mx::GatherRowsOp>(op))
        if (auto type = dyn_cast<MemRefType>(gather.getInput().getType());
            type && !type.areTrailingDimsContiguous(type.getRank()))
          sendWhole(gather.getInputMutable());
      if (!isa<mx::AllGatherOp, mx::AllToAllOp>(op))
        return success();
      auto collective = cast<DestinationStyleOpInterface>(op);
      for (OpOperand *input : collective.getDpsInputOperands())
        sendWhole(*input);
      for (Value window : collective.getDpsInits())
        if (!isWhole(window))
          return op->emitOpError("expected a whole window, because other ranks "
                                 "write it in place, found a slice of type ")
                 << window.getType()
                 << ": pass the window and slice the result";
      return success();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  static void sendWhole(OpOperand &input) {
    if (isWhole(input.get()))
      return;
    auto type = cast<MemRefType>(input.get().getType());
    OpBuilder builder(input.getOwner());
    input.set(copyToWhole(
        builder, input.getOwner()->getLoc(), input.get(),
        MemRefType::get(type.getShape(), type.getElementType(),
                        MemRefLayoutAttrInterface(), type.getMemorySpace())));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// After bufferization: deallocations
//
// A launch plan frees its workspace as a whole. Upstream would compare
// addresses of buffers in host memory to determine ownership.
//===----------------------------------------------------------------------===//

namespace {
struct DropDeallocations final
    : mx::impl::MXDropDeallocationsBase<DropDeallocations> {
  void runOnOperation() override {
    // Upstream places deallocations itself and rejects memref.dealloc.
    getOperation()->walk([](memref::DeallocOp op) {
      if (op.getMemref().getDefiningOp<memref::AllocOp>())
        op.erase();
    });
    getOperation()->walk([](bufferization::DeallocOp op) {
      OpBuilder builder(op);
      // Functions that own no buffer return a clone, which is correct.
      for (Value isOwner : op->getResults())
        if (!isOwner.use_empty())
          isOwner.replaceAllUsesWith(arith::ConstantOp::create(
              builder, op.getLoc(), builder.getBoolAttr(false)));
      op.erase();
    });
  }
};
} // namespace
