//===- Ranks.h - The ranks of a program as threads --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A program that several ranks run together can be run in one process: each
// rank is a thread, and they meet here. On a device rank groups of the runtime
// move the bytes; here the ranks only find each other.
//
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_RANKS_H
#define MX_EXECUTION_RANKS_H

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace mx {

/// What moves bytes between the ranks that run a program on the reference path
/// (mx/Conversion/MXToCPU/Collectives.h). Functions return what is wrong, or
/// nothing.
class HostCollectives {
public:
  virtual ~HostCollectives() = default;
  virtual int64_t getRank(int64_t group) = 0;
  virtual std::string allGather(int64_t group, void *window, int64_t bytes) = 0;
  virtual std::string allToAll(int64_t group, const void *from, void *to,
                               int64_t bytes) = 0;
};

class Ranks {
public:
  /// How long a rank waits for the others, as in groups of the runtime.
  using Seconds = std::chrono::duration<double>;
  static constexpr Seconds kTimeout{100};

  explicit Ranks(int count, Seconds timeout = kTimeout)
      : timeout(timeout), given(count), isHere(count) {}

  int getCount() const { return int(given.size()); }
  Seconds getTimeout() const { return timeout; }

  // Every rank calls these in the same order. They return why not all ranks
  // have met, or nothing. Once a rank has left, or others have waited for it as
  // long as the time-out, no ranks meet any more.

  /// `all` gets what each rank has, in their order.
  std::string exchange(int rank, const void *mine, size_t bytes, void *all);
  /// Segment r of `window`, `bytes` long, becomes that of rank r.
  std::string allGather(int rank, void *window, size_t bytes);
  /// Segment r of `to` becomes what rank r has for this one in `from`.
  std::string allToAll(int rank, const void *from, void *to, size_t bytes);

  /// This rank has ended.
  void leave(int rank);

private:
  /// Waits until every rank has given an address. What they gave stays until
  /// they meet again.
  std::string meet(int rank, const void *address = nullptr);
  /// The ranks that the others wait for, and how long they have.
  std::string describeMissing() const;

  const Seconds timeout;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void *> given;
  std::vector<bool> isHere;
  int arrived = 0;
  size_t meetings = 0;
  std::string failure;
};

/// The same of one of them, which has the same number in all groups.
class ThreadCollectives final : public HostCollectives {
public:
  ThreadCollectives(Ranks &ranks, int rank) : ranks(ranks), rank(rank) {}

  int64_t getRank(int64_t) override { return rank; }
  std::string allGather(int64_t, void *window, int64_t bytes) override {
    return ranks.allGather(rank, window, size_t(bytes));
  }
  std::string allToAll(int64_t, const void *from, void *to,
                       int64_t bytes) override {
    return ranks.allToAll(rank, from, to, size_t(bytes));
  }

private:
  Ranks &ranks;
  int rank;
};

} // namespace mx

#endif // MX_EXECUTION_RANKS_H
