//===- LoopNests.cpp - Loops around the uses of a ring --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the number of stages that two roles take from a ring. The numbers
// are equal if the roles take equally many stages in corresponding loops with
// equal trip counts, or if the totals computed from constant trip counts are
// equal.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

SmallVector<Operation *> mxgpu::getLoops(Operation *op) {
  SmallVector<Operation *> loops;
  for (Operation *parent = op->getParentOp(); !isa<RoleOp>(parent);
       parent = parent->getParentOp())
    loops.insert(loops.begin(), parent);
  return loops;
}

/// Returns true if `a` and `b`, in loops of equal depth, are the same value: a
/// value defined outside the roles, the same argument of corresponding loops,
/// or the same operation on such values.
static bool isSameValue(Value a, Value b, ArrayRef<Operation *> loopsA,
                        ArrayRef<Operation *> loopsB) {
  if (a == b)
    return true;
  auto argA = dyn_cast<BlockArgument>(a), argB = dyn_cast<BlockArgument>(b);
  if (!argA && !argB) {
    Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
    return opA->getName() == opB->getName() &&
           opA->getAttrDictionary() == opB->getAttrDictionary() &&
           opA->getNumOperands() == opB->getNumOperands() &&
           cast<OpResult>(a).getResultNumber() ==
               cast<OpResult>(b).getResultNumber() &&
           isUniform(a) && isUniform(b) &&
           llvm::all_of(llvm::zip(opA->getOperands(), opB->getOperands()),
                        [&](auto pair) {
                          return isSameValue(std::get<0>(pair),
                                             std::get<1>(pair), loopsA, loopsB);
                        });
  }
  if (!argA || !argB || argA.getArgNumber() != argB.getArgNumber())
    return false;
  for (auto [loopA, loopB] : llvm::zip(loopsA, loopsB))
    if (loopA == argA.getOwner()->getParentOp() &&
        loopB == argB.getOwner()->getParentOp())
      return true;
  return false;
}

/// Returns the operands that determine the trip count of a loop.
static OperandRange getBounds(Operation *loop) {
  if (auto forK = dyn_cast<ForEachKOp>(loop))
    return forK->getOperands().take_front(2);
  return loop->getOperands();
}

/// Returns true if two loops within equal outer loops have equal trip counts.
static bool isSameLoop(Operation *a, Operation *b, ArrayRef<Operation *> outerA,
                       ArrayRef<Operation *> outerB) {
  if (a->getName() != b->getName() ||
      getBounds(a).size() != getBounds(b).size())
    return false;
  for (auto [x, y] : llvm::zip_equal(getBounds(a), getBounds(b)))
    if (!isSameValue(x, y, outerA, outerB))
      return false;
  auto forK = dyn_cast<ForEachKOp>(a);
  return !forK || forK.getStep() == cast<ForEachKOp>(b).getStep();
}

std::optional<int64_t> mxgpu::getTripCount(Operation *loop) {
  auto forK = dyn_cast<ForEachKOp>(loop);
  APInt start, end;
  if (!forK || !matchPattern(forK.getStart(), m_ConstantInt(&start)) ||
      !matchPattern(forK.getEnd(), m_ConstantInt(&end)))
    return {};
  int64_t extent = end.getSExtValue() - start.getSExtValue();
  return extent <= 0 ? 0 : llvm::divideCeil(extent, forK.getStep());
}

namespace {

/// Consecutive takes, or the takes in a loop.
struct Takes {
  int64_t count = 0;
  Operation *loop = nullptr;
  std::vector<Takes> inLoop = {};
};

} // namespace

static void addTakes(std::vector<Takes> &all, int64_t count) {
  if (all.empty() || all.back().loop)
    all.push_back({});
  all.back().count += count;
}

static std::vector<Takes> collectTakes(Block &block,
                                       function_ref<bool(Operation *)> isTake) {
  std::vector<Takes> all;
  for (Operation &op : block) {
    if (isTake(&op))
      addTakes(all, 1);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (auto inLoop = collectTakes(inner, isTake); !inLoop.empty())
          all.push_back({0, &op, std::move(inLoop)});
  }
  return all;
}

static bool areSameTakes(ArrayRef<Takes> a, ArrayRef<Takes> b,
                         SmallVector<Operation *> outerA,
                         SmallVector<Operation *> outerB) {
  if (a.size() != b.size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (x.count != y.count || !x.loop != !y.loop)
      return false;
    if (!x.loop)
      continue;
    if (!isSameLoop(x.loop, y.loop, outerA, outerB))
      return false;
    SmallVector<Operation *> nestA = outerA, nestB = outerB;
    nestA.push_back(x.loop);
    nestB.push_back(y.loop);
    if (!areSameTakes(x.inLoop, y.inLoop, nestA, nestB))
      return false;
  }
  return true;
}

/// Replaces each loop with a known trip count with its total number of takes.
static std::vector<Takes> countTakes(ArrayRef<Takes> all) {
  std::vector<Takes> counted;
  for (const Takes &takes : all) {
    if (!takes.loop) {
      addTakes(counted, takes.count);
      continue;
    }
    std::vector<Takes> inLoop = countTakes(takes.inLoop);
    std::optional<int64_t> trips = getTripCount(takes.loop);
    // Limits the run time of the check in Liveness.cpp.
    constexpr int64_t kMaxTrips = 1 << 16;
    if (trips && *trips <= kMaxTrips && inLoop.size() == 1 &&
        !inLoop.front().loop) {
      if (*trips)
        addTakes(counted, *trips * inLoop.front().count);
    } else {
      counted.push_back({0, takes.loop, std::move(inLoop)});
    }
  }
  return counted;
}

TakesOfSides mxgpu::compareTakes(RingOp ring, RoleOp producer,
                                 RoleOp consumer) {
  std::vector<Takes> filled =
      collectTakes(producer.getBody().front(), [&](Operation *op) {
        return isa<ProducerAcquireOp>(op) && op->getOperand(0) == ring;
      });
  std::vector<Takes> emptied =
      collectTakes(consumer.getBody().front(), [&](Operation *op) {
        return isa<ConsumerWaitOp>(op) && op->getOperand(0) == ring;
      });
  if (areSameTakes(filled, emptied, {}, {}))
    return TakesOfSides::Same;
  return areSameTakes(countTakes(filled), countTakes(emptied), {}, {})
             ? TakesOfSides::SameNumber
             : TakesOfSides::Different;
}
