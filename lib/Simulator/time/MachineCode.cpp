//===- MachineCode.cpp - what ptxas makes of lines of PTX -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MachineCode.h"

#include <map>
#include <numeric>
#include <string>

using namespace mx::sim::time;

namespace {

struct CodeRow {
  std::string_view prefix;
  Pipe pipe;
};

// The first row with which an opcode begins.
constexpr CodeRow kPipesOfCode[] = {
    {"IMAD", Pipe::Multiply}, {"IMUL", Pipe::Multiply}, {"IDP", Pipe::Multiply},
    {"FMNMX", Pipe::Alu},     {"FSETP", Pipe::Alu},     {"FSEL", Pipe::Alu},
    {"FSET", Pipe::Alu},      {"FCHK", Pipe::Alu},      {"FRND", Pipe::Special},
    {"F2FP", Pipe::Alu},      {"F2F", Pipe::Special},   {"F2I", Pipe::Special},
    {"FSWZ", Pipe::Fma},      {"F", Pipe::Fma},         {"HMNMX", Pipe::Alu},
    {"HSETP", Pipe::Alu},     {"HSET", Pipe::Alu},      {"HMMA", Pipe::None},
    {"HGMMA", Pipe::None},    {"H", Pipe::Fma},         {"D", Pipe::Multiply},
    {"MUFU", Pipe::Special},  {"I2F", Pipe::Special},   {"POPC", Pipe::Special},
    {"FLO", Pipe::Special},   {"SHFL", Pipe::Convert},  {"BREV", Pipe::Special},
    {"REDUX", Pipe::Convert}, {"MATCH", Pipe::Convert}, {"LOP3", Pipe::Alu},
    {"IADD", Pipe::Alu},      {"SHF", Pipe::Alu},       {"PRMT", Pipe::Alu},
    {"ISETP", Pipe::Alu},     {"SEL", Pipe::Alu},       {"LEA", Pipe::Alu},
    {"IMNMX", Pipe::Alu},     {"IABS", Pipe::Alu},      {"SGXT", Pipe::Alu},
    {"BMSK", Pipe::Alu},      {"PLOP3", Pipe::Alu},     {"VI", Pipe::Alu},
    {"VH", Pipe::Alu},        {"VOTE", Pipe::Alu},      {"P2R", Pipe::Alu},
    {"R2P", Pipe::Alu},       {"MOV", Pipe::Alu},       {"I2FP", Pipe::Alu},
    {"UTMA", Pipe::None},     {"UBLK", Pipe::None},     {"UCGA", Pipe::None},
    {"USETMAX", Pipe::None},  {"U", Pipe::Uniform},
};

/// What ptxas moves to where a kernel or a loop begins.
constexpr std::string_view kSetUp[] = {"NOP", "ULDC", "LDC",  "UMOV", "CS2R",
                                       "S2R", "S2UR", "R2UR", "LDCU"};

bool isSetUp(std::string_view opcode) {
  for (std::string_view name : kSetUp)
    if (opcode == name)
      return true;
  return false;
}

/// The number after `word` in a line; 0 where there is none.
uint32_t numberAfter(std::string_view line, std::string_view word) {
  size_t at = line.find(word);
  uint32_t n = 0;
  for (at = at == line.npos ? line.size() : at + word.size();
       at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
    n = 10 * n + uint32_t(line[at] - '0');
  return n;
}

/// "        /*0120*/    @!P0 IMAD.WIDE R2, ..." -> "IMAD.WIDE".
std::string_view opcodeOf(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos || line.substr(begin, 2) != "/*")
    return {};
  size_t at = line.find("*/", begin);
  if (at == line.npos)
    return {};
  for (at += 2;;) {
    at = line.find_first_not_of(" \t", at);
    if (at == line.npos)
      return {};
    size_t end = std::min(line.find_first_of(" \t;", at), line.size());
    std::string_view word = line.substr(at, end - at);
    if (word[0] != '@' && word[0] != '{')
      return word[0] >= 'A' && word[0] <= 'Z' ? word : std::string_view();
    at = end;
  }
}

} // namespace

Pipe mx::sim::time::pipeOf(std::string_view opcode) {
  for (const CodeRow &row : kPipesOfCode)
    if (opcode.substr(0, row.prefix.size()) == row.prefix)
      return row.pipe;
  return Pipe::None;
}

/// The cycles that an instruction stalls its warp: bits 105 to 108 of its 128,
/// the upper half of which is on a line of its own.
static unsigned stallsOf(std::string_view line) {
  size_t at = line.find("/* 0x");
  if (at == line.npos || line.find_first_not_of(" \t") != at)
    return 1;
  uint64_t word = 0;
  for (char c : line.substr(at + 5)) {
    unsigned digit = c >= '0' && c <= '9'   ? unsigned(c - '0')
                     : c >= 'a' && c <= 'f' ? unsigned(c - 'a') + 10
                                            : 16;
    if (digit > 15)
      break;
    word = 16 * word + digit;
  }
  return unsigned(word >> 41 & 15);
}

std::unordered_map<uint32_t, LinePrice>
mx::sim::time::readMachineCode(std::string_view text, std::string_view name) {
  std::unordered_map<uint32_t, LinePrice> lines;
  std::string label = "\n.text." + std::string(name) + ":\n";
  size_t at = text.find(label);
  if (at == text.npos)
    return lines;
  auto take = [&] {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view s = text.substr(at, end - at);
    at = end + 1;
    return s;
  };
  // By line of the PTX, how often each opcode with its modifiers is there, and
  // the stalls of all of them.
  struct Opcodes {
    std::map<std::string_view, unsigned> counts;
    unsigned stalls = 0;
  };
  std::map<uint32_t, Opcodes> found;
  uint32_t line = 0;
  for (at += label.size(); at < text.size();) {
    std::string_view s = take();
    if (s.find(".section") != s.npos || s.substr(0, 4) == "//--")
      break; // the next kernel
    if (s.find("//## File") != s.npos) {
      if (s.find(".nv_debug_ptx_txt") != s.npos)
        line = numberAfter(s, "\", line ");
      continue;
    }
    std::string_view opcode = opcodeOf(s);
    if (opcode.empty() || !line || isSetUp(opcode.substr(0, opcode.find('.'))))
      continue;
    Opcodes &of = found[line];
    ++of.counts[opcode];
    if (at < text.size())
      of.stalls += stallsOf(take());
  }
  for (auto &[number, opcodes] : found) {
    unsigned copies = 0;
    for (auto &[opcode, n] : opcodes.counts)
      copies = std::gcd(copies, n);
    LinePrice &price = lines[number];
    price.stalls = uint16_t(opcodes.stalls / copies);
    for (auto &[opcode, n] : opcodes.counts)
      price.counts[unsigned(pipeOf(opcode.substr(0, opcode.find('.'))))] +=
          uint16_t(n / copies);
  }
  return lines;
}
