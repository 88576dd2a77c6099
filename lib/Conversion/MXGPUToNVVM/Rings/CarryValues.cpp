//===- CarryValues.cpp - Values that loops and branches carry -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CarryValues.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// What is carried stands before what loops carry already: so LLVM puts
/// variables that it makes values of, and its order of sums depends on that.
class Carrier {
public:
  Carrier(MLIRContext *context, const Changes &changes)
      : rewriter(context), changes(changes) {}

  FailureOr<SmallVector<Value>> carry(Block &block, ValueRange start) {
    SmallVector<Value> values(start);
    // Known before, because a change erases operations that follow it.
    SmallVector<Operation *> places;
    for (Operation &op : block)
      if (hasChange(op))
        places.push_back(&op);
    for (Operation *op : places) {
      if (changes.isChange(op)) {
        values = changes.change(op, values);
        continue;
      }
      FailureOr<SmallVector<Value>> after = failure();
      if (auto loop = dyn_cast<scf::ForOp>(op))
        after = carryFor(loop, values);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        after = carryIf(branch, values);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        after = carryWhile(loop, values);
      else
        op->emitOpError("expected scf.for, scf.if or scf.while around what "
                        "takes a stage");
      if (failed(after))
        return failure();
      values = *after;
    }
    return values;
  }

private:
  bool hasChange(Operation &op) {
    return op
        .walk([&](Operation *inner) {
          return changes.isChange(inner) ? WalkResult::interrupt()
                                         : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Lets the block's terminator pass on what the values are at its end.
  LogicalResult carryToEnd(Block &block, ValueRange values) {
    FailureOr<SmallVector<Value>> end = carry(block, values);
    if (failed(end))
      return failure();
    Operation *terminator = block.getTerminator();
    terminator->insertOperands(isa<scf::ConditionOp>(terminator), *end);
    return success();
  }

  /// The block's new arguments of the types of `values`, from number `first`
  /// on.
  static ValueRange addArguments(Block &block, unsigned first,
                                 ValueRange values, Location loc) {
    for (auto [i, value] : llvm::enumerate(values))
      block.insertArgument(first + i, value.getType(), loc);
    return block.getArguments().slice(first, values.size());
  }

  /// Moves the regions of `op` to `grown`, which has more results.
  void replace(Operation *op, Operation *grown) {
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), grown->getRegions()))
      to.takeBody(from);
    op->replaceAllUsesWith(grown->getResults().take_back(op->getNumResults()));
    op->erase();
  }

  SmallVector<Type> getTypes(Operation *op, ValueRange values) {
    SmallVector<Type> types(values.getTypes());
    llvm::append_range(types, op->getResultTypes());
    return types;
  }

  FailureOr<SmallVector<Value>> carryFor(scf::ForOp loop, ValueRange values) {
    rewriter.setInsertionPoint(loop);
    SmallVector<Value> inits(values);
    llvm::append_range(inits, loop.getInitArgs());
    auto grown =
        scf::ForOp::create(rewriter, loop.getLoc(), loop.getLowerBound(),
                           loop.getUpperBound(), loop.getStep(), inits);
    grown->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    replace(loop, grown);
    Block &body = *grown.getBody();
    ValueRange arguments = addArguments(body, 1, values, grown.getLoc());
    if (failed(carryToEnd(body, arguments)))
      return failure();
    return llvm::to_vector(
        ValueRange(grown.getResults().take_front(values.size())));
  }

  FailureOr<SmallVector<Value>> carryIf(scf::IfOp branch, ValueRange values) {
    rewriter.setInsertionPoint(branch);
    auto grown = scf::IfOp::create(rewriter, branch.getLoc(),
                                   TypeRange(getTypes(branch, values)),
                                   branch.getCondition(),
                                   /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
    replace(branch, grown);
    if (grown.getElseRegion().empty()) {
      rewriter.createBlock(&grown.getElseRegion());
      scf::YieldOp::create(rewriter, grown.getLoc());
    }
    for (Block *block : {grown.thenBlock(), grown.elseBlock()})
      if (failed(carryToEnd(*block, values)))
        return failure();
    return llvm::to_vector(
        ValueRange(grown.getResults().take_front(values.size())));
  }

  FailureOr<SmallVector<Value>> carryWhile(scf::WhileOp loop,
                                           ValueRange values) {
    rewriter.setInsertionPoint(loop);
    SmallVector<Value> inits(values);
    llvm::append_range(inits, loop.getInits());
    auto grown = scf::WhileOp::create(rewriter, loop.getLoc(),
                                      TypeRange(getTypes(loop, values)), inits);
    replace(loop, grown);
    for (Region *region : {&grown.getBefore(), &grown.getAfter()}) {
      Block &block = region->front();
      ValueRange arguments = addArguments(block, 0, values, grown.getLoc());
      if (failed(carryToEnd(block, arguments)))
        return failure();
    }
    return llvm::to_vector(
        ValueRange(grown.getResults().take_front(values.size())));
  }

  IRRewriter rewriter;
  const Changes &changes;
};

} // namespace

FailureOr<SmallVector<Value>> mx::mxgpu::carryThrough(Block &block,
                                                      ValueRange values,
                                                      const Changes &changes) {
  return Carrier(block.getParent()->getContext(), changes).carry(block, values);
}
