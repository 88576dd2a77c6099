//===- Ranks.h - The ranks of a program as threads --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A program that several ranks run together can be run in one process: each
// rank is a thread, and they meet here. On a device the groups of the runtime
// move the bytes; here the ranks only find each other.
//
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_RANKS_H
#define MX_EXECUTION_RANKS_H

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
  explicit Ranks(int count) : given(count) {}

  int getCount() const { return int(given.size()); }

  // Every rank calls these in the same order. They are false where a rank has
  // left, and so will not come.

  /// `all` gets what each rank has, in their order.
  bool exchange(int rank, const void *mine, size_t bytes, void *all);
  /// Part r of `window`, `bytes` long, becomes that of rank r.
  bool allGather(int rank, void *window, size_t bytes);
  /// Part r of `to` becomes what rank r has for this one in `from`.
  bool allToAll(int rank, const void *from, void *to, size_t bytes);

  /// This rank has ended.
  void leave();

private:
  /// Waits until every rank has given an address.
  bool meet(int rank, const void *address);
  /// Waits until every rank has come. What they gave stays until then.
  bool meet();

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void *> given;
  int arrived = 0;
  size_t meetings = 0;
  bool hasLeft = false;
};

/// The same of one of them, which has the same number in all groups.
class ThreadCollectives final : public HostCollectives {
public:
  ThreadCollectives(Ranks &ranks, int rank) : ranks(ranks), rank(rank) {}

  int64_t getRank(int64_t) override { return rank; }
  std::string allGather(int64_t, void *window, int64_t bytes) override {
    return describe(ranks.allGather(rank, window, size_t(bytes)));
  }
  std::string allToAll(int64_t, const void *from, void *to,
                       int64_t bytes) override {
    return describe(ranks.allToAll(rank, from, to, size_t(bytes)));
  }

private:
  static std::string describe(bool haveMet) {
    return haveMet ? "" : "expected all ranks, found one that has ended";
  }

  Ranks &ranks;
  int rank;
};

} // namespace mx

#endif // MX_EXECUTION_RANKS_H
