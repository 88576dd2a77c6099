//===- LoopNests.cpp - Loops around the uses of a ring --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Two roles take stages equally often if the loops around do as many rounds.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"

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

/// Whether `a` and `b`, seen from loops at equal depths, are the same value:
/// one value outside the roles, the same argument of corresponding loops, or
/// computed from such ones in the same way.
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

/// What decides how often a loop runs; values that it carries do not.
static OperandRange getBounds(Operation *loop) {
  if (auto forK = dyn_cast<ForEachKOp>(loop))
    return forK->getOperands().take_front(2);
  return loop->getOperands();
}

bool mxgpu::isSameNest(ArrayRef<Operation *> loopsA,
                       ArrayRef<Operation *> loopsB) {
  if (loopsA.size() != loopsB.size())
    return false;
  for (auto [depth, a, b] : llvm::enumerate(loopsA, loopsB)) {
    if (a->getName() != b->getName() ||
        getBounds(a).size() != getBounds(b).size())
      return false;
    for (auto [x, y] : llvm::zip_equal(getBounds(a), getBounds(b)))
      if (!isSameValue(x, y, loopsA.take_front(depth),
                       loopsB.take_front(depth)))
        return false;
    if (auto forK = dyn_cast<ForEachKOp>(a))
      if (forK.getStep() != cast<ForEachKOp>(b).getStep())
        return false;
  }
  return true;
}
