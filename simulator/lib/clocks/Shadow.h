//===- Shadow.h - who touched which bytes last ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every granule of memory the last write and the last reads of two agents:
// a tile is often read by two roles, and whoever writes a word that others read
// has often read it too. This is the idea of
// FastTrack (Flanagan and Freund, PLDI 2009): comparing one step of one agent
// with the clock of whoever comes next finds most races at the cost of one
// comparison. What is forgotten (a third reader) can only hide a race, never
// invent one.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_SHADOW_H
#define MXSIM_LIB_CLOCKS_SHADOW_H

#include "Clock.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>

namespace mx::sim {

/// One access: an agent's step, the instruction, and which bytes of a granule.
/// 0 is "no agent". Packed into 64 bits, as shadows hold millions of them.
class Epoch {
public:
  static constexpr uint32_t kMaxAgents = 1u << 12;
  /// Stands for all agents beyond those that have a number of their own.
  /// Nothing is said about their accesses: which one it was is not known.
  static constexpr uint32_t kAnonymous = kMaxAgents - 2;
  static constexpr uint32_t kMaxStep = (1u << 25) - 1;
  static constexpr uint32_t kMaxInstr = (1u << 20) - 1;

  Epoch() = default;
  Epoch(uint32_t agent, uint32_t step, uint32_t instr, bool isAtomic,
        bool isAsync, bool isCas = false)
      : bits(uint64_t(agent) | uint64_t(std::min(step, kMaxStep)) << 12 |
             uint64_t(isCas) << 37 |
             uint64_t(std::min(instr, kMaxInstr)) << 38 |
             uint64_t(isAtomic) << 58 | uint64_t(isAsync) << 59) {}
  explicit operator bool() const { return bits; }
  uint32_t agent() const { return bits & (kMaxAgents - 1); }
  bool isAnonymous() const { return agent() == kAnonymous; }
  uint32_t step() const { return bits >> 12 & kMaxStep; }
  uint32_t instr() const { return bits >> 38 & kMaxInstr; }
  bool isAtomic() const { return bits >> 58 & 1; }
  /// Compare and swap: CUDA's own idiom for operations that the hardware lacks
  /// reads the word by a plain load before its loop. The swap compares again.
  bool isCas() const { return bits >> 37 & 1; }
  /// Of the async proxy.
  bool isAsync() const { return bits >> 59 & 1; }
  /// In global memory, where only whole granules are kept, of a strong access.
  MemoryScope scope() const { return MemoryScope(bits >> 60); }
  Epoch withScope(MemoryScope scope) const {
    return withBytes(unsigned(scope));
  }
  /// Which of the four bytes of a granule.
  unsigned bytes() const { return bits >> 60; }
  Epoch withBytes(unsigned mask) const {
    Epoch e;
    e.bits = (bits & ~(15ull << 60)) | uint64_t(mask) << 60;
    return e;
  }
  uint64_t raw() const { return bits; }
  static Epoch fromRaw(uint64_t raw) {
    Epoch e;
    e.bits = raw;
    return e;
  }
  /// The same access but for the bytes.
  bool sameAccess(Epoch o) const { return !((bits ^ o.bits) << 4); }

private:
  uint64_t bits = 0;
};

/// Write and reads of one granule.
struct ShadowCell {
  Epoch write, read, other;
};

/// One of two accesses is a compare and swap, the other a read by a thread.
inline bool isReadBeforeCas(Epoch old, bool wasWrite, Epoch e, bool isWrite) {
  return (old.isCas() && !isWrite && !e.isAsync()) ||
         (e.isCas() && !wasWrite && !old.isAsync());
}

/// Strong reads that have read what a strong write stored: PTX ISA,
/// "Observation order". Whatever comes after such a read comes after the write,
/// as far as this word is concerned, though nothing else of the writer is
/// known.
template <class Write, class Reader>
struct Observation {
  Write write = {};
  std::vector<Reader> readers;
  /// Notes a reader of `w`; `isSame(reader)` tells readers of its agent, of
  /// which the first read is enough.
  template <class F>
  void add(Write w, const Reader &reader, F &&isSame) {
    if (write != w)
      readers.clear();
    write = w;
    if (std::none_of(readers.begin(), readers.end(), isSame))
      readers.push_back(reader);
  }
};

/// Tells a conflict: the earlier access, and whether it was a write.
struct Conflict {
  Epoch earlier;
  bool wasWrite = false;
  uint64_t granule = 0;
  uint64_t cluster = ~0ull; ///< of the earlier access, where it is another one
};

/// The one conflict of an access that is reported: the first that is an error,
/// or else the first.
struct WorstConflict {
  std::optional<Conflict> conflict;
  bool isWarning = false;
  void add(const Conflict &c, bool warns) {
    if (conflict && (warns || !isWarning))
      return;
    conflict = c;
    isWarning = warns;
  }
};

/// How an access touches a granule. A silent write leaves the bytes as they
/// are: that several warps store the same flag is harmless.
enum class Touch : uint8_t { Read, Write, SilentWrite };

/// Looks at `c` on behalf of an access and notes the access. `isOrdered(epoch,
/// wasWrite)` says whether an earlier access is known to come before;
/// `onClash(epoch, wasWrite)` gets each that is not.
template <class F, class G>
__attribute__((always_inline)) inline void
visitCell(ShadowCell &c, Epoch e, Touch touch, F &&isOrdered, G &&onClash) {
  bool isWrite = touch != Touch::Read;
  auto clash = [&](Epoch old, bool wasWrite) __attribute__((always_inline)) {
    if (old && old.bytes() & e.bytes() && !(old.isAtomic() && e.isAtomic()) &&
        !isOrdered(old, wasWrite))
      onClash(old, wasWrite);
  };
  if (!c.write.sameAccess(e) && touch != Touch::SilentWrite)
    clash(c.write, true);
  if (isWrite) {
    clash(c.read, false);
    clash(c.other, false);
    // Reads of other bytes stay; a write of other bytes by the same access
    // widens it.
    if (c.write.sameAccess(e))
      e = e.withBytes(e.bytes() | c.write.bytes());
    c.write = e;
    if (e.bytes() == 15)
      c.read = c.other = Epoch();
    return;
  }
  if (c.read.sameAccess(e)) {
    c.read = c.read.withBytes(c.read.bytes() | e.bytes());
    return;
  }
  // An earlier read that comes before needs no memory of its own.
  if (c.read && c.read.agent() != e.agent())
    c.other = c.read;
  c.read = e;
}

/// The granules of a byte range: fn(granule, byte mask).
template <class F>
inline void forGranules(uint64_t begin, uint64_t bytes, F &&fn) {
  uint64_t end = begin + bytes;
  for (uint64_t g = begin / 4; g * 4 < end; ++g) {
    unsigned mask = 15;
    if (g * 4 < begin)
      mask &= 15u << (begin - g * 4);
    if (g * 4 + 4 > end)
      mask &= 15u >> (g * 4 + 4 - end);
    fn(g, mask & 15u);
  }
}

/// Global memory is shared by all clusters and may be much larger than what a
/// shadow should cost, so pages come into being when they are touched, and the
/// oldest ones are given up beyond a limit. Access records of two words stand
/// in a ring; a number that the ring no longer holds is "no agent".
class GlobalShadow {
public:
  explicit GlobalShadow(uint64_t maxBytes = 160ull << 20);

  struct Record {
    uint64_t cluster;
    Epoch epoch;
  };
  /// The number of a new record.
  uint32_t record(uint64_t cluster, Epoch epoch);

  /// Visits a range for an access of an agent of `cluster`, whose record is
  /// `number`; `isOrdered(record, wasWrite)` as above, `onClash(conflict)` gets
  /// each clash; `areStrong(record)` is asked of two atomic accesses.
  /// Thread-safe.
  template <class F, class G, class H>
  void visit(uint64_t address, uint64_t bytes, uint32_t number,
             uint64_t cluster, Touch touch, Epoch e, F &&isOrdered, G &&onClash,
             H &&areStrong);

private:
  struct Cell {
    uint32_t write = 0, read = 0, other = 0;
  };
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    std::array<Cell, kPageBytes / 4> cells;
  };
  struct Shard {
    std::mutex mutex;
    /// By granule.
    std::unordered_map<uint64_t, Observation<uint32_t, Record>> observed;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
    std::vector<uint64_t> age; ///< a ring of page numbers, oldest at `oldest`
    size_t oldest = 0;
  };
  static constexpr size_t kShards = 64;
  /// Words of a shard with observations.
  static constexpr size_t kMostObserved = 4096;
  static constexpr uint32_t kRing = 1u << 20;
  struct Slot {
    std::atomic<uint64_t> cluster{0}, epoch{0};
    std::atomic<uint32_t> number{0};
  };

  Page &page(Shard &shard, uint64_t number);
  bool find(uint32_t number, Record &record) const;

  std::array<Shard, kShards> shards;
  size_t pagesPerShard;
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  std::unique_ptr<Slot[], Free> ring;
  std::once_flag isMade;
  std::atomic<uint32_t> next{1};
};

template <class F, class G, class H>
void GlobalShadow::visit(uint64_t address, uint64_t bytes, uint32_t number,
                         uint64_t cluster, Touch touch, Epoch e, F &&isOrdered,
                         G &&onClash, H &&areStrong) {
  bool isWrite = touch != Touch::Read;
  // Sub-word accesses of neighbours share a cell: only whole granules are
  // remembered, which can hide a race between bytes.
  uint64_t begin = (address + 3) / 4, end = (address + bytes) / 4;
  uint32_t lastFine = 0, lastOwn = 0;
  auto isOwn = [&](uint32_t old) {
    Record r;
    bool isSame = old == lastOwn || (find(old, r) && r.cluster == cluster &&
                                     r.epoch.agent() == e.agent());
    if (isSame)
      lastOwn = old;
    return isSame;
  };
  while (begin < end) {
    uint64_t pageNumber = begin / (kPageBytes / 4);
    uint64_t stop = std::min(end, (pageNumber + 1) * (kPageBytes / 4));
    Shard &shard = shards[pageNumber % kShards];
    std::lock_guard<std::mutex> lock(shard.mutex);
    Page &p = page(shard, pageNumber);
    for (; begin < stop; ++begin) {
      Cell &c = p.cells[begin % (kPageBytes / 4)];
      auto isObserved = [&] {
        auto it = shard.observed.find(begin);
        return it != shard.observed.end() && it->second.write == c.write &&
               std::any_of(
                   it->second.readers.begin(), it->second.readers.end(),
                   [&](const Record &r) { return isOrdered(r, false); });
      };
      auto observe = [&] {
        Record r;
        if (c.write == number || !find(c.write, r) || !r.epoch.isAtomic() ||
            r.epoch.isAsync() || isOrdered(r, true))
          return;
        if (shard.observed.size() >= kMostObserved &&
            !shard.observed.count(begin)) {
          c.write = 0;
          return;
        }
        Record reader{cluster, e};
        shard.observed[begin].add(c.write, reader, [&](const Record &o) {
          return o.cluster == cluster && o.epoch.agent() == e.agent();
        });
      };
      auto look = [&](uint32_t old, bool wasWrite) {
        if (!old || old == number || old == lastFine)
          return;
        Record r;
        bool isHarmless =
            !find(old, r) ||
            (r.epoch.isAtomic() && e.isAtomic() && areStrong(r)) ||
            isReadBeforeCas(r.epoch, wasWrite, e, isWrite);
        if (isHarmless || isOrdered(r, wasWrite)) {
          lastFine = old;
          return;
        }
        if (wasWrite && r.epoch.isAtomic() && !e.isAsync() && isObserved())
          return;
        onClash(Conflict{r.epoch, wasWrite, begin * 4, r.cluster});
      };
      if (touch != Touch::SilentWrite)
        look(c.write, true);
      if (isWrite) {
        look(c.read, false);
        look(c.other, false);
        c.write = number;
        c.read = c.other = 0;
      } else if (c.read != number) {
        if (c.read && !isOwn(c.read))
          c.other = c.read;
        c.read = number;
        if (c.write && e.isAtomic())
          observe();
      }
    }
  }
}

} // namespace mx::sim

#endif // MXSIM_LIB_CLOCKS_SHADOW_H
