//===- Names.cpp - kernels and runs in a few words ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of templates of C++ have up to thousands of characters. The reports for
// people have those that tell kernels apart; JSON has the names as they are.
//===----------------------------------------------------------------------===//

#include "mx/Simulator/Report.h"

#include <cstdlib>
#include <cxxabi.h>

using namespace mx::sim;

static constexpr size_t kLongestName = 80;

/// Replaces what stands in angle brackets at `depth` and deeper.
static std::string withoutArguments(const std::string &name, unsigned depth) {
  std::string s;
  unsigned level = 0;
  for (char c : name) {
    if (c == '<' && ++level == depth)
      s += "<...>";
    if (level < depth)
      s += c;
    if (c == '>' && level)
      --level;
  }
  return s;
}

/// "void f<int>(long)" without the type and the parameters: f<int>. What is in
/// brackets of any kind is not looked at.
static std::string withoutSignature(const std::string &name) {
  size_t begin = 0, end = name.size();
  int level = 0;
  for (size_t k = 0; k < name.size(); ++k) {
    char c = name[k];
    bool isAnonymous = name.compare(k, 11, "(anonymous ") == 0;
    if (c == '(' && level == 0 && !isAnonymous && k) {
      end = k;
      break;
    }
    level +=
        (c == '<' || c == '(' || c == '{') - (c == '>' || c == ')' || c == '}');
    if (c == ' ' && level == 0)
      begin = k + 1;
  }
  return name.substr(begin, end - begin);
}

std::string mx::sim::shortName(const std::string &name) {
  std::string s = name;
  int status = -1;
  if (name.compare(0, 2, "_Z") == 0)
    if (char *demangled =
            abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status)) {
      s = withoutSignature(demangled);
      std::free(demangled);
    }
  std::string whole = s;
  for (unsigned depth = 4; depth && s.size() > kLongestName; --depth)
    s = withoutArguments(whole, depth);
  if (s.size() > kLongestName)
    s = s.substr(0, kLongestName / 2) + "..." +
        s.substr(s.size() - kLongestName / 2 + 3);
  return s;
}

static std::string counted(uint64_t n, const char *what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// "matmul", "a and b", "3 kernels".
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
