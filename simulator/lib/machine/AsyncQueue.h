//===- AsyncQueue.h - Asynchronous operations in flight ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies, tcgen05 operations and cp.async complete some time after their
// issue. The seed selects the order of completion among the orders permitted by
// the PTX ISA. A line is a sequence of operations that complete in issue order.
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

/// Portable random number generator (SplitMix64 by Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators").
class Random {
public:
  explicit Random(uint64_t seed = 0) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Returns a number less than `n`; `n` must not be 0.
  uint32_t below(uint32_t n) { return uint32_t(next() >> 32) % n; }
  bool oneIn(uint32_t n) { return below(n) == 0; }

private:
  uint64_t state;
};

/// Commit groups of asynchronous operations of a warp. A warp numbers the
/// groups of cp.async and of cp.async.bulk separately.
class CompletionGroups {
public:
  /// Adds an operation to the open group and returns the group number.
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
  /// Returns true if at most the `n` most recently committed groups are
  /// pending.
  bool atMost(uint64_t n) const { return first + n >= committed(); }

private:
  void dropComplete() {
    while (outstanding.size() > 1 && !outstanding.front()) {
      outstanding.pop_front();
      ++first;
    }
  }

  uint64_t first = 0; ///< number of the oldest group in `outstanding`
  /// Pending operations per group; the last group is open.
  std::deque<uint32_t> outstanding = {0};
};

/// Warp, instruction and lanes that issued an operation; used in findings.
struct AsyncIssuer {
  Warp *warp = nullptr;
  const Instr *instr = nullptr;
  uint32_t lanes = 0;
};

/// Issued operations of a cluster. Seed 0 completes most operations at issue, a
/// legal order and the fastest to simulate. Copies into shared memory are the
/// exception: they complete when the issuing warp next waits, because a program
/// may set the expected bytes of the mbarrier after the copy. Other seeds queue
/// all operations and complete them in random order.
class AsyncQueue {
public:
  using Action = std::function<Fault()>;
  /// Line number of operations that may complete in any order.
  static constexpr uint32_t kNoLine = 0;

  /// Queues an operation issued in scheduling pass `round`.
  void push(const AsyncIssuer &issuer, uint32_t line, uint32_t round,
            bool needsTurn, Action action) {
    ops.push_back({issuer, line, round, needsTurn, std::move(action)});
  }
  bool empty() const { return ops.empty(); }

  /// Completes a random eligible operation, or the oldest if `random` is null.
  /// Operations issued after `lastRound` are not eligible. Operations that
  /// access state shared by clusters are eligible only if `hasTurn`. Returns
  /// false if no operation is eligible.
  bool completeOne(Random *random, bool hasTurn, uint32_t lastRound = ~0u);
  /// Returns true if an operation only waits for the turn.
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
