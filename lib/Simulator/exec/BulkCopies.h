//===- BulkCopies.h - shared by bulk copies of tensors and bytes *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_EXEC_BULKCOPIES_H
#define MX_LIB_SIMULATOR_EXEC_BULKCOPIES_H

#include "AsyncOperands.h"

#include "mx/Simulator/tensor/Tma.h"

namespace mx::sim {

/// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor, modifiers up to
/// `tensor` taken.
void decodeBulkTensor(Decoder &d, bool isReduce);

/// Issues a copy from shared to global memory into the open bulk group of the
/// warp. `copy` returns a TmaResult; `from`, `offset` and `bytes` say what is
/// read.
template <class F>
const Instr *issueInGroup(Warp &w, const Instr *i, unsigned lane, bool isReduce,
                          Cta &from, uint32_t offset, uint64_t bytes,
                          F &&copy) {
  uint64_t group = w.bulkGroups.add();
  if (w.trace)
    w.trace->store(w, i, from, offset, bytes);
  auto known = knowledgeAtIssue(w);
  auto action = [=, &w]() -> Fault {
    TmaResult r;
    {
      Order *order = w.order();
      ScopeGuard guard(order, order ? order->bulkScope(w, i, 1u << lane, *known,
                                                       group, isReduce)
                                    : EngineScope());
      r = copy();
    }
    w.counts.bulkStoreBytes += r.bytes;
    w.bulkGroups.complete(group);
    return r.fault;
  };
  return w.issue(i, 1u << lane, AsyncQueue::kNoLine, isReduce, action);
}

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_EXEC_BULKCOPIES_H
