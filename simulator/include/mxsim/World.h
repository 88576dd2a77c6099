//===- World.h - Multiple devices with concurrent kernels -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices in one address space. Each device runs a stream of launches in order.
// Launches of different devices run concurrently and can wait for each other
// through words in shared windows.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_WORLD_H
#define MXSIM_WORLD_H

#include "mxsim/Simulator.h"

#include <functional>

namespace mx::sim {

struct WorldConfig {
  /// Between 1 and DeviceMemory::kMostDevices.
  unsigned devices = 1;
  /// Selects the order in which devices run and in which their stores become
  /// visible to peers. Seed 0 is round robin; other seeds select other legal
  /// orders, including orders in which a device is always last or always
  /// first.
  uint64_t seed = 0;
  /// Delay stores to peer memory, and reorder them in any way that the memory
  /// model permits.
  bool isWeak = true;
  /// Memory capacity of each device, in bytes.
  uint64_t capacity = DeviceMemory::defaultCapacity();
};

class World {
public:
  explicit World(const WorldConfig &config);
  ~World();
  World(const World &) = delete;
  World &operator=(const World &) = delete;

  unsigned devices() const;
  /// Returns the memory of a device. Windows are created by
  /// DeviceMemory::share().
  DeviceMemory &memory(unsigned device);

  /// Appends a launch to the stream of a device. A module belongs to one
  /// device: the device of its first launch, or the device into which it was
  /// loaded. The module must stay alive until run() returns.
  void launch(unsigned device, Module &module, LaunchConfig config);
  /// Appends a host operation to the stream of a device. Other devices do not
  /// wait for the operation, and checks ignore its memory accesses.
  void call(unsigned device, std::function<void()> step);

  /// Runs all streams to their end and empties them. Returns the reports of all
  /// launches that started, sorted by device and then by stream order. Bad
  /// input, a deadlock, or a finding that ends a launch stops the world:
  /// running launches are incomplete, and the remaining launches do not start.
  std::vector<LaunchReport> run();

private:
  struct Impl;
  std::unique_ptr<Impl> self;
};

} // namespace mx::sim

#endif // MXSIM_WORLD_H
