//===- Json.cpp - reading JSON that a person wrote ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Json.h.
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

using namespace mx::sim;
using nlohmann::json;

static const json kNull;

static bool isOneOf(char c, std::string_view characters) {
  return characters.find(c) != characters.npos;
}

namespace {

/// Walks a text without building anything.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}
  size_t at = 0;

  char peek() {
    while (at < text.size() && isOneOf(text[at], " \t\r\n"))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  /// A string with its quotes.
  std::string_view string() {
    peek();
    size_t begin = at++;
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    at = std::min(at + 1, text.size());
    return text.substr(begin, at - begin);
  }
  void skipValue() {
    unsigned depth = 0;
    do {
      char c = peek();
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at;
      } else if (c == ',' || c == ':') {
        ++at;
      } else {
        size_t begin = at;
        while (at < text.size() && !isOneOf(text[at], ",:]} \t\r\n"))
          ++at;
        if (at == begin)
          return;
      }
    } while (depth && at < text.size());
  }
  /// To the member of an object or the element of an array. False, and where
  /// the whole begins, when there is none.
  bool enter(const std::string &step) {
    char open = peek();
    size_t whole = at;
    if (open != '{' && open != '[')
      return false;
    ++at;
    std::optional<size_t> found;
    for (unsigned k = 0; at < text.size() && peek() != '}' && peek() != ']';
         ++k) {
      bool isHere = open == '[' && std::to_string(k) == step;
      if (open == '{') {
        json key = json::parse(string(), nullptr, /*allow_exceptions=*/false);
        isHere = key.is_string() && key == step;
        take(':');
      }
      peek();
      if (isHere) // of equal keys the last one counts
        found = at;
      size_t before = at;
      skipValue();
      if (!take(',') && at == before)
        break;
    }
    at = found.value_or(whole);
    return found.has_value();
  }
  std::string place() {
    peek();
    return placeOf(text.substr(0, at));
  }
  /// "line:column" of the character after `before`.
  static std::string placeOf(std::string_view before) {
    auto line = std::count(before.begin(), before.end(), '\n') + 1;
    size_t start = before.rfind('\n') + 1; // 0 in the first line
    return std::to_string(line) + ":" +
           std::to_string(before.size() - start + 1);
  }

private:
  std::string_view text;
};

} // namespace

std::string mx::sim::placeInJson(std::string_view text,
                                 const std::vector<std::string> &steps) {
  Scanner scanner(text);
  for (const std::string &step : steps)
    if (!scanner.enter(step))
      break;
  return scanner.place();
}

/// Returns where `text` is nested deeper than a person writes, or npos. Scans
/// before parsing, so that parsing takes bounded memory.
static size_t findDeepest(std::string_view text, unsigned limit) {
  unsigned depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      i += c == '\\';
      isString = c != '"';
    } else if (c == '"') {
      isString = true;
    } else if (isOneOf(c, "[{")) {
      if (++depth > limit)
        return i;
    } else if (isOneOf(c, "]}") && depth) {
      --depth;
    }
  }
  return text.npos;
}

std::unique_ptr<json> mx::sim::parseJson(std::string_view text,
                                         std::string &message) {
  constexpr unsigned kDeepest = 64;
  if (size_t at = findDeepest(text, kDeepest); at != text.npos) {
    message = Scanner::placeOf(text.substr(0, at)) + ": nested more than " +
              std::to_string(kDeepest) + " deep";
    return nullptr;
  }
  try {
    return std::make_unique<json>(json::parse(text));
  } catch (const json::exception &error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax
    // error while parsing value - invalid literal; last read: 'x'"
    std::string_view why = error.what();
    auto *parsing = dynamic_cast<const json::parse_error *>(&error);
    size_t byte = parsing && parsing->byte ? parsing->byte - 1 : 0;
    why.remove_prefix(why.find("] ") + 2);
    if (size_t at = why.find(": "); parsing && at != why.npos)
      why.remove_prefix(at + 2);
    message = Scanner::placeOf(text.substr(0, byte)) + ": " + std::string(why);
    return nullptr;
  }
}

JsonReader JsonReader::inner(const json &member, std::string name,
                             bool isIndex) const {
  std::vector<std::string> way = steps;
  way.push_back(name);
  std::string to = isIndex        ? path + "[" + name + "]"
                   : path.empty() ? name
                                  : path + "." + name;
  return JsonReader(member, std::move(to), std::move(way), *error);
}

bool JsonReader::onlyKeys(std::initializer_list<const char *> keys) const {
  if (!value->is_object()) {
    fail("expected an object");
    return false;
  }
  for (const auto &[key, member] : value->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end())
      continue;
    std::string known;
    for (const char *k : keys)
      known += std::string(known.empty() ? "" : ", ") + k;
    fail("unknown key '" + key + "', expected one of " + known);
    return false;
  }
  return true;
}

bool JsonReader::isString() const { return value->is_string(); }

bool JsonReader::has(const std::string &key) const {
  return value->is_object() && value->contains(key);
}

JsonReader JsonReader::operator[](const std::string &key) const {
  bool isThere = has(key);
  if (!value->is_object())
    fail("expected an object");
  else if (!isThere)
    fail("missing key '" + key + "'");
  return inner(isThere ? value->at(key) : kNull, key, false);
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  std::vector<std::pair<std::string, JsonReader>> out;
  if (!value->is_object()) {
    fail("expected an object");
    return out;
  }
  // In the order of the keys, on which addresses depend.
  for (const auto &[key, member] : value->items())
    out.emplace_back(key, inner(member, key, false));
  return out;
}

std::vector<JsonReader> JsonReader::elements() const {
  std::vector<JsonReader> out;
  if (!value->is_array()) {
    fail("expected an array");
    return out;
  }
  for (size_t i = 0; i < value->size(); ++i)
    out.push_back(inner((*value)[i], std::to_string(i), true));
  return out;
}

std::string JsonReader::string() const {
  if (value->is_string())
    return value->get<std::string>();
  fail("expected a string");
  return {};
}

bool JsonReader::boolean() const {
  if (value->is_boolean())
    return value->get<bool>();
  fail("expected true or false");
  return false;
}

/// Parses a decimal or, after 0x, hexadecimal, octal or binary integer.
template <class T>
static bool parseInteger(std::string_view text, T &result) {
  bool isNegative = std::is_signed_v<T> && text.substr(0, 1) == "-";
  text.remove_prefix(isNegative);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    char c = char(std::tolower((unsigned char)text[1]));
    base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
    text.remove_prefix(c == 'x' || c == 'b' || c == 'o' ? 2 : 1);
  }
  uint64_t magnitude = 0;
  const char *end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, magnitude, base);
  if (error != std::errc() || at != end || text.empty())
    return false;
  uint64_t most =
      std::is_signed_v<T> ? uint64_t(INT64_MAX) + isNegative : ~0ull;
  result = T(isNegative ? 0 - magnitude : magnitude);
  return magnitude <= most;
}

uint64_t JsonReader::unsignedInteger(uint64_t most) const {
  uint64_t v = 0;
  bool ok = false;
  if (value->is_number_unsigned()) {
    v = value->get<uint64_t>();
    ok = true;
  } else if (value->is_number()) {
    double d = value->get<double>();
    ok = d >= 0 && d < 1.8e19 && std::floor(d) == d;
    v = ok ? uint64_t(d) : 0;
  } else if (value->is_string()) {
    ok = parseInteger(value->get_ref<const std::string &>(), v);
  }
  if (!ok) {
    fail("expected an integer that is not negative");
    return 0;
  }
  if (v > most) {
    fail("expected at most " + std::to_string(most) + ", found " +
         std::to_string(v));
    return 0;
  }
  return v;
}

int64_t JsonReader::integer() const {
  int64_t v = 0;
  if (value->is_number_integer()) // the bits of one beyond int64_t
    return value->get<int64_t>();
  if (value->is_number()) {
    double d = value->get<double>();
    if (std::floor(d) == d && std::fabs(d) < 0x1p63)
      return int64_t(d);
  } else if (value->is_string() &&
             parseInteger(value->get_ref<const std::string &>(), v)) {
    return v;
  }
  fail("expected an integer");
  return 0;
}

double JsonReader::number() const {
  if (value->is_number())
    return value->get<double>();
  if (value->is_string()) {
    const auto &words = value->get_ref<const std::string &>();
    if (words == "nan")
      return std::nan("");
    if (words == "inf")
      return INFINITY;
    if (words == "-inf")
      return -INFINITY;
  }
  fail("expected a number");
  return 0;
}

std::vector<uint64_t> JsonReader::unsignedIntegers() const {
  std::vector<uint64_t> out;
  for (const JsonReader &e : elements())
    out.push_back(e.unsignedInteger());
  return out;
}
