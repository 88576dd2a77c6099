//===- Json.cpp - reading JSON that a person wrote ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Json.h.
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <algorithm>
#include <cmath>

using namespace mx::sim;
using llvm::StringRef;

static const llvm::json::Value kNull(nullptr);

namespace {

/// Walks a text without building anything.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}
  size_t at = 0;

  char peek() {
    while (at < text.size() && StringRef(" \t\r\n").contains(text[at]))
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
  StringRef string() {
    peek();
    size_t begin = at++;
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    at = std::min(at + 1, text.size());
    return text.slice(begin, at);
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
        while (at < text.size() && !StringRef(",:]} \t\r\n").contains(text[at]))
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
        StringRef raw = string();
        auto key = llvm::json::parse(raw);
        isHere = key && key->getAsString() == StringRef(step);
        if (!key)
          llvm::consumeError(key.takeError());
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
    StringRef before = text.take_front(at);
    size_t line = before.count('\n') + 1;
    size_t start = before.rfind('\n');
    size_t column = start == StringRef::npos ? at + 1 : at - start;
    return std::to_string(line) + ":" + std::to_string(column);
  }

private:
  StringRef text;
};

} // namespace

std::string mx::sim::placeInJson(StringRef text,
                                 const std::vector<std::string> &steps) {
  Scanner scanner(text);
  for (const std::string &step : steps)
    if (!scanner.enter(step))
      break;
  return scanner.place();
}

std::optional<llvm::json::Value> mx::sim::parseJson(StringRef text,
                                                    std::string &message) {
  constexpr unsigned kDeepest = 64;
  unsigned depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      i += c == '\\';
      isString = c != '"';
    } else if (c == '"') {
      isString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) {
        Scanner scanner(text);
        scanner.at = i;
        message = scanner.place() + ": nested more than " +
                  std::to_string(kDeepest) + " deep";
        return std::nullopt;
      }
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (value)
    return std::move(*value);
  // "[2:0, byte=12]: Expected object key": columns from 0.
  std::string raw = llvm::toString(value.takeError());
  unsigned line = 1, column = 0;
  size_t end = raw.find("]: ");
  StringRef where = StringRef(raw).take_front(end);
  if (end != std::string::npos && where.consume_front("[") &&
      !where.consumeInteger(10, line) && where.consume_front(":") &&
      !where.consumeInteger(10, column))
    raw = raw.substr(end + 3);
  if (!raw.empty())
    raw[0] = char(tolower((unsigned char)raw[0]));
  message =
      std::to_string(line) + ":" + std::to_string(column + 1) + ": " + raw;
  return std::nullopt;
}

JsonReader JsonReader::inner(const llvm::json::Value &member, std::string name,
                             bool isIndex) const {
  std::vector<std::string> way = steps;
  way.push_back(name);
  std::string to = isIndex        ? path + "[" + name + "]"
                   : path.empty() ? name
                                  : path + "." + name;
  return JsonReader(member, std::move(to), std::move(way), *error);
}

bool JsonReader::onlyKeys(std::initializer_list<const char *> keys) const {
  const llvm::json::Object *object = value->getAsObject();
  if (!object) {
    fail("expected an object");
    return false;
  }
  std::vector<std::string> unknown;
  for (const auto &member : *object) {
    StringRef key = member.first;
    if (std::none_of(keys.begin(), keys.end(),
                     [&](const char *k) { return key == k; }))
      unknown.push_back(key.str());
  }
  if (unknown.empty())
    return true;
  // The order of a hash table is not that of the file.
  std::sort(unknown.begin(), unknown.end());
  std::string known;
  for (const char *k : keys)
    known += std::string(known.empty() ? "" : ", ") + k;
  fail("unknown key '" + unknown.front() + "', expected one of " + known);
  return false;
}

bool JsonReader::has(StringRef key) const {
  const llvm::json::Object *object = value->getAsObject();
  return object && object->get(key);
}

JsonReader JsonReader::operator[](StringRef key) const {
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Value *member = object ? object->get(key) : nullptr;
  if (!object)
    fail("expected an object");
  else if (!member)
    fail("missing key '" + key.str() + "'");
  return inner(member ? *member : kNull, key.str(), false);
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  std::vector<std::pair<std::string, JsonReader>> out;
  const llvm::json::Object *object = value->getAsObject();
  if (!object) {
    fail("expected an object");
    return out;
  }
  for (const auto &[key, member] : *object) {
    std::string name = StringRef(key).str();
    out.emplace_back(name, inner(member, name, false));
  }
  // Addresses must not depend on a hash.
  std::sort(out.begin(), out.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  return out;
}

std::vector<JsonReader> JsonReader::elements() const {
  std::vector<JsonReader> out;
  const llvm::json::Array *array = value->getAsArray();
  if (!array) {
    fail("expected an array");
    return out;
  }
  for (size_t i = 0; i < array->size(); ++i)
    out.push_back(inner((*array)[i], std::to_string(i), true));
  return out;
}

std::string JsonReader::string() const {
  if (auto s = value->getAsString())
    return s->str();
  fail("expected a string");
  return {};
}

bool JsonReader::boolean() const {
  if (auto b = value->getAsBoolean())
    return *b;
  fail("expected true or false");
  return false;
}

uint64_t JsonReader::unsignedInteger(uint64_t most) const {
  uint64_t v = 0;
  bool ok = false;
  if (auto u = value->getAsUINT64()) {
    v = *u;
    ok = true;
  } else if (auto d = value->getAsNumber()) {
    ok = *d >= 0 && *d < 1.8e19 && std::floor(*d) == *d;
    v = ok ? uint64_t(*d) : 0;
  } else if (auto s = value->getAsString()) {
    ok = !StringRef(*s).getAsInteger(0, v);
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
  if (auto i = value->getAsInteger())
    return *i;
  if (auto s = value->getAsString()) {
    int64_t v;
    if (!StringRef(*s).getAsInteger(0, v))
      return v;
  }
  if (auto u = value->getAsUINT64())
    return int64_t(*u);
  fail("expected an integer");
  return 0;
}

double JsonReader::number() const {
  if (auto d = value->getAsNumber())
    return *d;
  if (auto s = value->getAsString()) {
    if (*s == "nan")
      return std::nan("");
    if (*s == "inf")
      return INFINITY;
    if (*s == "-inf")
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
