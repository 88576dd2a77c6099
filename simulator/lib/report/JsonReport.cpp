//===- JsonReport.cpp - JSON reports --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A JSON report contains the facts of the text report and the counts of each
// role. simulator/docs/Reports.md describes the schema, and
// simulator/test/report.test checks it.
//===----------------------------------------------------------------------===//

#include "mxsim/ExitStatus.h"
#include "mxsim/Report.h"
#include "mxsim/io/JsonWriter.h"

#include <algorithm>

using namespace mx::sim;
using mx::JsonWriter;

std::vector<std::string> mx::sim::namesOfChecks(uint32_t checks) {
  std::vector<std::string> names;
  for (auto &[name, bit] : kCheckNames)
    if (checks & bit)
      names.emplace_back(name);
  return names;
}

static void write(JsonWriter &w, std::string_view name, const Dim3 &d) {
  w.row(name, std::initializer_list<uint32_t>{d.x, d.y, d.z});
}

static void write(JsonWriter &w, std::string_view name,
                  const std::map<std::string, uint64_t> &counts) {
  w.object(name, [&] {
    for (auto &[key, n] : counts)
      w.member(key, n);
  });
}

/// Writes the lines of merged kernels that share the code of `place`.
static void writeAlso(JsonWriter &w, const SourcePlace &place) {
  if (!place.also)
    return;
  w.key("also");
  w.beginArray();
  for (const SourceLine &line : *place.also) {
    w.beginObject();
    w.member("file", line.file);
    w.member("line", line.line);
    w.member("column", line.column);
    w.endObject();
  }
  w.endArray();
}

/// Writes the location; `inlined_at` contains the calls of inlined functions.
static void write(JsonWriter &w, const SourceChain &chain,
                  bool hasAlso = true) {
  auto place = [&](const SourcePlace &p) {
    w.member("file", p.file);
    w.member("line", p.line);
    w.member("column", p.column);
    w.member("function", p.function);
  };
  w.key("source");
  w.beginObject();
  place(chain.front());
  if (hasAlso)
    writeAlso(w, chain.front());
  if (chain.size() > 1) {
    w.key("inlined_at");
    w.beginArray();
    for (size_t k = 1; k < chain.size(); ++k) {
      w.beginObject();
      place(chain[k]);
      w.endObject();
    }
    w.endArray();
  }
  w.endObject();
}

static bool hasPlace(const SourceChain &chain) {
  return !chain.empty() && !chain.front().file.empty();
}

static void write(JsonWriter &w, const Finding &f) {
  w.beginObject();
  w.member("kind", toString(f.kind));
  w.member("severity", f.isWarning ? "warning" : "error");
  w.member("message", f.message);
  w.member("text", f.text());
  w.member("remedy", f.remedy());
  w.member("link", f.link());
  w.member("module", f.module);
  if (f.ptxLine)
    w.member("line", f.ptxLine);
  if (hasPlace(f.source))
    write(w, f.source);
  if (f.device >= 0)
    w.member("device", f.device);
  if (f.hasCta)
    write(w, "cta", f.cta);
  if (f.warp >= 0) {
    w.member("warp", f.warp);
    w.member("lanes", f.lanes);
  }
  if (!f.other.empty()) {
    w.key("other");
    w.beginObject();
    w.member("text", f.other);
    w.member("line", f.otherLine);
    if (hasPlace(f.otherSource))
      write(w, f.otherSource);
    w.endObject();
  }
  w.member("count", uint64_t(f.count()));
  if (f.count() > 1)
    w.row("lines", f.firstLines());
  w.member("occurrences", f.occurrences);
  if (f.hasCta)
    w.member("ctas", f.ctas);
  w.endObject();
}

static void write(JsonWriter &w, const WarpStatistics &s) {
  w.member("instructions", s.instructions);
  w.member("mmas", s.mmas);
  w.object("bytes", [&] {
    w.member("global_to_registers", s.globalLoadBytes);
    w.member("registers_to_global", s.globalStoreBytes);
    w.member("shared_to_registers", s.sharedLoadBytes);
    w.member("registers_to_shared", s.sharedStoreBytes);
    w.member("tensor_to_registers", s.tensorLoadBytes);
    w.member("registers_to_tensor", s.tensorStoreBytes);
    w.member("shared_to_tensor", s.tensorCopyBytes);
    w.member("bulk_to_shared", s.bulkLoadBytes);
    w.member("bulk_read", s.bulkReadBytes);
    w.member("bulk_from_shared", s.bulkStoreBytes);
    w.member("cp_async_to_shared", s.copyBytes);
  });
  w.object("waits", [&] {
    w.member("mbarrier", s.mbarrierWaits);
    w.member("barrier", s.barrierWaits);
    w.member("cluster", s.clusterWaits);
  });
  if (!s.cycles)
    return;
  w.object("cycles", [&] {
    w.member("alive", s.cycles);
    w.member("issue_slots", s.slots);
    w.member("waits_mbarrier", s.mbarrierCycles);
    w.member("waits_barrier", s.barrierCycles);
    w.member("waits_group", s.groupCycles);
    w.member("waits_mma", s.mmaCycles);
    w.member("waits_result", s.resultCycles);
  });
}

static void write(JsonWriter &w, const WarpProfile &p) {
  write(w, "instructions_by_class", p.classes);
  write(w, "mmas_by_shape", p.mmas);
  w.object("failed_tests", [&] {
    w.member("tests", p.failedTests);
    w.member("instructions", p.failedInstructions);
  });
}

static void write(JsonWriter &w, const Role &role) {
  w.beginObject();
  w.member("role", role.name);
  w.row("warps", role.warps);
  write(w, role.counts);
  write(w, role.profile);
  w.key("instructions_by_line");
  w.beginArray();
  for (auto &[line, n] : role.profile.lines)
    w.row(std::initializer_list<uint64_t>{line, n});
  w.endArray();
  w.endObject();
}

static void write(JsonWriter &w, std::string_view name,
                  const std::vector<PartTime> &parts) {
  w.object(name, [&] {
    for (const PartTime &part : parts)
      w.member(part.name, part.busy);
  });
}

static void write(JsonWriter &w, const CauseTime &c) {
  w.beginObject();
  w.member("key", c.key);
  w.member("name", c.name);
  w.member("part", c.part);
  w.member("us", c.microseconds);
  w.member("value", c.value);
  w.member("low", c.low);
  w.member("high", c.high);
  w.member("unit", c.unit);
  w.member("origin", toString(c.origin));
  w.member("fastest_us", c.fastest);
  w.member("slowest_us", c.slowest);
  w.endObject();
}

static void write(JsonWriter &w, const LineCost &cost, bool isOfPtx) {
  w.beginObject();
  if (isOfPtx) {
    w.member("line", cost.line);
    w.member("text", cost.text);
    if (hasPlace(cost.source))
      write(w, cost.source, /*hasAlso=*/false);
  } else {
    w.member("file", cost.source.front().file);
    w.member("line", cost.source.front().line);
    writeAlso(w, cost.source.front());
  }
  w.member("executed", cost.executed);
  w.member("cycles", cost.allCycles());
  for (unsigned k = 0; k < kSpent; ++k)
    w.member(infoOf(Spent(k)).key, cost.cycles[k]);
  w.endObject();
}

static void write(JsonWriter &w, std::string_view name,
                  const std::vector<LineCost> &costs, bool isOfPtx) {
  w.list(name, costs, [&](const LineCost &cost) { write(w, cost, isOfPtx); });
}

static void write(JsonWriter &w, const LaunchTime &t) {
  w.object("time", [&] {
    w.member("chip", t.chip);
    w.member("cycles", t.cycles);
    w.member("mhz", t.mhz);
    w.member("launch_us", t.overheadMicroseconds);
    w.member("us", t.microseconds());
    w.member("low_us", t.lowMicroseconds);
    w.member("high_us", t.highMicroseconds);
    w.member("machine_code", t.hasMachineCode);
    write(w, "bound_by", t.boundBy);
    w.list("causes", t.causes,
           [&](const CauseTime &cause) { write(w, cause); });
    w.list("assumed", assumedThatMatter(t),
           [&](const CauseTime *cause) { w.value(cause->key); });
    write(w, "busy", t.parts);
    if (t.computedForLine)
      w.member("computed_for_line", uint64_t(t.computedForLine));
    w.member("l2_hit_rate", t.l2HitRate);
    w.member("l2_bytes", t.l2Bytes);
    w.member("hbm_bytes", t.hbmBytes);
    if (!t.lines.empty()) {
      write(w, "lines", t.lines, /*isOfPtx=*/true);
      write(w, "source_lines", costsBySource(t.lines), /*isOfPtx=*/false);
    }
  });
}

static void write(JsonWriter &w, const LaunchReport &r) {
  const LaunchFacts &f = r.facts;
  const LaunchStatistics &s = r.statistics;
  w.beginObject();
  w.member("status", toString(r.status));
  w.member("complete", r.isComplete);
  w.member("kernel", f.kernel);
  w.member("module", f.module);
  w.member("target", f.target);
  if (f.device >= 0)
    w.member("device", f.device);
  write(w, "grid", f.grid);
  write(w, "block", f.block);
  write(w, "cluster", f.cluster);
  w.object("shared_bytes", [&] {
    w.member("static", f.staticSharedBytes);
    w.member("dynamic", f.dynamicSharedBytes);
  });
  w.member("sm_count", f.smCount);
  w.member("resident_ctas", s.residentCtas);
  w.member("seed", f.seed);
  w.row("checks", namesOfChecks(f.checks));
  w.member("sums", f.truncatesTensorSums ? "truncated" : "exact");
  w.list("findings", r.findings,
         [&](const Finding &finding) { write(w, finding); });
  w.member("findings_dropped", r.findingsDropped);
  w.member("warp_instructions", s.warpInstructions);
  w.member("mmas", s.mmas);
  w.member("bulk_bytes", s.tmaBytes);
  if (r.time.isModelled)
    write(w, r.time);
  w.list("roles", rolesOf(r), [&](const Role &role) { write(w, role); });
  w.key("warps");
  w.beginArray();
  for (size_t k = 0; k < s.warps.size(); ++k) {
    w.beginObject();
    w.member("warp", uint64_t(k));
    write(w, s.warps[k]);
    if (k < s.profiles.size())
      write(w, s.profiles[k]);
    w.endObject();
  }
  w.endArray();
  w.endObject();
}

int mx::sim::exitStatusOf(const std::vector<LaunchReport> &reports) {
  LaunchReport worst;
  for (const LaunchReport &r : reports)
    worst.status = std::min(worst.status, r.status);
  return worst.exitStatus();
}

std::string mx::sim::launchAsJson(const LaunchReport &report) {
  JsonWriter w(2);
  write(w, report);
  return w.text;
}

std::string mx::sim::reportAsJson(const std::vector<LaunchReport> &reports,
                                  const std::string &error) {
  std::vector<std::string> launches;
  for (const LaunchReport &report : reports)
    launches.push_back(launchAsJson(report));
  return joinLaunches(
      launches, error.empty() ? exitStatusOf(reports) : kExitBadInput, error);
}

std::string mx::sim::joinLaunches(const std::vector<std::string> &launches,
                                  int exitStatus, const std::string &error,
                                  const std::vector<std::string> &interrupted) {
  JsonWriter w;
  w.beginObject();
  w.member("format", kReportFormat);
  w.member("exit_status", exitStatus);
  if (!error.empty())
    w.member("error", error);
  if (!interrupted.empty())
    w.row("interrupted", interrupted);
  w.list("launches", launches, [&](const std::string &text) { w.put(text); });
  w.endObject();
  return w.text + "\n";
}
