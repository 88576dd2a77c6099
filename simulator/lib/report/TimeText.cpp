//===- TimeText.cpp - Text of modelled times ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "mxsim/Report.h"

#include <algorithm>
#include <cstdio>

using namespace mx::sim;

static std::string percent(double part, double all) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", all > 0 ? 100 * part / all : 0);
  return text;
}

static std::string number(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Formats shares as "tensor core 26 %, issue 5 %".
static std::string sharesText(const std::vector<PartTime> &parts) {
  std::string s;
  for (const PartTime &part : parts)
    s += (s.empty() ? "" : ", ") + part.name + " " + percent(part.busy, 1);
  return s;
}

/// Formats a time as
/// "26.41 us (51199 cycles at 1980 MHz and 0.55 us of launch) on h200".
static std::string timeLine(const LaunchTime &t) {
  return number("%.2f us (", t.microseconds()) + std::to_string(t.cycles) +
         number(" cycles at %.0f MHz and ", t.mhz) +
         number("%.2f us of launch) on ", t.overheadMicroseconds) + t.chip;
}

/// Returns true if the critical path waits for a memory that is mostly idle, so
/// more bandwidth would not help.
static bool waitsForLatency(const LaunchTime &t, const PartTime &part) {
  if (part.name != "HBM" && part.name != "L2")
    return false;
  auto busy =
      std::find_if(t.parts.begin(), t.parts.end(),
                   [&](const PartTime &p) { return p.name == part.name; });
  return busy != t.parts.end() && part.busy > 2 * busy->busy;
}

static std::string boundText(const LaunchTime &t) {
  std::vector<PartTime> parts;
  for (const PartTime &part : t.boundBy)
    if (part.busy >= 0.005) {
      parts.push_back(part);
      if (waitsForLatency(t, part))
        parts.back().name = "latency of " + part.name;
    }
  return "  bound by: " + sharesText(parts) + "\n";
}

static std::string bandText(const LaunchTime &t) {
  return number("  error band: %.2f", t.lowMicroseconds) +
         number(" to %.2f us", t.highMicroseconds) +
         (t.hasMachineCode ? "; instructions priced with machine code\n"
                           : "; instructions priced with PTX\n");
}

static std::string assumedText(const LaunchTime &t) {
  std::string s;
  for (const CauseTime *c : assumedThatMatter(t)) {
    s += "    " + c->name + " (" + c->key + "): " + number("%g", c->value) +
         (c->unit.empty() ? "" : " " + c->unit) + number(", %g", c->low) +
         number(" to %g: ", c->high);
    s += number("%+.1f to ", 100 * c->fastest / t.microseconds()) +
         number("%+.1f %%\n", 100 * c->slowest / t.microseconds());
  }
  return s.empty() ? "  assumed figures that matter: none above 1 %\n"
                   : "  assumed figures that matter:\n" + s;
}

static std::string rolesText(const LaunchReport &report) {
  std::vector<std::vector<std::string>> table = {{"role", "warps", "issues",
                                                  "mbarriers", "barriers",
                                                  "copies", "MMAs", "results"}};
  for (const Role &r : rolesOf(report)) {
    const WarpStatistics &c = r.counts;
    std::vector<std::string> row = {r.name, listOf(r.warps)};
    for (uint64_t n : {c.slots, c.mbarrierCycles, c.barrierCycles,
                       c.groupCycles, c.mmaCycles, c.resultCycles})
      row.push_back(n ? percent(double(n), double(c.cycles)) : "-");
    table.push_back(std::move(row));
  }
  return tableText(table, /*first=*/2);
}

std::string mx::sim::timeText(const LaunchReport &report) {
  const LaunchTime &t = report.time;
  if (!t.isModelled)
    return {};
  std::string s = "kernel " + shortName(report.facts.kernel) + ": modelled " +
                  timeLine(t) + "; not measured\n";
  s += bandText(t) + boundText(t);
  s += "  busy: " + sharesText(t.parts) + "\n";
  s += "  L2: " + bytesText(t.l2Bytes) + ", " + percent(t.l2HitRate, 1) +
       " of lines found; HBM: " + bytesText(t.hbmBytes) + "\n";
  if (t.computedForLine)
    s += "  MMAs were computed because line " +
         std::to_string(t.computedForLine) + " may depend on them\n";
  return s + assumedText(t) + rolesText(report);
}
