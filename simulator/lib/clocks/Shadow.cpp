//===- Shadow.cpp - Shadow of global memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Shadow.h"

#include <cstring>
#include <new>

using namespace mx::sim;

namespace {

/// Cells of rows that begin with lane 1, for 4 to 32 bytes of each lane: after
/// a write and reads, and after reads only.
struct Rows {
  static constexpr unsigned kShifts = 4, kMost = 32 << (kShifts - 1);
  LaneCell written[kShifts][kMost], read[kShifts][kMost];
  Rows() {
    for (unsigned s = 0; s < kShifts; ++s)
      for (unsigned k = 0; k < kMost; ++k) {
        Lane lane = Lane(1 + (k >> s));
        written[s][k] = {lane, lane};
        read[s][k] = {kUnknownLane, lane};
      }
  }
};

} // namespace

bool mx::sim::isRepeated(const LaneCell *cells, LaneRun run, uint64_t skipped,
                         uint64_t count, bool isWrite) {
  static const Rows rows;
  unsigned s = run.shift - 2;
  uint64_t first = (uint64_t(run.first - 1) << s) + skipped;
  size_t bytes = count * sizeof(LaneCell);
  return !std::memcmp(cells, rows.written[s] + first, bytes) ||
         (!isWrite && !std::memcmp(cells, rows.read[s] + first, bytes));
}

GlobalShadow::GlobalShadow(uint64_t maxBytes)
    : pagesPerShard(std::max<uint64_t>(maxBytes / sizeof(Page) / kShards, 1)) {}

uint32_t GlobalShadow::record(uint64_t cluster, Epoch epoch) {
  // Allocate on first use, since launches without the order check need no ring.
  // The zero pages from calloc use no memory until they are written.
  std::call_once(isMade, [&] {
    ring.reset(static_cast<Slot *>(std::calloc(kRing, sizeof(Slot))));
    if (!ring)
      throw std::bad_alloc();
  });
  uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  if (!number) // wrapped around: 0 means no agent
    number = next.fetch_add(1, std::memory_order_relaxed);
  Slot &s = ring[number % kRing];
  s.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  s.cluster.store(cluster, std::memory_order_relaxed);
  s.epoch.store(epoch.raw(), std::memory_order_relaxed);
  s.number.store(number, std::memory_order_release);
  return number;
}

bool GlobalShadow::find(uint32_t number, Record &record) const {
  const Slot &s = ring[number % kRing];
  if (s.number.load(std::memory_order_acquire) != number)
    return false;
  record.cluster = s.cluster.load(std::memory_order_relaxed);
  record.epoch = Epoch::fromRaw(s.epoch.load(std::memory_order_relaxed));
  std::atomic_thread_fence(std::memory_order_acquire);
  return s.number.load(std::memory_order_relaxed) == number;
}

GlobalShadow::Page &GlobalShadow::page(Shard &shard, uint64_t number) {
  std::unique_ptr<Page> &p = shard.pages[number];
  if (p)
    return *p;
  if (shard.age.size() < pagesPerShard) {
    p = std::make_unique<Page>();
    shard.age.push_back(number);
    return *p;
  }
  // Evict the oldest page and reuse its memory.
  uint64_t old = shard.age[shard.oldest];
  shard.age[shard.oldest] = number;
  shard.oldest = (shard.oldest + 1) % shard.age.size();
  auto it = shard.pages.find(old);
  std::unique_ptr<Page> reused = std::move(it->second);
  shard.pages.erase(it);
  reused->cells.fill(Cell());
  reused->lanes.fill(LaneCell());
  std::unique_ptr<Page> &mine = shard.pages[number];
  mine = std::move(reused);
  return *mine;
}
