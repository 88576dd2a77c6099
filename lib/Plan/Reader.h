//===- Reader.h - Take JSON apart, with messages ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value of a file that must have one form: what it has instead becomes the
// file's error, with its line, its column and the way to it.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PLAN_READER_H
#define MX_LIB_PLAN_READER_H

#include "Json.h"

#include <algorithm>
#include <initializer_list>

namespace mx::plan {

/// A value and how it is reached ("entries[0].values[3]"). The first error is
/// kept for the whole file; readers return a default then.
class Reader {
public:
  Reader(const Json &json, std::string path, std::string &error)
      : json(json), path(std::move(path)), error(error) {}

  bool failed() const { return !error.empty(); }
  void fail(const std::string &why) const {
    if (error.empty())
      error = json.place() + ": " + (path.empty() ? "" : path + ": ") + why;
  }

  /// Whether it is an object whose keys are all among those named.
  bool onlyKeys(std::initializer_list<const char *> known) const {
    if (!expect(Json::Object))
      return false;
    std::string names;
    for (const char *name : known)
      names += (names.empty() ? "" : ", ") + std::string(name);
    for (size_t i = 0; i < json.keys.size(); ++i)
      if (std::find(known.begin(), known.end(), json.keys[i]) == known.end())
        Reader(json.items[i], path, error)
            .fail("unknown key '" + json.keys[i] + "', expected one of " +
                  names);
    return !failed();
  }
  bool has(const char *key) const { return json.find(key); }
  Reader operator[](const char *key) const {
    const Json *member = json.find(key);
    if (!member) {
      if (expect(Json::Object))
        fail("missing key '" + std::string(key) + "'");
      static const Json *null = new Json;
      member = null;
    }
    return Reader(*member, (path.empty() ? "" : path + ".") + key, error);
  }
  /// Calls `each` for every element until one is wrong.
  template <class F>
  void elements(F each) const {
    if (!expect(Json::Array))
      return;
    for (size_t i = 0; i < json.items.size() && !failed(); ++i)
      each(Reader(json.items[i], path + "[" + std::to_string(i) + "]", error));
  }
  template <class T, class F>
  std::vector<T> list(F each) const {
    std::vector<T> result;
    elements([&](const Reader &element) { result.push_back(each(element)); });
    return result;
  }
  size_t size() const { return json.items.size(); }
  Reader element(size_t index) const {
    return Reader(json.items[index], path + "[" + std::to_string(index) + "]",
                  error);
  }

  bool isString() const { return json.kind == Json::String; }
  std::string string() const {
    return expect(Json::String) ? json.string : std::string();
  }
  bool boolean() const { return expect(Json::Boolean) && json.integer; }
  int64_t integer(int64_t least, int64_t most) const {
    if (!expect(Json::Integer))
      return least;
    if (json.integer < least || json.integer > most) {
      fail("expected " + std::to_string(least) + " to " + std::to_string(most) +
           ", found " + std::to_string(json.integer));
      return least;
    }
    return json.integer;
  }
  /// One of the names that `nameOf` gives to 0 ... `count` - 1.
  template <class E, class F>
  E enumerator(unsigned count, F nameOf) const {
    std::string found = string(), names;
    for (unsigned i = 0; i < count; ++i) {
      if (found == nameOf(E(i)))
        return E(i);
      names += (names.empty() ? "" : ", ") + std::string(nameOf(E(i)));
    }
    if (!failed())
      fail("expected one of " + names + ", found '" + found + "'");
    return E(0);
  }

private:
  bool expect(Json::Kind kind) const {
    if (json.kind == kind)
      return true;
    fail(std::string("expected ") + describe(kind) + ", found " +
         describe(json.kind));
    return false;
  }

  const Json &json;
  std::string path;
  std::string &error;
};

} // namespace mx::plan

#endif // MX_LIB_PLAN_READER_H
