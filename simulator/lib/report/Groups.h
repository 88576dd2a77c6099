//===- Groups.h - Grouping of findings --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler emits many instructions for one source line, for example by
// unrolling. Findings are merged if they have the same kind, source line, warp
// role and source line of the other access.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_GROUPS_H
#define MXSIM_LIB_REPORT_GROUPS_H

#include "../machine/Findings.h"

#include "mxsim/Trace.h"

namespace mx::sim {

/// Keeps the first finding of each group, with the sum of the counts of the
/// group. Keeps at most `most` groups.
void groupFindings(LaunchReport &report, const FindingCounts &counts,
                   size_t most);
/// Keeps only the first mark of each group in the timeline.
void groupMarks(const LaunchReport &report, Timeline &timeline);

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_GROUPS_H
