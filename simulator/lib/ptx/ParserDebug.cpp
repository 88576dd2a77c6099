//===- ParserDebug.cpp - Parsing of source locations ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses .file, .loc and .section (PTX ISA, "Debugging directives"), and the
// comments that list the source lines of merged kernels.
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

#include <charconv>

using namespace mx::sim;
using namespace mx::sim::ptx;

/// Parses the labels and bytes of .debug_str up to the closing brace. Function
/// names in .loc refer to these labels.
bool Parser::debugString() {
  while (tok.kind == Tok::Ident && peek().is(':')) {
    m.debugLabels.try_emplace(tok.text, m.debugText.size());
    advance();
    advance();
  }
  if (!tok.isDotted("b8"))
    return false;
  do {
    advance();
    if (tok.kind != Tok::Int)
      return false;
    m.debugText += char(tok.value);
    advance();
  } while (tok.is(','));
  return true;
}

/// Parses `.section .debug_info { ... }`. Only .debug_str is interpreted; other
/// sections and unrecognized contents are skipped.
bool Parser::section() {
  bool isNames = false;
  while (tok.kind != Tok::End && !tok.is('{')) {
    isNames |= tok.isDotted("debug_str");
    advance();
  }
  if (isNames && take('{')) {
    while (debugString())
      ;
    if (take('}'))
      return true;
    unsigned open = 1;
    for (; tok.kind != Tok::End && open; advance())
      open += tok.is('{') - tok.is('}');
    return !open || error("section without its closing brace");
  }
  unsigned level = 0;
  while (tok.kind != Tok::End) {
    if (tok.is('{'))
      ++level;
    else if (tok.is('}') && --level == 0) {
      advance();
      return true;
    }
    advance();
  }
  return error("section without its closing brace");
}

bool Parser::fileDirective() {
  advance();
  if (tok.kind != Tok::Int)
    return error("expected a file number, found " + found());
  uint32_t number = tok.value;
  advance();
  if (tok.kind != Tok::String)
    return error("expected a file name, found " + found());
  m.files[number] = std::string(tok.text);
  advance();
  while (take(','))
    advance();
  return true;
}

bool Parser::numbers(std::array<uint32_t, 3> &out) {
  for (uint32_t &n : out) {
    if (tok.kind != Tok::Int)
      return error("expected a number, found " + found());
    n = tok.value;
    advance();
  }
  return true;
}

/// Parses `, function_name $L__info_string0 + 8, inlined_at 1 5 7`.
bool Parser::locInlined(SourceLocation &place) {
  while (take(',')) {
    std::string_view attribute;
    if (!expectIdent(attribute, "an attribute of .loc"))
      return false;
    if (attribute == "function_name") {
      if (!expectIdent(place.nameLabel, "a label of .debug_str"))
        return false;
      if (take('+')) {
        if (tok.kind != Tok::Int)
          return error("expected a number, found " + found());
        place.nameOffset = tok.value;
        advance();
      }
    } else if (attribute == "inlined_at") {
      std::array<uint32_t, 3> call;
      if (!numbers(call))
        return false;
      if (!fn)
        continue;
      // An earlier .loc describes the call site. The call site may itself be
      // inlined (PTX ISA, .loc). If there is no such .loc, the chain ends here.
      auto [it, isNew] = lastLoc.try_emplace(call, int32_t(fn->locs.size()));
      if (isNew)
        fn->locs.push_back({call[0], call[1], call[2]});
      place.caller = it->second;
    } else {
      return error("unknown attribute '" + std::string(attribute) +
                   "' of .loc, expected function_name or inlined_at");
    }
  }
  return true;
}

bool Parser::loc() {
  advance();
  std::array<uint32_t, 3> at;
  if (!numbers(at))
    return false;
  SourceLocation place = {at[0], at[1], at[2]};
  if (!locInlined(place))
    return false;
  if (fn) {
    currentLoc = fn->locs.size();
    lastLoc[at] = currentLoc;
    fn->locs.push_back(place);
  }
  return true;
}

/// Removes the prefix `text` from `rest`. Returns false if the prefix is
/// absent.
static bool takeText(std::string_view &rest, std::string_view text) {
  if (rest.substr(0, text.size()) != text)
    return false;
  rest.remove_prefix(text.size());
  return true;
}

static bool takeNumber(std::string_view &rest, uint32_t &n) {
  auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), n);
  rest.remove_prefix(end - rest.data());
  return error == std::errc();
}

/// Reads `"a.cu" 3 5`.
static bool takeLine(std::string_view &rest, std::string_view &file,
                     uint32_t &line, uint32_t &column) {
  if (!takeText(rest, "\""))
    return false;
  size_t end = rest.find('"');
  file = rest.substr(0, end);
  rest.remove_prefix(std::min(file.size(), rest.size()));
  return takeText(rest, "\" ") && takeNumber(rest, line) &&
         takeText(rest, " ") && takeNumber(rest, column);
}

/// Reads `// .loc "a.cu" 3 5 in kernel is also "a.cu" 7 5, "a.cu" 9 5`. Other
/// comments are skipped.
void Parser::sharedLines() {
  constexpr std::string_view kBegin = "\n// .loc ", kAlso = " is also ";
  std::string_view text = m.text;
  for (size_t at = 0; (at = text.find(kBegin, at)) != text.npos;) {
    at += kBegin.size();
    std::string_view rest = text.substr(at, text.find('\n', at) - at), file;
    uint32_t line, column;
    if (!takeLine(rest, file, line, column) || !takeText(rest, " in "))
      continue;
    size_t end = rest.find(kAlso);
    if (end == rest.npos)
      continue;
    std::string_view function = rest.substr(0, end);
    rest.remove_prefix(end + kAlso.size());
    auto lines = std::make_shared<std::vector<SourceLine>>();
    std::string_view other;
    uint32_t otherLine, otherColumn;
    while (takeLine(rest, other, otherLine, otherColumn)) {
      lines->push_back({std::string(other), otherLine, otherColumn});
      takeText(rest, ", ");
    }
    m.sharedLines.insert_or_assign({function, file, line, column},
                                   std::move(lines));
  }
}
