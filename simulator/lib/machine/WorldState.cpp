//===- WorldState.cpp - State shared by machines of a world ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WorldState.h"

#include "mxsim/Report.h"

#include <algorithm>

using namespace mx::sim;

std::string mx::sim::describeCluster(const WorldLaunch &launch,
                                     uint64_t cluster) {
  uint64_t index = cluster - launch.firstCluster;
  const Dim3 &grid = launch.clusterGrid, &size = launch.cluster;
  auto number = [](uint64_t n) { return std::to_string(n); };
  return std::string(size.count() > 1 ? "the cluster of " : "") + "CTA (" +
         number(index % grid.x * size.x) + "," +
         number(index / grid.x % grid.y * size.y) + "," +
         number(index / grid.x / grid.y * size.z) + ") of kernel '" +
         shortName(std::string(launch.program->kernel->name)) + "' on device " +
         number(launch.device);
}

const WorldLaunch &WorldState::launchOf(uint64_t cluster) const {
  auto after = std::upper_bound(
      launches.begin(), launches.end(), cluster,
      [](uint64_t c, const WorldLaunch &l) { return c < l.firstCluster; });
  return *std::prev(after);
}

uint64_t WorldDevice::begin(const Program &program, Dim3 cluster,
                            Dim3 clusterGrid) {
  uint64_t first = world.nextCluster();
  world.launches.push_back({first, clusterGrid.count(), number, launches++,
                            &program, cluster, clusterGrid});
  return first;
}

void WorldDevice::end(const Clock &atEnd) {
  known.generic.join(atEnd);
  known.generic.raiseForeign(Clock::launchesKey(number), launches);
  // A kernel inherits the observations of its predecessors in the stream,
  // through every proxy.
  known.async = known.asyncGlobal = known.maps = known.generic;
}
