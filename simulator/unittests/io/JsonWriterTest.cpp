//===- JsonWriterTest.cpp - text of JSON ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structure, escapes, and invalid UTF-8.
//===----------------------------------------------------------------------===//

#include "mxsim/io/JsonWriter.h"

#include <gtest/gtest.h>
#include <vector>

using namespace mx;

namespace {

std::string jsonOf(std::string_view words) {
  JsonWriter w;
  w.value(words);
  return w.text;
}

TEST(JsonWriter, Structure) {
  JsonWriter w;
  w.beginObject();
  w.member("a", uint64_t(18446744073709551615u));
  w.member("b", -1);
  w.key("c");
  w.beginArray();
  w.row(std::vector<uint32_t>{1, 2});
  w.row(std::vector<uint32_t>{});
  w.beginObject();
  w.endObject();
  w.value(true);
  w.endArray();
  w.member("d", "x");
  w.endObject();
  EXPECT_EQ(w.text, R"({
  "a": 18446744073709551615,
  "b": -1,
  "c": [
    [1, 2],
    [],
    {},
    true
  ],
  "d": "x"
})");
}

TEST(JsonWriter, Lines) {
  JsonWriter w;
  w.beginObject();
  w.key("a");
  w.line([&] {
    w.beginArray();
    w.value("mul");
    w.beginObject();
    w.member("b", 1);
    w.endObject();
    w.row(std::vector<uint32_t>{2, 3});
    w.endArray();
  });
  w.key("c");
  w.beginArray();
  w.line([&] {
    w.beginObject();
    w.endObject();
  });
  w.value(4);
  w.endArray();
  w.endObject();
  EXPECT_EQ(w.text, R"({
  "a": ["mul", {"b": 1}, [2, 3]],
  "c": [
    {},
    4
  ]
})");
}

TEST(JsonWriter, Escapes) {
  EXPECT_EQ(jsonOf("a\"b\\c\n\t"), R"("a\"b\\c\n\t")");
  EXPECT_EQ(jsonOf(std::string_view("\0\x1f\x7f", 3)),
            "\"\\u0000\\u001f\x7f\"");
}

TEST(JsonWriter, Characters) {
  // Two, three and four bytes are kept.
  EXPECT_EQ(jsonOf("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
  const std::string bad = "\xef\xbf\xbd";
  for (auto [bytes, count] : std::vector<std::pair<std::string, int>>{
           {"\x80", 1},             // no lead
           {"\xff", 1},             // never
           {"\xc3", 1},             // cut off
           {"\xc0\xaf", 2},         // longer than needed
           {"\xe0\x80\x80", 3},     // longer than needed
           {"\xed\xa0\x80", 3},     // a surrogate
           {"\xf4\x90\x80\x80", 4}, // above U+10FFFF
       }) {
    std::string want = "\"a";
    for (int k = 0; k < count; ++k)
      want += bad;
    EXPECT_EQ(jsonOf("a" + bytes + "b"), want + "b\"");
  }
}

} // namespace
