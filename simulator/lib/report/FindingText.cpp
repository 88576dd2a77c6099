//===- FindingText.cpp - Text of findings ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/ExitStatus.h"
#include "mxsim/Report.h"

#include <algorithm>
#include <cstdio>

using namespace mx::sim;

std::vector<unsigned> Finding::firstLines() const {
  constexpr size_t kMost = 8;
  return {lines.begin(), lines.begin() + std::min(lines.size(), kMost)};
}

/// Formats a place as "k.cu:7:3 in f<64>", or as "in f<64>" without a file.
static std::string placeText(const SourcePlace &p) {
  std::string s = p.file.empty() ? ""
                                 : p.file + ":" + std::to_string(p.line) + ":" +
                                       std::to_string(p.column);
  if (!p.function.empty())
    s += (s.empty() ? "in " : " in ") + shortName(p.function);
  return s;
}

static std::string placeText(const SourceChain &chain) {
  return chain.empty() ? "" : placeText(chain.front());
}

/// Lists callers and the lines of merged kernels.
static std::string callersText(const SourceChain &chain) {
  std::string s;
  if (!chain.empty() && chain.front().also) {
    constexpr size_t kMost = 8;
    const std::vector<SourceLine> &also = *chain.front().also;
    for (size_t k = 0; k < std::min(also.size(), kMost); ++k)
      s += (k ? ", " : "\n    and of ") + also[k].file + ":" +
           std::to_string(also[k].line) + ":" + std::to_string(also[k].column);
    if (also.size() > kMost)
      s += ", and " + std::to_string(also.size() - kMost) + " more";
  }
  for (size_t k = 1; k < chain.size(); ++k)
    s += "\n    inlined at " + placeText(chain[k]);
  return s;
}

std::string Finding::text() const {
  std::string s = module;
  if (ptxLine)
    s += (s.empty() ? "line " : ":") + std::to_string(ptxLine);
  if (!s.empty())
    s += ": ";
  s += std::string(toString(kind)) + (isWarning ? ": warning: " : ": ") +
       message;
  std::string where;
  if (device >= 0)
    where += "device " + std::to_string(device);
  if (hasCta)
    where += std::string(where.empty() ? "" : ", ") + "CTA (" +
             std::to_string(cta.x) + "," + std::to_string(cta.y) + "," +
             std::to_string(cta.z) + ")";
  if (warp >= 0) {
    char lanesText[32];
    std::snprintf(lanesText, sizeof lanesText, ", lanes 0x%08x", lanes);
    where += (where.empty() ? "warp " : ", warp ") + std::to_string(warp) +
             lanesText;
  }
  std::string from = placeText(source);
  if (!where.empty() || !from.empty())
    s += "\n  at " + where + (where.empty() || from.empty() ? "" : ", ") +
         from + callersText(source);
  if (!otherSource.empty())
    s += "\n  " + other + ": " + placeText(otherSource) +
         callersText(otherSource);
  if (count() > 1) {
    s += "\n  and " + std::to_string(count() - 1) +
         " more of this source line, at line";
    std::vector<unsigned> first = firstLines();
    for (size_t k = 1; k < first.size(); ++k)
      s += (k > 1              ? ", "
            : first.size() > 2 ? "s "
                               : " ") +
           std::to_string(first[k]);
    s += count() > first.size() ? ", ..." : "";
  }
  // Messages of deadlocks and limits already include the number of threads.
  if (occurrences > 1 && kind != FindingKind::Deadlock &&
      kind != FindingKind::InstructionLimit)
    s += "\n  found " + std::to_string(occurrences) + " times, in " +
         std::to_string(ctas) + (ctas == 1 ? " CTA" : " CTAs") +
         "; this is the first";
  return s + "\n  remedy: " + std::string(remedy()) + " (" + link() + ")";
}

std::string LaunchReport::text() const {
  std::string s;
  for (const Finding &f : findings)
    s += f.text() + "\n";
  if (findingsDropped)
    s += std::to_string(findingsDropped) + " more findings are not shown\n";
  return s;
}

int LaunchReport::exitStatus() const {
  switch (status) {
  case LaunchStatus::BadInput:
    return kExitBadInput;
  case LaunchStatus::Deadlock:
    return kExitDeadlock;
  case LaunchStatus::Failed:
    return kExitFault;
  case LaunchStatus::Clean:
    break;
  }
  return kExitClean;
}
