//===- Lexer.cpp - Tokenizer of PTX ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, chapter "Syntax". Input is untrusted: every byte sequence yields
// tokens, with Tok::Bad for anything unrecognized.
//===----------------------------------------------------------------------===//

#include "Lexer.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace mx::sim::ptx;

static bool isAlpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isWord(char c) {
  return isAlpha(c) || isDigit(c) || c == '_' || c == '$';
}

void Lexer::skipBlank() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      lineStart = ++at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' ||
               c == '\0') {
      ++at;
    } else if (text.compare(at, 2, "//") == 0) {
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else if (text.compare(at, 2, "/*") == 0) {
      size_t end = text.find("*/", at + 2);
      if (end == text.npos)
        return; // the parser reports the unexpected '/'
      for (; at < end; ++at)
        if (text[at] == '\n') {
          ++line;
          lineStart = at + 1;
        }
      at = end + 2;
    } else if (c == '#') {
      // Preprocessor line marker.
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else {
      return;
    }
  }
}

/// Returns the end of a decimal number with a point or an exponent. Digits may
/// be missing on either side of the point. Modifiers such as .2d begin like a
/// number.
size_t Lexer::endOfDecimal() const {
  auto skipDigits = [this](size_t from) {
    while (from < text.size() && isDigit(text[from]))
      ++from;
    return from;
  };
  size_t end = skipDigits(at);
  bool hasDigits = end > at, isFloat = false;
  if (end < text.size() && text[end] == '.') {
    size_t fraction = skipDigits(end + 1);
    isFloat = hasDigits || fraction > end + 1;
    end = isFloat ? fraction : end;
  }
  if ((hasDigits || isFloat) && end < text.size() &&
      (text[end] | 0x20) == 'e') {
    size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '-' || text[digits] == '+'))
      ++digits;
    if (size_t stop = skipDigits(digits); stop > digits) {
      isFloat = true;
      end = stop;
    }
  }
  if (!hasDigits && end < text.size() &&
      (isWord(text[end]) || text[end] == ':'))
    return 0;
  return isFloat ? end : 0;
}

Token Lexer::next() {
  skipBlank();
  Token token;
  token.line = line;
  token.column = at - lineStart + 1;
  if (at >= text.size())
    return token;

  size_t start = at;
  char c = text[at];
  if (isDigit(c) || endOfDecimal())
    return number(token);
  if (isAlpha(c) || c == '_' || c == '$' ||
      (c == '%' && at + 1 < text.size() && isWord(text[at + 1]))) {
    ++at;
    while (at < text.size() && isWord(text[at]))
      ++at;
    token.kind = Tok::Ident;
    token.text = text.substr(start, at - start);
    return token;
  }
  if (c == '.' && at + 1 < text.size() && isWord(text[at + 1])) {
    ++at;
    while (at < text.size()) {
      if (isWord(text[at]))
        ++at;
      else if (text.compare(at, 2, "::") == 0 && at + 2 < text.size() &&
               isWord(text[at + 2]))
        at += 2;
      else
        break;
    }
    token.kind = Tok::Dotted;
    token.text = text.substr(start + 1, at - start - 1);
    return token;
  }
  if (c == '"') {
    ++at;
    while (at < text.size() && text[at] != '"' && text[at] != '\n')
      at += text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
    if (at >= text.size() || text[at] != '"') {
      at = at < text.size() ? at : text.size();
      token.kind = Tok::Bad;
      token.text = text.substr(start, at - start);
      return token;
    }
    token.kind = Tok::String;
    token.text = text.substr(start + 1, at - start - 1);
    ++at;
    return token;
  }
  ++at;
  token.text = text.substr(start, 1);
  token.kind =
      std::strchr("{}()[]<>,;:+-*/%&|^~!@=?", c) ? Tok::Punct : Tok::Bad;
  return token;
}

/// Reads an integer in any of four bases with an optional U, a bit pattern
/// after 0f or 0d, or a decimal.
Token Lexer::number(Token token) {
  size_t start = at;
  auto hexDigits = [&](size_t from, unsigned count) {
    if (from + count > text.size())
      return false;
    for (size_t i = from; i < from + count; ++i)
      if (!std::strchr("0123456789abcdefABCDEF", text[i]) || !text[i])
        return false;
    return true;
  };
  auto finish = [&](Tok kind) {
    token.kind = kind;
    token.text = text.substr(start, at - start);
    return token;
  };

  // Integers have 64 bits (PTX ISA 4.5.1). Reject longer integers instead of
  // truncating.
  bool fits = true;
  if (text[at] == '0' && at + 1 < text.size()) {
    char k = text[at + 1] | 0x20;
    if ((k == 'f' && hexDigits(at + 2, 8)) ||
        (k == 'd' && hexDigits(at + 2, 16))) {
      unsigned digits = k == 'f' ? 8 : 16;
      std::string s(text.substr(at + 2, digits));
      token.value = std::strtoull(s.c_str(), nullptr, 16);
      at += 2 + digits;
      return finish(k == 'f' ? Tok::Float32 : Tok::Float64);
    }
    if (k == 'x' || k == 'b') {
      at += 2;
      unsigned base = k == 'x' ? 16 : 2;
      size_t first = at;
      while (at < text.size()) {
        char d = text[at] | 0x20;
        unsigned v = isDigit(text[at])        ? text[at] - '0'
                     : (d >= 'a' && d <= 'f') ? d - 'a' + 10
                                              : 99;
        if (v >= base)
          break;
        fits &= token.value <= (~0ull - v) / base;
        token.value = token.value * base + v;
        ++at;
      }
      if (at == first || !fits)
        return finish(Tok::Bad);
      if (at < text.size() && text[at] == 'U')
        ++at;
      return finish(Tok::Int);
    }
  }
  if (size_t stop = endOfDecimal()) {
    // Reject values outside the range of a double, as ptxas does.
    std::string s(text.substr(at, stop - at));
    errno = 0;
    double d = std::strtod(s.c_str(), nullptr);
    std::memcpy(&token.value, &d, sizeof d);
    at = stop;
    return finish(errno == ERANGE ? Tok::Bad : Tok::Float64);
  }
  size_t end = at;
  while (end < text.size() && isDigit(text[end]))
    ++end;
  unsigned base = text[at] == '0' && end - at > 1 ? 8 : 10;
  for (; at < end; ++at) {
    unsigned v = text[at] - '0';
    fits &= v < base && token.value <= (~0ull - v) / base;
    token.value = token.value * base + v;
  }
  if (at < text.size() && text[at] == 'U')
    ++at;
  if (at < text.size() && isWord(text[at])) {
    // Words such as "2d" and "128B" occur only after a dot.
    while (at < text.size() && isWord(text[at]))
      ++at;
    return finish(Tok::Bad);
  }
  return finish(fits ? Tok::Int : Tok::Bad);
}
