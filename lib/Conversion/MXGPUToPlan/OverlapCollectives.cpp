//===- OverlapCollectives.cpp - Collectives beside launches ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXGPUToPlan/MXGPUToPlan.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"

using namespace mlir;
using namespace mx;
using mxgpu::RequireOp;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXOVERLAPCOLLECTIVES
#include "mx/Conversion/MXGPUToPlan/Passes.h.inc"
} // namespace mx::mxgpu

/// Memory used by an operation: allocations, windows, constants and arguments
/// of the function, or null for unknown memory.
using Memory = SmallVector<Value, 4>;

/// Returns the rank group of a collective, or null for other operations.
static Attribute getGroup(Operation *op) {
  return isa<mxplan::AllGatherOp, mxplan::AllToAllOp, mxplan::BarrierOp>(op)
             ? op->getAttr("group")
             : Attribute();
}

/// Returns true if a kernel may receive the address of a buffer as a number.
static bool isPassedAsNumber(Value buffer) {
  SetVector<Operation *> users;
  for (Operation *user : buffer.getUsers())
    if (isa<mxplan::AddressOp>(user))
      users.insert(user);
  for (size_t i = 0; i < users.size(); ++i) {
    Operation *user = users[i];
    if (!isPure(user) && !isa<RequireOp, scf::IfOp, scf::IndexSwitchOp>(user))
      return true;
    users.insert_range(user->getUsers());
  }
  return false;
}

/// Returns the memory that contains a buffer or that a tensor map describes.
static Value findMemory(Value value) {
  while (isa_and_present<mxplan::SliceOp, mxplan::EncodeTensorMapOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  bool isKnown =
      argument ? isa<func::FuncOp>(argument.getParentRegion()->getParentOp())
               : isa<mxplan::AllocOp, mxplan::WindowOp, mxplan::ConstantOp>(
                     value.getDefiningOp());
  return isKnown && !isPassedAsNumber(value) ? value : Value();
}

static Memory findMemory(Operation *op) {
  Memory memory;
  op->walk([&](Operation *inner) {
    // The windows of a called function are not known here.
    if (isa<func::CallOp>(inner))
      memory.push_back({});
    if (!isPure(inner))
      for (Value operand : inner->getOperands())
        if (isa<mxplan::BufferType, mxgpu::TensorMapType>(operand.getType()))
          memory.push_back(findMemory(operand));
  });
  return memory;
}

/// Returns false if no byte belongs to both. Of known memory, only arguments
/// may overlap.
static bool mayOverlap(const Memory &some, const Memory &others) {
  return llvm::any_of(some, [&](Value a) {
    return !a || llvm::any_of(others, [&](Value b) {
      return !b || a == b || (isa<BlockArgument>(a) && isa<BlockArgument>(b));
    });
  });
}

/// Returns the first operation of the block that cannot run beside a
/// collective. Later collectives of the group in the block follow in order.
static Operation *findUser(Operation *collective) {
  Attribute group = getGroup(collective);
  Memory memory = findMemory(collective);
  auto isOfGroup = [&](Operation *inner) {
    return WalkResult(success(getGroup(inner) != group));
  };
  Operation *op = collective->getNextNode();
  while (!op->hasTrait<OpTrait::IsTerminator>() &&
         ((getGroup(op) == group && !isa<mxplan::BarrierOp>(op)) ||
          isPure(op) ||
          (!op->walk(isOfGroup).wasInterrupted() &&
           !mayOverlap(memory, findMemory(op)))))
    op = op->getNextNode();
  return op;
}

static Operation *addToken(Operation *collective) {
  OpBuilder builder(collective);
  Operation *started = builder.create(
      collective->getLoc(), collective->getName().getIdentifier(),
      collective->getOperands(),
      mxplan::TokenType::get(collective->getContext()), collective->getAttrs());
  collective->erase();
  return started;
}

/// Returns `number` for a GPU with one multiprocessor less, in which
/// collectives wait for other ranks. Creates operations only if `number`
/// depends on the count of multiprocessors. `known` holds earlier results.
static Value reserve(OpBuilder &builder, Value number,
                     DenseMap<Value, Value> &known) {
  if (Value result = known.lookup(number))
    return result;
  known[number] = number;
  Operation *op = number.getDefiningOp();
  if (!op || !isMemoryEffectFree(op) || op->getNumResults() != 1 ||
      op->getNumRegions())
    return number;
  if (isa<mxgpu::SmCountOp>(op)) {
    Location loc = op->getLoc();
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value rest = arith::SubIOp::create(builder, loc, number, one);
    return known[number] = arith::MaxSIOp::create(builder, loc, rest, one);
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(reserve(builder, operand, known));
  if (ValueRange(operands) == op->getOperands())
    return number;
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  return known[number] = copy->getResult(0);
}

/// Reserves a multiprocessor beside kernels with a CTA for each multiprocessor.
/// Such a kernel would end late if a CTA had to wait for a collective to end.
static void reserve(Operation *op) {
  op->walk([](mxplan::LaunchOp launch) {
    OpBuilder builder(launch);
    DenseMap<Value, Value> known;
    launch.getGridMutable().assign(reserve(builder, launch.getGrid(), known));
  });
}

static void overlap(Block &block, Attribute group) {
  // Users of the running collectives, and the last of these users.
  SmallVector<std::pair<Operation *, Operation *>> waits;
  llvm::SetVector<Operation *> beside;
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isStarted = op.getNumResults() > 0; // by an earlier run of the pass
    if (getGroup(&op) != group || isa<mxplan::BarrierOp>(op) || isStarted)
      continue;
    Operation *user = findUser(&op);
    bool isAfterRunning = last && op.isBeforeInBlock(last);
    bool isBesideLaunch = llvm::any_of(
        llvm::make_range(std::next(op.getIterator()), user->getIterator()),
        llvm::IsaPred<mxplan::LaunchOp, scf::ForOp, scf::WhileOp, scf::IfOp,
                      scf::IndexSwitchOp>);
    if (!isAfterRunning && !isBesideLaunch)
      continue;
    if (!last || last->isBeforeInBlock(user))
      last = user;
    // Collectives run in order, so a wait also ends the earlier ones.
    while (!waits.empty() && !waits.back().second->isBeforeInBlock(user))
      waits.pop_back();
    Operation *started = addToken(&op);
    waits.push_back({started, user});
    for (Operation *next = started; next != user; next = next->getNextNode())
      if (!getGroup(next))
        beside.insert(next);
  }
  for (Operation *op : beside)
    reserve(op);
  for (auto [collective, user] : waits) {
    OpBuilder builder(user);
    mxplan::WaitOp::create(builder, collective->getLoc(),
                           collective->getResult(0));
  }
}

namespace {

struct OverlapCollectivesPass final
    : mxgpu::impl::MXOverlapCollectivesBase<OverlapCollectivesPass> {
  void runOnOperation() override {
    llvm::SetVector<std::pair<Block *, Attribute>> found;
    getOperation().walk([&](Operation *op) {
      if (Attribute group = getGroup(op))
        found.insert({op->getBlock(), group});
    });
    for (auto [block, group] : found)
      overlap(*block, group);
  }
};

} // namespace
