//===- PackWeights.cpp - mx.pack_weights as loops -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Elements keep their logical place; the Emitter knows where that is.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

struct PackWeightsOpLowering final : OpConversionPattern<PackWeightsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PackWeightsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(expectBufferized(op, rewriter)))
      return failure();
    Emitter emitter(rewriter, op);
    Elements from = getElements(op.getInput(), adaptor.getInput());
    Elements to = getElements(op.getOuts()[0], adaptor.getOuts()[0]);
    to.isPacked = true;
    int64_t batch = from.getLogicalRank() - 2;
    Int rows = emitter.dim(from, batch), columns = emitter.dim(from, batch + 1);
    for (int64_t i = 0; i < batch; ++i)
      emitter.checkDim("outs", to, i, emitter.dim(from, i));
    emitter.checkPacked("outs", to, rows, columns);
    emitter.fillZero(to);
    emitter.loopOverDims(from.memref, batch, [&](ArrayRef<Value> matrix) {
      emitter.loop(emitter.index(0), rows, 1, [&](Int row) {
        emitter.loop(emitter.index(0), columns, 1, [&](Int column) {
          SmallVector<Value> place(matrix);
          place.append({row, column});
          emitter.storeCode(emitter.loadCode(from, place), to, place);
        });
      });
    });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mx::cpu::populatePackWeightsPatterns(const TypeConverter &converter,
                                          RewritePatternSet &patterns) {
  patterns.add<PackWeightsOpLowering>(converter, patterns.getContext());
}
