//===- JsonReport.cpp - reports for tools ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same facts as the text report, and the counts of each role.
// docs/Simulator.md describes the schema, test/Simulator/report.ptx checks it.
//===----------------------------------------------------------------------===//

#include "mx/Simulator/Report.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mx::sim;
namespace json = llvm::json;

/// Messages quote files, which may hold any bytes; JSON text is UTF-8.
static std::string utf8(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

static json::Array asJson(const Dim3 &d) { return json::Array{d.x, d.y, d.z}; }

static json::Object asJson(const Finding &f) {
  json::Object o{{"kind", std::string(toString(f.kind))},
                 {"severity", f.isWarning ? "warning" : "error"},
                 {"message", utf8(f.message)},
                 {"module", utf8(f.module)}};
  if (f.ptxLine)
    o["line"] = f.ptxLine;
  if (!f.sourceFile.empty())
    o["source"] = json::Object{{"file", utf8(f.sourceFile)},
                               {"line", f.sourceLine},
                               {"column", f.sourceColumn}};
  if (f.hasCta)
    o["cta"] = asJson(f.cta);
  if (f.warp >= 0) {
    o["warp"] = f.warp;
    o["lanes"] = f.lanes;
  }
  if (!f.other.empty())
    o["other"] = json::Object{{"text", utf8(f.other)}, {"line", f.otherLine}};
  return o;
}

static json::Object asJson(const WarpStatistics &s) {
  return json::Object{
      {"instructions", s.instructions},
      {"mmas", s.mmas},
      {"bytes", json::Object{{"global_to_registers", s.globalLoadBytes},
                             {"registers_to_global", s.globalStoreBytes},
                             {"shared_to_registers", s.sharedLoadBytes},
                             {"registers_to_shared", s.sharedStoreBytes},
                             {"tensor_to_registers", s.tensorLoadBytes},
                             {"registers_to_tensor", s.tensorStoreBytes},
                             {"shared_to_tensor", s.tensorCopyBytes},
                             {"bulk_to_shared", s.bulkLoadBytes},
                             {"bulk_read", s.bulkReadBytes},
                             {"bulk_from_shared", s.bulkStoreBytes},
                             {"cp_async_to_shared", s.copyBytes}}},
      {"waits", json::Object{{"mbarrier", s.mbarrierWaits},
                             {"barrier", s.barrierWaits},
                             {"cluster", s.clusterWaits}}},
  };
}

static json::Object asJson(const std::map<std::string, uint64_t> &counts) {
  json::Object o;
  for (auto &[key, n] : counts)
    o[utf8(key)] = n;
  return o;
}

static void add(json::Object &o, const WarpProfile &p) {
  o["instructions_by_class"] = asJson(p.classes);
  o["mmas_by_shape"] = asJson(p.mmas);
  o["failed_tests"] = json::Object{{"tests", p.failedTests},
                                   {"instructions", p.failedInstructions}};
}

static json::Object asJson(const LaunchReport &r) {
  json::Array findings, checks, roles, warps;
  for (const Finding &f : r.findings)
    findings.push_back(asJson(f));
  for (std::string &name : namesOfChecks(r.facts.checks))
    checks.push_back(std::move(name));
  for (const Role &role : rolesOf(r)) {
    json::Object o = asJson(role.counts);
    o["role"] = role.name;
    o["warps"] = json::Array(role.warps);
    add(o, role.profile);
    json::Array lines;
    for (auto &[line, n] : role.profile.lines)
      lines.push_back(json::Array{line, n});
    o["instructions_by_line"] = std::move(lines);
    roles.push_back(std::move(o));
  }
  const LaunchStatistics &s = r.statistics;
  for (size_t w = 0; w < s.warps.size(); ++w) {
    json::Object o = asJson(s.warps[w]);
    o["warp"] = int64_t(w);
    if (w < s.profiles.size())
      add(o, s.profiles[w]);
    warps.push_back(std::move(o));
  }
  const LaunchFacts &f = r.facts;
  return json::Object{
      {"status", std::string(toString(r.status))},
      {"complete", r.isComplete},
      {"kernel", utf8(f.kernel)},
      {"module", utf8(f.module)},
      {"target", utf8(f.target)},
      {"grid", asJson(f.grid)},
      {"block", asJson(f.block)},
      {"cluster", asJson(f.cluster)},
      {"shared_bytes", json::Object{{"static", f.staticSharedBytes},
                                    {"dynamic", f.dynamicSharedBytes}}},
      {"sm_count", f.smCount},
      {"resident_ctas", s.residentCtas},
      {"seed", f.seed},
      {"checks", std::move(checks)},
      {"sums", f.truncatesTensorSums ? "truncated" : "exact"},
      {"findings", std::move(findings)},
      {"findings_dropped", r.findingsDropped},
      {"warp_instructions", s.warpInstructions},
      {"mmas", s.mmas},
      {"bulk_bytes", s.tmaBytes},
      {"roles", std::move(roles)},
      {"warps", std::move(warps)},
  };
}

std::string mx::sim::reportAsJson(const LaunchFileResult &result) {
  json::Array launches;
  for (const LaunchReport &r : result.reports)
    launches.push_back(asJson(r));
  json::Object root{{"format", kReportFormat},
                    {"exit_status", result.exitStatus()},
                    {"launches", std::move(launches)}};
  if (!result.error.empty())
    root["error"] = utf8(result.error);
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}", json::Value(std::move(root))) << "\n";
  return text;
}
