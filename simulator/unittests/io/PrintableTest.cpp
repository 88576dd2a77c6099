//===- PrintableTest.cpp - Escapes in text for terminals ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/Printable.h"

#include <gtest/gtest.h>

using mx::printable;

namespace {

TEST(Printable, KeepsText) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("a name,\n\tand another"), "a name,\n\tand another");
  // Characters of one to four bytes, up to the last code point.
  std::string text = "x \u00E9 \u20AC \U0001F600 \u00A0 \uFFFD \U0010FFFF";
  EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesControlSequences) {
  EXPECT_EQ(printable("\x1B[31mred\x1B[0m"), "\\x1B[31mred\\x1B[0m");
  EXPECT_EQ(printable("a\r\b\x7F"), "a\\x0D\\x08\\x7F");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // CSI is escaped in UTF-8 and as a single byte.
  EXPECT_EQ(printable("\u009B31m"), "\\xC2\\x9B31m");
  EXPECT_EQ(printable("\x9B"
                      "31m"),
            "\\x9B31m");
}

/// Compares every code of one to four bytes with the Unicode standard's
/// definition of well-formed text (table 3-7), using a separate encoder.
TEST(Printable, EscapesInvalidUtf8) {
  for (unsigned code = 0; code <= 0x10FFFF; ++code) {
    std::string text;
    if (code < 0x80)
      text = {char(code)};
    else if (code < 0x800)
      text = {char(0xC0 | code >> 6), char(0x80 | (code & 63))};
    else if (code < 0x10000)
      text = {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 63)),
              char(0x80 | (code & 63))};
    else
      text = {char(0xF0 | code >> 18), char(0x80 | (code >> 12 & 63)),
              char(0x80 | (code >> 6 & 63)), char(0x80 | (code & 63))};
    bool isControl = (code < 0x20 && code != '\n' && code != '\t') ||
                     (code >= 0x7F && code < 0xA0);
    bool isSurrogate = code >= 0xD800 && code < 0xE000;
    ASSERT_EQ(printable(text) == text, !isControl && !isSurrogate) << code;
  }
  for (const char *text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98"})
    for (char c : printable(text))
      ASSERT_TRUE(c >= 0x20 && c < 0x7F) << text;
}

} // namespace
