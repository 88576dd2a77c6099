//===- AsyncQueue.h - operations between issue and completion ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies, tcgen05 operations and cp.async take effect some time after they
// were issued. With seed 0 most take effect as they are issued, which is one of
// the legal orders and the fastest to simulate; copies into shared memory come
// when the issuing warp next waits, as programs may tell the mbarrier after the
// copy how much to expect. Any other seed keeps all of them here and picks who
// is next at random, within what the PTX ISA promises: operations of one line
// complete in the order of their issue.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_ASYNCQUEUE_H
#define MXSIM_LIB_MACHINE_ASYNCQUEUE_H

#include "Program.h"

#include "mxsim/tensor/Fault.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace mx::sim {

/// A small generator whose sequence is the same everywhere (SplitMix64 by
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
class Random {
public:
  explicit Random(uint64_t seed = 0) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// A number below `n`, which must not be 0.
  uint32_t below(uint32_t n) { return uint32_t(next() >> 32) % n; }
  bool oneIn(uint32_t n) { return below(n) == 0; }

private:
  uint64_t state;
};

/// Groups of asynchronous operations of one warp: cp.async and cp.async.bulk
/// each have such a sequence (commit_group, wait_group).
class CompletionGroups {
public:
  /// An operation of the group that is open now; returns the group's number.
  uint64_t add() {
    ++outstanding.back();
    return first + outstanding.size() - 1;
  }
  void complete(uint64_t group) {
    --outstanding[group - first];
    dropComplete();
  }
  void commit() {
    outstanding.push_back(0);
    dropComplete();
  }
  /// Number of groups committed so far.
  uint64_t committed() const { return first + outstanding.size() - 1; }
  /// True when at most the `n` most recently committed groups are pending.
  bool atMost(uint64_t n) const { return first + n >= committed(); }

private:
  void dropComplete() {
    while (outstanding.size() > 1 && !outstanding.front()) {
      outstanding.pop_front();
      ++first;
    }
  }

  uint64_t first = 0; ///< number of the oldest group that is kept
  /// Operations under way, per group; the last group is open.
  std::deque<uint32_t> outstanding = {0};
};

/// Who issued an operation, for findings.
struct AsyncIssuer {
  Warp *warp = nullptr;
  const Instr *instr = nullptr;
  uint32_t lanes = 0;
};

class AsyncQueue {
public:
  using Action = std::function<Fault()>;
  /// Operations of line 0 have no order.
  static constexpr uint32_t kNoLine = 0;

  /// `round`: the scheduling pass in which it is issued.
  void push(const AsyncIssuer &issuer, uint32_t line, uint32_t round,
            bool needsTurn, Action action) {
    ops.push_back({issuer, line, round, needsTurn, std::move(action)});
  }
  bool empty() const { return ops.empty(); }

  /// Completes one operation that may be next, the oldest without `random`;
  /// false when there is none (without the turn, those that need it are left).
  /// Those issued after `lastRound` are too young.
  bool completeOne(Random *random, bool hasTurn, uint32_t lastRound = ~0u);
  /// True when an operation waits for the turn only.
  bool wantsTurn() const;

private:
  struct Op {
    AsyncIssuer issuer;
    uint32_t line, round;
    bool needsTurn;
    Action action;
  };
  std::vector<Op> ops;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_ASYNCQUEUE_H
