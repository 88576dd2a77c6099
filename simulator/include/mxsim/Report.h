//===- Report.h - what came of launches, for people and tools ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports as JSON, as a table, and as a page that shows a timeline.
// simulator/docs/Reports.md describes all three.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_REPORT_H
#define MXSIM_REPORT_H

#include "mxsim/LaunchFile.h"

#include <string>
#include <vector>

namespace mx::sim {

/// The version of the JSON report: incremented when a key changes its meaning
/// or goes away, not when one is added.
constexpr int kReportFormat = 2;

/// Warps that do the same work, and what they did together.
struct Role {
  std::string name; ///< "tma load", "mma", "epilogue", "idle", ...
  std::vector<uint32_t> warps;
  WarpStatistics counts;
  WarpProfile profile;
};

/// The roles of a launch, by their first warp. A role is named after what its
/// warps were seen to do.
std::vector<Role> rolesOf(const LaunchReport &report);

/// A table of the roles, with a title.
std::string statisticsText(const LaunchReport &report);

/// How long the model of time says that the launch takes, what its parts were
/// busy with, and what each role waited for; empty where that was not asked.
std::string timeText(const LaunchReport &report);

/// The `count` lines of the PTX, and of the source, at which warps spend most
/// cycles; empty where LaunchConfig::timeLines was not asked for.
std::string linesText(const LaunchReport &report, size_t count);

/// A name of a kernel or function for people: C++ names as in the source,
/// without what they return and take, and long template arguments left out.
std::string shortName(const std::string &name);

/// The same for variables; one of a function without the function.
std::string shortVariableName(const std::string &name);

/// The whole C++ name, or the name as it is where that is not one.
std::string demangled(const std::string &name);
/// "gemm", or for a C++ name "_Z4gemmv (gemm())".
std::string bothNames(const std::string &name);
/// Matches of a name, closer ones later: none, the name in C++ without its
/// namespaces or template arguments, with both, and the name in PTX.
enum class NameMatch { None, Part, Whole, Exact };
/// Returns how `typed` names the kernel `name`. The closest match among the
/// kernels of a module counts.
NameMatch matchName(const std::string &typed, const std::string &name);

/// What was run and what came of it, in one line; empty when nothing was. With
/// `isStrict` warnings count as errors do.
std::string closingLine(const LaunchFileResult &result, bool isStrict);

/// Names of the checks of a mask, as they are given on the command line.
std::vector<std::string> namesOfChecks(uint32_t checks);

/// 0, 1, 2 or 3; the worst of all, 2 before 3 before 1.
int exitStatusOf(const std::vector<LaunchReport> &reports);

/// `error`: why there are not more of them, or empty.
std::string reportAsJson(const std::vector<LaunchReport> &reports,
                         const std::string &error = {});
inline std::string reportAsJson(const LaunchFileResult &result) {
  return reportAsJson(result.reports, result.error);
}

/// One file of HTML that needs nothing else, for the launches that have a
/// timeline.
std::string timelineAsHtml(const LaunchFileResult &result);

} // namespace mx::sim

#endif // MXSIM_REPORT_H
