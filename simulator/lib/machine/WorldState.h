//===- WorldState.h - State shared by machines of a world -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines of several devices run one after another, one pass each, so only
// members shared by clusters of a machine need locks.
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

/// A started launch. Cluster indices are world-wide and contiguous within each
/// launch.
struct WorldLaunch {
  uint64_t firstCluster = 0, clusters = 0;
  unsigned device = 0;
  /// Index in the stream of the device.
  uint32_t number = 0;
  const Program *program = nullptr;
  Dim3 cluster, clusterGrid;
};

/// Returns text such as "CTA (0,0,0) of kernel 'gemm' on device 1".
std::string describeCluster(const WorldLaunch &launch, uint64_t cluster);

class WorldState {
public:
  GlobalShadow shadow;
  /// Knowledge published by operations of system scope.
  Published published;
  /// Knowledge that strong writes would have published at system scope. Used to
  /// report insufficient scopes.
  Published narrow;
  std::vector<WorldLaunch> launches; ///< sorted by `firstCluster`
  /// Clock value in nanoseconds. Does not advance while no device can make
  /// progress.
  uint64_t time = 0;
  /// True to suspend polling lanes instead of running them.
  bool parks = true;
  /// Number of machine passes so far.
  uint64_t passes = 0;

  const WorldLaunch &launchOf(uint64_t cluster) const;
  /// Returns the first unused cluster index.
  uint64_t nextCluster() const {
    return launches.empty()
               ? 0
               : launches.back().firstCluster + launches.back().clusters;
  }
};

/// Device of a world, across all its launches.
class WorldDevice {
public:
  WorldDevice(WorldState &world, unsigned number)
      : world(world), number(number) {}
  WorldState &world;
  const unsigned number;
  /// Number of launches started.
  uint32_t launches = 0;
  /// Knowledge at the start of the next launch.
  Knowledge known;
  /// Null if stores arrive immediately.
  std::unique_ptr<LateStores> late;

  /// Starts a launch of `clusters` and returns the index of its first cluster.
  uint64_t begin(const Program &program, Dim3 cluster, Dim3 clusterGrid);
  /// Ends the launch with the final knowledge `atEnd` of its threads.
  void end(const Clock &atEnd);
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_WORLDSTATE_H
