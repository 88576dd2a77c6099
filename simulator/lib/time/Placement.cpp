//===- Placement.cpp - Assignment of SMs to GPCs --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Placement.h"

#include <algorithm>

using namespace mx::sim::time;

/// Returns the number of SMs of each GPC. The numbers are even, as equal as
/// possible, and in ascending order.
static std::vector<unsigned> sizesOf(unsigned count, unsigned sms) {
  unsigned pairs = (sms + 1) / 2;
  std::vector<unsigned> sizes;
  for (unsigned g = 0; g < count; ++g)
    sizes.push_back(2 * (pairs / count + (g + pairs % count >= count)));
  return sizes;
}

Placement::Placement(const Chip &chip, unsigned sms, uint64_t used,
                     unsigned cluster)
    // A chip without the figure has two halves.
    : count(chip.has(Fact::Gpcs) ? unsigned(chip[Fact::Gpcs]) : 2) {
  std::vector<unsigned> room = sizesOf(count, sms);
  gpcs.resize(sms);
  used = std::min<uint64_t>(used, sms);
  unsigned g = 0;
  auto next = [&](unsigned size) {
    for (unsigned k = 0; k < count && room[g] < size; ++k)
      g = (g + 1) % count;
  };
  if (cluster > 1 && chip.has(Fact::Gpcs)) {
    for (unsigned sm = 0; sm < sms; sm += cluster) {
      unsigned size = std::min(cluster, sms - sm);
      next(size);
      for (unsigned k = 0; k < size; ++k) {
        next(1);
        gpcs[sm + k] = uint8_t(g);
        --room[g];
      }
      g = (g + 1) % count;
    }
    return;
  }
  // Number of used SMs in each GPC; unused SMs come last.
  std::vector<unsigned> counts(count);
  for (uint64_t k = 0; k < used; ++k) {
    next(1);
    ++counts[g];
    --room[g];
    g = (g + 1) % count;
  }
  unsigned sm = 0;
  for (const std::vector<unsigned> *each : {&counts, &room})
    for (unsigned gpc = 0; gpc < count; ++gpc)
      for (unsigned k = 0; k < (*each)[gpc] && sm < sms; ++k)
        gpcs[sm++] = uint8_t(gpc);
}
