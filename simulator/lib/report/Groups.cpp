//===- Groups.cpp - Grouping of findings ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "mxsim/Report.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mx::sim;

/// Returns false for findings at the end of a run because they describe
/// individual threads.
static bool canGroup(const Finding &f) {
  return f.ptxLine && f.kind != FindingKind::Deadlock &&
         f.kind != FindingKind::InstructionLimit;
}

static SourcePlace placeOf(const SourceChain &chain) {
  return chain.empty() ? SourcePlace() : chain.front();
}

static void add(FindingCount &to, const FindingCount &more) {
  to.occurrences += more.occurrences;
  to.ctas.insert(to.ctas.end(), more.ctas.begin(), more.ctas.end());
}

void mx::sim::groupFindings(LaunchReport &report, const FindingCounts &counts,
                            size_t most) {
  std::map<int, std::string> roles;
  for (const Role &role : rolesOf(report))
    for (uint32_t warp : role.warps)
      roles[int(warp)] = role.name;
  auto groupOf = [&](const Finding &f) {
    const SourcePlace at = placeOf(f.source), other = placeOf(f.otherSource);
    // Without .loc, each PTX line is a separate source line.
    if (at.file.empty())
      return std::make_tuple(f.kind, f.isWarning, f.module, std::string(),
                             f.ptxLine, std::string(), std::string(), 0u);
    return std::make_tuple(f.kind, f.isWarning, f.module, at.file, at.line,
                           roles[f.warp], other.file,
                           other.file.empty() ? f.otherLine : other.line);
  };
  std::vector<Finding> groups;
  // `counted` contains the lines already added to the total of each group.
  std::vector<FindingCount> totals;
  std::vector<std::set<FindingKey>> counted;
  std::map<decltype(groupOf(Finding())), size_t> known;
  for (Finding &f : report.findings) {
    if (canGroup(f)) {
      auto [it, isNew] = known.emplace(groupOf(f), groups.size());
      if (isNew) {
        totals.resize(groups.size() + 1);
        counted.resize(groups.size() + 1);
      }
      FindingKey key = findingKey(f);
      auto count = counts.find(key);
      if (count != counts.end() && counted[it->second].insert(key).second)
        add(totals[it->second], count->second);
      if (!isNew) {
        std::vector<unsigned> &lines = groups[it->second].lines;
        if (lines.empty())
          lines.push_back(groups[it->second].ptxLine);
        if (std::find(lines.begin(), lines.end(), f.ptxLine) == lines.end())
          lines.push_back(f.ptxLine);
        continue;
      }
    }
    groups.push_back(std::move(f));
  }
  for (size_t k = 0; k < totals.size(); ++k)
    if (totals[k].occurrences) {
      std::vector<uint64_t> &ctas = totals[k].ctas;
      std::sort(ctas.begin(), ctas.end());
      groups[k].occurrences = totals[k].occurrences;
      groups[k].ctas = std::unique(ctas.begin(), ctas.end()) - ctas.begin();
    }
  if (groups.size() > most) {
    report.findingsDropped += groups.size() - most;
    groups.resize(most);
  }
  report.findings = std::move(groups);
}

void mx::sim::groupMarks(const LaunchReport &report, Timeline &timeline) {
  std::set<const Finding *> seen;
  std::vector<TimelineMark> marks;
  for (TimelineMark mark : timeline.marks) {
    auto group = std::find_if(
        report.findings.begin(), report.findings.end(), [&](const Finding &f) {
          return canGroup(f) && f.kind == mark.finding &&
                 f.isWarning == mark.isWarning &&
                 (f.ptxLine == mark.line ||
                  std::count(f.lines.begin(), f.lines.end(), mark.line));
        });
    if (group != report.findings.end()) {
      if (!seen.insert(&*group).second)
        continue;
      mark.line = group->ptxLine;
      mark.text = uint32_t(timeline.strings.size());
      timeline.strings.push_back(group->text());
    }
    marks.push_back(mark);
  }
  timeline.marks = std::move(marks);
}
