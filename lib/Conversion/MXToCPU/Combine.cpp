//===- Combine.cpp - Lowering of mx.combine -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds the rows of each token in order, in f32. Sums that overwrite `out`, or
// are rounded to its type, are accumulated in separate memory.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

class CombineEmitter {
public:
  CombineEmitter(Emitter &emitter, CombineOp op, CombineOp::Adaptor adaptor)
      : emitter(emitter), builder(emitter.getBuilder()), loc(op.getLoc()),
        input(adaptor.getInput()), rows(adaptor.getRows()),
        out(adaptor.getOuts()[0]), offsets(adaptor.getOffsets()),
        overwrites(op.getOverwrite()), count(emitter.dim(input, 0)),
        columns(emitter.dim(input, 1)), tokens(emitter.dim(out, 0)),
        zero(emitter.index(0)) {}

  void emit() {
    emitter.checkExperts(offsets);
    emitter.checkDim("rows", array(rows), 0, count);
    emitter.checkDim("outs", array(out), 1, columns);
    if (!overwrites && array(out).type.isF32())
      return forEachRow([&](Int row, Int token) {
        forEachColumn([&](Int column) {
          emitAddition(emitter, load(input, row, column), out, {token, column});
        });
      });
    sums = allocateLike(builder, loc, out, builder.getF32Type());
    auto flags = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    hasSum = memref::AllocOp::create(builder, loc, flags, ValueRange(tokens));
    emitter.fillZero(hasSum);
    forEachRow([&](Int row, Int token) { addRow(row, token); });
    emitter.loop(zero, tokens, 1, [&](Int token) { storeSum(token); });
  }

private:
  Elements array(Value value) {
    return {value, getElementTypeOrSelf(value.getType())};
  }

  void forEachRow(llvm::function_ref<void(Int, Int)> body) {
    Int end = offsets ? emitter.loadEnd(offsets, count) : count;
    emitter.loop(zero, end, 1, [&](Int row) {
      emitIfRowExists(emitter, rows, row, tokens,
                      [&](Int token) { body(row, token); });
    });
  }
  void forEachColumn(llvm::function_ref<void(Int)> body) {
    emitter.loop(zero, columns, 1, body);
  }

  Value load(Value matrix, Int row, Int column) {
    return arith::BitcastOp::create(
        builder, loc, builder.getF32Type(),
        emitter.getNumbers().widenToF32(emitter.load(matrix, {row, column})));
  }

  Value loadFlag(Int token) {
    Int flag = emitter.wrap(emitter.load(hasSum, {token}));
    return arith::TruncIOp::create(builder, loc, builder.getI1Type(),
                                   Value(flag));
  }

  /// Adds a row to a token's sum, which starts with the row of `out`. Sums that
  /// overwrite `out` start with the first row, because 0 + -0 is 0.
  void addRow(Int row, Int token) {
    Value isSum = loadFlag(token);
    forEachColumn([&](Int column) {
      auto add = [&](Value sum, Value term) -> Value {
        return arith::AddFOp::create(builder, loc, sum, term);
      };
      Value term = load(input, row, column);
      Value next = add(emitter.load(sums, {token, column}), term);
      Value first = overwrites ? term : add(load(out, token, column), term);
      Value sum = arith::SelectOp::create(builder, loc, isSum, next, first);
      memref::StoreOp::create(builder, loc, sum, sums,
                              ValueRange{token, column});
    });
    Value yes =
        arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(1));
    memref::StoreOp::create(builder, loc, yes, hasSum, ValueRange(token));
  }

  void storeSum(Int token) {
    Type element = getElementTypeOrSelf(out.getType());
    scf::IfOp::create(
        builder, loc, loadFlag(token), [&](OpBuilder &, Location) {
          forEachColumn([&](Int column) {
            Value sum = emitter.load(sums, {token, column});
            if (!element.isF32())
              sum = arith::TruncFOp::create(builder, loc, element, sum);
            memref::StoreOp::create(builder, loc, sum, out,
                                    ValueRange{token, column});
          });
          scf::YieldOp::create(builder, loc);
        });
  }

  Emitter &emitter;
  OpBuilder &builder;
  Location loc;
  Value input, rows, out, offsets;
  bool overwrites;
  Int count, columns, tokens, zero;
  Value sums;   ///< f32, shape of `out`
  Value hasSum; ///< 1 for each token with a sum, else 0
};

} // namespace

static void lowerCombine(Emitter &emitter, CombineOp op,
                         CombineOp::Adaptor adaptor) {
  CombineEmitter(emitter, op, adaptor).emit();
}

void mx::cpu::populateCombinePatterns(const TypeConverter &converter,
                                      RewritePatternSet &patterns) {
  addPatterns<lowerCombine>(converter, patterns);
}
