//===- BulkCopies.h - Issue of copies to and from shared memory -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_BULKCOPIES_H
#define MXSIM_LIB_EXEC_BULKCOPIES_H

#include "AsyncOperands.h"

#include "mxsim/tensor/Tma.h"

#include <set>

namespace mx::sim {

/// Completion data of a copy into shared memory: the knowledge of its issuer,
/// the mbarrier that counts its bytes, and its end in a timeline.
struct ToShared {
  std::shared_ptr<const Knowledge> known;
  Cta *signal;
  uint32_t barrier;
  uint64_t done;
};

/// Issues a copy into shared memory that counts its bytes on an mbarrier.
/// `copy` returns a TmaResult.
template <class F>
const Instr *issueToShared(Warp &w, const Instr *i, unsigned lane,
                           const ToShared &to, F &&copy) {
  auto action = [=, &w]() -> Fault {
    Recorder::Moment moment(w.trace, to.done);
    TmaResult r;
    {
      Order *order = w.order();
      ScopeGuard guard(order,
                       order ? order->loadScope(w, i, 1u << lane, *to.known,
                                                *to.signal, to.barrier)
                             : EngineScope());
      r = copy();
    }
    return r.fault
               ? r.fault
               : completeTx(w, i, 1u << lane, *to.signal, to.barrier, r.bytes);
  };
  return w.issueCopy(i, lane, action);
}

/// Decodes cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. The modifiers
/// up to `tensor` are already removed.
void decodeBulkTensor(Decoder &d, bool isReduce);

/// Returns the lanes of `mask` that issue a copy from shared to global memory.
/// GPUs merge copies of lanes with equal operands, so only the first lane for
/// each value of `key(lane)` issues a copy. Loads and reductions are not merged
/// (measured: simulator/docs/Simulator.md, "Copies of several lanes").
template <class F>
uint32_t firstOfEach(uint32_t mask, F &&key) {
  if (!(mask & (mask - 1)))
    return mask;
  std::set<decltype(key(0u))> seen;
  uint32_t first = 0;
  for (uint32_t m = mask; m; m &= m - 1)
    if (unsigned lane = __builtin_ctz(m); seen.insert(key(lane)).second)
      first |= 1u << lane;
  return first;
}

/// Issues a copy from shared to global memory in the open bulk group of the
/// warp. `copy` returns a TmaResult. `from` and `offset` are the source, and
/// `transfer` is only used for timing.
template <class F>
const Instr *issueInGroup(Warp &w, const Instr *i, unsigned lane, bool isReduce,
                          Cta &from, uint32_t offset,
                          const time::Transfer &transfer, F &&copy) {
  uint64_t group = w.bulkGroups.add();
  if (w.trace)
    w.trace->store(w, i, from, offset, transfer);
  auto known = knowledgeAtIssue(w);
  auto action = [=, &w]() -> Fault {
    TmaResult r;
    {
      Order *order = w.order();
      ScopeGuard guard(order, order ? order->bulkScope(w, i, 1u << lane, *known,
                                                       group, isReduce)
                                    : EngineScope());
      EngineGlobal &global = w.cta->cluster->engineGlobal;
      if (!isReduce)
        global.beginStore();
      r = copy();
      global.endStore();
    }
    w.counts.bulkStoreBytes += r.bytes;
    w.bulkGroups.complete(group);
    return r.fault;
  };
  return w.issue(i, 1u << lane, AsyncQueue::kNoLine, isReduce, action);
}

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_BULKCOPIES_H
