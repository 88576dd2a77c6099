//===- Ranks.h - Ranks of a program as threads ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs all ranks of a program as threads. On a device the runtime's rank groups
// move the data, and this class only synchronizes the ranks.
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

/// Collectives of programs on the reference path, which return an error message
/// or an empty string (mx/Conversion/MXToCPU/Collectives.h).
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
  /// Default time-out of a rank, as in groups of the runtime.
  using Seconds = std::chrono::duration<double>;
  static constexpr Seconds kTimeout{100};

  explicit Ranks(int count, Seconds timeout = kTimeout)
      : timeout(timeout), given(count), isHere(count) {}

  int getCount() const { return int(given.size()); }
  Seconds getTimeout() const { return timeout; }

  // Collective operations. All ranks call them in the same order. Each returns
  // an empty string, or the reason why not all ranks arrived. After a rank
  // leaves or a time-out expires, all later calls fail.

  /// Gathers `bytes` bytes from every rank in `all`, in rank order.
  std::string exchange(int rank, const void *mine, size_t bytes, void *all);
  /// Copies segment r (`bytes` long) of rank r's window to `window`, for all r.
  std::string allGather(int rank, void *window, size_t bytes);
  /// Copies this rank's segment of rank r's `from` to segment r of `to`.
  std::string allToAll(int rank, const void *from, void *to, size_t bytes);

  /// Removes this rank, which has finished.
  void leave(int rank);

private:
  /// Waits until every rank calls this function with its address. The addresses
  /// remain valid until the next call.
  std::string meet(int rank, const void *address = nullptr);
  /// Returns a description of the missing ranks and the time-out.
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

/// Collectives of a rank. The rank has the same number in all rank groups.
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
