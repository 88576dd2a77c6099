//===- Names.cpp - Readable names of kernels and variables ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of C++ templates may be thousands of characters long. Text reports
// shorten them to the parts that distinguish kernels; JSON contains the full
// names.
//===----------------------------------------------------------------------===//

#include "mxsim/Report.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>

using namespace mx::sim;

static constexpr size_t kLongestName = 80;

/// Replaces text in angle brackets at `depth` and deeper.
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

/// Returns true if `word` ends at `end` and is not a suffix of a longer name.
static bool endsWith(const std::string &s, size_t end, std::string_view word) {
  auto isOfName = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c));
  };
  return end >= word.size() &&
         s.compare(end - word.size(), word.size(), word) == 0 &&
         (end == word.size() || !isOfName(s[end - word.size() - 1]));
}

/// Skips the symbols of "operator<<" or "operator()"; `at` follows the word.
static size_t skipOperator(const std::string &s, size_t at) {
  if (s.compare(at, 2, "()") == 0)
    return at + 2;
  while (at < s.size() && std::strchr("<>=!+-*/%^&|~,[]", s[at]))
    ++at;
  return s.compare(at, 2, " <") == 0 ? at + 1 : at;
}

/// Parts of a demangled name such as "void a::f<int>(long)::g() const". The
/// return type precedes `begin`, and the parameters start at `end`. Text in
/// brackets is skipped.
struct NameParts {
  size_t begin = 0, end;
  size_t last = 0; ///< after the last "::" outside of brackets
};

static NameParts partsOf(const std::string &s) {
  NameParts parts;
  parts.end = s.size();
  int level = 0;
  size_t open = 0; // start of the parameters, unless more text follows
  for (size_t k = 0; k < s.size(); ++k) {
    if (level == 0 && endsWith(s, k, "operator")) {
      size_t after = skipOperator(s, k);
      if (after == k && s[k] == ' ') // operator bool: up to the parameters
        after = std::min(s.find('(', k), s.size());
      k = after;
      if (k >= s.size())
        break;
    }
    char c = s[k];
    if (c == '(' && level == 0 && k && s.compare(k, 11, "(anonymous ") != 0 &&
        !endsWith(s, k, "decltype"))
      open = k;
    level +=
        (c == '<' || c == '(' || c == '{') - (c == '>' || c == ')' || c == '}');
    if (level)
      continue;
    if (s.compare(k, 2, "::") == 0) {
      parts.last = k + 2;
      open = 0; // the parameters of an outer function
    }
    if (c == ' ' && !open)
      parts.begin = parts.last = k + 1;
  }
  if (open)
    parts.end = open;
  return parts;
}

std::string mx::sim::demangled(const std::string &name) {
  if (name.compare(0, 2, "_Z") != 0)
    return name;
  int status = -1;
  char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string s = text ? text : name;
  std::free(text);
  return s;
}

std::string mx::sim::bothNames(const std::string &name) {
  std::string whole = demangled(name);
  return whole == name ? name : name + " (" + whole + ")";
}

NameMatch mx::sim::matchName(const std::string &typed,
                             const std::string &name) {
  if (typed == name)
    return NameMatch::Exact;
  std::string s = demangled(name);
  if (typed == s || typed == shortName(name))
    return NameMatch::Whole;
  if (s == name)
    return NameMatch::None;
  NameParts parts = partsOf(s);
  size_t arguments = std::min(s.find('<', parts.last), parts.end);
  for (size_t begin : {parts.begin, parts.last})
    for (size_t end : {parts.end, arguments})
      if (s.compare(begin, end - begin, typed) == 0)
        return begin == parts.begin && end == parts.end ? NameMatch::Whole
                                                        : NameMatch::Part;
  return NameMatch::None;
}

std::vector<const KernelInfo *>
mx::sim::kernelsNamed(const Module &module, const std::string &typed) {
  std::vector<const KernelInfo *> found;
  NameMatch closest = NameMatch::Part;
  for (const KernelInfo &kernel : module.kernels()) {
    NameMatch match = typed.empty() ? closest : matchName(typed, kernel.name);
    if (match < closest)
      continue;
    if (match > closest)
      found.clear();
    closest = match;
    found.push_back(&kernel);
  }
  return found;
}

std::string mx::sim::shortVariableName(const std::string &name) {
  std::string s = demangled(name);
  return s == name ? s : s.substr(partsOf(s).last);
}

std::string mx::sim::shortName(const std::string &name) {
  std::string s = demangled(name);
  if (s != name) {
    NameParts parts = partsOf(s);
    s = s.substr(parts.begin, parts.end - parts.begin);
  }
  std::string whole = s;
  for (unsigned depth = 4; depth && s.size() > kLongestName; --depth)
    s = withoutArguments(whole, depth);
  if (s.size() > kLongestName)
    s = s.substr(0, kLongestName / 2) + "..." +
        s.substr(s.size() - kLongestName / 2 + 3);
  return s;
}
