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

llvm::Expected<llvm::json::Value> mx::sim::parseJson(StringRef text) {
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
      if (++depth > kDeepest)
        return llvm::createStringError("nested more than " +
                                       std::to_string(kDeepest) + " deep");
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return llvm::json::parse(text);
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
  std::string inner = path.empty() ? key.str() : path + "." + key.str();
  const llvm::json::Object *object = value->getAsObject();
  if (!object) {
    fail("expected an object");
    return JsonReader(kNull, inner, *error);
  }
  const llvm::json::Value *member = object->get(key);
  if (!member) {
    fail("missing key '" + key.str() + "'");
    return JsonReader(kNull, inner, *error);
  }
  return JsonReader(*member, inner, *error);
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
    out.emplace_back(
        name,
        JsonReader(member, path.empty() ? name : path + "." + name, *error));
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
    out.emplace_back((*array)[i], path + "[" + std::to_string(i) + "]", *error);
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
