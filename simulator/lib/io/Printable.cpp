//===- Printable.cpp - Safe printing of untrusted text --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/Printable.h"

/// Returns the length of the first character, or 0 if it must not be printed: a
/// control character (U+0000 to U+001F, U+007F to U+009F) or invalid UTF-8.
static size_t printableBytes(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned first = byte(0);
  if (first < 0x80)
    return first == '\n' || first == '\t' || (first >= 0x20 && first != 0x7F);
  size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  // Other values of the first byte are continuation bytes, or begin an overlong
  // form or a code point above U+10FFFF.
  if (first < 0xC2 || first > 0xF4 || bytes > text.size())
    return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
  unsigned second = byte(1);
  bool isControl = first == 0xC2 && second < 0xA0;
  bool isOverlong =
      (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  bool isOutside =
      (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return isControl || isOverlong || isOutside ? 0 : bytes;
}

std::string mx::printable(std::string_view text) {
  static const char kDigits[] = "0123456789ABCDEF";
  std::string out;
  while (!text.empty()) {
    size_t bytes = printableBytes(text);
    if (bytes) {
      out += text.substr(0, bytes);
    } else {
      auto byte = static_cast<unsigned char>(text[0]);
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      bytes = 1;
    }
    text.remove_prefix(bytes);
  }
  return out;
}
