//===- PermuteReduction.cpp - Numbers in the order of threads -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// With scales, what mx.permute_reduction comes to: mx.dequantize, and
// mx.permute_reduction of its result.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Support/ReductionOrder.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

/// Thread t has run t of each block, of which pair i comes after pair i of
/// the threads before it.
static Int getPlace(Int column, int64_t run) {
  Int in = column % (run * kReductionLanes);
  Int lane = in / run;
  Int pair = in % run / kReductionPair;
  Int place = (pair * kReductionLanes + lane) * kReductionPair;
  place = place + in % kReductionPair;
  return place + (column - in);
}

static void lowerPermuteReduction(Emitter &emitter, PermuteReductionOp op,
                                  PermuteReductionOp::Adaptor adaptor) {
  OpBuilder &builder = emitter.getBuilder();
  Value input = adaptor.getInput(), out = adaptor.getOuts()[0];
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  Elements elements = getElements(op.getInput(), input);
  for (int64_t i = 0; i < rank; ++i)
    emitter.checkDim("input", elements, i, emitter.dim(out, i));
  Int rows = emitter.dim(out, rank - 2), columns = emitter.dim(out, rank - 1);
  int64_t run =
      getReductionRun(cast<MemRefType>(out.getType()).getShape().back());
  emitter.loopOverDims(out, rank - 2, [&](ArrayRef<Value> batch) {
    emitter.loop(emitter.index(0), rows, 1, [&](Int row) {
      emitter.loop(emitter.index(0), columns, 1, [&](Int column) {
        SmallVector<Value> source(batch), target(batch);
        source.append({row, column});
        target.append({row, getPlace(column, run)});
        Value number =
            memref::LoadOp::create(builder, op.getLoc(), input, source);
        memref::StoreOp::create(builder, op.getLoc(), number, out, target);
      });
    });
  });
}

void mx::cpu::decomposePermutations(Operation *root) {
  SmallVector<PermuteReductionOp> ops;
  root->walk([&](PermuteReductionOp op) {
    if (op.getScales())
      ops.push_back(op);
  });
  for (PermuteReductionOp op : ops) {
    OpBuilder builder(op);
    Value out = op.getOuts()[0];
    Value numbers = allocateLike(builder, op.getLoc(), out,
                                 getElementTypeOrSelf(out.getType()));
    DequantizeOp::create(builder, op.getLoc(), TypeRange(), op.getInput(),
                         op.getScales(), /*global_scale=*/Value(),
                         op.getOffsets(), numbers, op.getRaggedAttr(),
                         /*padded=*/UnitAttr(), op.getBlockSizeAttr());
    op.getInputMutable().assign(numbers);
    op.getScalesMutable().clear();
    op.getOffsetsMutable().clear();
    op.removeRaggedAttr();
    op.setBlockSize(32);
  }
}

void mx::cpu::populatePermuteReductionPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns) {
  addPatterns<lowerPermuteReduction>(converter, patterns);
}
