//===- Path.h - why a clock is where it is ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A clock's time comes of a chain of causes, each of which took cycles: work of
// an engine, a latency, a wait for a slot. Where a time is the later one of
// two, its chain is that of the later one. The chain of the group that ends
// last is the critical path of the launch, and its cycles by cause add up to
// the time. A path keeps the sums only, in a vector that copies share until one
// of them goes on.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_PATH_H
#define MXSIM_LIB_CLOCKS_PATH_H

#include "Cause.h"

#include <array>
#include <memory>
#include <utility>

namespace mx::sim::time {

class Path {
public:
  Path() = default;
  Path(const Path &o) : node(o.node) {
    if (node)
      ++node->uses;
  }
  Path(Path &&o) noexcept : node(std::exchange(o.node, nullptr)) {}
  Path &operator=(const Path &o) noexcept {
    if (node != o.node)
      *this = Path(o);
    return *this;
  }
  Path &operator=(Path &&o) noexcept {
    Path old(std::move(*this));
    node = std::exchange(o.node, nullptr);
    return *this;
  }
  ~Path() { drop(); }

  /// The sum of all causes.
  uint64_t cycle() const { return node ? node->cycle : 0; }
  uint64_t of(Cause cause) const { return node ? node->of(cause) : 0; }
  void add(Cause cause, uint64_t cycles) {
    if (!cycles)
      return;
    own();
    node->cycle += cycles;
    node->add(cause, uint32_t(cycles));
  }
  /// Goes on to `cycle`, where that is later.
  void reach(uint64_t cycle, Cause cause) {
    if (cycle > this->cycle())
      add(cause, cycle - this->cycle());
  }
  /// Where it lies in memory.
  const void *place() const { return node; }

  /// No other path has its vector from now on: shards of a launch share none,
  /// since they may run on different threads.
  void separate() {
    if (node)
      own();
  }

private:
  using Totals = std::array<uint32_t, kCauses>;
  /// A path that others go on from is copied, which is often: the few causes
  /// by which it has come last are apart from all the others before, whose
  /// sums copies share.
  struct Node {
    static constexpr unsigned kLatest = 7;
    uint64_t cycle = 0;
    std::shared_ptr<const Totals> older;
    uint32_t uses = 1;
    uint8_t count = 0; ///< of the latest causes
    std::array<Cause, kLatest> causes;
    std::array<uint32_t, kLatest> cycles;

    uint64_t of(Cause cause) const {
      uint64_t sum = older ? (*older)[unsigned(cause)] : 0;
      for (unsigned k = 0; k < count; ++k)
        sum += causes[k] == cause ? cycles[k] : 0;
      return sum;
    }
    void add(Cause cause, uint32_t more) {
      unsigned k = 0;
      while (k < count && causes[k] != cause)
        ++k;
      if (k == kLatest)
        k = makeRoom();
      if (k == count) {
        causes[count++] = cause;
        cycles[k] = 0;
      }
      cycles[k] += more;
    }
    unsigned makeRoom() {
      auto totals = older ? std::make_shared<Totals>(*older)
                          : std::make_shared<Totals>(Totals{});
      for (unsigned k = 0; k < count; ++k)
        (*totals)[unsigned(causes[k])] += cycles[k];
      older = std::move(totals);
      return count = 0;
    }
  };
  /// No other path has the vector from now on.
  void own() {
    if (node && node->uses == 1)
      return;
    Node *mine = node ? new Node(*node) : new Node();
    mine->uses = 1;
    drop();
    node = mine;
  }
  void drop() {
    if (node && !--node->uses)
      delete node;
  }

  Node *node = nullptr;
};

/// A time with the cause of its last part, in one number: of two, the greater
/// is the later. What memory delivers has a path of its own beside.
class Moment {
public:
  Moment() = default;
  Moment(uint64_t cycle, Cause cause) : bits(cycle << 16 | unsigned(cause)) {}
  /// From a request, which `number` counts.
  Moment(uint64_t cycle, Source source, uint32_t number)
      : bits(cycle << 16 | kRequest | unsigned(source) << 12 |
             number % kNumbers) {}

  /// Of a request whose answer is not known yet: later than all others.
  static Moment open(uint32_t number) {
    Moment m;
    m.bits = ~0ull << 16 | uint16_t(number);
    return m;
  }
  bool isOpen() const { return bits >> 16 == ~0ull >> 16; }
  bool operator==(const Moment &o) const { return bits == o.bits; }

  uint64_t cycle() const { return bits >> 16; }
  bool isRequest() const { return bits & kRequest; }
  Cause cause() const { return Cause(bits & 0xff); }
  Source source() const { return Source(bits >> 12 & 7); }
  uint32_t number() const { return uint32_t(bits % kNumbers); }
  bool operator<(const Moment &o) const { return bits < o.bits; }
  /// Of the same cause.
  Moment later(uint64_t cycles) const {
    Moment m = *this;
    m.bits += cycles << 16;
    return m;
  }

  static constexpr uint32_t kNumbers = 1u << 12;

private:
  static constexpr uint64_t kRequest = 1u << 15;
  uint64_t bits = 0;
};

/// The paths on which the last requests of a warp to memory have come to what
/// answers them.
class RequestPaths {
public:
  uint32_t add(Path path) {
    paths[++last % kKept] = std::move(path);
    return last % Moment::kNumbers;
  }
  /// Null where it is too long ago.
  const Path *find(uint32_t number) const {
    uint32_t age = (last - number) % Moment::kNumbers;
    return age < kKept ? &paths[(last - age) % kKept] : nullptr;
  }

private:
  static constexpr uint32_t kKept = 64;
  uint32_t last = 0;
  std::array<Path, kKept> paths;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_CLOCKS_PATH_H
