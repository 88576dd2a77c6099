//===- MachineCode.cpp - Parser of nvdisasm listings ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MachineCode.h"

#include "Flow.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>

using namespace mx::sim::time;

namespace {

struct CodeRow {
  std::string_view prefix;
  Pipe pipe;
};

// Pipes by prefix of the opcode. The first matching row applies.
constexpr CodeRow kPipesOfCode[] = {
    {"IMAD", Pipe::Multiply}, {"IMUL", Pipe::Multiply},
    {"IDP", Pipe::Multiply},  {"FMNMX", Pipe::Alu},
    {"FSETP", Pipe::Alu},     {"FSEL", Pipe::Alu},
    {"FSET", Pipe::Alu},      {"FCHK", Pipe::Special},
    {"FRND", Pipe::Special},  {"F2FP", Pipe::Alu},
    {"F2F", Pipe::Special},   {"F2I", Pipe::Special},
    {"FSWZ", Pipe::Fma},      {"F", Pipe::Fma},
    {"HMNMX", Pipe::Alu},     {"HSETP", Pipe::Alu},
    {"HSET", Pipe::Alu},      {"HMMA", Pipe::None},
    {"HGMMA", Pipe::None},    {"HFMA2.MMA", Pipe::Fma},
    {"H", Pipe::Multiply},    {"D", Pipe::Multiply},
    {"MUFU", Pipe::Special},  {"I2FP", Pipe::Alu},
    {"I2F", Pipe::Special},   {"POPC", Pipe::Special},
    {"FLO", Pipe::Special},   {"SHFL", Pipe::Convert},
    {"BREV", Pipe::Special},  {"REDUX", Pipe::Convert},
    {"MATCH", Pipe::Convert}, {"LOP3", Pipe::Alu},
    {"IADD", Pipe::Alu},      {"SHF", Pipe::Alu},
    {"PRMT", Pipe::Alu},      {"ISETP", Pipe::Alu},
    {"SEL", Pipe::Alu},       {"LEA", Pipe::Alu},
    {"IMNMX", Pipe::Alu},     {"IABS", Pipe::Alu},
    {"SGXT", Pipe::Alu},      {"BMSK", Pipe::Alu},
    {"PLOP3", Pipe::Alu},     {"VIADD", Pipe::Fma},
    {"VI", Pipe::Alu},        {"VH", Pipe::Alu},
    {"VOTE", Pipe::Alu},      {"P2R", Pipe::Alu},
    {"R2P", Pipe::Alu},       {"MOV", Pipe::Alu},
    {"UTMA", Pipe::None},     {"UTC", Pipe::None},
    {"UBLK", Pipe::None},     {"UCGA", Pipe::None},
    {"USETMAX", Pipe::None},  {"U", Pipe::Uniform},
};

/// Returns the number after `word`, or 0.
uint32_t numberAfter(std::string_view line, std::string_view word) {
  size_t at = line.find(word);
  uint32_t n = 0;
  for (at = at == line.npos ? line.size() : at + word.size();
       at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
    n = 10 * n + uint32_t(line[at] - '0');
  return n;
}

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

bool mx::sim::time::givesWork(std::string_view opcode) {
  static constexpr std::string_view kGivers[] = {
      "UTMA", "UBLK", "SYNCS", "HGMMA", "UTC", "HMMA", "IMMA", "DMMA"};
  return std::any_of(std::begin(kGivers), std::end(kGivers),
                     [&](std::string_view giver) {
                       return opcode.substr(0, giver.size()) == giver;
                     });
}

bool mx::sim::time::isMmaSync(std::string_view opcode) {
  return opcode.substr(1, 3) == "MMA";
}

/// Parses the line with the upper 64 bits of an instruction. Bits 41 to 44 are
/// the stall, bits 46 to 48 the counter for the result (7 for none), and bits
/// 52 to 57 the mask of counters to wait for.
static uint64_t upperHalf(std::string_view line) {
  size_t at = line.find("/* 0x");
  if (at == line.npos || line.find_first_not_of(" \t") != at)
    return uint64_t(7) << 46 | uint64_t(1) << 41;
  uint64_t word = 0;
  for (char c : line.substr(at + 5)) {
    unsigned digit = c >= '0' && c <= '9'   ? unsigned(c - '0')
                     : c >= 'a' && c <= 'f' ? unsigned(c - 'a') + 10
                                            : 16;
    if (digit > 15)
      break;
    word = 16 * word + digit;
  }
  return word;
}

bool mx::sim::time::isJump(std::string_view opcode) {
  std::string_view name = opcode.substr(0, opcode.find('.'));
  return name == "BRA" || name == "EXIT" || name == "RET" || name == "BRX" ||
         name == "CALL" || name == "BRXU" || name == "JMP";
}

/// Returns the target of a jump: ".L_x_59" for "@!P1 BRA `(.L_x_59) ;".
static std::string_view targetOf(std::string_view line) {
  size_t begin = line.find("`(");
  if (begin == line.npos)
    return {};
  begin += 2;
  return line.substr(begin, line.find(')', begin) - begin);
}

static uint32_t hexAfter(std::string_view text, size_t at) {
  uint32_t n = 0;
  const char *end = text.data() + text.size();
  std::from_chars(std::min(text.data() + at, end), end, n, 16);
  return n;
}

/// Parses "LDC.64 R2, c[0x0][0x210] ;", "LDC R2, c[0x0][RZ] ;" and "LDC R2,
/// c[0x0][R4+0x210] ;". Returns none for guarded loads because a false guard
/// reads nothing.
static Constants constantsOf(std::string_view line, std::string_view opcode,
                             bool isGuarded) {
  constexpr std::string_view kBank = "c[0x", kOffset = "][";
  line = line.substr(0, line.find(';'));
  size_t bank = line.find(kBank), offset = line.find(kOffset, bank);
  bool isLoad = opcode.substr(0, 3) == "LDC";
  if (offset == line.npos || (isLoad && isGuarded))
    return {};
  offset += kOffset.size();
  std::string_view place = line.substr(offset, line.find(']', offset) - offset);
  size_t number = place.find("0x");
  std::string_view index = place.substr(0, number);
  bool isIndexed = !index.empty() && index.substr(0, 2) != "RZ";
  if (isIndexed)
    return {isLoad ? Constants::Index : Constants::None};
  uint32_t at = number == place.npos ? 0 : hexAfter(place, number + 2);
  uint32_t numBank = hexAfter(line, bank + kBank.size());
  return {isLoad ? Constants::Load : Constants::Operand,
          numBank << 16 | constantLineOf(at)};
}

/// Returns true if "FFMA R5, R3, R6, R15 ;" reads three registers. An operand
/// with ".reuse" serves two instructions, so it does not count.
static bool readsThree(std::string_view line) {
  std::set<std::string_view> seen;
  line = line.substr(0, line.find(';'));
  for (size_t at = line.find(','); at != line.npos;
       at = line.find(',', at + 1)) {
    size_t begin = line.find_first_not_of(" ,-|", at);
    if (begin == line.npos || line[begin] != 'R' || line[begin + 1] == 'Z')
      continue;
    size_t end = line.find_first_of(" ,|.", begin);
    if (line.substr(std::min(end, line.size()), 6) != ".reuse")
      seen.insert(line.substr(begin, end - begin));
  }
  return seen.size() == 3;
}

uint32_t mx::sim::time::parametersAt(unsigned target) {
  return target < 100 ? 0x210 : 0x380;
}

static std::string labelOf(std::string_view name) {
  return "\n.text." + std::string(name) + ":\n";
}

bool mx::sim::time::hasMachineCode(std::string_view text,
                                   std::string_view name) {
  return text.find(labelOf(name)) != text.npos;
}

std::vector<MachineBlock>
mx::sim::time::readMachineCode(std::string_view text, std::string_view name) {
  std::vector<MachineBlock> blocks;
  std::string label = labelOf(name);
  size_t at = text.find(label);
  if (at == text.npos)
    return blocks;
  auto take = [&] {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view s = text.substr(at, end - at);
    at = end + 1;
    return s;
  };
  std::map<std::string_view, size_t> labels; // label to block
  std::vector<std::pair<size_t, std::string_view>>
      jumps; // source block and target label
  std::vector<bool> goesOn;
  uint32_t line = 0;
  bool isOpen = false;
  for (at += label.size(); at < text.size();) {
    std::string_view s = take();
    if (s.find(".section") != s.npos || s.substr(0, 4) == "//--")
      break; // start of the next kernel
    if (s.find("//## File") != s.npos) {
      if (s.find(".nv_debug_ptx_txt") != s.npos)
        line = numberAfter(s, "\", line ");
      continue;
    }
    if (!s.empty() && (s[0] == '.' || s[0] == '$')) {
      labels[s.substr(0, s.find(':'))] = blocks.size();
      isOpen = false;
      continue;
    }
    std::string_view opcode = opcodeOf(s);
    if (opcode.empty())
      continue;
    // The padding after the code consists of NOPs without a stall.
    uint64_t bits = at < text.size() ? upperHalf(take()) : upperHalf({});
    if (opcode == "NOP" && !(bits >> 41 & 15))
      continue;
    if (!isOpen) {
      blocks.emplace_back();
      goesOn.push_back(true);
    }
    MachineInstr i;
    i.line = line;
    i.opcode = opcode;
    i.pipe = pipeOf(opcode);
    i.stall = uint8_t(std::max<uint64_t>(1, bits >> 41 & 15));
    i.counter = uint8_t(std::min<uint64_t>(bits >> 46 & 7, kCounters));
    i.waits = uint8_t(bits >> 52 & 63);
    i.readsThree = i.pipe == Pipe::Fma && readsThree(s);
    bool isGuarded = s.find('@') < s.find(opcode);
    i.constants = constantsOf(s, opcode, isGuarded);
    blocks.back().code.push_back(i);
    isOpen = !isJump(opcode);
    if (!isOpen)
      goesOn.back() = isGuarded || opcode.substr(0, 4) == "CALL";
    if (std::string_view target = targetOf(s); !isOpen && !target.empty())
      jumps.push_back({blocks.size() - 1, target});
  }
  std::vector<std::vector<uint32_t>> next(blocks.size());
  for (auto &[from, target] : jumps)
    if (auto to = labels.find(target);
        to != labels.end() && to->second < blocks.size())
      next[from].push_back(uint32_t(to->second));
  for (uint32_t k = 0; k + 1 < blocks.size(); ++k)
    if (goesOn[k])
      next[k].push_back(k + 1);
  Flow flow(next);
  for (uint32_t k = 0; k < blocks.size(); ++k)
    blocks[k].depth = flow.depth(k);
  return blocks;
}
