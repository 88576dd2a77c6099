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
#include "Lines.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

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

/// Last write of a granule, and last reads of two agents.
struct ShadowCell {
  Epoch write, read, other;
  bool operator==(const ShadowCell &o) const {
    return write.raw() == o.write.raw() && read.raw() == o.read.raw() &&
           other.raw() == o.other.raw();
  }
};
/// Returns true if one access is a compare and swap and the other a read by a
/// thread.
inline bool isReadBeforeCas(Epoch old, bool wasWrite, Epoch e, bool isWrite) {
  return (old.isCas() && !isWrite && !e.isAsync()) ||
         (e.isCas() && !wasWrite && !old.isAsync());
}

/// Lines of 32 bytes, because an MMA of 8-bit elements reads 32 bytes of a row.
using SharedShadow = LineShadow<ShadowCell, 8>;

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
visitLane(const ShadowCell &c, Lane &write, Lane &read, Epoch e, Touch touch,
          Lane lane, G &&onClash, H &&isNear) {
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
    clash(c.write, true, write);
  if (touch != Touch::Read) {
    clash(c.read, false, read);
    // One of several lanes that write the same bytes at once wins, so only
    // atomic operations are attributed.
    if (isSame && write != lane)
      lane = e.isAtomic() && c.write.bytes() == e.bytes() ? kSeveralLanes
                                                          : kUnknownLane;
    write = lane;
    if (e.bytes() == 15)
      read = lane; // the cell contains no read, and may become settled
    return;
  }
  if (e.isAtomic()) // observes the write (see Observation)
    write = kUnknownLane;
  if (c.read.bytes() == e.bytes() && isOther(c.read, read))
    lane = kSeveralLanes;
  else if (c.read.sameAccess(e) && read != lane)
    lane = kUnknownLane;
  read = lane;
}

/// Shadow of global memory, shared by all clusters. Pages are created on
/// access; at the size limit, the oldest page is evicted. Access records are
/// stored in a ring, and cells refer to records by number. An access is
/// forgotten when its record is overwritten.
class GlobalShadow {
public:
  explicit GlobalShadow(uint64_t maxBytes = 160ull << 20);
  ~GlobalShadow();

  struct Record {
    uint64_t cluster;
    Epoch epoch;
  };
  /// Adds a record and returns its number.
  uint32_t record(uint64_t cluster, Epoch epoch);

  /// Enters record `number`, an access `e` by an agent of `cluster`, in each
  /// granule of the ranges. `HasLanes` is false for engines. `isOrdered(record,
  /// wasWrite)` returns true if an earlier access happens before this access;
  /// `onClash(range, conflict)` is called for each conflict.
  /// `areStrong(record)` returns true if two atomic accesses are morally
  /// strong, and `isNear(record)` if the record belongs to the same warp, and
  /// its lanes have not met since. Thread-safe.
  template <bool HasLanes, class F, class G, class H, class N>
  void visit(AccessRanges ranges, uint32_t number, uint64_t cluster,
             Touch touch, Epoch e, F &&isOrdered, G &&onClash, H &&areStrong,
             N &&isNearRecord);

private:
  struct Cell {
    uint32_t write = 0, read = 0, other = 0;
    bool operator==(const Cell &o) const {
      return write == o.write && read == o.read && other == o.other;
    }
  };
  static constexpr uint64_t kPageBytes = 4096;
  /// A line of 64 bytes takes less memory than two of 32.
  using Page = LineShadow<Cell, 16>;
  /// Size of a page if every line is split.
  static constexpr uint64_t kMostPageBytes =
      kPageBytes / Page::kBytes * Page::kMostPerLine;
  struct Shard {
    std::mutex mutex;
    /// Indexed by granule.
    std::unordered_map<uint64_t, Observation<uint32_t, Record>> observed;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
    Page::Numbers numbers;
    uint64_t lastNumber = ~0ull; ///< of the page `last`
    Page *last = nullptr;
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

  Page &pageOf(Shard &shard, uint64_t number);
  bool find(uint32_t number, Record &record) const;

  std::array<Shard, kShards> shards;
  size_t pagesPerShard;
  /// Parts of the ring, made on first use. Short launches use only the first.
  static constexpr uint32_t kPart = 1u << 12;
  std::array<std::atomic<Slot *>, kRing / kPart> ring = {};
  std::atomic<uint32_t> next{1};
};

template <bool HasLanes, class F, class G, class H, class N>
void GlobalShadow::visit(AccessRanges ranges, uint32_t number, uint64_t cluster,
                         Touch touch, Epoch e, F &&isOrdered, G &&onClash,
                         H &&areStrong, N &&isNearRecord) {
  struct Access {
    enum : bool { hasLanes = HasLanes };
    GlobalShadow &shadow;
    uint32_t number;
    uint64_t cluster;
    Touch touch;
    Epoch e;
    F &isOrdered;
    G &onClash;
    H &areStrong;
    N &isNearRecord;
    bool isWrite, isPlain;
    Change<Cell> &last;
    Shard *shard = nullptr;
    const AccessRange *range = nullptr;
    uint64_t first = 0; ///< granule of the page
    uint32_t lastFine = 0, lastOwn = 0, lastFar = 0;

    Page::Numbers &numbers() { return shard->numbers; }
    bool isSame(uint32_t old) const { return old == number; }
    bool isNear(uint32_t old) {
      Record r;
      if (!old || old == lastFar)
        return false;
      if (old == number || (shadow.find(old, r) && isNearRecord(r)))
        return true;
      lastFar = old;
      return false;
    }
    bool isOwn(uint32_t old) {
      Record r;
      bool isSame =
          old == lastOwn || (shadow.find(old, r) && r.cluster == cluster &&
                             r.epoch.agent() == e.agent());
      if (isSame)
        lastOwn = old;
      return isSame;
    }
    bool isObserved(const Cell &c, uint64_t granule) {
      auto it = shard->observed.find(granule);
      return it != shard->observed.end() && it->second.write == c.write &&
             std::any_of(it->second.readers.begin(), it->second.readers.end(),
                         [&](const Record &r) { return isOrdered(r, false); });
    }
    void observe(Cell &c, uint64_t granule) {
      Record r;
      if (c.write == number || !shadow.find(c.write, r) ||
          !r.epoch.isAtomic() || r.epoch.isAsync() || isOrdered(r, true))
        return;
      if (shard->observed.size() >= kMostObserved &&
          !shard->observed.count(granule)) {
        c.write = 0;
        return;
      }
      shard->observed[granule].add(
          c.write, Record{cluster, e}, [&](const Record &o) {
            return o.cluster == cluster && o.epoch.agent() == e.agent();
          });
    }
    /// Returns false after a conflict, or if the order depends on the granule.
    bool look(const Cell &c, uint32_t old, bool wasWrite, uint64_t granule) {
      if (!old || old == number || old == lastFine)
        return true;
      Record r;
      bool isHarmless = !shadow.find(old, r) ||
                        (r.epoch.isAtomic() && e.isAtomic() && areStrong(r)) ||
                        isReadBeforeCas(r.epoch, wasWrite, e, isWrite);
      if (isHarmless || isOrdered(r, wasWrite)) {
        lastFine = old;
        return true;
      }
      if (!wasWrite || !r.epoch.isAtomic() || e.isAsync() ||
          !isObserved(c, granule))
        onClash(*range, Conflict{r.epoch, wasWrite, granule * 4, r.cluster});
      return false;
    }
    bool visit(Cell &c, uint64_t g, unsigned) {
      bool isAlike =
          touch == Touch::SilentWrite || look(c, c.write, true, first + g);
      if (isWrite) {
        isAlike &= look(c, c.read, false, first + g);
        isAlike &= look(c, c.other, false, first + g);
        c = {number, 0, 0};
      } else if (c.read != number) {
        if (c.read && !isOwn(c.read))
          c.other = c.read;
        c.read = number;
        if (c.write && e.isAtomic())
          observe(c, first + g);
      }
      return isAlike;
    }
    void visitLane(const Cell &c, Lane &write, Lane &read, uint64_t g, unsigned,
                   Lane lane) {
      auto isOther = [&](uint32_t old, Lane l) {
        return l != lane && l && lane && isNear(old);
      };
      auto look = [&](uint32_t old, bool wasWrite, Lane l) {
        Record r;
        if (isOther(old, l) && old != number && shadow.find(old, r) &&
            !(r.epoch.isAtomic() && e.isAtomic()) &&
            !isReadBeforeCas(r.epoch, wasWrite, e, isWrite))
          onClash(*range,
                  Conflict{r.epoch, wasWrite, (first + g) * 4, r.cluster, l});
      };
      look(c.write, true, write);
      if (isWrite) {
        look(c.read, false, read);
        if (c.write == number && write != lane)
          lane = e.isAtomic() ? kSeveralLanes : kUnknownLane;
        write = read = lane;
        return;
      }
      if (e.isAtomic())
        write = kUnknownLane;
      read = isOther(c.read, read) ? kSeveralLanes : lane;
    }
  };
  Change<Cell> last;
  Access access{
      *this,         number,  cluster,   touch,        e,
      isOrdered,     onClash, areStrong, isNearRecord, touch != Touch::Read,
      !e.isAtomic(), last};
  std::unique_lock<std::mutex> lock;
  Page *page = nullptr;
  for (const AccessRange &range : ranges) {
    access.range = &range;
    // Track whole granules only, because adjacent sub-word accesses share a
    // cell. This can hide a race between bytes.
    uint64_t begin = (range.address + 3) & ~3ull,
             end = (range.address + range.bytes) & ~3ull;
    for (uint64_t stop; begin < end; begin = stop) {
      uint64_t start = begin & ~(kPageBytes - 1);
      stop = std::min(end, start + kPageBytes);
      if (!page || start / 4 != access.first) {
        if (lock)
          lock.unlock();
        access.shard = &shards[start / kPageBytes % kShards];
        access.first = start / 4;
        lock = std::unique_lock<std::mutex>(access.shard->mutex);
        page = &pageOf(*access.shard, start / kPageBytes);
      }
      page->visit(begin - start, stop - start, range.address - start, range.run,
                  access);
    }
  }
}

} // namespace mx::sim

#endif // MXSIM_LIB_CLOCKS_SHADOW_H
