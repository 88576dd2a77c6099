//===- Json.h - Strict JSON with source locations ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON reader of the simulator, the runtime and launch plans. Errors
// contain the line, the column and the path ("buffers.A.align") of the value.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_JSON_H
#define MXSIM_IO_JSON_H

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mx {

struct Json {
  enum Kind : uint8_t { Null, Boolean, Number, String, Array, Object };
  Kind kind = Null;
  bool boolean = false;
  unsigned line = 1, column = 1;
  /// Value of a string, or digits of a number.
  std::string text;
  /// Elements, or members in source order.
  std::vector<Json> items;
  std::vector<std::string> keys;

  /// Returns a member of an object, or null.
  const Json *find(std::string_view key) const;
};

/// Parses RFC 8259 without repeated keys, at most 128 levels deep. Returns
/// "line:column: why" or an empty string.
std::string parseJson(std::string_view text, Json &value);

/// Value and path of a JSON node. Only the first error of a file is kept; later
/// reads return a default.
class JsonReader {
public:
  JsonReader(const Json &value, std::string path, std::string &error)
      : value(&value), path(std::move(path)), error(&error) {}

  bool failed() const { return !error->empty(); }
  void fail(const std::string &why) const {
    if (error->empty())
      *error = errorOf(why);
  }
  /// Returns "line:column: path: why".
  std::string errorOf(const std::string &why) const;

  /// Fails unless the value is an object that contains only known keys.
  bool onlyKeys(std::initializer_list<const char *> known) const;
  bool has(std::string_view key) const { return value->find(key); }
  JsonReader operator[](const std::string &key) const;
  /// Returns the members sorted by key.
  std::vector<std::pair<std::string, JsonReader>> members() const;
  std::vector<JsonReader> elements() const;
  /// Calls `each` for every element up to the first error.
  template <class F>
  void elements(F each) const {
    for (const JsonReader &element : elements())
      if (!failed())
        each(element);
  }
  template <class T, class F>
  std::vector<T> list(F each) const {
    std::vector<T> result;
    elements([&](const JsonReader &e) { result.push_back(each(e)); });
    return result;
  }
  size_t size() const { return value->items.size(); }

  bool isString() const { return value->kind == Json::String; }
  std::string string() const;
  bool boolean() const;
  int64_t integer(int64_t least, int64_t most) const;
  /// Returns the enumerator E(i), i < `count`, for which nameOf(E(i)) is the
  /// string.
  template <class E, class F>
  E enumerator(unsigned count, F nameOf) const {
    std::string found = string(), names;
    for (unsigned i = 0; i < count; ++i) {
      if (found == nameOf(E(i)))
        return E(i);
      names += (names.empty() ? "" : ", ") + std::string(nameOf(E(i)));
    }
    fail("expected one of " + names + ", found '" + found + "'");
    return E(0);
  }

  // Human-friendly numbers: integers may be written as 1e10 or "0x1F", and
  // floats as "nan", "inf" or "-inf".

  uint64_t unsignedInteger(uint64_t most = ~0ull) const;
  /// Returns the bits of an integer in [-2^63, 2^64 - 1].
  int64_t anyInteger() const;
  double number() const;
  std::vector<uint64_t> unsignedIntegers() const {
    return list<uint64_t>([](auto &e) { return e.unsignedInteger(); });
  }

  const std::string &where() const { return path; }
  const Json &raw() const { return *value; }

private:
  bool expect(Json::Kind kind, const char *what) const;
  /// Extracts the magnitude and the sign of an integer. Returns false for other
  /// values.
  bool takeInteger(uint64_t &magnitude, bool &isNegative) const;

  const Json *value;
  std::string path;
  std::string *error;
};

} // namespace mx

#endif // MXSIM_IO_JSON_H
