//===- Json.h - reading JSON that a person wrote ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every key must be known and every value must have the expected form; an
// error has the place in the text and the path ("buffers.A.align") of what is
// wrong.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_LAUNCHFILE_JSON_H
#define MXSIM_LIB_LAUNCHFILE_JSON_H

#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace mx::sim {

/// What is wrong with a file and where: keys and indices on the way to it.
struct JsonError {
  std::string message;
  std::vector<std::string> steps;
  bool empty() const { return message.empty(); }
};

/// Parses `text`. Returns null and a message that begins with the line and the
/// column if `text` is no JSON or is nested more than 64 deep.
std::unique_ptr<nlohmann::json> parseJson(std::string_view text,
                                          std::string &message);

/// "12:5", where the value at the end of `steps` begins in a text that
/// parseJson takes.
std::string placeInJson(std::string_view text,
                        const std::vector<std::string> &steps);

/// A value and where it stands. The first error is kept, in one place for the
/// whole file; readers return a default then.
class JsonReader {
public:
  JsonReader(const nlohmann::json &value, std::string path,
             std::vector<std::string> steps, JsonError &error)
      : value(&value), path(std::move(path)), steps(std::move(steps)),
        error(&error) {}

  bool isString() const;
  bool failed() const { return !error->empty(); }
  void fail(const std::string &message) const {
    if (error->empty())
      *error = errorOf(message);
  }
  JsonError errorOf(const std::string &message) const {
    return {path.empty() ? message : path + ": " + message, steps};
  }

  /// Objects: refuses keys that are not in the list.
  bool onlyKeys(std::initializer_list<const char *> keys) const;
  bool has(const std::string &key) const;
  JsonReader operator[](const std::string &key) const;
  std::vector<std::pair<std::string, JsonReader>> members() const;
  std::vector<JsonReader> elements() const;

  std::string string() const;
  bool boolean() const;
  /// Integers also as 1e10 or "0x1F".
  uint64_t unsignedInteger(uint64_t most = ~0ull) const;
  int64_t integer() const;
  double number() const;
  std::vector<uint64_t> unsignedIntegers() const;

  const std::string &where() const { return path; }
  const nlohmann::json &raw() const { return *value; }

private:
  const nlohmann::json *value;
  std::string path;
  std::vector<std::string> steps;
  JsonError *error;

  JsonReader inner(const nlohmann::json &member, std::string name,
                   bool isIndex) const;
};

} // namespace mx::sim

#endif // MXSIM_LIB_LAUNCHFILE_JSON_H
