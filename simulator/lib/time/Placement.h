//===- Placement.h - Assignment of SMs to GPCs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SMs are numbered in the order in which they receive the CTAs of a launch. A
// chip fills one GPC after the other with CTAs, but distributes clusters over
// the GPCs in turn.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_PLACEMENT_H
#define MXSIM_LIB_TIME_PLACEMENT_H

#include "Chip.h"

#include <vector>

namespace mx::sim::time {

class Placement {
public:
  /// The first CTAs of the launch run on `used` SMs, in clusters of `cluster`
  /// CTAs.
  Placement(const Chip &chip, unsigned sms, uint64_t used, unsigned cluster);

  unsigned sms() const { return unsigned(gpcs.size()); }
  unsigned gpcOf(unsigned sm) const { return gpcs[sm]; }
  unsigned gpcCount() const { return count; }
  /// Returns the half of the chip, and of L2, of the SM.
  unsigned halfOf(unsigned sm) const { return 2 * gpcs[sm] >= count; }

private:
  unsigned count;
  std::vector<uint8_t> gpcs;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_PLACEMENT_H
