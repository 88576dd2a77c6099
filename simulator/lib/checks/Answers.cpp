//===- Answers.cpp - Reads of clusterlaunchcontrol responses --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA programming guide, "Cluster Launch Control": a reader of a response must
// release it to the async proxy before the next response is written. This check
// covers responses only: for other memory overwritten by copies, kernels omit
// the release and hardware does not need one.
//===----------------------------------------------------------------------===//

#include "Order.h"

using namespace mx::sim;

static uint64_t placeOfAnswer(const Cta &cta, uint32_t offset) {
  return uint64_t(cta.rank) << 32 | offset / 16;
}

void Order::noteReaderOfAnswer(const Cta &cta, uint32_t offset, Epoch e) {
  auto found = answers.find(placeOfAnswer(cta, offset));
  if (found == answers.end())
    return;
  for (Epoch &reader : found->second)
    if (reader.agent() == e.agent()) {
      reader = e;
      return;
    }
  found->second.push_back(e);
}

void Order::engineAnswer(Cta &cta, uint32_t offset, uint32_t bytes) {
  if (!scope)
    return;
  const Knowledge &known = *scope->known;
  std::vector<Epoch> readers;
  readers.swap(answers[placeOfAnswer(cta, offset)]);
  for (Epoch e : readers) {
    // An unordered read is a race, reported by engineShared.
    bool isOrdered = known.generic[e.agent()] >= e.step();
    if (!isOrdered || known.async[e.agent()] >= e.step())
      continue;
    Conflict conflict{e, false, 0};
    bool isNew = scope->warp->note(
        scope->instr, {FindingKind::ProxyFence, Situation::AnswerFence},
        "the answer in shared memory at " +
            machine.describeSharedOffset(offset) + ofRank(cta.rank) +
            ", written by the async proxy, is not ordered with " +
            describeEarlier(conflict) +
            " of the generic proxy: expected fence.proxy.async between them",
        scope->lanes, /*isWarning=*/true);
    if (isNew)
      nameOther(conflict);
    break;
  }
  engineShared(cta, offset, bytes, true);
}
