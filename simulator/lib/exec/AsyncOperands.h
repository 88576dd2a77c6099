//===- AsyncOperands.h - operands of asynchronous copies --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses with an offset as they stand in Program::extra, the CTA that a
// shared address names, and the scope in which an engine's accesses are
// checked.
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

void addPlace(Decoder &d, const Address &a);
/// The address of a lane, from the four slots that addPlace has left.
uint64_t addressOf(Warp &w, const Slot *s, unsigned lane);

/// Shared addresses of asynchronous instructions may be generic ones too.
inline uint64_t sharedAddress(uint64_t a) {
  return a - kSharedWindow < kWindowBytes ? a - kSharedWindow : a;
}

/// The CTA that a shared address names, or null after a finding.
Cta *sharedOwner(Warp &w, const Instr *i, uint64_t address, const char *what,
                 unsigned lane);

/// The CTAs that an operand of 16 bits names; false after a finding.
bool checkMulticast(Warp &w, const Instr *i, uint32_t ranks, unsigned lane);

/// What the issuer knows as an asynchronous operation begins: a copy, unless
/// the operation takes effect at once.
std::shared_ptr<const Knowledge> knowledgeAtIssue(Warp &w,
                                                  bool isDeferred = false);

/// Says for as long as it lives whose accesses engines make.
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

/// Whether bytes of shared memory may be among those that are left out.
inline bool followsLeftOut(const Warp &w) {
  return w.cta->leftOut && !w.cta->leavesOut;
}
/// Where values may be left out: a copy has moved `bytes` to shared memory, or
/// from it. Bytes that it took from others that were left out are so too.
void followLoad(Warp &w, const std::vector<TmaStretch> &from, Cta &to,
                uint32_t offset, uint64_t bytes);
void followStore(Warp &w, Cta &from, uint32_t offset, uint64_t bytes,
                 const std::vector<TmaStretch> &to, bool isReduce);

/// Modifiers.
inline unsigned takeCtaGroup(Decoder &d) {
  return unsigned(d.takeAny({"cta_group::1", "cta_group::2"}) + 1);
}

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_ASYNCOPERANDS_H
