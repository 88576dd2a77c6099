//===- Shadow.cpp - Shadow of global memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Shadow.h"

using namespace mx::sim;

GlobalShadow::GlobalShadow(uint64_t maxBytes)
    : pagesPerShard(
          std::max<uint64_t>(maxBytes / kMostPageBytes / kShards, 1)) {}

GlobalShadow::~GlobalShadow() {
  for (std::atomic<Slot *> &part : ring)
    delete[] part.load();
}

uint32_t GlobalShadow::record(uint64_t cluster, Epoch epoch) {
  uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  if (!number) // wrapped around: 0 means no agent
    number = next.fetch_add(1, std::memory_order_relaxed);
  std::atomic<Slot *> &part = ring[number % kRing / kPart];
  Slot *slots = part.load(std::memory_order_acquire);
  if (!slots) {
    auto made = std::make_unique<Slot[]>(kPart);
    if (part.compare_exchange_strong(slots, made.get()))
      slots = made.release();
  }
  Slot &s = slots[number % kPart];
  s.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  s.cluster.store(cluster, std::memory_order_relaxed);
  s.epoch.store(epoch.raw(), std::memory_order_relaxed);
  s.number.store(number, std::memory_order_release);
  return number;
}

bool GlobalShadow::find(uint32_t number, Record &record) const {
  const Slot *slots = ring[number % kRing / kPart];
  const Slot &s = slots[number % kPart];
  if (s.number.load(std::memory_order_acquire) != number)
    return false;
  record.cluster = s.cluster.load(std::memory_order_relaxed);
  record.epoch = Epoch::fromRaw(s.epoch.load(std::memory_order_relaxed));
  std::atomic_thread_fence(std::memory_order_acquire);
  return s.number.load(std::memory_order_relaxed) == number;
}

GlobalShadow::Page &GlobalShadow::pageOf(Shard &shard, uint64_t number) {
  if (shard.last && number == shard.lastNumber)
    return *shard.last;
  std::unique_ptr<Page> &p = shard.pages[number];
  shard.lastNumber = number;
  if (!p && shard.age.size() < pagesPerShard) {
    p = std::make_unique<Page>();
    p->reset(kPageBytes);
    shard.age.push_back(number);
  } else if (!p) {
    // Evict the oldest page and reuse its memory.
    uint64_t &oldest = shard.age[shard.oldest];
    auto it = shard.pages.find(oldest);
    p = std::move(it->second);
    p->reset(kPageBytes);
    shard.pages.erase(it);
    oldest = number;
    shard.oldest = (shard.oldest + 1) % shard.age.size();
  }
  shard.last = p.get();
  return *p;
}
