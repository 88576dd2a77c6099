//===- JsonTest.cpp - Strict JSON with places -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/Json.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace mx;

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
  EXPECT_EQ(a.items[1].text, "-2");
  EXPECT_TRUE(a.items[2].boolean);
  EXPECT_EQ(a.items[3].kind, Json::Boolean);
  EXPECT_EQ(a.items[4].kind, Json::Null);
  const Json &c = *json.find("b")->find("c");
  EXPECT_EQ(c.text, "x");
  EXPECT_EQ(c.line, 2u);
  EXPECT_EQ(c.column, 14u);
  EXPECT_EQ(json.find("none"), nullptr);
}

/// Returns the result of `read` for a value, or the error.
template <class F>
static std::string readValue(const char *text, F read) {
  Json json;
  std::string error = parseJson(text, json);
  JsonReader reader(json, "", error);
  std::ostringstream found;
  found << read(reader);
  return error.empty() ? found.str() : error;
}

TEST(Json, Integers) {
  const std::pair<const char *, const char *> cases[] = {
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"-0", "0"},
      {"9223372036854775808",
       "1:1: expected a 64-bit integer, found 9223372036854775808"},
      {"1.5", "1:1: expected a 64-bit integer, found 1.5"},
      {" 1e3", "1:2: expected a 64-bit integer, found 1e3"},
      {"\"1\"", "1:1: expected an integer, found a string"}};
  for (auto [text, result] : cases)
    EXPECT_EQ(readValue(text,
                        [](const JsonReader &json) {
                          return json.integer(INT64_MIN, INT64_MAX);
                        }),
              result);
  EXPECT_EQ(
      readValue("9", [](const JsonReader &json) { return json.integer(0, 8); }),
      "1:1: expected 0 to 8, found 9");
}

TEST(Json, NumbersOfPeople) {
  const char *integer = "1:1: expected an integer";
  const char *natural = "1:1: expected an integer that is not negative";
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"1e10", "10000000000", "10000000000"},
      {"\"0x1F\"", "31", "31"},
      {"\"0b11\"", "3", "3"},
      {"\"-0o17\"", "-15", natural},
      {"-9223372036854775808", "-9223372036854775808", natural},
      {"-9223372036854775809", integer, natural},
      {"18446744073709551615", "-1", "18446744073709551615"},
      {"18446744073709551616", integer, natural},
      {"1.5", integer, natural},
      {"\"0x\"", integer, natural},
      {"[]", integer, natural}};
  for (auto [text, any, positive] : cases) {
    EXPECT_EQ(readValue(text, [](auto &json) { return json.anyInteger(); }),
              any);
    EXPECT_EQ(
        readValue(text, [](auto &json) { return json.unsignedInteger(); }),
        positive);
  }
  EXPECT_EQ(readValue("9", [](auto &json) { return json.unsignedInteger(8); }),
            "1:1: expected at most 8, found 9");
  auto number = [](auto &json) { return json.number(); };
  EXPECT_EQ(readValue("-2.5e-1", number), "-0.25");
  EXPECT_EQ(readValue("\"-inf\"", number), "-inf");
  EXPECT_EQ(readValue("\"1\"", number), "1:1: expected a number");
  EXPECT_EQ(readValue("1e999", number),
            "1:1: expected a 64-bit number, found 1e999");
}

TEST(Json, Paths) {
  auto read = [](auto &json) { return json["a"].elements()[1].boolean(); };
  EXPECT_EQ(readValue("{\"a\": [0,\n 1]}", read),
            "2:2: a[1]: expected true or false, found a number");
  auto keys = [](auto &json) { return json.onlyKeys({"a", "b"}); };
  EXPECT_EQ(readValue("{\"a\": 0, \"c\": 1}", keys),
            "1:15: unknown key 'c', expected one of a, b");
  auto member = [](auto &json) { return json["b"].size(); };
  EXPECT_EQ(readValue("{}", member), "1:1: missing key 'b'");
  auto first = [](auto &json) { return json.members()[0].first; };
  EXPECT_EQ(readValue("{\"b\": 0, \"a\": 1}", first), "a");
}

TEST(Json, Strings) {
  Json json;
  ASSERT_EQ(
      parseJson(R"(["\"\\\/\b\f\n\r\t", "\u00e4\u20AC\ud83d\ude00é"])", json),
      "");
  EXPECT_EQ(json.items[0].text, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(json.items[1].text, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80é");
}

TEST(Json, Refused) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "1:1: expected a value, found the end of the text"},
      {"[1,\n 2", "2:3: expected ',' or ']'"},
      {"[1,]", "1:4: expected a value"},
      {"{\"a\": 1,}", "1:9: expected a key in quotes"},
      {"{\"a\" 1}", "1:6: expected ':' after the key 'a'"},
      {"{\"a\": 1 \"b\": 2}", "1:9: expected ',' or '}'"},
      {"{\"a\": 1, \"a\": 2}", "1:13: duplicate key 'a'"},
      {"1 2", "1:3: expected the end of the text after the value"},
      {"01", "1:3: expected a number without leading zeros"},
      {"1.", "1:3: expected digits after '.'"},
      {"1e+", "1:4: expected digits in the exponent"},
      {"-", "1:2: expected a value, found the end of the text"},
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
  EXPECT_EQ(parseJson(deep, json),
            "1:130: expected at most 128 levels of nesting");
  std::string fits = std::string(128, '[') + std::string(128, ']');
  EXPECT_EQ(parseJson(fits, json), "");
}

} // namespace
