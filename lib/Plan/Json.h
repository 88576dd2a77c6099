//===- Json.h - Read JSON without LLVM --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime links nothing but the simulator, so it reads manifests by itself.
// Numbers are integers of 64 bits; every value knows its place in the text.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PLAN_JSON_H
#define MX_LIB_PLAN_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mx::plan {

struct Json {
  enum Kind : uint8_t { Null, Boolean, Integer, String, Array, Object };
  Kind kind = Null;
  /// Integer, or 1 for true.
  int64_t integer = 0;
  std::string string;
  /// Elements, or members in the order of the text.
  std::vector<Json> items;
  std::vector<std::string> keys;
  unsigned line = 1, column = 1;

  /// The member of an object, or null.
  const Json *find(std::string_view key) const;
  /// "12:5"
  std::string place() const;
};

/// "an object", "an integer", ... for messages.
const char *describe(Json::Kind kind);

/// RFC 8259, without fractions, exponents and repeated keys, and nested no
/// deeper than a manifest is. Returns an empty string, or "line:column: why".
std::string parseJson(std::string_view text, Json &value);

} // namespace mx::plan

#endif // MX_LIB_PLAN_JSON_H
