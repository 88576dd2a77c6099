//===- Events.h - Calendar queue of events ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Brown, "Calendar queues: a fast O(1) priority queue implementation for the
// simulation event set problem". Events of the near future are in a list for
// each cycle; all other events are in a heap.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_EVENTS_H
#define MXSIM_LIB_TIME_EVENTS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace mx::sim {
class Warp;
}

namespace mx::sim::time {

struct Event {
  uint64_t cycle = 0, number = 0;
  Warp *warp = nullptr;   ///< warp to resume, or null
  uint32_t operation = 0; ///< operation to complete if `warp` is null
  /// Inverted: std heaps have the greatest element in front.
  bool operator<(const Event &o) const {
    return cycle != o.cycle ? cycle > o.cycle : number > o.number;
  }
};

/// Events ordered by cycle, then by number. Numbers ascend in the order of
/// insertion. Events before the present are rare.
class Events {
public:
  static constexpr uint64_t kNever = ~0ull;

  bool empty() const { return firstCycle == kNever; }
  /// Cycle of the earliest event, or kNever.
  uint64_t first() const { return firstCycle; }
  const Event &front() const {
    return isFirstNear() ? nodes[near[firstCycle % kSpan].head].event
                         : far.front();
  }
  void push(const Event &event) {
    firstCycle = std::min(firstCycle, event.cycle);
    if (event.cycle - present < kSpan)
      return append(event);
    far.push_back(event);
    std::push_heap(far.begin(), far.end());
  }
  void pop();
  /// Moves the present to `cycle`, unless `cycle` has passed. No event may be
  /// queued before `cycle`.
  void advance(uint64_t cycle);
  /// Removes the events for which `f` returns true.
  template <typename F>
  void removeIf(F f) {
    std::vector<Event> kept;
    for (; !empty(); pop())
      if (!f(front()))
        kept.push_back(front());
    for (const Event &event : kept)
      push(event);
  }
  /// Calls `f` with the index and value of up to `most` events of the near
  /// future, in order.
  template <typename F>
  void peek(unsigned most, F f) const {
    uint64_t cycle = isFirstNear() ? firstCycle : kNever;
    for (unsigned k = 0; k < most && cycle != kNever; cycle = after(cycle))
      for (uint32_t at = near[cycle % kSpan].head; at != kNone && k < most;
           at = nodes[at].next)
        f(k++, nodes[at].event);
  }

private:
  static constexpr uint64_t kSpan = 1024, kWord = 64;
  static constexpr uint32_t kNone = ~0u;
  struct Node {
    Event event;
    uint32_t next;
  };
  struct List {
    uint32_t head = kNone, tail = kNone;
  };

  bool isFirstNear() const { return nearCount && firstCycle >= present; }
  void append(const Event &event);
  /// Next cycle with events in the near future, or kNever.
  uint64_t after(uint64_t cycle) const;

  uint64_t present = 0;
  uint64_t firstCycle = kNever;
  std::array<List, kSpan> near; ///< indexed by cycle modulo kSpan
  std::array<uint64_t, kSpan / kWord> used = {};
  size_t nearCount = 0;
  std::vector<Node> nodes;
  uint32_t unused = kNone; ///< head of the free list
  std::vector<Event> far;  ///< heap, with the events before the present
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_EVENTS_H
