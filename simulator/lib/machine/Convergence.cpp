//===- Convergence.cpp - Convergence points of divergent branches ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the immediate post-dominators of branches with the algorithm of
// Cooper, Harvey and Kennedy on the reversed graph, and inserts a convergence
// instruction before each post-dominator.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Handlers.h"
#include "Routines.h"

#include <algorithm>

using namespace mx::sim;

void Decoder::markConvergence() {
  std::vector<Instr> &code = program.code;
  uint32_t n = code.size();
  auto isBranch = [&](const Instr &i) {
    return i.fn == branchAlways || i.fn == branchIf || i.fn == branchIndexed;
  };
  auto ends = [&](const Instr &i) {
    return isBranch(i) || i.fn == exitThread || i.fn == trapThread ||
           i.fn == leaveRoutine;
  };
  std::vector<char> leader(n + 1, 0);
  leader[0] = 1;
  auto targetsOf = [&](const Instr &i, std::vector<uint32_t> &out) {
    out.clear();
    if (i.fn == branchIndexed) {
      for (uint32_t k = 0; k < i.b; ++k)
        out.push_back(code[i.imm + k].imm);
      return;
    }
    out.push_back(i.imm);
  };
  std::vector<uint32_t> targets;
  for (uint32_t k = 0; k < n; ++k) {
    if (!ends(code[k]))
      continue;
    leader[k + 1] = 1;
    if (isBranch(code[k])) {
      targetsOf(code[k], targets);
      for (uint32_t t : targets)
        leader[t] = 1;
    }
  }
  std::vector<uint32_t> blockOf(n), first;
  for (uint32_t k = 0; k < n; ++k) {
    if (leader[k])
      first.push_back(k);
    blockOf[k] = first.size() - 1;
  }
  uint32_t numBlocks = first.size(), exitBlock = numBlocks;
  std::vector<std::vector<uint32_t>> succ(numBlocks + 1), pred(numBlocks + 1);
  auto edge = [&](uint32_t from, uint32_t to) {
    succ[from].push_back(to);
    pred[to].push_back(from);
  };
  for (uint32_t b = 0; b < numBlocks; ++b) {
    uint32_t last = (b + 1 < numBlocks ? first[b + 1] : n) - 1;
    const Instr &i = code[last];
    uint32_t next = b + 1;
    if (isBranch(i)) {
      targetsOf(i, targets);
      for (uint32_t t : targets)
        edge(b, blockOf[t]);
      if (i.fn == branchIf || i.guard != kNoSlot)
        edge(b, next);
    } else if (i.fn == exitThread || i.fn == trapThread ||
               i.fn == leaveRoutine) {
      edge(b, exitBlock);
      if (i.guard != kNoSlot && next < numBlocks)
        edge(b, next);
    } else {
      edge(b, next);
    }
  }
  // Post-order of the reversed graph, starting at the exit.
  std::vector<uint32_t> order(numBlocks + 1, ~0u), byOrder;
  std::vector<std::pair<uint32_t, size_t>> stack;
  std::vector<char> seen(numBlocks + 1, 0);
  stack.push_back({exitBlock, 0});
  seen[exitBlock] = 1;
  while (!stack.empty()) {
    auto &[b, k] = stack.back();
    if (k < pred[b].size()) {
      uint32_t p = pred[b][k++];
      if (!seen[p]) {
        seen[p] = 1;
        stack.push_back({p, 0});
      }
    } else {
      order[b] = byOrder.size();
      byOrder.push_back(b);
      stack.pop_back();
    }
  }
  std::vector<uint32_t> ipdom(numBlocks + 1, ~0u);
  ipdom[exitBlock] = exitBlock;
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t k = byOrder.size(); k-- > 0;) {
      uint32_t b = byOrder[k];
      if (b == exitBlock)
        continue;
      uint32_t best = ~0u;
      for (uint32_t s : succ[b]) {
        if (ipdom[s] == ~0u)
          continue;
        if (best == ~0u) {
          best = s;
          continue;
        }
        uint32_t x = s, y = best;
        while (x != y) {
          while (order[x] < order[y])
            x = ipdom[x];
          while (order[y] < order[x])
            y = ipdom[y];
        }
        best = x;
      }
      if (best != ipdom[b]) {
        ipdom[b] = best;
        changed = true;
      }
    }
  }
  // Insert convergence instructions and adjust all targets.
  std::vector<char> meets(numBlocks + 1, 0);
  for (uint32_t k = 0; k < n; ++k) {
    if (code[k].fn != branchIf && code[k].fn != branchIndexed)
      continue;
    uint32_t p = ipdom[blockOf[k]];
    if (p != ~0u && p != exitBlock)
      meets[p] = 1;
  }
  std::vector<uint32_t> moved(n + 1);
  uint32_t inserted = 0;
  for (uint32_t k = 0; k < n; ++k) {
    moved[k] = k + inserted;
    if (leader[k] && meets[blockOf[k]])
      ++inserted;
  }
  std::vector<Instr> newCode;
  std::vector<InstrInfo> newInfo;
  newCode.reserve(n + inserted);
  newInfo.reserve(n + inserted);
  for (uint32_t k = 0; k < n; ++k) {
    if (leader[k] && meets[blockOf[k]]) {
      Instr c;
      c.fn = converge;
      newCode.push_back(c);
      InstrInfo info = program.info[k];
      info.numUses = info.numDefs = 0;
      info.isFirst = false;
      info.flow = getFlowBefore(info.flow);
      newInfo.push_back(info);
    }
    Instr i = code[k];
    if (i.fn == branchIf || i.fn == branchIndexed) {
      uint32_t p = ipdom[blockOf[k]];
      i.aux = p != ~0u && p != exitBlock ? moved[first[p]] : kNoSlot;
    }
    if (isBranch(i) || i.fn == callRoutine)
      i.imm = moved[i.imm];
    newCode.push_back(i);
    newInfo.push_back(program.info[k]);
  }
  for (size_t at : codeIndices)
    program.extra[at] = moved[std::min(program.extra[at], n)];
  code = std::move(newCode);
  program.info = std::move(newInfo);
}
