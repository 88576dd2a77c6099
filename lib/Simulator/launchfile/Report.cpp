//===- Report.cpp - findings as JSON --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same facts as the text report, for programs.
//===----------------------------------------------------------------------===//

#include "mx/Simulator/LaunchFile.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mx::sim;
namespace json = llvm::json;

/// Messages quote files, which may hold any bytes; JSON text is UTF-8.
static std::string utf8(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

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
    o["cta"] = json::Array{f.cta.x, f.cta.y, f.cta.z};
  if (f.warp >= 0) {
    o["warp"] = f.warp;
    o["lanes"] = f.lanes;
  }
  return o;
}

std::string mx::sim::reportAsJson(const LaunchFileResult &result) {
  json::Array launches;
  for (const LaunchReport &r : result.reports) {
    json::Array findings;
    for (const Finding &f : r.findings)
      findings.push_back(asJson(f));
    const LaunchStatistics &s = r.statistics;
    launches.push_back(json::Object{
        {"status", std::string(toString(r.status))},
        {"findings", std::move(findings)},
        {"findings_dropped", r.findingsDropped},
        {"warp_instructions", s.warpInstructions},
        {"mmas", s.mmas},
        {"bulk_bytes", s.tmaBytes},
        {"resident_ctas", s.residentCtas},
    });
  }
  json::Object root{{"format", 1},
                    {"exit_status", result.exitStatus()},
                    {"launches", std::move(launches)}};
  if (!result.error.empty())
    root["error"] = utf8(result.error);
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}", json::Value(std::move(root))) << "\n";
  return text;
}
