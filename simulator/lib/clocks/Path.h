//===- Path.h - Causal chains of clocks -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each modeled time results from a chain of causes, such as the work of an
// engine, a latency or the wait for a slot, and each cause contributes cycles.
// If an event waits for two others, the later one determines the chain. The
// chain of the lanes that end last is the critical path, and its cycles add up
// to the launch time. A path stores only sums by cause, shared copy-on-write.
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

  /// Sum of the cycles of all causes.
  uint64_t cycle() const { return node ? node->cycle : 0; }
  uint64_t of(Cause cause) const { return node ? node->of(cause) : 0; }
  void add(Cause cause, uint64_t cycles) {
    if (!cycles)
      return;
    own();
    node->cycle += cycles;
    node->add(cause, uint32_t(cycles));
  }
  /// Extends the path to `cycle` if that is later.
  void reach(uint64_t cycle, Cause cause) {
    if (cycle > this->cycle())
      add(cause, cycle - this->cycle());
  }
  /// Address of the shared node, for prefetching.
  const void *place() const { return node; }

  /// Makes the node unique. Shards run on different threads and must not share
  /// nodes.
  void separate() {
    if (node)
      own();
  }

private:
  using Totals = std::array<uint32_t, kCauses>;
  /// Paths are copied and extended often. The latest causes are stored inline;
  /// the sums of older causes are shared between copies.
  struct Node {
    static constexpr unsigned kLatest = 7;
    uint64_t cycle = 0;
    std::shared_ptr<const Totals> older;
    uint32_t uses = 1;
    uint8_t count = 0; ///< number of latest causes
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
  /// Makes the node unique.
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

/// Time and its last cause, packed so that comparison orders by time. If data
/// arrives from memory, the moment refers to the path of the request instead.
class Moment {
public:
  Moment() = default;
  Moment(uint64_t cycle, Cause cause) : bits(cycle << 16 | unsigned(cause)) {}
  /// Creates the moment at which request `number` is answered.
  Moment(uint64_t cycle, Source source, uint32_t number)
      : bits(cycle << 16 | kRequest | unsigned(source) << 12 |
             number % kNumbers) {}

  /// Returns the moment of an unanswered request, which is later than all other
  /// moments.
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
  /// Returns the moment `cycles` later, with the same cause.
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

/// Paths of the latest memory requests of a warp, up to the memory that serves
/// them.
class RequestPaths {
public:
  uint32_t add(Path path) {
    paths[++last % kKept] = std::move(path);
    return last % Moment::kNumbers;
  }
  /// Returns null if the request is too old.
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
