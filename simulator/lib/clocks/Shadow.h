//===- Shadow.h - Last accesses of each memory granule ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the last write of each granule, and the last reads of two agents,
// because a tile is often read by two warps. As in FastTrack (Flanagan and
// Freund, PLDI 2009), a race is found by comparing one step of the earlier
// agent with the clock of the later agent. A forgotten access (a third reader)
// can hide a race, but cannot cause a false report.
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

/// Access of an agent: step, instruction and bytes of a granule. Agent 0 means
/// no agent. Packed into 64 bits because shadows contain millions of epochs.
class Epoch {
public:
  static constexpr uint32_t kMaxAgents = 1u << 12;
  /// Shared by all agents without a number of their own. Their accesses are not
  /// reported, because the agent is unknown.
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
  /// Returns true for compare-and-swap. CUDA emulates missing atomics with a
  /// loop of a plain load and a compare-and-swap. The load is harmless because
  /// the compare-and-swap checks the loaded value.
  bool isCas() const { return bits >> 37 & 1; }
  /// Returns true for an access of the async proxy.
  bool isAsync() const { return bits >> 59 & 1; }
  /// Scope of a strong access to global memory. Replaces the byte mask, since
  /// only whole granules of global memory are tracked.
  MemoryScope scope() const { return MemoryScope(bits >> 60); }
  Epoch withScope(MemoryScope scope) const {
    return withBytes(unsigned(scope));
  }
  /// Mask of the bytes of the granule.
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
  /// Returns true if only the bytes differ.
  bool sameAccess(Epoch o) const { return !((bits ^ o.bits) << 4); }

private:
  uint64_t bits = 0;
};

/// Lane of an access: 1 to 32, kSeveralLanes if several lanes have accessed the
/// same bytes, or 0 if unknown. Accesses of unknown lanes do not conflict with
/// other lanes of their warp.
using Lane = uint8_t;
constexpr Lane kUnknownLane = 0, kSeveralLanes = 33;

/// Lanes of a range of bytes: 2^`shift` bytes for each lane, beginning with
/// `first`, or by default `first` for the whole range.
struct LaneRun {
  Lane first = kUnknownLane;
  uint8_t shift = 63;
  Lane at(uint64_t offset) const { return Lane(first + (offset >> shift)); }
  bool isRow() const { return shift < 63; }
};

/// Last write of a granule, and last reads of two agents.
struct ShadowCell {
  Epoch write, read, other;
};
/// Lanes of the accesses `write` and `read` of a cell, if a warp made them.
/// Stored apart, because engines do not use the lanes.
struct LaneCell {
  Lane write = kUnknownLane, read = kUnknownLane;
};

/// Returns true if an access of the row `run` changes nothing in the cells of
/// `count` granules from granule `skipped` of the row, because each lane
/// accesses its own granules again. Most accesses do, and this comparison is
/// fast.
bool isRepeated(const LaneCell *cells, LaneRun run, uint64_t skipped,
                uint64_t count, bool isWrite);

/// Returns true if one access is a compare and swap and the other a read by a
/// thread.
inline bool isReadBeforeCas(Epoch old, bool wasWrite, Epoch e, bool isWrite) {
  return (old.isCas() && !isWrite && !e.isAsync()) ||
         (e.isCas() && !wasWrite && !old.isAsync());
}

/// Strong reads that observed a strong write (PTX ISA, "Observation order").
/// Accesses to the same word after such a read are ordered after the write;
/// other writes of the writer remain unordered.
template <class Write, class Reader>
struct Observation {
  Write write = {};
  std::vector<Reader> readers;
  /// Records a reader of `w` unless `isSame(reader)` is true for a recorded
  /// reader.
  template <class F>
  void add(Write w, const Reader &reader, F &&isSame) {
    if (write != w)
      readers.clear();
    write = w;
    if (std::none_of(readers.begin(), readers.end(), isSame))
      readers.push_back(reader);
  }
};

struct Conflict {
  Epoch earlier;
  bool wasWrite = false;
  uint64_t granule = 0;
  uint64_t cluster = ~0ull; ///< cluster of the earlier access, if different
  /// Lane of the earlier access, if a lane of the same warp.
  Lane lane = kUnknownLane;
};

/// Conflict to report for an access: the first error, or the first warning if
/// there is no error.
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

/// Kind of access. A silent write stores the value already present, for example
/// if several warps set the same flag.
enum class Touch : uint8_t { Read, Write, SilentWrite };

/// Records an access in `c`. `isOrdered(epoch, wasWrite)` returns true if the
/// earlier access happens before this access. `onClash(epoch, wasWrite)` is
/// called for each conflicting access that is not ordered.
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
    // Reads of other bytes are kept. A write of other bytes by the same access
    // extends the recorded write.
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
  // Replace an earlier read of the same agent, and keep the read of another
  // agent.
  if (c.read && c.read.agent() != e.agent())
    c.other = c.read;
  c.read = e;
}

/// Records the lane of an access by a warp to a cell, before visitCell records
/// the access. `isNear(epoch)` returns true if the warp made an earlier access,
/// and its lanes have not met since. `onClash(epoch, wasWrite, lane)` is called
/// for each conflicting access of another lane.
template <class G, class H>
__attribute__((always_inline)) inline void
visitLane(const ShadowCell &c, LaneCell &of, Epoch e, Touch touch, Lane lane,
          G &&onClash, H &&isNear) {
  auto isOther = [&](Epoch old, Lane l) {
    return l != lane && l && lane && old && isNear(old);
  };
  auto clash = [&](Epoch old, bool wasWrite, Lane l) {
    if (isOther(old, l) && old.bytes() & e.bytes() &&
        !(old.isAtomic() && e.isAtomic()))
      onClash(old, wasWrite, l);
  };
  bool isSame = c.write.sameAccess(e);
  if (!isSame)
    clash(c.write, true, of.write);
  if (touch != Touch::Read) {
    clash(c.read, false, of.read);
    // One of several lanes that write the same bytes at once wins, so only
    // atomic operations are attributed.
    if (isSame && of.write != lane)
      lane = e.isAtomic() && c.write.bytes() == e.bytes() ? kSeveralLanes
                                                          : kUnknownLane;
    of.write = lane;
    if (e.bytes() == 15)
      of.read = lane; // as isRepeated expects; the cell contains no read
    return;
  }
  if (e.isAtomic()) // observes the write (see Observation)
    of.write = kUnknownLane;
  if (c.read.bytes() == e.bytes() && isOther(c.read, of.read))
    lane = kSeveralLanes;
  else if (c.read.sameAccess(e) && of.read != lane)
    lane = kUnknownLane;
  of.read = lane;
}

/// Calls fn(granule, byte mask) for the granules of a byte range.
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

/// Shadow of global memory, shared by all clusters. Pages are created on
/// access; at the size limit, the oldest page is evicted. Access records are
/// stored in a ring, and cells refer to records by number. An access is
/// forgotten when its record is overwritten.
class GlobalShadow {
public:
  explicit GlobalShadow(uint64_t maxBytes = 160ull << 20);

  struct Record {
    uint64_t cluster;
    Epoch epoch;
  };
  /// Adds a record and returns its number.
  uint32_t record(uint64_t cluster, Epoch epoch);

  /// Enters record `number`, an access by an agent of `cluster`, in each
  /// granule of a range. `isOrdered(record, wasWrite)` returns true if an
  /// earlier access happens before this access; `onClash(conflict)` is called
  /// for each conflict. `areStrong(record)` returns true if two atomic accesses
  /// are morally strong, and `isNear(record)` if the record belongs to the same
  /// warp, and its lanes have not met since. Thread-safe.
  template <class F, class G, class H, class N>
  void visit(uint64_t address, uint64_t bytes, uint32_t number,
             uint64_t cluster, Touch touch, Epoch e, const LaneRun *run,
             F &&isOrdered, G &&onClash, H &&areStrong, N &&isNear);

private:
  struct Cell {
    uint32_t write = 0, read = 0, other = 0;
  };
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    std::array<Cell, kPageBytes / 4> cells;
    std::array<LaneCell, kPageBytes / 4> lanes;
  };
  struct Shard {
    std::mutex mutex;
    /// Indexed by granule.
    std::unordered_map<uint64_t, Observation<uint32_t, Record>> observed;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
    std::vector<uint64_t> age; ///< ring of page numbers; the oldest at `oldest`
    size_t oldest = 0;
  };
  static constexpr size_t kShards = 64;
  /// Maximum number of words with observations per shard.
  static constexpr size_t kMostObserved = 4096;
  static constexpr uint32_t kRing = 1u << 20;
  struct Slot {
    std::atomic<uint64_t> cluster{0}, epoch{0};
    std::atomic<uint32_t> number{0};
  };

  Page &page(Shard &shard, uint64_t number);
  /// Records the lanes of a range of granules; see visitLane.
  template <class G, class N>
  void visitLanes(Page &p, uint64_t address, uint64_t begin, uint64_t end,
                  uint32_t number, Touch touch, Epoch e, LaneRun run,
                  G &&onClash, N &&isNear);
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

template <class G, class N>
void GlobalShadow::visitLanes(Page &p, uint64_t address, uint64_t begin,
                              uint64_t end, uint32_t number, Touch touch,
                              Epoch e, LaneRun run, G &&onClash, N &&isNear) {
  uint64_t skipped = begin - (address + 3) / 4;
  bool isWrite = touch != Touch::Read;
  if (run.isRow() && isRepeated(&p.lanes[begin % (kPageBytes / 4)], run,
                                skipped, end - begin, isWrite))
    return;
  uint32_t lastFar = 0;
  auto isOther = [&](uint32_t old, Lane of, Lane lane) {
    Record r;
    if (of == lane || !of || !lane || !old || old == lastFar)
      return false;
    if (old == number || (find(old, r) && isNear(r)))
      return true;
    lastFar = old;
    return false;
  };
  for (; begin < end; ++begin) {
    const Cell &c = p.cells[begin % (kPageBytes / 4)];
    LaneCell &of = p.lanes[begin % (kPageBytes / 4)];
    Lane lane = run.at(begin * 4 - address);
    auto look = [&](uint32_t old, bool wasWrite, Lane l) {
      Record r;
      if (isOther(old, l, lane) && old != number && find(old, r) &&
          !(r.epoch.isAtomic() && e.isAtomic()) &&
          !isReadBeforeCas(r.epoch, wasWrite, e, isWrite))
        onClash(Conflict{r.epoch, wasWrite, begin * 4, r.cluster, l});
    };
    look(c.write, true, of.write);
    if (isWrite) {
      look(c.read, false, of.read);
      if (c.write == number && of.write != lane)
        lane = e.isAtomic() ? kSeveralLanes : kUnknownLane;
      of = {lane, lane};
      continue;
    }
    if (e.isAtomic())
      of.write = kUnknownLane;
    of.read = isOther(c.read, of.read, lane) ? kSeveralLanes : lane;
  }
}

template <class F, class G, class H, class N>
void GlobalShadow::visit(uint64_t address, uint64_t bytes, uint32_t number,
                         uint64_t cluster, Touch touch, Epoch e,
                         const LaneRun *run, F &&isOrdered, G &&onClash,
                         H &&areStrong, N &&isNear) {
  bool isWrite = touch != Touch::Read;
  // Track whole granules only, because adjacent sub-word accesses share a cell.
  // This can hide a race between bytes.
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
    if (run)
      visitLanes(p, address, begin, stop, number, touch, e, *run, onClash,
                 isNear);
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
