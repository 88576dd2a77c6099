//===- World.h - several devices whose kernels run together -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices in one address space. Each has a stream of launches that run one
// after another; launches of different devices are alive together, so that they
// may wait for each other by words in memory that peers share.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_WORLD_H
#define MXSIM_WORLD_H

#include "mxsim/Simulator.h"

#include <functional>

namespace mx::sim {

struct WorldConfig {
  /// 1 to DeviceMemory::kMostDevices.
  unsigned devices = 1;
  /// The order in which devices run, and in which their stores reach each
  /// other. 0: in turn; others are other legal orders, among them those in
  /// which one device is always last, or always first.
  uint64_t seed = 0;
  /// Stores to memory of another device arrive late, and in any order that
  /// nothing forbids.
  bool isWeak = true;
  /// Of each device.
  uint64_t capacity = DeviceMemory::defaultCapacity();
};

class World {
public:
  explicit World(const WorldConfig &config);
  ~World();
  World(const World &) = delete;
  World &operator=(const World &) = delete;

  unsigned devices() const;
  /// Its windows are what DeviceMemory::share has made so.
  DeviceMemory &memory(unsigned device);

  /// Puts a launch at the end of the stream of a device. A module belongs to
  /// one device: that of its first launch, or whose memory it was loaded into.
  /// It must live until the world has run.
  void launch(unsigned device, Module &module, LaunchConfig config);
  /// The same for what the host does between launches. Other devices do not
  /// wait for it, and no check sees what it does to memory.
  void call(unsigned device, std::function<void()> step);

  /// Runs all streams to their ends, and makes them empty. The reports are
  /// those of the launches that have begun, by device and then in the order of
  /// the stream. A finding that ends a launch, bad input and a deadlock stop
  /// the world: launches that run are incomplete, others do not begin.
  std::vector<LaunchReport> run();

private:
  struct Impl;
  std::unique_ptr<Impl> self;
};

} // namespace mx::sim

#endif // MXSIM_WORLD_H
