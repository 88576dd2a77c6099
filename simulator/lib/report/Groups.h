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

#include "mxsim/Simulator.h"
#include "mxsim/Trace.h"

#include <map>
#include <tuple>

namespace mx::sim {

/// What is one finding while a kernel runs: a kind at a line of the PTX, and
/// whether it is a warning, which must not stand for an error.
using FindingKey = std::tuple<FindingKind, unsigned, bool>;
inline FindingKey findingKey(const Finding &f) {
  return {f.kind, f.ptxLine, f.isWarning};
}
struct FindingCount {
  uint64_t occurrences = 0;
  std::vector<uint64_t> ctas; ///< their indices in the grid
};
using FindingCounts = std::map<FindingKey, FindingCount>;

/// Keeps the first of each group with the counts of all, and at most `most`
/// groups.
void groupFindings(LaunchReport &report, const FindingCounts &counts,
                   size_t most);
/// Keeps the marks of groups: the first of each in the timeline.
void groupMarks(const LaunchReport &report, Timeline &timeline);

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_GROUPS_H
