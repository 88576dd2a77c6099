//===- SarifReport.cpp - Findings as SARIF 2.1.0 --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code hosts show the results beside the lines of a change.
//===----------------------------------------------------------------------===//

#include "SourceFiles.h"

#include "mxsim/io/JsonWriter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

using namespace mx::sim;
using mx::JsonWriter;
namespace fs = std::filesystem;

/// Returns a URI: relative for files in the working directory.
static std::string uriOf(const std::string &path) {
  std::error_code code;
  fs::path absolute = fs::weakly_canonical(path, code);
  std::string text = absolute.lexically_relative(fs::current_path(code));
  bool isOutside = text.empty() || text.substr(0, 2) == "..";
  if (isOutside)
    text = absolute;
  std::string uri = isOutside ? "file://" : "";
  for (unsigned char c : text) {
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", c);
    uri += isalnum(c) || strchr("-._~/", c) ? std::string(1, char(c)) : escaped;
  }
  return uri;
}

/// FNV-1a.
static std::string hashOf(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
  return digits;
}

namespace {

struct Writer {
  const LaunchFileResult &result;
  JsonWriter w{};
  std::map<std::string, unsigned> fingerprints = {};

  void text(std::string_view key, std::string_view words) {
    w.object(key, [&] { w.member("text", words); });
  }

  void location(const SourcePlace &p, std::string_view about) {
    w.object([&] {
      if (!p.file.empty())
        w.object("physicalLocation", [&] {
          w.object("artifactLocation",
                   [&] { w.member("uri", uriOf(findSource(result, p.file))); });
          if (p.line)
            w.object("region", [&] {
              w.member("startLine", p.line);
              if (p.column)
                w.member("startColumn", p.column);
            });
        });
      if (!p.function.empty())
        w.list("logicalLocations", std::array{shortName(p.function)},
               [&](const std::string &name) {
                 w.object([&] {
                   w.member("fullyQualifiedName", name);
                   w.member("kind", "function");
                 });
               });
      if (!about.empty())
        text("message", about);
    });
  }

  /// Writes the access at `chain`, its calls, and its line of PTX. An empty
  /// `about` omits the place of the access itself.
  void related(const SourceChain &chain, const std::string &about,
               const std::string &module, unsigned ptxLine) {
    bool hasSource = !chain.empty() && !chain.front().file.empty();
    for (size_t k = about.empty() || !hasSource; k < chain.size(); ++k)
      location(chain[k], k ? "inlined here" : about);
    if (hasSource && chain.front().also)
      for (const SourceLine &line : *chain.front().also)
        location({line.file, line.line, line.column, ""},
                 "merged with this line");
    if (ptxLine && (hasSource || !about.empty()))
      location({module, ptxLine, 0, ""}, hasSource ? "line of PTX" : about);
  }

  void rule(FindingKind kind) {
    Finding f;
    f.kind = kind;
    w.object([&] {
      w.member("id", toString(kind));
      text("shortDescription", infoOf(kind).about);
      text("help",
           "Remedy: " + std::string(f.remedy()) + ". See " + f.link() + ".");
      // Only absolute URIs are allowed.
      if (f.link().find("://") != std::string::npos)
        w.member("helpUri", f.link());
    });
  }

  /// Hashes text that survives changes of other lines. Either access of a race
  /// may be reported first.
  std::string fingerprint(const LaunchReport &r, const Finding &f) {
    auto lineOf = [&](const std::string &file, unsigned number) {
      std::istringstream lines(readSource(result, file));
      std::string line;
      while (number-- && std::getline(lines, line))
        ;
      line.erase(0, line.find_first_not_of(" \t"));
      return line;
    };
    auto words = [&](const SourceChain &chain, unsigned ptxLine) {
      if (chain.empty() || chain.front().file.empty())
        return lineOf(f.module, ptxLine);
      const SourcePlace &p = chain.front();
      return fs::path(p.file).filename().string() + "\n" + p.function + "\n" +
             lineOf(p.file, p.line);
    };
    std::string one = words(f.source, f.ptxLine), other;
    if (!f.other.empty())
      other = words(f.otherSource, f.otherLine);
    std::string hash =
        hashOf(std::string(toString(f.kind)) + "\n" + r.facts.kernel + "\n" +
               std::min(one, other) + "\n" + std::max(one, other));
    return hash + ":" + std::to_string(++fingerprints[hash]);
  }

  void finding(const LaunchReport &r, const Finding &f) {
    SourcePlace at = f.source.empty() ? SourcePlace() : f.source.front();
    if (at.file.empty())
      std::tie(at.file, at.line) = std::tie(f.module, f.ptxLine);
    if (at.function.empty())
      at.function = r.facts.kernel;
    w.object([&] {
      w.member("ruleId", toString(f.kind));
      w.member("ruleIndex", unsigned(f.kind));
      w.member("level", f.isWarning ? "warning" : "error");
      text("message", f.message + ". Remedy: " + std::string(f.remedy()) + ".");
      w.list("locations", std::array{at},
             [&](const SourcePlace &p) { location(p, ""); });
      w.key("relatedLocations");
      w.beginArray();
      related(f.source, "", f.module, f.ptxLine);
      if (!f.other.empty())
        related(f.otherSource, f.other, f.module, f.otherLine);
      w.endArray();
      w.member("occurrenceCount", f.occurrences);
      w.object("partialFingerprints",
               [&] { w.member("mxSimFinding/v1", fingerprint(r, f)); });
      w.object("properties", [&] { w.member("link", f.link()); });
    });
  }
};

} // namespace

std::string mx::sim::findingsAsSarif(const LaunchFileResult &result) {
  return joinResults(resultsAsSarif(result), result.error.empty());
}

std::vector<std::string>
mx::sim::resultsAsSarif(const LaunchFileResult &result) {
  Writer writer{result};
  std::vector<std::string> results;
  for (const LaunchReport &r : result.reports)
    for (const Finding &f : r.findings) {
      writer.w = JsonWriter(4);
      writer.finding(r, f);
      results.push_back(writer.w.text);
    }
  return results;
}

std::string mx::sim::joinResults(const std::vector<std::string> &results,
                                 bool isGood) {
  Writer writer{{}};
  JsonWriter &w = writer.w;
  auto run = [&] {
    w.object("tool", [&] {
      w.object("driver", [&] {
        w.member("name", "mx-sim");
        w.member("version", MXSIM_VERSION);
        w.key("rules");
        w.beginArray();
        for (unsigned k = 0; k < kNumFindingKinds; ++k)
          writer.rule(FindingKind(k));
        w.endArray();
      });
    });
    w.list("invocations", std::array{isGood}, [&](bool value) {
      w.object([&] { w.member("executionSuccessful", value); });
    });
    std::set<std::string> written; // processes may write equal results
    w.list("results", results, [&](const std::string &text) {
      if (written.insert(text).second)
        w.put(text);
    });
  };
  w.object([&] {
    w.member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    w.member("version", "2.1.0");
    w.list("runs", std::array{0}, [&](int) { w.object(run); });
  });
  return w.text + "\n";
}
