//===- JsonTest.cpp - Read JSON without LLVM ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is read, and what is refused where.
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <gtest/gtest.h>

using namespace mx::plan;

namespace {

TEST(Json, Values) {
  Json json;
  ASSERT_EQ(parseJson(" {\"a\": [1, -2, true, false, null],\n"
                      "  \"b\": {\"c\": \"x\"}, \"d\": [], \"e\": {}} ",
                      json),
            "");
  ASSERT_EQ(json.kind, Json::Object);
  EXPECT_EQ(json.keys, (std::vector<std::string>{"a", "b", "d", "e"}));
  const Json &a = *json.find("a");
  ASSERT_EQ(a.items.size(), 5u);
  EXPECT_EQ(a.items[1].integer, -2);
  EXPECT_EQ(a.items[2].integer, 1);
  EXPECT_EQ(a.items[3].kind, Json::Boolean);
  EXPECT_EQ(a.items[4].kind, Json::Null);
  EXPECT_EQ(json.find("b")->find("c")->string, "x");
  EXPECT_EQ(json.find("b")->find("c")->place(), "2:14");
  EXPECT_EQ(json.find("none"), nullptr);
}

TEST(Json, Integers) {
  Json json;
  ASSERT_EQ(
      parseJson("[9223372036854775807, -9223372036854775808, 0, -0]", json),
      "");
  EXPECT_EQ(json.items[0].integer, INT64_MAX);
  EXPECT_EQ(json.items[1].integer, INT64_MIN);
  EXPECT_EQ(json.items[3].integer, 0);
}

TEST(Json, Strings) {
  Json json;
  ASSERT_EQ(
      parseJson(R"(["\"\\\/\b\f\n\r\t", "\u00e4\u20AC\ud83d\ude00é"])", json),
      "");
  EXPECT_EQ(json.items[0].string, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(json.items[1].string, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80é");
}

TEST(Json, Refused) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "1:1: expected a value, found the end of the text"},
      {"[1,\n 2", "2:3: expected ',' or ']'"},
      {"[1,]", "1:4: expected a value"},
      {"{\"a\": 1,}", "1:9: expected a key in quotes"},
      {"{\"a\" 1}", "1:6: expected ':' after the key 'a'"},
      {"{\"a\": 1 \"b\": 2}", "1:9: expected ',' or '}'"},
      {"{\"a\": 1, \"a\": 2}", "1:13: key 'a' stands here twice"},
      {"1 2", "1:3: expected the end of the text after the value"},
      {"1.5", "1:2: expected an integer"},
      {"1e3", "1:2: expected an integer"},
      {"01", "1:3: expected a number without leading zeros"},
      {"-", "1:2: expected a value, found the end of the text"},
      {"9223372036854775808", "1:20: expected an integer of 64 bits"},
      {"tru", "1:1: expected a value"},
      {"nul", "1:1: expected a value"},
      {"\"ab", "1:4: expected '\"' at the end of a string"},
      {"\"\n\"", "1:2: expected no control character in a string"},
      {"\"\\x\"", "1:4: unknown escape in a string"},
      {"\"\\", "1:3: expected a character after '\\'"},
      {"\"\\u12", "1:6: expected 4 hexadecimal digits after '\\u'"},
      {"\"\\ud800x\"", "1:8: expected the second half of a surrogate pair"},
      {"\"\\udc00\"", "1:8: expected the first half of a surrogate pair"}};
  for (auto [text, error] : cases) {
    Json json;
    EXPECT_EQ(parseJson(text, json), error) << text;
  }
}

TEST(Json, Depth) {
  Json json;
  std::string deep(100000, '[');
  EXPECT_EQ(parseJson(deep, json), "1:130: nested more than 128 deep");
  std::string fits = std::string(128, '[') + std::string(128, ']');
  EXPECT_EQ(parseJson(fits, json), "");
}

TEST(Json, ManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i)
    text += (i ? "," : "") + ("\"" + std::to_string(i) + "\": 0");
  Json json;
  EXPECT_NE(parseJson(text + "}", json).find("at most 64 keys"),
            std::string::npos);
}

} // namespace
