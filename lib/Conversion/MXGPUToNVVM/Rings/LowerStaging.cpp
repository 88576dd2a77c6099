//===- LowerStaging.cpp - Lowering of staging rings -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp writes 32 rows to its own stage, and an elected thread starts their
// bulk copy. This thread waits for bulk groups, which complete in order (PTX
// ISA, cp.async.bulk.wait_group), until the copy has read the stage. No
// mbarrier is needed, because elect.sync always elects the same thread.
//
// If a role shares its stages, its first thread starts the copies after a
// barrier of the role.
//===----------------------------------------------------------------------===//

#include "LowerRings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::mxgpu;
using namespace mx::mxbar;

namespace {

class StagingOfRole {
public:
  StagingOfRole(RingOp ring, RoleOp role)
      : ring(ring), type(ring.getType()), role(role),
        ofWarp(type.getScope() == Scope::Warp),
        builder(role.getLoc(), role.getContext()) {}

  LogicalResult lower() {
    Block &body = role.getBody().front();
    builder.setInsertionPointToStart(&body);
    Type stageType = StageType::get(builder.getContext(), type);
    SmallVector<Value> start = {
        GetStageOp::create(builder, stageType, ring, 0).getStage()};
    auto isTake = [&](Operation *op) {
      return isa<ProducerAcquireOp>(op) && op->getOperand(0) == ring;
    };
    auto afterTake = [&](Operation *take, ValueRange at) {
      return lowerTake(cast<ProducerAcquireOp>(take), at[0]);
    };
    if (failed(carryThrough(body, start, {isTake, afterTake})))
      return failure();
    // Wait for all stores at the end of the role.
    builder.setInsertionPointToEnd(&body);
    byStoringThread([&] { builder.waitStores(0, /*read=*/false); });
    return success();
  }

private:
  /// Emits `body` for the thread that starts the copies of a stage.
  void byStoringThread(llvm::function_ref<void()> body) {
    if (ofWarp)
      return byElected(builder, body);
    Value first = builder.i32(role.getFirstWarp() * mx::target::kWarpSize);
    Value isFirstThread = arith::CmpIOp::create(
        builder, arith::CmpIPredicate::eq, builder.threadId(), first);
    auto ifOp = scf::IfOp::create(builder, isFirstThread, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    body();
  }

  void syncSharers() {
    if (ofWarp)
      return builder.syncWarp();
    builder.syncThreads(role.getNamedBarrier(),
                        role.getWarps() * mx::target::kWarpSize);
  }

  SmallVector<Value> lowerTake(ProducerAcquireOp take, Value stage) {
    builder.setInsertionPoint(take);
    builder.setLoc(take.getLoc());
    byStoringThread(
        [&] { builder.waitStores(type.getStages() - 1, /*read=*/true); });
    syncSharers();
    Value warp;
    if (ofWarp)
      warp = arith::SubIOp::create(builder, builder.warpInCta(),
                                   builder.i32(role.getFirstWarp()));
    auto buffers = StageBuffersOp::create(builder, ring, stage,
                                          /*tensor_memory=*/Value(), warp);
    Value next = builder.createOrFold<NextStageOp>(stage);
    lowerCopies(take);
    for (Operation *user :
         llvm::make_early_inc_range(take.getStage().getUsers()))
      if (auto commit = dyn_cast<ProducerCommitOp>(user))
        lowerCommit(commit);
    replaceTake(take, stage, buffers.getBuffers());
    return {next};
  }

  /// Commits the started copies as a bulk group.
  void lowerCommit(ProducerCommitOp commit) {
    builder.setInsertionPoint(commit);
    builder.setLoc(commit.getLoc());
    if (!ofWarp)
      byStoringThread([&] { builder.commitStores(); });
    commit.erase();
  }

  /// Lowers the copies from a stage. Synchronizes the threads that share the
  /// stage before the first copy, or before each copy if the stage belongs to a
  /// warp.
  void lowerCopies(ProducerAcquireOp take) {
    SmallVector<Operation *> copies;
    role.walk([&](Operation *op) {
      if (isa<TmaStoreOp, BulkStoreOp, StoreRowsOp>(op) &&
          op->getOperand(0).getDefiningOp() == take)
        copies.push_back(op);
    });
    for (auto [i, copy] : llvm::enumerate(copies)) {
      builder.setInsertionPoint(copy);
      builder.setLoc(copy->getLoc());
      bool waits = ofWarp || i == 0;
      if (auto rows = dyn_cast<StoreRowsOp>(copy)) {
        if (waits)
          syncSharers();
        expandRows(rows);
        continue;
      }
      if (auto store = dyn_cast<TmaStoreOp>(copy)) {
        // Insert before the proxy fence, which must stay next to the copy.
        if (isa_and_present<NVVM::FenceProxyOp>(copy->getPrevNode()))
          builder.setInsertionPoint(copy->getPrevNode());
        narrowCoords(store);
        builder.setInsertionPoint(copy);
      }
      if (waits)
        syncSharers();
      // Commit a group even if the condition skips the copy, because the waits
      // count one group per stage.
      byStoringThread([&] {
        startCopy(copy);
        if (ofWarp)
          builder.commitStores();
      });
    }
  }

  /// Truncates coordinates to 32 bits before the branch around the copy.
  /// Otherwise all 64 bits would stay live until the branch.
  void narrowCoords(TmaStoreOp store) {
    for (OpOperand &coord : store.getCoordsMutable())
      coord.set(arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                             builder.toI32(coord.get())));
  }

  /// Moves a copy to the insertion point, under its condition.
  void startCopy(Operation *copy) {
    OpBuilder::InsertionGuard guard(builder);
    Value condition = llvm::TypeSwitch<Operation *, Value>(copy)
                          .Case<TmaStoreOp, BulkStoreOp>(
                              [](auto op) { return op.getCondition(); });
    if (condition) {
      auto ifOp = scf::IfOp::create(builder, condition, /*withElse=*/false);
      builder.setInsertionPointToStart(ifOp.thenBlock());
    }
    llvm::TypeSwitch<Operation *>(copy).Case<TmaStoreOp, BulkStoreOp>(
        [](auto op) { op.getConditionMutable().clear(); });
    copy->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  }

  /// Lets threads store the valid rows 16 bytes at a time, because a bulk copy
  /// would overwrite rows of the next expert group. Rows outside the tensor are
  /// never written, whatever the offsets are.
  void expandRows(StoreRowsOp op) {
    OpBuilder::InsertionGuard guard(builder);
    auto ifOp =
        scf::IfOp::create(builder, op.getCondition(), /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    BufferType buffer = op.getBuffer().getType();
    constexpr int64_t kChunkBits = 16 * 8;
    int64_t chunk =
        kChunkBits / buffer.getElementType().getIntOrFloatBitWidth();
    int64_t panels = buffer.getShape().size() == 3 ? buffer.getShape()[0] : 1;
    int64_t inRow = panels * buffer.getShape().back() / chunk;
    int64_t threads = role.getWarps() * mx::target::kWarpSize;
    Value thread = builder.toI32(ThreadIdOp::create(builder));
    Value chunks = builder.mul(builder.toI32(op.getRows()), builder.i32(inRow));
    auto loop =
        scf::ForOp::create(builder, thread, chunks, builder.i32(threads));
    builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    auto toIndex = [&](Value value) -> Value {
      return arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                          value);
    };
    Value row =
        toIndex(arith::DivUIOp::create(builder, number, builder.i32(inRow)));
    Value column = toIndex(
        builder.mul(arith::RemUIOp::create(builder, number, builder.i32(inRow)),
                    builder.i32(chunk)));
    Value values = LoadSharedOp::create(
        builder, VectorType::get(chunk, buffer.getElementType()),
        op.getBuffer(), row, column, /*rows=*/Value());
    StoreBlockOp::create(builder, values, op.getDest(),
                         builder.add(op.getRow(), row),
                         builder.add(op.getColumn(), column));
    op.erase();
  }

  RingOp ring;
  RingType type;
  RoleOp role;
  /// True if each warp owns its stages.
  bool ofWarp;
  NVVMBuilder builder;
};

} // namespace

LogicalResult mx::mxgpu::lowerStaging(RingOp ring, RoleOp role) {
  return StagingOfRole(ring, role).lower();
}
