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

using namespace mx::sim;
using mx::JsonWriter;
namespace fs = std::filesystem;

/// Returns a URI: relative for files in the working directory.
static std::string uriOf(const std::string &path) {
  std::error_code code;
  fs::path absolute = fs::weakly_canonical(path, code);
  std::string text = path, uri;
  if (!code) {
    text = absolute.lexically_relative(fs::current_path(code)).string();
    if (text.empty() || text.substr(0, 2) == "..")
      text = "file://" + absolute.string();
  }
  for (unsigned char c : text) {
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", c);
    uri +=
        isalnum(c) || strchr("-._~/:+@", c) ? std::string(1, char(c)) : escaped;
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

class Writer {
public:
  explicit Writer(const LaunchFileResult &result)
      : result(result), files(result) {}
  std::string write();

private:
  void message(std::string_view text) {
    w.object("message", [&] { w.member("text", text); });
  }
  void place(const std::string &file, unsigned line, unsigned column);
  void location(const SourcePlace &place, std::string_view text);
  void related(const SourceChain &chain, const std::string &text,
               const std::string &module, unsigned ptxLine);
  void rule(FindingKind kind);
  void finding(const LaunchReport &r, const Finding &f);
  std::string fingerprint(const LaunchReport &r, const Finding &f);

  const LaunchFileResult &result;
  SourceFiles files;
  JsonWriter w;
  std::map<std::string, unsigned> fingerprints;
};

void Writer::place(const std::string &file, unsigned line, unsigned column) {
  w.object("physicalLocation", [&] {
    w.object("artifactLocation",
             [&] { w.member("uri", uriOf(files.find(file))); });
    if (line)
      w.object("region", [&] {
        w.member("startLine", line);
        if (column)
          w.member("startColumn", column);
      });
  });
}

void Writer::location(const SourcePlace &p, std::string_view text) {
  w.object([&] {
    if (!p.file.empty())
      place(p.file, p.line, p.column);
    if (!p.function.empty())
      w.list("logicalLocations", std::array{shortName(p.function)},
             [&](const std::string &name) {
               w.object([&] {
                 w.member("fullyQualifiedName", name);
                 w.member("kind", "function");
               });
             });
    if (!text.empty())
      message(text);
  });
}

/// Writes the access at `chain`, its calls, and its line of PTX. An empty
/// `text` omits the place of the access itself.
void Writer::related(const SourceChain &chain, const std::string &text,
                     const std::string &module, unsigned ptxLine) {
  bool hasSource = !chain.empty() && !chain.front().file.empty();
  for (size_t k = text.empty() || !hasSource; k < chain.size(); ++k)
    location(chain[k], k ? "inlined here" : text);
  if (hasSource && chain.front().also)
    for (const SourceLine &line : *chain.front().also)
      location({line.file, line.line, line.column, ""},
               "merged with this line");
  if (ptxLine && (hasSource || !text.empty()))
    location({module, ptxLine, 0, ""}, hasSource ? "line of PTX" : text);
}

void Writer::rule(FindingKind kind) {
  const FindingInfo &info = infoOf(kind);
  Finding f;
  f.kind = kind;
  auto text = [&](std::string_view key, const std::string &words) {
    w.object(key, [&] { w.member("text", words); });
  };
  w.object([&] {
    w.member("id", info.name);
    text("shortDescription", std::string(info.about));
    text("help",
         "Remedy: " + std::string(info.remedy) + ". See " + f.link() + ".");
    // Only absolute URIs are allowed.
    if (f.link().find("://") != std::string::npos)
      w.member("helpUri", f.link());
  });
}

/// Hashes text that survives changes of other lines. Either access of a race
/// may be reported first.
std::string Writer::fingerprint(const LaunchReport &r, const Finding &f) {
  auto words = [&](const SourceChain &chain, unsigned ptxLine) {
    if (chain.empty() || chain.front().file.empty())
      return files.line(f.module, ptxLine);
    const SourcePlace &p = chain.front();
    return fs::path(p.file).filename().string() + "\n" + p.function + "\n" +
           files.line(p.file, p.line);
  };
  std::string one = words(f.source, f.ptxLine), other;
  if (!f.other.empty())
    other = words(f.otherSource, f.otherLine);
  std::string hash =
      hashOf(std::string(toString(f.kind)) + "\n" + r.facts.kernel + "\n" +
             std::min(one, other) + "\n" + std::max(one, other));
  return hash + ":" + std::to_string(++fingerprints[hash]);
}

void Writer::finding(const LaunchReport &r, const Finding &f) {
  bool hasSource = !f.source.empty() && !f.source.front().file.empty();
  w.object([&] {
    w.member("ruleId", toString(f.kind));
    w.member("ruleIndex", unsigned(f.kind));
    w.member("level", f.isWarning ? "warning" : "error");
    message(f.message + ". Remedy: " + std::string(f.remedy()) + ".");
    SourcePlace at = f.source.empty() ? SourcePlace() : f.source.front();
    if (!hasSource)
      std::tie(at.file, at.line) = std::tie(f.module, f.ptxLine);
    if (at.function.empty())
      at.function = r.facts.kernel;
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
    w.object("properties", [&] {
      w.member("kernel", r.facts.kernel);
      w.member("link", f.link());
    });
  });
}

std::string Writer::write() {
  w.object([&] {
    w.member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    w.member("version", "2.1.0");
    w.list("runs", std::array{0}, [&](int) {
      w.object([&] {
        w.object("tool", [&] {
          w.object("driver", [&] {
            w.member("name", "mx-sim");
            w.member("version", MXSIM_VERSION);
            w.key("rules");
            w.beginArray();
            for (unsigned k = 0; k < kNumFindingKinds; ++k)
              rule(FindingKind(k));
            w.endArray();
          });
        });
        w.member("columnKind", "utf16CodeUnits");
        w.list("invocations", std::array{result.error}, [&](auto &error) {
          w.object([&] {
            w.member("executionSuccessful", error.empty());
            if (!error.empty())
              w.list("toolExecutionNotifications", std::array{error},
                     [&](const std::string &text) {
                       w.object([&] {
                         w.member("level", "error");
                         message(text);
                       });
                     });
          });
        });
        w.key("results");
        w.beginArray();
        for (const LaunchReport &r : result.reports)
          for (const Finding &f : r.findings)
            finding(r, f);
        w.endArray();
      });
    });
  });
  return w.text + "\n";
}

} // namespace

std::string mx::sim::findingsAsSarif(const LaunchFileResult &result) {
  return Writer(result).write();
}
