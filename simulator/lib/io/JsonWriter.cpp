//===- JsonWriter.cpp - Incremental writer of JSON ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes JSON (RFC 8259) from UTF-8 text.
//===----------------------------------------------------------------------===//

#include "mxsim/io/JsonWriter.h"

#include <cstdio>

using namespace mx;

void JsonWriter::separate() {
  if (isBehindKey) {
    isBehindKey = false;
    return;
  }
  if (!isFirst)
    text += isRow ? ", " : ",";
  if (depth && !isRow)
    newLine();
  isFirst = false;
}

/// Returns the length of the first UTF-8 character, or 0 if it is invalid (RFC
/// 3629: overlong form, surrogate, or above U+10FFFF).
static size_t lengthOfCharacter(std::string_view s) {
  auto byte = [&](size_t k) { return k < s.size() ? uint8_t(s[k]) : 0u; };
  uint32_t lead = byte(0);
  size_t length = lead < 0x80         ? 1
                  : lead >> 5 == 0x6  ? 2
                  : lead >> 4 == 0xe  ? 3
                  : lead >> 3 == 0x1e ? 4
                                      : 0;
  if (length < 2)
    return length;
  uint32_t code = lead & (0x7f >> length);
  for (size_t k = 1; k < length; ++k) {
    if (byte(k) >> 6 != 2)
      return 0;
    code = code << 6 | (byte(k) & 0x3f);
  }
  static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool isCharacter = code >= least[length] && code <= 0x10ffff &&
                     (code < 0xd800 || code > 0xdfff);
  return isCharacter ? length : 0;
}

void JsonWriter::quote(std::string_view words) {
  text += '"';
  while (!words.empty()) {
    size_t length = lengthOfCharacter(words);
    char c = words[0];
    if (!length) {
      text += "\xef\xbf\xbd"; // U+FFFD
    } else if (c == '"' || c == '\\') {
      text.append({'\\', c});
    } else if (uint8_t(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(c));
      text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : escape;
    } else {
      text += words.substr(0, length);
    }
    words.remove_prefix(length ? length : 1);
  }
  text += '"';
}
