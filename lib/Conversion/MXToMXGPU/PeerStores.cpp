//===- PeerStores.cpp - Accesses to windows of other ranks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective moves to the kernel that computes its input, or the other way
// round, so nothing else may use the arrays in between.
//===----------------------------------------------------------------------===//

#include "Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

using namespace mlir;
using namespace mx;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXPEERSTORES
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

/// Returns the operations of type `First` and `Second` if they are in the same
/// block, in this order, and are the only users of `array`.
template <typename First, typename Second>
static std::pair<First, Second> findUsers(Value array) {
  First first;
  Second second;
  for (Operation *user : array.getUsers()) {
    if (isa<memref::DimOp>(user))
      continue;
    if (isa<First>(user) && !first)
      first = cast<First>(user);
    else if (isa<Second>(user) && !second)
      second = cast<Second>(user);
    else
      return {};
  }
  if (!first || !second || first->getBlock() != second->getBlock() ||
      !first->isBeforeInBlock(second))
    return {};
  return {first, second};
}

/// Returns the window that a collective of several ranks receives, or null.
template <typename Collective>
static WindowOp getWindow(Collective op) {
  auto window = op.getOuts()[0].template getDefiningOp<WindowOp>();
  bool isKnown = window && window->getBlock() == op->getBlock();
  return isKnown && op.getGroupOp().getSize() > 1 ? window : WindowOp();
}

static Value isMapped(mx::ArithBuilder &builder, StringRef group) {
  return builder.isNot(
      builder.isEqual(PeersOp::create(builder, group), builder.index(0)));
}

/// Inserts a barrier if `isMapped` is true. Moves `others` to the other branch.
static void barrier(mx::ArithBuilder &builder, Value isMapped, StringRef group,
                    ArrayRef<Operation *> others = {}) {
  auto ifOp = scf::IfOp::create(builder, isMapped, !others.empty());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  BarrierOp::create(builder, group);
  for (Operation *other : others)
    other->moveBefore(ifOp.elseBlock()->getTerminator());
}

/// Lets a quantizer store to all windows that gather its results.
static void storeToPeers(FusedQuantizeOp op) {
  if (!mxgpu::canStoreToPeers(op))
    return;
  SmallVector<Operation *> gathers;
  StringRef group;
  for (Value out : op.getDestination(0)) {
    auto gather = findUsers<FusedQuantizeOp, AllGatherOp>(out).second;
    WindowOp window = gather ? getWindow(gather) : WindowOp();
    auto isEarlier = [&](Operation *user) {
      Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
      return !inBlock || inBlock->isBeforeInBlock(gather);
    };
    if (!window || !out.getDefiningOp<memref::AllocOp>() ||
        (!gathers.empty() && window.getGroup() != group) ||
        llvm::any_of(window->getUsers(), isEarlier))
      return;
    group = window.getGroup();
    gathers.push_back(gather);
  }
  mx::ArithBuilder builder(op->getLoc(), op);
  Value mapped = isMapped(builder, group);
  barrier(builder, mapped, group);
  for (Operation *operation : gathers) {
    auto gather = cast<AllGatherOp>(operation);
    Value window = gather.getOuts()[0], out = gather.getInput();
    window.getDefiningOp()->moveBefore(&op->getBlock()->front());
    Value rows = memref::DimOp::create(builder, out, 0);
    op->replaceUsesOfWith(
        out, ToPeersOp::create(builder, out.getType(), group, window, rows));
    gather.getInputMutable().clear();
  }
  builder.setInsertionPointAfter(op);
  barrier(builder, mapped, group, gathers);
}

/// Lets an ordered sum read rows in the windows of the ranks that computed
/// them.
static void loadFromPeers(AllToAllOp op) {
  WindowOp window = getWindow(op);
  auto local = findUsers<CombineOp, AllToAllOp>(op.getInput()).first;
  auto sum = findUsers<AllToAllOp, CombineOp>(op.getOuts()[0]).second;
  if (!window || !local || !sum || local.getOuts()[0] != op.getInput() ||
      !op.getInput().getDefiningOp<memref::AllocOp>() ||
      sum.getInput() != window || sum.getOrder() != AdditionOrder::Fixed)
    return;
  window->moveBefore(local);
  mx::ArithBuilder builder(local->getLoc(), local);
  StringRef group = window.getGroup();
  Value mapped = isMapped(builder, group);
  local.getOutsMutable().assign(builder.select(mapped, window, op.getInput()));
  builder.setInsertionPoint(sum);
  sum.getInputMutable().assign(FromPeersOp::create(builder, group, window));
  // Peers must have read the rows before this rank writes the window again.
  builder.setInsertionPointAfter(sum);
  barrier(builder, mapped, group);
  builder.setInsertionPoint(op);
  barrier(builder, mapped, group, op.getOperation());
}

namespace {
struct PeerStoresPass final
    : mx::mxgpu::impl::MXPeerStoresBase<PeerStoresPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (auto quantize = dyn_cast<FusedQuantizeOp>(op))
        storeToPeers(quantize);
      if (auto exchange = dyn_cast<AllToAllOp>(op))
        loadFromPeers(exchange);
    }
  }
};
} // namespace
