//===- ExpandStridedCopies.cpp - Copies between views as loops ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The LLVM lowering of memref.copy calls memrefCopy of MLIR's runner library
// where an array is not contiguous; a process without that library should run
// the module too.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_MXEXPANDSTRIDEDCOPIES
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;

namespace {

bool isContiguous(Value array) {
  auto type = dyn_cast<MemRefType>(array.getType());
  return !type || type.getLayout().isIdentity();
}

void expand(memref::CopyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  int64_t rank = cast<MemRefType>(op.getTarget().getType()).getRank();
  SmallVector<Value> indices;
  for (int64_t i = 0; i < rank; ++i) {
    Value size = memref::DimOp::create(builder, loc, op.getTarget(), i);
    auto loop = scf::ForOp::create(builder, loc, zero, size, one);
    indices.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value element = memref::LoadOp::create(builder, loc, op.getSource(), indices);
  memref::StoreOp::create(builder, loc, element, op.getTarget(), indices);
  op.erase();
}

struct ExpandStridedCopiesPass final
    : mx::impl::MXExpandStridedCopiesBase<ExpandStridedCopiesPass> {
  void runOnOperation() override {
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp op) {
      bool ranked = isa<MemRefType>(op.getSource().getType()) &&
                    isa<MemRefType>(op.getTarget().getType());
      if (ranked &&
          !(isContiguous(op.getSource()) && isContiguous(op.getTarget())))
        copies.push_back(op);
    });
    llvm::for_each(copies, expand);
  }
};

} // namespace
