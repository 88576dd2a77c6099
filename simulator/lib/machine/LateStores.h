//===- LateStores.h - stores on their way to another device -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device stores to memory of another one arrives late and in any order,
// until a release or a fence of the scope of the system says that it must have
// arrived: then all arrives that the releasing thread knows of, by the order of
// accesses. Bytes that two stores share arrive in the order of the stores, and
// the device itself finds its stores where it reads.
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
  /// Whose access it is; without the check of the order, 0.
  uint64_t cluster = 0;
  Epoch epoch;
  /// What whoever reads it by a strong access may learn; null: nothing.
  std::shared_ptr<const Knowledge> published;
};

/// Those of one device. Thread-safe but for `arrive`.
class LateStores {
public:
  LateStores(DeviceMemory &memory, Published &published)
      : memory(memory), published(published) {}

  bool empty() const { return !count.load(std::memory_order_relaxed); }
  /// `age` grows from store to store of a cluster, and with the passes.
  using Age = std::tuple<uint64_t, uint64_t, uint64_t>;
  void put(LateStore store, Age age);
  /// The device itself reads there, or changes it at once.
  void settle(uint64_t address, uint64_t bytes);
  /// All of which `mustArrive` is true.
  void release(const std::function<bool(const LateStore &)> &mustArrive);
  /// The newest, or some of them at random.
  void arrive(size_t most, Random *random);
  /// Each with a chance of one in `n`.
  void arriveByChance(uint32_t n, Random &random);
  void arriveAll(Random *random) { arrive(~size_t(0), random); }

private:
  /// Host memory for stores that nothing releases.
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
  Entries entries; ///< by address; no two share a byte
  std::map<Age, uint64_t> byAge;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_LATESTORES_H
