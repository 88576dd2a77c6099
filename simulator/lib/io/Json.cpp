//===- Json.cpp - Strict JSON with locations ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses recursively, and limits the depth of nesting.
//===----------------------------------------------------------------------===//

#include "mxsim/io/Json.h"

#include <charconv>
#include <cmath>
#include <set>

using namespace mx;

namespace {

/// Limit on nesting. Manifests are nested less deeply (kMaxDepth blocks of
/// three levels each), and recursion to this depth is far from overflowing the
/// stack.
constexpr unsigned kDeepest = 128;

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {
    if (text.substr(0, 3) == "\xef\xbb\xbf") // a byte order mark
      at = lineStart = 3;
  }

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
  /// Parses "true", "false" or "null".
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
    return fail("expected at most " + std::to_string(kDeepest) +
                " levels of nesting");
  switch (peek()) {
  case '{':
    return parseObject(value);
  case '[':
    return parseArray(value);
  case '"':
    value.kind = Json::String;
    return parseString(value.text);
  case 't':
  case 'f':
    value.kind = Json::Boolean;
    value.boolean = peek() == 't';
    return parseWord(value.boolean ? "true" : "false");
  case 'n':
    return parseWord("null");
  default:
    return parseNumber(value);
  }
}

bool Parser::parseObject(Json &value) {
  value.kind = Json::Object;
  std::set<std::string> seen;
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
    if (!seen.insert(key).second)
      return fail("duplicate key '" + key + "'");
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
  value.kind = Json::Number;
  size_t begin = at;
  auto isDigit = [&] { return peek() >= '0' && peek() <= '9'; };
  auto takeDigits = [&] {
    size_t first = at;
    while (isDigit())
      next();
    return at - first;
  };
  if (peek() == '-')
    next();
  bool isPadded = peek() == '0';
  size_t digits = takeDigits();
  if (!digits)
    return fail(atEnd() ? "expected a value, found the end of the text"
                        : "expected a value");
  if (isPadded && digits > 1)
    return fail("expected a number without leading zeros");
  if (peek() == '.' && (next(), !takeDigits()))
    return fail("expected digits after '.'");
  if (peek() == 'e' || peek() == 'E') {
    next();
    if (peek() == '+' || peek() == '-')
      next();
    if (!takeDigits())
      return fail("expected digits in the exponent");
  }
  value.text = text.substr(begin, at - begin);
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

std::string mx::parseJson(std::string_view text, Json &value) {
  Parser parser(text);
  parser.parseText(value);
  return parser.error;
}

//===----------------------------------------------------------------------===//
// Reader
//===----------------------------------------------------------------------===//

std::string JsonReader::errorOf(const std::string &why) const {
  return std::to_string(value->line) + ":" + std::to_string(value->column) +
         ": " + (path.empty() ? "" : path + ": ") + why;
}

bool JsonReader::expect(Json::Kind kind, const char *what) const {
  if (value->kind == kind)
    return true;
  constexpr const char *kNames[] = {"null",     "true or false", "a number",
                                    "a string", "an array",      "an object"};
  fail(std::string("expected ") + what + ", found " + kNames[value->kind]);
  return false;
}

bool JsonReader::onlyKeys(std::initializer_list<const char *> known) const {
  if (!expect(Json::Object, "an object"))
    return false;
  std::string names;
  for (const char *name : known)
    names += (names.empty() ? "" : ", ") + std::string(name);
  for (size_t i = 0; i < value->keys.size(); ++i)
    if (std::find(known.begin(), known.end(), value->keys[i]) == known.end())
      JsonReader(value->items[i], path, *error)
          .fail("unknown key '" + value->keys[i] + "', expected one of " +
                names);
  return !failed();
}

JsonReader JsonReader::operator[](const std::string &key) const {
  static const Json *null = new Json;
  const Json *member = value->find(key);
  if (!member && expect(Json::Object, "an object"))
    fail("missing key '" + key + "'");
  return JsonReader(member ? *member : *null,
                    (path.empty() ? "" : path + ".") + key, *error);
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  std::vector<std::pair<std::string, JsonReader>> result;
  if (!expect(Json::Object, "an object"))
    return result;
  for (size_t i = 0; i < value->keys.size(); ++i)
    result.emplace_back(
        value->keys[i],
        JsonReader(value->items[i],
                   (path.empty() ? "" : path + ".") + value->keys[i], *error));
  std::sort(result.begin(), result.end(),
            [](auto &a, auto &b) { return a.first < b.first; });
  return result;
}

std::vector<JsonReader> JsonReader::elements() const {
  std::vector<JsonReader> result;
  if (expect(Json::Array, "an array"))
    for (const Json &item : value->items)
      result.emplace_back(
          item, path + "[" + std::to_string(result.size()) + "]", *error);
  return result;
}

std::string JsonReader::string() const {
  return expect(Json::String, "a string") ? value->text : std::string();
}

bool JsonReader::boolean() const {
  return expect(Json::Boolean, "true or false") && value->boolean;
}

int64_t JsonReader::integer(int64_t least, int64_t most) const {
  if (!expect(Json::Number, "an integer"))
    return least;
  int64_t found = 0;
  const char *end = value->text.data() + value->text.size();
  auto [at, code] = std::from_chars(value->text.data(), end, found);
  if (code != std::errc() || at != end)
    fail("expected a 64-bit integer, found " + value->text);
  else if (found < least || found > most)
    fail("expected " + std::to_string(least) + " to " + std::to_string(most) +
         ", found " + value->text);
  else
    return found;
  return least;
}

/// Parses an unsigned integer: decimal, hexadecimal (0x), binary (0b) or octal
/// (0 or 0o).
static bool parseMagnitude(std::string_view text, uint64_t &result) {
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    char c = char(text[1] | 0x20);
    base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
    text.remove_prefix(c == 'x' || c == 'b' || c == 'o' ? 2 : 1);
  }
  const char *end = text.data() + text.size();
  auto [at, code] = std::from_chars(text.data(), end, result, base);
  return code == std::errc() && at == end && !text.empty();
}

bool JsonReader::takeInteger(uint64_t &magnitude, bool &isNegative) const {
  bool isNumber = value->kind == Json::Number;
  if (!isNumber && !isString())
    return false;
  std::string_view text = value->text;
  isNegative = text.substr(0, 1) == "-";
  if (!parseMagnitude(text.substr(isNegative), magnitude)) {
    double d = isNumber ? std::fabs(number()) : NAN;
    if (!(d < 0x1p64 && std::floor(d) == d))
      return false;
    magnitude = uint64_t(d);
  }
  return !isNegative || magnitude <= uint64_t(INT64_MAX) + 1;
}

uint64_t JsonReader::unsignedInteger(uint64_t most) const {
  uint64_t found = 0;
  bool isNegative = false;
  if (!takeInteger(found, isNegative) || (isNegative && found))
    fail("expected an integer that is not negative");
  else if (found > most)
    fail("expected at most " + std::to_string(most) + ", found " +
         std::to_string(found));
  else
    return found;
  return 0;
}

int64_t JsonReader::anyInteger() const {
  uint64_t found = 0;
  bool isNegative = false;
  if (takeInteger(found, isNegative))
    return int64_t(isNegative ? 0 - found : found);
  fail("expected an integer");
  return 0;
}

double JsonReader::number() const {
  bool isWord =
      value->text == "nan" || value->text == "inf" || value->text == "-inf";
  double found = 0;
  if (value->kind != Json::Number && !(isString() && isWord)) {
    fail("expected a number");
    return 0;
  }
  // Unlike strtod, from_chars does not depend on the locale of the process.
  const char *begin = value->text.data();
  if (std::from_chars(begin, begin + value->text.size(), found).ec !=
      std::errc())
    fail("expected a 64-bit number, found " + value->text);
  return found;
}
