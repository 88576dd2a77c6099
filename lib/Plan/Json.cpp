//===- Json.cpp - Read JSON without LLVM ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive parser whose depth is bounded.
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <algorithm>

using namespace mx::plan;

namespace {

/// Deeper than any manifest (kMaxDepth blocks of three levels), and far from
/// the end of the stack.
constexpr unsigned kDeepest = 128;
/// More than any of its objects has.
constexpr size_t kMostKeys = 64;

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::string error;

  bool parseText(Json &value) {
    if (!parseValue(value))
      return false;
    skipSpace();
    return atEnd() || fail("expected the end of the text after the value");
  }

private:
  bool parseValue(Json &value);
  bool parseObject(Json &value);
  bool parseArray(Json &value);
  bool parseNumber(Json &value);
  bool parseString(std::string &string);
  bool parseEscape(std::string &string);
  bool parseHex(uint32_t &code);
  /// "true" and the like.
  bool parseWord(std::string_view word);

  bool atEnd() const { return at == text.size(); }
  char peek() const { return atEnd() ? '\0' : text[at]; }
  char next() {
    char c = text[at++];
    if (c == '\n') {
      ++line;
      lineStart = at;
    }
    return c;
  }
  bool take(char c) {
    skipSpace();
    if (atEnd() || peek() != c)
      return false;
    next();
    return true;
  }
  void skipSpace() {
    while (!atEnd() && (peek() == ' ' || peek() == '\t' || peek() == '\r' ||
                        peek() == '\n'))
      next();
  }
  unsigned column() const { return unsigned(at - lineStart) + 1; }
  bool fail(const std::string &why) {
    if (error.empty())
      error =
          std::to_string(line) + ":" + std::to_string(column()) + ": " + why;
    return false;
  }

  std::string_view text;
  size_t at = 0, lineStart = 0;
  unsigned line = 1, depth = 0;
};

bool Parser::parseValue(Json &value) {
  skipSpace();
  value.line = line;
  value.column = column();
  if (depth > kDeepest)
    return fail("nested more than " + std::to_string(kDeepest) + " deep");
  switch (peek()) {
  case '{':
    return parseObject(value);
  case '[':
    return parseArray(value);
  case '"':
    value.kind = Json::String;
    return parseString(value.string);
  case 't':
  case 'f':
    value.kind = Json::Boolean;
    value.integer = peek() == 't';
    return parseWord(value.integer ? "true" : "false");
  case 'n':
    return parseWord("null");
  default:
    return parseNumber(value);
  }
}

bool Parser::parseObject(Json &value) {
  value.kind = Json::Object;
  next();
  ++depth;
  if (take('}')) {
    --depth;
    return true;
  }
  do {
    skipSpace();
    if (peek() != '"')
      return fail("expected a key in quotes");
    std::string key;
    if (!parseString(key))
      return false;
    if (value.keys.size() == kMostKeys)
      return fail("expected at most " + std::to_string(kMostKeys) +
                  " keys in an object");
    if (value.find(key))
      return fail("key '" + key + "' stands here twice");
    if (!take(':'))
      return fail("expected ':' after the key '" + key + "'");
    value.keys.push_back(std::move(key));
    if (!parseValue(value.items.emplace_back()))
      return false;
  } while (take(','));
  --depth;
  return take('}') || fail("expected ',' or '}'");
}

bool Parser::parseArray(Json &value) {
  value.kind = Json::Array;
  next();
  ++depth;
  if (take(']')) {
    --depth;
    return true;
  }
  do {
    if (!parseValue(value.items.emplace_back()))
      return false;
  } while (take(','));
  --depth;
  return take(']') || fail("expected ',' or ']'");
}

bool Parser::parseNumber(Json &value) {
  value.kind = Json::Integer;
  bool isNegative = peek() == '-';
  if (isNegative)
    next();
  auto isDigit = [&] { return peek() >= '0' && peek() <= '9'; };
  if (!isDigit())
    return fail(atEnd() ? "expected a value, found the end of the text"
                        : "expected a value");
  bool isPadded = peek() == '0';
  int64_t result = 0;
  unsigned digits = 0;
  for (; isDigit(); ++digits) {
    int digit = next() - '0';
    // Downwards, so that the least number fits.
    if (__builtin_mul_overflow(result, 10, &result) ||
        __builtin_sub_overflow(result, digit, &result))
      return fail("expected an integer of 64 bits");
  }
  if (isPadded && digits > 1)
    return fail("expected a number without leading zeros");
  if (peek() == '.' || peek() == 'e' || peek() == 'E')
    return fail("expected an integer");
  if (!isNegative && __builtin_sub_overflow(0, result, &result))
    return fail("expected an integer of 64 bits");
  value.integer = result;
  return true;
}

bool Parser::parseWord(std::string_view word) {
  if (text.substr(at, word.size()) != word)
    return fail("expected a value");
  at += word.size();
  return true;
}

bool Parser::parseString(std::string &string) {
  next();
  while (!atEnd()) {
    if (uint8_t(peek()) < 0x20)
      return fail("expected no control character in a string");
    char c = next();
    if (c == '"')
      return true;
    if (c != '\\')
      string += c;
    else if (!parseEscape(string))
      return false;
  }
  return fail("expected '\"' at the end of a string");
}

bool Parser::parseHex(uint32_t &code) {
  code = 0;
  for (int i = 0; i < 4; ++i) {
    char c = peek();
    unsigned digit = c >= '0' && c <= '9'   ? unsigned(c - '0')
                     : c >= 'a' && c <= 'f' ? unsigned(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? unsigned(c - 'A' + 10)
                                            : 16;
    if (digit == 16)
      return fail("expected 4 hexadecimal digits after '\\u'");
    next();
    code = code * 16 + digit;
  }
  return true;
}

bool Parser::parseEscape(std::string &string) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kBytes = "\"\\/\b\f\n\r\t";
  if (atEnd())
    return fail("expected a character after '\\'");
  char c = next();
  if (size_t which = kNames.find(c); which != std::string_view::npos) {
    string += kBytes[which];
    return true;
  }
  uint32_t code, low;
  if (c != 'u')
    return fail("unknown escape in a string");
  if (!parseHex(code))
    return false;
  if (code >= 0xd800 && code < 0xdc00) {
    bool isPair = text.substr(at, 2) == "\\u";
    at += isPair ? 2 : 0;
    if (!isPair || !parseHex(low) || low < 0xdc00 || low > 0xdfff)
      return fail("expected the second half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return fail("expected the first half of a surrogate pair");
  }
  // UTF-8 (RFC 3629).
  if (code < 0x80) {
    string += char(code);
    return true;
  }
  unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint8_t kLeads[] = {0, 0xc0, 0xe0, 0xf0};
  string += char(kLeads[more] | code >> (6 * more));
  while (more--)
    string += char(0x80 | (code >> (6 * more) & 0x3f));
  return true;
}

} // namespace

const Json *Json::find(std::string_view key) const {
  auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[size_t(found - keys.begin())];
}

std::string Json::place() const {
  return std::to_string(line) + ":" + std::to_string(column);
}

const char *mx::plan::describe(Json::Kind kind) {
  constexpr const char *kNames[] = {"null",     "true or false", "an integer",
                                    "a string", "an array",      "an object"};
  return kNames[kind];
}

std::string mx::plan::parseJson(std::string_view text, Json &value) {
  Parser parser(text);
  parser.parseText(value);
  return parser.error;
}
