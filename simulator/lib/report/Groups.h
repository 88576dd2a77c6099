//===- Groups.h - findings that are one -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler makes many instructions of a source line in a loop that it
// unrolls; what is wrong with one is wrong with all. Findings of the same kind,
// at the same source line, by warps of the same role, whose other party has one
// source line too, are one finding with many places.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_GROUPS_H
#define MXSIM_LIB_REPORT_GROUPS_H

#include "../machine/Findings.h"

#include "mxsim/Trace.h"

namespace mx::sim {

/// Keeps the first of each group with the counts of all, and at most `most`
/// groups.
void groupFindings(LaunchReport &report, const FindingCounts &counts,
                   size_t most);
/// Keeps the marks of groups: the first of each in the timeline.
void groupMarks(const LaunchReport &report, Timeline &timeline);

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_GROUPS_H
