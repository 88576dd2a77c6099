//===- Lexer.h - Tokenizer of PTX -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Identifiers and dotted words are views into the text, which is not copied.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_LEXER_H
#define MXSIM_LIB_PTX_LEXER_H

#include <cstdint>
#include <string_view>

namespace mx::sim::ptx {

enum class Tok : uint8_t {
  End,
  Ident,   ///< foo, %r1, $L__BB0_1, _
  Dotted,  ///< .shared::cta, .b32, .x: without the dot
  Int,     ///< 12, 0x1F, 017, 0b1, 12U
  Float32, ///< 0f3F800000: the bits in `value`
  Float64, ///< 0d..., 1.5, 1., .5e3: the bits in `value`
  String,  ///< without quotes
  Punct,   ///< one character, in `text`
  Bad,
};

struct Token {
  Tok kind = Tok::End;
  std::string_view text;
  uint64_t value = 0;
  uint32_t line = 1, column = 1;

  bool is(char c) const { return kind == Tok::Punct && text[0] == c; }
  bool isDotted(std::string_view s) const {
    return kind == Tok::Dotted && text == s;
  }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();

private:
  void skipBlank();
  /// Returns the end of a decimal float at the current position, or 0.
  size_t endOfDecimal() const;
  Token number(Token token);

  std::string_view text;
  size_t at = 0;
  uint32_t line = 1;
  size_t lineStart = 0;
};

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_LEXER_H
