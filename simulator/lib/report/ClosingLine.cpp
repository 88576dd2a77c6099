//===- ClosingLine.cpp - One-line summary of launches ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/Report.h"

using namespace mx::sim;

static std::string counted(uint64_t n, const char *what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// Names the kernels: "matmul", "a and b", "3 kernels".
static std::string kernelsOf(const std::vector<LaunchReport> &reports) {
  std::vector<std::string> names;
  for (const LaunchReport &r : reports) {
    bool isNew = true;
    for (const std::string &name : names)
      isNew &= name != r.facts.kernel;
    if (isNew)
      names.push_back(r.facts.kernel);
  }
  if (names.size() > 2)
    return counted(names.size(), "kernel");
  if (names[0].empty())
    return "no kernel";
  return shortName(names[0]) +
         (names.size() == 2 ? " and " + shortName(names[1]) : "");
}

std::string mx::sim::closingLine(const LaunchFileResult &result,
                                 bool isStrict) {
  if (result.reports.empty())
    return {};
  uint64_t ctas = 0, errors = 0, warnings = 0, dropped = 0;
  for (const LaunchReport &r : result.reports) {
    ctas += r.facts.grid.count();
    dropped += r.findingsDropped;
    for (const Finding &f : r.findings)
      ++(f.isWarning ? warnings : errors);
  }
  std::string s = kernelsOf(result.reports) + ": ";
  if (result.reports.size() > 1)
    s += std::to_string(result.reports.size()) + " launches, ";
  s += counted(ctas, "CTA") + ", ";
  switch (result.error.empty() ? exitStatusOf(result.reports) : 2) {
  case 0:
    if (isStrict && warnings)
      break;
    return s + "clean" +
           (warnings ? " (" + counted(warnings, "warning") + ")" : "");
  case 2:
    s += "bad input, ";
    break;
  case 3:
    s += "deadlock, ";
    break;
  }
  s += counted(errors + warnings, "finding");
  if (warnings || dropped)
    s += " (" + counted(errors, "error") + ", " + counted(warnings, "warning") +
         (dropped ? ", " + std::to_string(dropped) + " more not shown" : "") +
         ")";
  return s;
}
