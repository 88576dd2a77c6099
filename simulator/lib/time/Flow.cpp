//===- Flow.cpp - Loops and dominators of blocks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Flow.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace mx::sim::time;

using Edges = std::vector<std::vector<uint32_t>>;

Flow::Flow(const Edges &next)
    : number(next.size(), kNone), dominator(next.size(), kNone),
      before(next.size()), depths(next.size()) {
  if (next.empty())
    return;
  findDominators(next);
  findLoops();
}

uint32_t Flow::commonDominator(uint32_t a, uint32_t b) const {
  if (number[a] == kNone || number[b] == kNone)
    return number[a] == kNone ? b : a;
  while (a != b)
    if (number[a] > number[b])
      a = dominator[a];
    else
      b = dominator[b];
  return a;
}

/// K. D. Cooper, T. J. Harvey, K. Kennedy, "A Simple, Fast Dominance
/// Algorithm".
void Flow::findDominators(const Edges &next) {
  std::vector<std::pair<uint32_t, size_t>> stack = {{0, 0}};
  std::vector<bool> isSeen(next.size());
  isSeen[0] = true;
  while (!stack.empty()) {
    auto &[block, at] = stack.back();
    if (at == next[block].size()) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    uint32_t to = next[block][at++];
    before[to].push_back(block);
    if (!isSeen[to]) {
      isSeen[to] = true;
      stack.push_back({to, 0});
    }
  }
  std::reverse(order.begin(), order.end());
  for (uint32_t k = 0; k < order.size(); ++k)
    number[order[k]] = k;
  dominator[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t block : order) {
      uint32_t found = block == 0 ? 0 : kNone;
      for (uint32_t b : before[block])
        if (block && dominator[b] != kNone)
          found = found == kNone ? b : commonDominator(found, b);
      changed |= found != dominator[block];
      dominator[block] = found;
    }
  }
}

void Flow::findLoops() {
  for (uint32_t head : order) {
    std::set<uint32_t> loop;
    std::vector<uint32_t> ends;
    for (uint32_t b : before[head])
      if (commonDominator(b, head) == head)
        ends.push_back(b);
    if (ends.empty())
      continue;
    loop.insert(head);
    while (!ends.empty()) {
      uint32_t block = ends.back();
      ends.pop_back();
      if (loop.insert(block).second)
        ends.insert(ends.end(), before[block].begin(), before[block].end());
    }
    for (uint32_t block : loop)
      ++depths[block];
  }
}
