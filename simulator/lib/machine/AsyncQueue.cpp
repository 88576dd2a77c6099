//===- AsyncQueue.cpp - Completion of asynchronous operations -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AsyncQueue.h"

#include "Machine.h"

using namespace mx::sim;

bool AsyncQueue::completeOne(Random *random, bool hasTurn, uint32_t lastRound) {
  if (ops.empty())
    return false;
  // Start at a random index; take the first operation without a predecessor in
  // its line.
  size_t start = random ? random->below(uint32_t(ops.size())) : 0;
  for (size_t k = 0; k < ops.size(); ++k) {
    size_t at = (start + k) % ops.size();
    if (ops[at].line != kNoLine)
      for (size_t j = 0; j < at; ++j)
        if (ops[j].line == ops[at].line) {
          at = j;
          break;
        }
    if ((ops[at].needsTurn && !hasTurn) || ops[at].round > lastRound)
      continue;
    Op op = std::move(ops[at]);
    ops.erase(ops.begin() + at);
    Fault f = op.action();
    ++op.issuer.warp->cta->cluster->effects;
    op.issuer.warp->fault(op.issuer.instr, f, op.issuer.lanes);
    return true;
  }
  return false;
}

bool AsyncQueue::wantsTurn() const {
  for (const Op &op : ops)
    if (op.needsTurn)
      return true;
  return false;
}
