//===- LateStores.h - Delayed stores to peer devices ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores to the memory of a peer device arrive late and in any order. A release
// or a fence at system scope forces the arrival of all stores that happen
// before it. Overlapping stores arrive in program order, and the storing device
// always reads its own stores.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_LATESTORES_H
#define MXSIM_LIB_MACHINE_LATESTORES_H

#include "../clocks/Published.h"
#include "AsyncQueue.h"

#include "mxsim/Simulator.h"

#include <functional>
#include <map>
#include <tuple>

namespace mx::sim {

struct LateStore {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
  /// Cluster that issued the store; 0 if the order of accesses is not checked.
  uint64_t cluster = 0;
  Epoch epoch;
  /// Knowledge that a strong read of the stored value acquires, or null.
  std::shared_ptr<const Knowledge> published;
};

/// Pending stores of a device. Thread-safe except for `arrive`.
class LateStores {
public:
  LateStores(DeviceMemory &memory, Published &published)
      : memory(memory), published(published) {}

  bool empty() const { return !count.load(std::memory_order_relaxed); }
  /// Adds a store. `age` increases with every scheduling pass and with every
  /// store of a cluster.
  using Age = std::tuple<uint64_t, uint64_t, uint64_t>;
  void put(LateStore store, Age age);
  /// Delivers the stores to a range that the device itself reads or updates.
  void settle(uint64_t address, uint64_t bytes);
  /// Delivers all stores that satisfy `mustArrive`.
  void release(const std::function<bool(const LateStore &)> &mustArrive);
  /// Delivers at most `most` stores: the newest first, or random stores among
  /// the newest.
  void arrive(size_t most, Random *random);
  /// Delivers each store with a probability of 1 / `n`.
  void arriveByChance(uint32_t n, Random &random);
  void arriveAll(Random *random) { arrive(~size_t(0), random); }

private:
  /// Limit on unreleased stores, to bound host memory.
  static constexpr size_t kMostStores = 1u << 16;
  struct Entry {
    LateStore store;
    Age age;
  };
  using Entries = std::map<uint64_t, Entry>;
  Entries::iterator deliver(Entries::iterator it);
  void settleLocked(uint64_t address, uint64_t bytes);

  DeviceMemory &memory;
  Published &published;
  std::mutex mutex;
  std::atomic<size_t> count{0};
  Entries entries; ///< keyed by address; disjoint
  std::map<Age, uint64_t> byAge;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_LATESTORES_H
