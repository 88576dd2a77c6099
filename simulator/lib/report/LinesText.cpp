//===- LinesText.cpp - Text of line costs ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "mxsim/Report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>

using namespace mx::sim;

static constexpr SpentInfo kSpentInfos[] = {
    {"issues", "issue"},           {"waits_slot", "slots"},
    {"waits_result", "results"},   {"waits_mbarrier", "mbarriers"},
    {"waits_barrier", "barriers"}, {"waits_group", "copies"},
    {"waits_mma", "MMAs"},
};
static_assert(std::size(kSpentInfos) == kSpent);

const SpentInfo &mx::sim::infoOf(Spent spent) {
  return kSpentInfos[unsigned(spent)];
}

uint64_t LineCost::allCycles() const {
  return std::accumulate(cycles.begin(), cycles.end(), uint64_t(0));
}

/// Sorts by descending cost.
static void sortByCost(std::vector<LineCost> &lines) {
  std::stable_sort(lines.begin(), lines.end(),
                   [](const LineCost &a, const LineCost &b) {
                     return a.allCycles() > b.allCycles();
                   });
}

static bool hasSource(const LineCost &cost) {
  return !cost.source.empty() && !cost.source.front().file.empty();
}

std::vector<LineCost>
mx::sim::costsBySource(const std::vector<LineCost> &lines) {
  std::map<std::pair<std::string, unsigned>, LineCost> all;
  for (const LineCost &one : lines) {
    if (!hasSource(one))
      continue;
    const SourcePlace &place = one.source.front();
    auto [at, isNew] = all.try_emplace({place.file, place.line}, one);
    LineCost &cost = at->second;
    if (isNew) {
      cost.text.clear();
      continue;
    }
    cost.executed += one.executed;
    for (unsigned k = 0; k < kSpent; ++k)
      cost.cycles[k] += one.cycles[k];
  }
  std::vector<LineCost> costs;
  for (auto &[place, cost] : all)
    costs.push_back(std::move(cost));
  sortByCost(costs);
  return costs;
}

/// Formats a share of `all`: "12.5 %", or "-" if negligible.
static std::string shareOf(uint64_t cycles, uint64_t all) {
  constexpr double kLeast = 0.05;
  double share = 100 * double(cycles) / double(std::max<uint64_t>(all, 1));
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share);
  return share < kLeast ? "-" : text;
}

static std::string shortened(const std::string &text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

static std::string placeOf(const LineCost &cost) {
  if (!hasSource(cost))
    return "-";
  const SourcePlace &place = cost.source.front();
  return place.file.substr(place.file.rfind('/') + 1) + ":" +
         std::to_string(place.line);
}

/// Appends the shares of `all` cycles by kind of wait.
static void addShares(std::vector<std::string> &row, const LineCost &cost,
                      uint64_t all) {
  row.push_back(shareOf(cost.allCycles(), all));
  for (uint64_t cycles : cost.cycles)
    row.push_back(shareOf(cycles, all));
  row.push_back(std::to_string(cost.executed));
}

static std::string textOf(const std::vector<LineCost> &costs, size_t count,
                          uint64_t all, bool isSource, bool hasPlaces) {
  std::vector<std::string> head;
  if (!isSource)
    head = {"line", "instruction"};
  if (hasPlaces)
    head.push_back("source");
  size_t first = head.size();
  head.push_back("cycles");
  for (const SpentInfo &info : kSpentInfos)
    head.emplace_back(info.column);
  head.push_back("executed");
  std::vector<std::vector<std::string>> table = {std::move(head)};
  for (const LineCost &cost : costs) {
    if (!count-- || !cost.allCycles())
      break;
    std::vector<std::string> row;
    if (!isSource)
      row = {cost.line ? std::to_string(cost.line) : "-",
             cost.line ? shortened(cost.text) : "in other modules"};
    if (hasPlaces)
      row.push_back(placeOf(cost));
    addShares(row, cost, all);
    table.push_back(std::move(row));
  }
  return tableText(table, first);
}

std::string mx::sim::linesText(const LaunchReport &report, size_t count) {
  std::vector<LineCost> lines = report.time.lines;
  if (lines.empty())
    return {};
  uint64_t all = 0;
  for (const LineCost &cost : lines)
    all += cost.allCycles();
  std::vector<LineCost> sources = costsBySource(lines);
  sortByCost(lines);
  std::string s = "kernel " + shortName(report.facts.kernel) +
                  ": modelled warp cycles by PTX line, " + std::to_string(all) +
                  " in total\n" +
                  textOf(lines, count, all, false, !sources.empty());
  if (!sources.empty())
    s += "  by source line\n" + textOf(sources, count, all, true, true);
  return s;
}
