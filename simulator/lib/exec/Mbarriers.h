//===- Mbarriers.h - Mbarrier operations of asynchronous engines ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies and tcgen05.commit signal mbarriers of any CTA in the cluster.
// All operations use these functions, which wake waiting groups and record
// arrivals for deadlock reports.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_MBARRIERS_H
#define MXSIM_LIB_EXEC_MBARRIERS_H

#include "../machine/Machine.h"

namespace mx::sim {

/// Returns the word at a shared or generic address, or null after a finding.
uint64_t *mbarrierWord(Warp &w, const Instr *i, ptx::Space space,
                       uint64_t address, unsigned lane, Cta *&owner,
                       uint32_t &offset);

/// Records an operation of `lanes` for reports and the order of accesses.
/// Asynchronous completions pass the lanes that issued them.
void noteMbarrier(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                  uint32_t offset, uint64_t before, uint64_t after,
                  uint32_t arrivals, bool isComplete);

Fault completeTx(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                 uint32_t offset, uint32_t bytes);
/// Arrives on an mbarrier and publishes `known`, which is null if the order is
/// not tracked.
Fault arriveOn(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
               uint32_t offset, uint32_t count, const Knowledge *known);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_MBARRIERS_H
