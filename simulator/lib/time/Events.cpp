//===- Events.cpp - Calendar queue of events ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Events.h"

using namespace mx::sim::time;

void Events::append(const Event &event) {
  uint32_t at = unused;
  if (at == kNone) {
    at = uint32_t(nodes.size());
    nodes.emplace_back();
  } else {
    unused = nodes[at].next;
  }
  nodes[at] = {event, kNone};
  uint64_t place = event.cycle % kSpan;
  List &list = near[place];
  (list.head == kNone ? list.head : nodes[list.tail].next) = at;
  list.tail = at;
  used[place / kWord] |= 1ull << place % kWord;
  ++nearCount;
}

void Events::pop() {
  if (!isFirstNear()) {
    std::pop_heap(far.begin(), far.end());
    far.pop_back();
    firstCycle = nearCount ? after(present - 1) : kNever;
    if (!far.empty())
      firstCycle = std::min(firstCycle, far.front().cycle);
    return;
  }
  uint64_t place = firstCycle % kSpan;
  uint32_t &head = near[place].head;
  uint32_t at = head;
  head = nodes[at].next;
  nodes[at].next = unused;
  unused = at;
  --nearCount;
  if (head != kNone)
    return;
  used[place / kWord] &= ~(1ull << place % kWord);
  firstCycle = nearCount     ? after(firstCycle)
               : far.empty() ? kNever
                             : far.front().cycle;
}

void Events::advance(uint64_t cycle) {
  if (cycle < present)
    return;
  present = cycle;
  while (!far.empty() && far.front().cycle < present + kSpan) {
    append(far.front());
    std::pop_heap(far.begin(), far.end());
    far.pop_back();
  }
}

uint64_t Events::after(uint64_t cycle) const {
  uint64_t end = present + kSpan;
  for (++cycle; cycle < end; cycle = (cycle / kWord + 1) * kWord) {
    uint64_t word = used[cycle / kWord % used.size()] >> cycle % kWord;
    if (!word)
      continue;
    cycle += uint64_t(__builtin_ctzll(word));
    // The last word may contain bits of both ends of the span.
    return cycle < end ? cycle : kNever;
  }
  return kNever;
}
