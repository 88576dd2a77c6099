//===- LoopPlan.cpp - Batch, rows, columns and reduction ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LoopPlan.h"

using namespace mlir;
using namespace mx::import;

using LoopSet = llvm::SmallSetVector<unsigned, 8>;

static LoopSet getLoopsOf(ArrayRef<Index> dims) {
  LoopSet loops;
  for (const Index &index : dims)
    for (Digit digit : index)
      loops.insert(digit.loop);
  return loops;
}

/// Loops that are in `in`, and in `also` or not.
static LoopSet filter(const LoopSet &in, const LoopSet &also, bool wanted) {
  LoopSet result;
  for (unsigned loop : in)
    if (also.contains(loop) == wanted)
      result.insert(loop);
  return result;
}

/// Whether `whole` is `first`, then `second`, then `third`.
static bool isSequence(const Index &whole, ArrayRef<Digit> first,
                       ArrayRef<Digit> second, ArrayRef<Digit> third) {
  Index sum(first);
  append(sum, second);
  append(sum, third);
  return sum == whole;
}

std::string mx::import::planLoops(ArrayRef<Index> leftDims,
                                  ArrayRef<Index> rightDims,
                                  ArrayRef<Index> outDims,
                                  const LoopSet &reductions, LoopPlan &plan) {
  LoopSet left = getLoopsOf(leftDims), right = getLoopsOf(rightDims);
  LoopSet out = getLoopsOf(outDims);
  LoopSet both = filter(left, right, true);
  LoopSet batchLoops = filter(both, out, true);
  Index whole = flatten(outDims);
  Index batch = select(whole, batchLoops);
  plan.left = select(whole, filter(left, right, false));
  plan.right = select(whole, filter(right, left, false));
  plan.isLeftFirst = isSequence(whole, batch, plan.left, plan.right);
  if (!plan.isLeftFirst && !isSequence(whole, batch, plan.right, plan.left))
    return "the dimensions of its result are not a batch, then rows, then "
           "columns, each of them together";
  LoopSet sums = filter(both, out, false);
  if (sums.size() != reductions.size() ||
      !llvm::all_of(reductions,
                    [&](unsigned loop) { return sums.contains(loop); }))
    return "it is summed over other dimensions than those of both operands";
  plan.reduction = select(flatten(leftDims), sums);
  if (plan.reduction != select(flatten(rightDims), sums))
    return "its operands have the dimensions that are summed over in different "
           "orders";
  for (const Index &index : outDims)
    if (!index.empty() && index == select(index, batchLoops))
      plan.batch.push_back(index);
  if (flatten(plan.batch) != batch)
    return "a dimension of its result is part of a batch, and part of a row";
  return {};
}
