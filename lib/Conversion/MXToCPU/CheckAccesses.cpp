//===- CheckAccesses.cpp - Elements that there are not --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Indices, slices and sizes that come from data may lie outside of an array,
// and the reference path would read or write anywhere. Upstream's operations
// know what to ask at run time; here the program ends with a message where
// upstream's lowering of cf.assert would abort.
//
//===----------------------------------------------------------------------===//

#include "../Utils/ByteCounts.h"
#include "../Utils/HostMessages.h"
#include "EndProgram.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/StringExtras.h"

namespace mx {
#define GEN_PASS_DEF_MXCHECKACCESSES
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;
using namespace mx;

namespace {

struct CheckAccessesPass final
    : mx::impl::MXCheckAccessesBase<CheckAccessesPass> {
  void runOnOperation() override {
    SmallVector<RuntimeVerifiableOpInterface> accesses;
    // What upstream asks of a reshape is less than `checkSizes` does.
    getOperation().walk([&](RuntimeVerifiableOpInterface op) {
      if (!isa<memref::ExpandShapeOp>(op.getOperation()))
        accesses.push_back(op);
    });
    OpBuilder builder(&getContext());
    for (RuntimeVerifiableOpInterface op : accesses) {
      builder.setInsertionPoint(op);
      op.generateRuntimeVerification(builder, op.getLoc(), describeAccess);
    }
    SmallVector<memref::ExpandShapeOp> reshapes;
    getOperation().walk(
        [&](memref::ExpandShapeOp op) { reshapes.push_back(op); });
    llvm::for_each(reshapes, [&](auto op) { checkSizes(op); });
    SmallVector<cf::AssertOp> asserts;
    getOperation().walk([&](cf::AssertOp op) { asserts.push_back(op); });
    for (cf::AssertOp op : asserts)
      end(op);
    SmallVector<mxgpu::RequireOp> requirements;
    getOperation().walk(
        [&](mxgpu::RequireOp op) { requirements.push_back(op); });
    for (mxgpu::RequireOp op : requirements)
      end(op);
  }

  /// The sizes that a dimension becomes are given beside it.
  void checkSizes(memref::ExpandShapeOp op) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    forEachDoubtfulExtent(
        builder, op.getLoc(), op.getResultType(), op.getOutputShape(),
        [&](Value size, Value isValid, const std::string &format) {
          createEndProgramUnless(builder, op.getLoc(), getOperation(), isValid,
                                 "error: " + format + "\n", size);
        });
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
      bool isOpen = llvm::any_of(group, [&](int64_t part) {
        return op.getResultType().isDynamicDim(part);
      });
      if (group.size() == 1 || !isOpen)
        continue;
      Value elements = arith::ConstantIndexOp::create(builder, 1);
      for (int64_t part : group)
        elements = builder.createOrFold<arith::MulIOp>(
            elements,
            getValueOrCreateConstantIndexOp(builder, op.getLoc(), sizes[part]));
      Value found = memref::DimOp::create(builder, op.getSrc(), dim);
      Value same = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                         found, elements);
      createEndProgramUnless(builder, op.getLoc(), getOperation(), same,
                             "error: expected dimension " + Twine(dim) +
                                 " of what is reshaped to be %lld, found "
                                 "%lld\n",
                             {elements, found});
    }
  }

  /// An assertion of the user's too: a tool must not end by a signal.
  void end(cf::AssertOp op) {
    OpBuilder builder(op);
    std::string text = op.getMsg().str();
    for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += 2)
      text.insert(at, "%"); // printf's
    createEndProgramUnless(builder, op.getLoc(), getOperation(), op.getArg(),
                           "error: " + text + "\n", {});
    op.erase();
  }

  void end(mxgpu::RequireOp op) {
    OpBuilder builder(op);
    createEndProgramUnless(builder, op.getLoc(), getOperation(),
                           op.getCondition(),
                           "error: " + op.getMessage() + "\n", op.getValues());
    op.erase();
  }
};

} // namespace
