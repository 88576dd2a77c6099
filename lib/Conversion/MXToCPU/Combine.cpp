//===- Combine.cpp - mx.combine as loops ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rows are added in their order, in f32.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

void mx::cpu::emitIfRowExists(Emitter &emitter, Value rows, Int row, Int count,
                              llvm::function_ref<void(Int)> body) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Int to = emitter.wrap(emitter.load(rows, {row})).to(builder.getIndexType());
  // As unsigned numbers, negative ones are beyond any row.
  Value exists =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, to, count);
  scf::IfOp::create(builder, loc, exists, [&](OpBuilder &, Location) {
    body(to);
    scf::YieldOp::create(builder, loc);
  });
}

void mx::cpu::emitAddition(Emitter &emitter, Value term, Value out,
                           ArrayRef<Value> place) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Value sum =
      arith::AddFOp::create(builder, loc, emitter.load(out, place), term);
  memref::StoreOp::create(builder, loc, sum, out, place);
}

namespace {

struct CombineOpLowering final : OpConversionPattern<CombineOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(CombineOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(expectBufferized(op, rewriter)))
      return failure();
    Emitter emitter(rewriter, op);
    emitter.checkGroups(adaptor.getOffsets());
    Value input = adaptor.getInput(), rows = adaptor.getRows();
    Value out = adaptor.getOuts()[0], offsets = adaptor.getOffsets();
    Int count = emitter.dim(input, 0), columns = emitter.dim(input, 1);
    auto array = [&](Value value) {
      return Elements{value, getElementTypeOrSelf(value.getType())};
    };
    emitter.checkDim("rows", array(rows), 0, count);
    emitter.checkDim("outs", array(out), 1, columns);
    Int zero = emitter.index(0), end = count;
    if (offsets)
      end = emitter.loadEnd(offsets, count);
    FormatArith &numbers = emitter.getNumbers();
    emitter.loop(zero, end, 1, [&](Int row) {
      emitIfRowExists(emitter, rows, row, emitter.dim(out, 0), [&](Int to) {
        emitter.loop(zero, columns, 1, [&](Int column) {
          Value term = arith::BitcastOp::create(
              rewriter, op.getLoc(), rewriter.getF32Type(),
              numbers.widenToF32(emitter.load(input, {row, column})));
          emitAddition(emitter, term, out, {to, column});
        });
      });
    });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mx::cpu::populateCombinePatterns(const TypeConverter &converter,
                                      RewritePatternSet &patterns) {
  patterns.add<CombineOpLowering>(converter, patterns.getContext());
}
