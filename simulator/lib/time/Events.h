//===- Events.h - what happens next -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A calendar queue (Brown, "Calendar queues: a fast O(1) priority queue
// implementation for the simulation event set problem"): a list for each cycle
// of the near future, and a heap for the rest.
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
  Warp *warp = nullptr;   ///< that goes on; null:
  uint32_t operation = 0; ///< that takes effect
  /// In a heap of std the greatest comes first.
  bool operator<(const Event &o) const {
    return cycle != o.cycle ? cycle > o.cycle : number > o.number;
  }
};

/// By cycles, and by numbers in one cycle. Each event that is added has a
/// greater number than those before. Few come before the present.
class Events {
public:
  static constexpr uint64_t kNever = ~0ull;

  bool empty() const { return firstCycle == kNever; }
  /// The cycle of the earliest, or kNever.
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
  /// Time has come to `cycle`, before which there is none; or is there again.
  void advance(uint64_t cycle);
  /// Those for which `f` is true.
  template <typename F>
  void removeIf(F f) {
    std::vector<Event> kept;
    for (; !empty(); pop())
      if (!f(front()))
        kept.push_back(front());
    for (const Event &event : kept)
      push(event);
  }
  /// Gives `f` the next ones of the near future, `most` of them, with their
  /// places from 0 on.
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
  /// The next cycle of the near future that has any, or kNever.
  uint64_t after(uint64_t cycle) const;

  uint64_t present = 0;
  uint64_t firstCycle = kNever;
  std::array<List, kSpan> near; ///< by cycle, modulo
  std::array<uint64_t, kSpan / kWord> used = {};
  size_t nearCount = 0;
  std::vector<Node> nodes;
  uint32_t unused = kNone; ///< the first node
  std::vector<Event> far;  ///< a heap, also of what is before the present
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_EVENTS_H
