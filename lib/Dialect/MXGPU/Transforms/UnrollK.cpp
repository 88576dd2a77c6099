//===- UnrollK.cpp - Unrolling of loops over K ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Splits a loop over K into a loop with `factor` steps per body and a loop for
// the remaining steps. Only the very last step may be short.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUUNROLLK
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

class Unroller {
public:
  Unroller(ForEachKOp loop, int64_t factor)
      : loop(loop), factor(factor), step(loop.getStep()),
        builder(loop.getLoc(), loop) {}

  void unroll() {
    // The loop runs ceil((end - start) / step) steps. The main loop, with
    // `factor` steps per body, ends at `middle`.
    Value start = loop.getStart(), end = loop.getEnd();
    // If the end precedes the start, the loop runs no iterations.
    Value length = sub(builder.createOrFold<arith::MaxSIOp>(start, end), start);
    Value steps = builder.createOrFold<arith::CeilDivUIOp>(length, index(step));
    Value bodies = builder.createOrFold<arith::DivUIOp>(steps, index(factor));
    Value whole =
        builder.createOrFold<arith::MulIOp>(bodies, index(factor * step));
    Value middle = builder.createOrFold<arith::MinUIOp>(
        builder.createOrFold<arith::AddIOp>(start, whole), end);

    ForEachKOp main = createLoop(start, middle, factor * step, loop.getInits());
    SmallVector<Value> carried(main.getRegionIterArgs());
    for (int64_t i = 0; i < factor; ++i)
      carried = cloneStep(main, i, carried);
    finish(main, carried);

    ForEachKOp rest = createLoop(middle, end, step, main.getResults());
    // The remaining loop runs the first step only if the main loop did not run.
    Value isFirstStep = arith::AndIOp::create(
        builder, rest.getFirst(),
        arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, middle,
                              start));
    finish(rest, cloneBody({rest.getK(), rest.getExtent(), isFirstStep},
                           rest.getRegionIterArgs()));
    loop.replaceAllUsesWith(rest.getResults());
    loop.erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  }
  Value sub(Value a, Value b) {
    return builder.createOrFold<arith::SubIOp>(a, b);
  }

  /// Creates an empty loop and moves the insertion point into it.
  ForEachKOp createLoop(Value start, Value end, int64_t step,
                        ValueRange initial) {
    auto created = ForEachKOp::create(builder, initial.getTypes(), start, end,
                                      initial, step);
    Block &body = created.getBody().emplaceBlock();
    for (BlockArgument argument : loop.getBody().getArguments())
      body.addArgument(argument.getType(), argument.getLoc());
    builder.setInsertionPointToStart(&body);
    return created;
  }

  void finish(ForEachKOp created, ValueRange carried) {
    mxgpu::YieldOp::create(builder, carried);
    builder.setInsertionPointAfter(created);
  }

  /// Clones the body for step `i` of an iteration.
  SmallVector<Value> cloneStep(ForEachKOp main, int64_t i, ValueRange carried) {
    Value k = main.getK(), extent = index(step), isFirstStep = main.getFirst();
    if (i > 0) {
      k = arith::AddIOp::create(builder, k, index(i * step));
      isFirstStep =
          arith::ConstantOp::create(builder, builder.getBoolAttr(false));
    }
    if (i == factor - 1)
      extent = sub(main.getExtent(), index(i * step));
    return cloneBody({k, extent, isFirstStep}, carried);
  }

  SmallVector<Value> cloneBody(ValueRange arguments, ValueRange carried) {
    IRMapping mapping;
    mapping.map(loop.getBody().getArguments().take_front(3), arguments);
    mapping.map(loop.getRegionIterArgs(), carried);
    for (Operation &op : loop.getBody().front().without_terminator())
      builder.clone(op, mapping);
    return llvm::map_to_vector(loop.getYield().getValues(), [&](Value value) {
      return mapping.lookupOrDefault(value);
    });
  }

  ForEachKOp loop;
  int64_t factor, step;
  ImplicitLocOpBuilder builder;
};

struct UnrollKPass final : mxgpu::impl::MXGPUUnrollKBase<UnrollKPass> {
  using Base::Base;

  void runOnOperation() override {
    if (factor < 1) {
      getOperation().emitError("expected a factor of at least 1, found ")
          << int64_t(factor);
      return signalPassFailure();
    }
    SmallVector<ForEachKOp> loops;
    getOperation().walk([&](ForEachKOp loop) { loops.push_back(loop); });
    for (ForEachKOp loop : loops)
      if (factor > 1)
        Unroller(loop, factor).unroll();
  }
};

} // namespace
