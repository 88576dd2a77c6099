//===- Mbarriers.h - mbarriers as asynchronous engines see them -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies and tcgen05.commit signal mbarriers, of the own CTA and of
// others in the cluster. Everything goes through here, so that waiters wake up
// and deadlock reports know who has arrived.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_MBARRIERS_H
#define MXSIM_LIB_EXEC_MBARRIERS_H

#include "../machine/Machine.h"

namespace mx::sim {

/// The word at a shared (or generic) address, or null after a finding.
uint64_t *mbarrierWord(Warp &w, const Instr *i, ptx::Space space,
                       uint64_t address, unsigned lane, Cta *&owner,
                       uint32_t &offset);

/// Books what an operation of `lanes` did, for reports and the order of
/// accesses. What completes later keeps the lanes that issued it.
void noteMbarrier(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                  uint32_t offset, uint64_t before, uint64_t after,
                  uint32_t arrivals, bool isComplete);

Fault completeTx(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                 uint32_t offset, uint32_t bytes);
/// `known`: what the arrival passes on; null when the order is not followed.
Fault arriveOn(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
               uint32_t offset, uint32_t count, const Knowledge *known);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_MBARRIERS_H
