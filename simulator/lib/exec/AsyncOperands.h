//===- AsyncOperands.h - Operands of asynchronous copies --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores addresses in Program::extra, finds the CTA of a shared address, and
// attributes the accesses of an engine to its instruction.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_ASYNCOPERANDS_H
#define MXSIM_LIB_EXEC_ASYNCOPERANDS_H

#include "../report/NominalSteps.h"
#include "../report/Recorder.h"
#include "Mbarriers.h"
#include "MemoryAccess.h"

#include "mxsim/tensor/Tma.h"

namespace mx::sim {

constexpr unsigned kPlaceSlots = 4;

/// Adds the four slots of an address to Program::extra.
void addPlace(Decoder &d, const Address &a);
/// Returns the address of a lane from the four slots written by addPlace.
uint64_t addressOf(Warp &w, const Slot *s, unsigned lane);

/// Returns the shared-window offset of an address. Asynchronous instructions
/// also accept generic addresses for shared memory.
inline uint64_t sharedAddress(uint64_t a) {
  return a - kSharedWindow < kWindowBytes ? a - kSharedWindow : a;
}

/// Returns the CTA of a shared address, or null after a finding. See
/// checkOwnCta for `isOwnOnly`.
Cta *sharedOwner(Warp &w, const Instr *i, uint64_t address, unsigned lane,
                 bool isOwnOnly = false);

/// Checks the CTAs of a 16-bit multicast mask. Returns false after a finding.
bool checkMulticast(Warp &w, const Instr *i, uint32_t ranks, unsigned lane);

/// Returns the knowledge of the issuer when an asynchronous operation starts.
/// The result is a copy unless the operation completes immediately.
std::shared_ptr<const Knowledge> knowledgeAtIssue(Warp &w,
                                                  bool isDeferred = false);

/// RAII guard that attributes engine accesses to a scope.
class ScopeGuard {
public:
  ScopeGuard(Order *order, EngineScope scope) : order(order), scope(scope) {
    if (order)
      order->scope = &this->scope;
  }
  ~ScopeGuard() {
    if (order)
      order->scope = nullptr;
  }
  ScopeGuard(const ScopeGuard &) = delete;
  ScopeGuard &operator=(const ScopeGuard &) = delete;

private:
  Order *order;
  EngineScope scope;
};

/// Returns true if shared memory may contain uncomputed bytes (see
/// machine/LeftOut.h).
inline bool followsLeftOut(const Warp &w) {
  return w.cta->leftOut && !w.cta->leavesOut;
}
/// Propagate uncomputed bytes through a copy of `bytes` to or from shared
/// memory.
void followLoad(Warp &w, const std::vector<TmaStretch> &from, Cta &to,
                uint32_t offset, uint64_t bytes);
void followStore(Warp &w, Cta &from, uint32_t offset, uint64_t bytes,
                 const std::vector<TmaStretch> &to, bool isReduce);

inline unsigned takeCtaGroup(Decoder &d) {
  return unsigned(d.takeAny({"cta_group::1", "cta_group::2"}) + 1);
}

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_ASYNCOPERANDS_H
