//===- Mbarriers.h - Mbarrier operations of asynchronous engines ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies and tcgen05.commit signal mbarriers of any CTA in the cluster.
// Like the mbarrier instructions, they use these functions to wake waiting
// groups and record arrivals for deadlock reports.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_MBARRIERS_H
#define MXSIM_LIB_EXEC_MBARRIERS_H

#include "../machine/Machine.h"

namespace mx::sim {

/// Returns the word of the mbarrier at a shared or generic address, and sets
/// its CTA and offset. Returns null after a finding.
uint64_t *mbarrierWord(Warp &w, const Instr *i, ptx::Space space,
                       uint64_t address, unsigned lane, Cta *&owner,
                       uint32_t &offset);

/// Records a change of an mbarrier word from `before` to `after`, and wakes
/// waiting groups if a phase ended. For an asynchronous completion, `lanes` are
/// the issuing lanes.
void noteMbarrier(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                  uint32_t offset, uint64_t before, uint64_t after,
                  uint32_t arrivals, bool isComplete);

/// Counts `bytes` of a completed copy on an mbarrier.
Fault completeTx(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                 uint32_t offset, uint32_t bytes);
/// Arrives on an mbarrier and publishes `known`, which is null if the order is
/// not tracked.
Fault arriveOn(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
               uint32_t offset, uint32_t count, const Knowledge *known);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_MBARRIERS_H
