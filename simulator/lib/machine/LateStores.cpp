//===- LateStores.cpp - Delayed stores to peer devices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LateStores.h"

#include <cstring>

using namespace mx::sim;

LateStores::Entries::iterator LateStores::deliver(Entries::iterator it) {
  const LateStore &s = it->second.store;
  if (void *to = memory.translate(s.address, s.bytes.size()))
    std::memcpy(to, s.bytes.data(), s.bytes.size());
  if (s.published)
    published.release(s.address, *s.published, s.cluster);
  byAge.erase(it->second.age);
  count.fetch_sub(1, std::memory_order_relaxed);
  return entries.erase(it);
}

void LateStores::settleLocked(uint64_t address, uint64_t bytes) {
  auto it = entries.upper_bound(address);
  if (it != entries.begin()) {
    auto before = std::prev(it);
    if (before->first + before->second.store.bytes.size() > address)
      it = before;
  }
  while (it != entries.end() && it->first < address + bytes)
    it = deliver(it);
}

void LateStores::put(LateStore store, Age age) {
  std::lock_guard<std::mutex> lock(mutex);
  settleLocked(store.address, store.bytes.size());
  uint64_t address = store.address;
  byAge.emplace(age, address);
  entries.emplace(address, Entry{std::move(store), age});
  count.fetch_add(1, std::memory_order_relaxed);
  if (entries.size() > kMostStores)
    deliver(entries.find(byAge.begin()->second));
}

void LateStores::settle(uint64_t address, uint64_t bytes) {
  if (empty())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  settleLocked(address, bytes);
}

void LateStores::release(
    const std::function<bool(const LateStore &)> &mustArrive) {
  if (empty())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto it = entries.begin(); it != entries.end();)
    it = mustArrive(it->second.store) ? deliver(it) : std::next(it);
}

void LateStores::arrive(size_t most, Random *random) {
  for (; most && !entries.empty(); --most) {
    auto age = std::prev(byAge.end());
    if (random) {
      // Choose among the newest few to bound the search.
      for (uint32_t back = random->below(16); back && age != byAge.begin();
           --back)
        --age;
    }
    deliver(entries.find(age->second));
  }
}

void LateStores::arriveByChance(uint32_t n, Random &random) {
  for (auto it = entries.begin(); it != entries.end();)
    it = random.oneIn(n) ? deliver(it) : std::next(it);
}
