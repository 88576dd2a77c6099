//===- WorldState.h - what the machines of a world share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines of several devices run one after another, a pass each, so that what
// stands here needs no lock unless clusters of one machine use it side by side.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_WORLDSTATE_H
#define MXSIM_LIB_MACHINE_WORLDSTATE_H

#include "../clocks/Published.h"
#include "LateStores.h"
#include "Program.h"

#include "mxsim/Simulator.h"

#include <string>
#include <vector>

namespace mx::sim {

/// A launch that has begun. Clusters have numbers of their own in the world,
/// those of one launch side by side.
struct WorldLaunch {
  uint64_t firstCluster = 0, clusters = 0;
  unsigned device = 0;
  /// In the stream of the device.
  uint32_t number = 0;
  const Program *program = nullptr;
  Dim3 cluster, clusterGrid;
};

/// "of device 1" with the CTA and the kernel, for what `cluster` did.
std::string describeCluster(const WorldLaunch &launch, uint64_t cluster);

class WorldState {
public:
  GlobalShadow shadow;
  /// By operations of the scope of the system.
  Published published;
  /// What any strong write would have published in that scope, to say so where
  /// its own scope is too narrow.
  Published narrow;
  std::vector<WorldLaunch> launches; ///< by `firstCluster`
  /// What clocks say, in nanoseconds. It stands still while no device can go
  /// on.
  uint64_t time = 0;
  /// Whether lanes that poll wait; else they run.
  bool parks = true;
  /// Passes of machines so far.
  uint64_t passes = 0;

  const WorldLaunch &launchOf(uint64_t cluster) const;
  /// The first number that no cluster has.
  uint64_t nextCluster() const {
    return launches.empty()
               ? 0
               : launches.back().firstCluster + launches.back().clusters;
  }
};

/// One device of a world, over all its launches.
class WorldDevice {
public:
  WorldDevice(WorldState &world, unsigned number)
      : world(world), number(number) {}
  WorldState &world;
  const unsigned number;
  /// Launches that have begun.
  uint32_t launches = 0;
  /// What comes before the next launch.
  Knowledge known;
  /// Null where stores arrive at once.
  std::unique_ptr<LateStores> late;

  /// A launch of `clusters` begins; its first cluster gets the returned number.
  uint64_t begin(const Program &program, Dim3 cluster, Dim3 clusterGrid);
  /// It has ended, and its threads knew `atEnd`.
  void end(const Clock &atEnd);
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_WORLDSTATE_H
