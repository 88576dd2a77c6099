//===- Report.h - Launch reports for people and tools -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports as JSON, as tables, and as an HTML page with a timeline. See
// simulator/docs/Reports.md.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_REPORT_H
#define MXSIM_REPORT_H

#include "mxsim/LaunchFile.h"

#include <string>
#include <vector>

namespace mx::sim {

/// Version of the JSON report. Incremented when a key is removed or changes its
/// meaning, but not when a key is added.
constexpr int kReportFormat = 2;

/// Warps that do the same work, with their combined statistics.
struct Role {
  std::string name; ///< "tma load", "mma", "epilogue", "idle", ...
  std::vector<uint32_t> warps;
  WarpStatistics counts;
  WarpProfile profile;
};

/// Returns the roles of a launch, ordered by their first warp. The observed
/// activity of the warps determines the name of the role.
std::vector<Role> rolesOf(const LaunchReport &report);

/// Returns a titled table of the roles.
std::string statisticsText(const LaunchReport &report);

/// Returns the modelled time of the launch, the utilization of each part of the
/// chip, and the stalls of each role. Empty if the launch is not timed.
std::string timeText(const LaunchReport &report);

/// Returns the `count` most expensive lines of the PTX and of the source. Empty
/// without LaunchConfig::timeLines.
std::string linesText(const LaunchReport &report, size_t count);

/// Returns a readable name of a kernel or function. Demangles C++ names, drops
/// return and parameter types, and elides long template arguments.
std::string shortName(const std::string &name);

/// Like shortName, for variables. A function-local variable loses the name of
/// its function.
std::string shortVariableName(const std::string &name);

/// Returns the full C++ name, or `name` itself if it is not mangled.
std::string demangled(const std::string &name);
/// Returns "gemm", or for a C++ name "_Z4gemmv (gemm())".
std::string bothNames(const std::string &name);
/// Quality of a name match, in ascending order: no match, the C++ name without
/// namespaces or template arguments, the full C++ name, and the PTX name.
enum class NameMatch { None, Part, Whole, Exact };
/// Returns how closely `typed` matches the kernel `name`. The best match in a
/// module wins.
NameMatch matchName(const std::string &typed, const std::string &name);

/// Returns the kernels with the best match of `typed`, or all kernels if
/// `typed` is empty.
std::vector<const KernelInfo *> kernelsNamed(const Module &module,
                                             const std::string &typed);

/// Summarizes the run in one line; empty if nothing ran. With `isStrict`,
/// warnings count as errors.
std::string closingLine(const LaunchFileResult &result, bool isStrict);

/// Returns the command-line names of the checks in a mask.
std::vector<std::string> namesOfChecks(uint32_t checks);

/// Returns the worst ExitStatus of all reports. Bad input (2) ranks above
/// deadlock (3), and deadlock above a fault (1).
int exitStatusOf(const std::vector<LaunchReport> &reports);

/// Formats the reports as JSON. `error` explains missing reports, or is empty.
std::string reportAsJson(const std::vector<LaunchReport> &reports,
                         const std::string &error = {});
inline std::string reportAsJson(const LaunchFileResult &result) {
  return reportAsJson(result.reports, result.error);
}

/// Formats the findings as SARIF 2.1.0, for code hosts.
std::string findingsAsSarif(const LaunchFileResult &result);

/// Parts of both formats, which several processes may write, and their union.
std::string launchAsJson(const LaunchReport &report);
std::string joinLaunches(const std::vector<std::string> &launches,
                         int exitStatus, const std::string &error = {},
                         const std::vector<std::string> &interrupted = {});
std::vector<std::string> resultsAsSarif(const LaunchFileResult &result);
std::string joinResults(const std::vector<std::string> &results, bool isGood);

/// Returns a self-contained HTML page for the launches that recorded a
/// timeline.
std::string timelineAsHtml(const LaunchFileResult &result);

/// Returns the timelines of timed launches as JSON in the Trace Event Format.
std::string timelineAsTrace(const LaunchFileResult &result);

} // namespace mx::sim

#endif // MXSIM_REPORT_H
