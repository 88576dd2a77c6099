//===- Placement.h - which GPC an SM is in ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SMs have their numbers here in the order in which CTAs of a launch go to
// them. A chip fills GPCs in another order for each launch: CTAs in a row go to
// one GPC, as many to each as fit, and clusters in a row to GPCs in turn.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_PLACEMENT_H
#define MXSIM_LIB_TIME_PLACEMENT_H

#include "Chip.h"

#include <vector>

namespace mx::sim::time {

class Placement {
public:
  /// Of `sms` SMs, the first `used` of which the CTAs that begin take;
  /// `cluster`: CTAs of one.
  Placement(const Chip &chip, unsigned sms, uint64_t used, unsigned cluster);

  unsigned sms() const { return unsigned(gpcs.size()); }
  unsigned gpcOf(unsigned sm) const { return gpcs[sm]; }
  unsigned gpcCount() const { return count; }
  /// Which half of the chip, with its part of L2.
  unsigned halfOf(unsigned sm) const { return 2 * gpcs[sm] >= count; }

private:
  unsigned count;
  std::vector<uint8_t> gpcs;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_PLACEMENT_H
