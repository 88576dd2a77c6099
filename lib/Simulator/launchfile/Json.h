//===- Json.h - reading JSON that a person wrote ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every key must be known and every value must have the expected form; an
// error names the path of what is wrong ("buffers.A.align").
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_LAUNCHFILE_JSON_H
#define MX_LIB_SIMULATOR_LAUNCHFILE_JSON_H

#include "llvm/Support/JSON.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace mx::sim {

/// Parses `text`, unless it is nested so deeply that no person wrote it and a
/// recursive reader would run out of stack.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// A value and where it stands. The first error is kept, in one place for the
/// whole file; readers return a default then.
class JsonReader {
public:
  JsonReader(const llvm::json::Value &value, std::string path,
             std::string &error)
      : value(&value), path(std::move(path)), error(&error) {}

  bool isString() const { return bool(value->getAsString()); }
  bool isObject() const { return value->getAsObject(); }
  bool failed() const { return !error->empty(); }
  void fail(const std::string &message) const {
    if (error->empty())
      *error = path.empty() ? message : path + ": " + message;
  }

  /// Objects: refuses keys that are not in the list.
  bool onlyKeys(std::initializer_list<const char *> keys) const;
  bool has(llvm::StringRef key) const;
  JsonReader operator[](llvm::StringRef key) const;
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
  const llvm::json::Value &raw() const { return *value; }

private:
  const llvm::json::Value *value;
  std::string path;
  std::string *error;
};

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_LAUNCHFILE_JSON_H
