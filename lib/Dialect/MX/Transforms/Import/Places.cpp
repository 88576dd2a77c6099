//===- Places.cpp - Tensor dimensions in terms of loops -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Places.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;
using namespace mx::import;

Indices mx::import::getLoops(ArrayRef<int64_t> sizes) {
  Indices loops;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    loops.emplace_back();
    // A loop with a single step has no digit.
    if (size != 1)
      loops.back().push_back({unsigned(loop), 1, size});
  }
  return loops;
}

void mx::import::append(Index &high, ArrayRef<Digit> low) {
  for (Digit digit : low) {
    bool continues = !high.empty() && high.back().loop == digit.loop &&
                     !digit.isDynamic() &&
                     high.back().inner == digit.inner * digit.size;
    if (!continues) {
      high.push_back(digit);
      continue;
    }
    Digit &last = high.back();
    last.inner = digit.inner;
    if (!last.isDynamic())
      last.size *= digit.size;
  }
}

Index mx::import::flatten(ArrayRef<Index> indices) {
  Index all;
  for (const Index &index : indices)
    append(all, index);
  return all;
}

/// Removes the last `size` values of `index`.
static FailureOr<Index> takeLow(Index &index, int64_t size) {
  Index low;
  while (size != 1) {
    if (index.empty())
      return failure();
    Digit &last = index.back();
    if (!last.isDynamic() && size % last.size == 0) {
      low.insert(low.begin(), last);
      size /= last.size;
      index.pop_back();
      continue;
    }
    if (!last.isDynamic() && last.size % size)
      return failure();
    low.insert(low.begin(), {last.loop, last.inner, size});
    last.inner *= size;
    if (!last.isDynamic())
      last.size /= size;
    size = 1;
  }
  return low;
}

FailureOr<Indices> mx::import::split(ArrayRef<Digit> index,
                                     ArrayRef<int64_t> sizes) {
  Index rest(index);
  Indices digits(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) {
    // A digit with a dynamic size must be a whole dimension.
    if (ShapedType::isDynamic(sizes[i])) {
      if (rest.empty() || !rest.back().isDynamic() || rest.back().inner != 1)
        return failure();
      digits[i].push_back(rest.pop_back_val());
      continue;
    }
    FailureOr<Index> low = takeLow(rest, sizes[i]);
    if (failed(low))
      return failure();
    digits[i] = *low;
  }
  if (!digits.empty())
    digits.front() = rest;
  return digits;
}

int64_t mx::import::countValues(ArrayRef<Digit> index) {
  int64_t count = 1;
  for (Digit digit : index)
    count *= digit.isDynamic() ? 0 : digit.size;
  return count;
}

/// Combines `left` * `factor` + `right`, with `right` < `factor`.
static FailureOr<Index> join(AffineBinaryOpExpr sum, ArrayRef<Index> dims) {
  auto product = dyn_cast<AffineBinaryOpExpr>(sum.getLHS());
  AffineExpr low = sum.getRHS();
  if (!product || product.getKind() != AffineExprKind::Mul) {
    product = dyn_cast<AffineBinaryOpExpr>(sum.getRHS());
    low = sum.getLHS();
  }
  if (!product || product.getKind() != AffineExprKind::Mul)
    return failure();
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  FailureOr<Index> high = evaluate(product.getLHS(), dims);
  FailureOr<Index> digits = evaluate(low, dims);
  if (!factor || failed(high) || failed(digits) ||
      countValues(*digits) != factor.getValue())
    return failure();
  append(*high, *digits);
  return high;
}

FailureOr<Index> mx::import::evaluate(AffineExpr expr, ArrayRef<Index> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr);
      constant && constant.getValue() == 0)
    return Index();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  if (binary.getKind() == AffineExprKind::Add)
    return join(binary, dims);
  auto size = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool remainder = binary.getKind() == AffineExprKind::Mod;
  if (!size || size.getValue() < 1 ||
      (!remainder && binary.getKind() != AffineExprKind::FloorDiv))
    return failure();
  FailureOr<Index> index = evaluate(binary.getLHS(), dims);
  if (failed(index))
    return failure();
  FailureOr<Index> low = takeLow(*index, size.getValue());
  return failed(low) || remainder ? low : index;
}

FailureOr<Indices> mx::import::evaluate(AffineMap map, ArrayRef<Index> dims) {
  Indices indices;
  for (AffineExpr expr : map.getResults()) {
    FailureOr<Index> index = evaluate(expr, dims);
    if (failed(index))
      return failure();
    indices.push_back(*index);
  }
  return indices;
}

Index mx::import::select(ArrayRef<Digit> index,
                         const llvm::SmallSetVector<unsigned, 8> &loops) {
  Index selected;
  for (Digit digit : index)
    if (loops.contains(digit.loop))
      append(selected, digit);
  return selected;
}

bool Arrangement::isInOrder() const { return llvm::is_sorted(order); }

/// Removes `digit` from the top of `rest`, if it is a prefix.
static bool consume(Index &rest, Digit digit) {
  if (rest.empty() || rest.front().loop != digit.loop)
    return false;
  Digit &top = rest.front();
  bool sameTop = top.isDynamic() || digit.isDynamic()
                     ? top.isDynamic() && digit.isDynamic()
                     : top.inner * top.size == digit.inner * digit.size;
  if (!sameTop || digit.inner < top.inner || digit.inner % top.inner)
    return false;
  if (digit.inner == top.inner)
    rest.erase(rest.begin());
  else
    top.size = digit.inner / top.inner;
  return true;
}

static bool consume(Index &rest, ArrayRef<Digit> dim) {
  Index left = rest;
  for (Digit digit : dim)
    if (!consume(left, digit))
      return false;
  rest = left;
  return true;
}

/// Adds each dimension of size 1 to the next group or, at the end, to the last
/// group.
static void placeUnits(Arrangement &found, ArrayRef<Index> dims) {
  bool sorted = found.isInOrder();
  for (int64_t unit = 0, e = dims.size(); unit < e; ++unit) {
    if (!dims[unit].empty())
      continue;
    auto at =
        sorted ? llvm::lower_bound(found.order, unit) : found.order.begin();
    int64_t before = at - found.order.begin(), group = 0;
    found.order.insert(at, unit);
    for (int64_t end = 0, n = found.counts.size(); group < n; ++group)
      if (end += found.counts[group];
          before < end || (group == n - 1 && before == end))
        break;
    group = std::min<int64_t>(group, found.counts.size() - 1);
    ++found.counts[group];
  }
}

FailureOr<Arrangement> mx::import::arrange(ArrayRef<Index> dims,
                                           ArrayRef<Index> groups) {
  Arrangement found;
  SmallVector<bool> used(dims.size());
  for (const Index &group : groups) {
    Index rest = group;
    found.counts.push_back(0);
    while (!rest.empty()) {
      size_t next = 0;
      while (next < dims.size() && (used[next] || dims[next].empty() ||
                                    !consume(rest, ArrayRef(dims[next]))))
        ++next;
      if (next == dims.size())
        return failure();
      used[next] = true;
      found.order.push_back(next);
      ++found.counts.back();
    }
  }
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!dim.empty() && !used[i])
      return failure();
  placeUnits(found, dims);
  return found;
}

//===----------------------------------------------------------------------===//
// Batch, rows, columns and reduction
//===----------------------------------------------------------------------===//

using LoopSet = llvm::SmallSetVector<unsigned, 8>;

static LoopSet getLoopsOf(ArrayRef<Index> dims) {
  LoopSet loops;
  for (const Index &index : dims)
    for (Digit digit : index)
      loops.insert(digit.loop);
  return loops;
}

static LoopSet intersect(LoopSet in, const LoopSet &also) {
  in.remove_if([&](unsigned loop) { return !also.contains(loop); });
  return in;
}

/// Returns true if `whole` concatenates `first`, `second` and `third`.
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
  LoopSet both = intersect(left, right);
  LoopSet batchLoops = intersect(both, out);
  Index whole = flatten(outDims);
  Index batch = select(whole, batchLoops);
  plan.left = select(whole, llvm::set_difference(left, right));
  plan.right = select(whole, llvm::set_difference(right, left));
  plan.isLeftFirst = isSequence(whole, batch, plan.left, plan.right);
  if (!plan.isLeftFirst && !isSequence(whole, batch, plan.right, plan.left))
    return "the dimensions of its result are not contiguous batch, row and "
           "column dimensions, in this order";
  LoopSet sums = llvm::set_difference(both, out);
  if (sums.size() != reductions.size() ||
      !llvm::set_is_subset(reductions, sums))
    return "its reduction dimensions are not the dimensions that both operands "
           "contain and the result does not";
  plan.reduction = select(flatten(leftDims), sums);
  if (plan.reduction != select(flatten(rightDims), sums))
    return "its operands have their reduction dimensions in different orders";
  for (const Index &index : outDims)
    if (!index.empty() && index == select(index, batchLoops))
      plan.batch.push_back(index);
  if (flatten(plan.batch) != batch)
    return "a dimension of its result combines batch and row indices";
  return {};
}
