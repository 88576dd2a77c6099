//===- Schedule.cpp - Machine code schedule of PTX instructions -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "../machine/Handlers.h"
#include "../machine/Routines.h"
#include "../ptx/OpcodeClass.h"
#include "Flow.h"
#include "MachineCode.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

/// Control flow graph of the PTX.
struct TextBlocks {
  TextBlocks(const Program &program, const std::vector<Price> &prices);
  std::vector<uint32_t> blockOf; ///< block of each instruction
  std::vector<uint32_t> first;
  Flow flow;
  std::map<uint32_t, uint32_t> ofLine;
  /// Prices by line, for each pipe.
  std::map<uint32_t, std::array<uint8_t, kPipes>> counts;
  std::set<uint32_t> mmas; ///< lines with mma.sync

private:
  std::vector<std::vector<uint32_t>> waysOf(const Program &program) const;
};

bool isBranch(const Instr &i) {
  return i.fn == branchAlways || i.fn == branchIf || i.fn == branchIndexed;
}

bool leaves(const Instr &i) {
  return i.fn == exitThread || i.fn == trapThread || i.fn == leaveRoutine;
}

template <typename F>
void forTargets(const std::vector<Instr> &code, const Instr &i, F take) {
  for (uint32_t t = 0; t < (i.fn == branchIndexed ? i.b : 1); ++t)
    take(uint32_t(i.fn == branchIndexed ? code[size_t(i.imm) + t].imm : i.imm));
}

TextBlocks::TextBlocks(const Program &program,
                       const std::vector<Price> &prices) {
  const std::vector<Instr> &code = program.code;
  std::vector<char> leads(code.size() + 1);
  leads[0] = 1;
  for (uint32_t k = 0; k < code.size(); ++k) {
    if (isBranch(code[k]) || leaves(code[k]))
      leads[k + 1] = 1;
    if (isBranch(code[k]))
      forTargets(code, code[k], [&](uint32_t to) { leads[to] = 1; });
  }
  for (uint32_t k = 0; k < code.size(); ++k) {
    if (leads[k])
      first.push_back(k);
    blockOf.push_back(uint32_t(first.size() - 1));
    if (program.info[k].source)
      if (ofLine.emplace(program.info[k].line, blockOf[k]).second)
        counts[program.info[k].line] = prices[k].counts;
    if (program.info[k].source && prices[k].tensor)
      mmas.insert(program.info[k].line);
  }
  flow = Flow(waysOf(program));
}

/// Returns the successors of each block.
std::vector<std::vector<uint32_t>>
TextBlocks::waysOf(const Program &program) const {
  size_t n = first.size();
  std::vector<std::vector<uint32_t>> next(n);
  for (uint32_t b = 0; b < n; ++b) {
    size_t last = (b + 1 < n ? first[b + 1] : program.code.size()) - 1;
    const Instr &i = program.code[last];
    if (isBranch(i))
      forTargets(program.code, i,
                 [&](uint32_t to) { next[b].push_back(blockOf[to]); });
    bool goesOn =
        i.fn == branchIf || i.guard != kNoSlot || !(isBranch(i) || leaves(i));
    if (goesOn && b + 1 < n)
      next[b].push_back(b + 1);
  }
  return next;
}

/// Corrects the lines of wgmma.mma_async, because line tables name earlier
/// lines. After a wgmma.fence, machine code and PTX contain the same number of
/// wgmma.mma_async.
void findWgmmas(std::vector<MachineBlock> &machine, const Program &program) {
  std::vector<uint32_t> lines;
  for (const InstrInfo &info : program.info)
    if (info.source && info.source->opcode == "wgmma" &&
        !info.source->modifiers.empty() &&
        info.source->modifiers[0] == "mma_async")
      lines.push_back(info.line);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  auto next = lines.end();
  for (MachineBlock &block : machine)
    for (MachineInstr &i : block.code)
      if (i.opcode.substr(0, 16) == "WARPGROUP.ARRIVE")
        next = std::lower_bound(lines.begin(), lines.end(), i.line);
      else if (i.opcode.substr(1, 4) == "GMMA" && next != lines.end())
        i.line = *next++;
}

bool isTestOf(const ptx::Instruction &i) {
  return i.opcode == "mbarrier" &&
         (hasModifier(i, "try_wait") || hasModifier(i, "test_wait"));
}

/// ptxas peels the first iteration of a loop around an mbarrier test, and
/// assigns it to the line before the loop. Usually no other iteration executes.
/// Turns the iteration into a block with the lines and depth of the loop.
void findTests(std::vector<MachineBlock> &machine, const Program &program,
               const TextBlocks &text) {
  struct Loop {
    uint32_t block, jump;
  };
  std::map<uint32_t, Loop> tests; // keyed by line
  for (size_t k = 0; k < program.info.size(); ++k)
    if (const InstrInfo &info = program.info[k];
        info.source && isTestOf(*info.source)) {
      uint32_t block = text.blockOf[k];
      bool isLast = block + 1 == text.first.size();
      size_t jump = (isLast ? program.code.size() : text.first[block + 1]) - 1;
      tests[info.line] = {block, program.info[jump].line};
    }
  std::vector<MachineBlock> cut;
  for (MachineBlock &block : machine) {
    cut.push_back({{}, block.depth});
    for (size_t k = 0; k < block.code.size(); ++k) {
      MachineInstr i = block.code[k];
      auto test = tests.lower_bound(i.line);
      auto before = text.ofLine.find(i.line);
      bool isFirstRound = i.opcode.substr(0, 14) == "SYNCS.PHASECHK" &&
                          test != tests.end() && test->first != i.line &&
                          before != text.ofLine.end() &&
                          before->second + 1 == test->second.block;
      if (!isFirstRound) {
        cut.back().code.push_back(i);
        continue;
      }
      if (!cut.back().code.empty())
        cut.push_back({});
      cut.back().depth = text.flow.depth(test->second.block);
      uint32_t line = i.line;
      i.line = test->first;
      cut.back().code.push_back(i);
      for (++k; k < block.code.size() && block.code[k].line == line; ++k) {
        cut.back().code.push_back(block.code[k]);
        cut.back().code.back().line = test->second.jump;
      }
      if (k-- < block.code.size())
        cut.push_back({{}, block.depth});
    }
  }
  machine = std::move(cut);
}

/// Block of machine code, the PTX block that owns it, and the number of copies
/// of the PTX code that it contains.
struct Share {
  const MachineBlock *block;
  uint32_t owner;
  unsigned copies;
  std::set<uint32_t> lines;
};

/// Returns the number of copies of the PTX code: the largest number for which
/// four of five opcodes are frequent enough. If the price table lists N machine
/// instructions of a pipe for a line, one copy contains N.
unsigned countCopies(const MachineBlock &block, const TextBlocks &text) {
  std::map<std::pair<uint32_t, std::string_view>, unsigned> found;
  std::map<std::string_view, Pipe> pipes;
  for (const MachineInstr &i : block.code)
    if (text.ofLine.count(i.line) &&
        (isMmaSync(i.opcode) || !text.mmas.count(i.line))) {
      ++found[{i.line, i.opcode}];
      pipes[i.opcode] = i.pipe;
    }
  if (found.empty())
    return 1;
  std::vector<unsigned> counts;
  for (auto &[key, count] : found) {
    unsigned each = text.counts.at(key.first)[unsigned(pipes[key.second])];
    counts.push_back(std::max(1u, count / std::max(1u, each)));
  }
  auto place = counts.begin() + counts.size() / 5;
  std::nth_element(counts.begin(), place, counts.end());
  return *place;
}

constexpr uint32_t kNoOwner = ~0u;

/// Returns the PTX block that owns the machine code. Candidates have the same
/// loop depth and a large share of the instructions. ptxas may merge both sides
/// of a branch, so the common dominator of the candidates is the owner.
uint32_t ownerOf(const std::map<uint32_t, unsigned> &votes, unsigned depth,
                 const TextBlocks &text) {
  for (bool anyDepth : {false, true}) {
    unsigned most = 0;
    for (auto [block, count] : votes)
      if (anyDepth || text.flow.depth(block) == depth)
        most = std::max(most, count);
    std::vector<uint32_t> parts;
    for (auto [block, count] : votes)
      if ((anyDepth || text.flow.depth(block) == depth) && 4 * count >= most)
        parts.push_back(block);
    if (parts.empty())
      continue;
    uint32_t common = parts[0];
    for (uint32_t part : parts)
      common = text.flow.commonDominator(common, part);
    bool isInSameLoops = text.flow.depth(common) == text.flow.depth(parts[0]);
    return isInSameLoops ? common : parts[0];
  }
  return kNoOwner;
}

/// Returns the machine code of one execution of each PTX block. A block with
/// already covered lines is a copy and is dropped.
std::vector<std::vector<Share>>
partsOf(const std::vector<MachineBlock> &machine, const TextBlocks &text) {
  std::vector<std::vector<Share>> parts(text.first.size());
  for (const MachineBlock &block : machine) {
    std::map<uint32_t, unsigned> votes;
    std::set<uint32_t> lines;
    for (const MachineInstr &i : block.code)
      if (auto it = text.ofLine.find(i.line); it != text.ofLine.end()) {
        ++votes[it->second];
        lines.insert(i.line);
      }
    uint32_t owner = ownerOf(votes, block.depth, text);
    if (owner != kNoOwner)
      parts[owner].push_back({&block, owner, countCopies(block, text), lines});
  }
  for (std::vector<Share> &all : parts) {
    std::vector<const Share *> largest;
    for (const Share &part : all)
      largest.push_back(&part);
    std::stable_sort(largest.begin(), largest.end(),
                     [](const Share *a, const Share *b) {
                       return a->lines.size() > b->lines.size();
                     });
    std::set<uint32_t> seen;
    std::set<const MachineBlock *> kept;
    for (const Share *part : largest) {
      size_t known = 0;
      for (uint32_t line : part->lines)
        known += seen.count(line);
      if (2 * known > part->lines.size())
        continue;
      seen.insert(part->lines.begin(), part->lines.end());
      kept.insert(part->block);
    }
    all.erase(
        std::remove_if(all.begin(), all.end(),
                       [&](const Share &p) { return !kept.count(p.block); }),
        all.end());
  }
  return parts;
}

/// Counter of variable-latency results.
struct Counter {
  uint32_t line = 0, ready = 0;
  bool isConstant = false;
  std::vector<uint32_t> lines; ///< PTX lines since the last wait
};

/// Returns true if no PTX register contains the result.
bool isConstant(std::string_view opcode) {
  return opcode.substr(0, 3) == "LDC" || opcode.substr(0, 3) == "S2R" ||
         opcode.substr(0, 4) == "S2UR";
}

uint32_t latencyOf(const MachineInstr &i, const Chip &chip) {
  if (i.opcode.substr(0, 5) == "REDUX")
    return uint32_t(chip.cycles(Fact::ReduxLatency));
  Pipe pipe = i.pipe;
  return isConstant(i.opcode)    ? uint32_t(chip.cycles(Fact::ConstantLatency))
         : pipe == Pipe::Special ? uint32_t(chip.cycles(Fact::SpecialLatency))
         : pipe == Pipe::Convert ? uint32_t(chip.cycles(Fact::WarpLatency))
                                 : 0;
}

/// Returns the cycles by which an instruction delays its successors in addition
/// to its stall.
uint32_t holdOf(std::string_view opcode, const Chip &chip) {
  if (opcode.substr(0, 7) == "IMAD.HI")
    return uint32_t(chip.cycles(Fact::HighProduct));
  return opcode == "YIELD" ? uint32_t(chip.cycles(Fact::Yield)) : 0;
}

/// A listing belongs to another version of the kernel if fewer than a quarter
/// of its lines are instructions.
constexpr size_t kMostPerKnown = 4;

/// Registers written by each PTX line.
class LineWrites {
public:
  explicit LineWrites(const Program &program) {
    Registers registers(program);
    for (size_t k = 0; k < program.code.size(); ++k)
      if (program.info[k].source)
        for (Registers::Part part : registers.writes(k))
          of[program.info[k].line][part.word] |= part.bits;
  }
  /// Adds the registers that `lines` write to `lists`; returns the index, or 0
  /// if there are none.
  uint32_t add(std::vector<std::vector<Registers::Part>> &lists,
               const std::vector<uint32_t> &lines) const {
    std::map<uint32_t, uint64_t> all;
    for (uint32_t line : lines)
      if (auto it = of.find(line); it != of.end())
        for (auto [word, bits] : it->second)
          all[word] |= bits;
    if (all.empty())
      return 0;
    std::vector<Registers::Part> &list = lists.emplace_back();
    for (auto [word, bits] : all)
      list.push_back({word, bits});
    return uint32_t(lists.size() - 1);
  }

private:
  /// Written bits by register word, for each line.
  std::map<uint32_t, std::map<uint32_t, uint64_t>> of;
};

/// Numbers the lines of the two constant caches. Operands and loads into
/// uniform registers share a cache; other loads use the second cache.
class ConstantLines {
public:
  ConstantLines(const std::vector<MachineBlock> &machine,
                const Program &program, const Chip &chip, Schedule &schedule)
      : last(schedule.lastConstants) {
    bool hasIndex = false;
    for (const MachineBlock &block : machine)
      for (const MachineInstr &i : block.code)
        hasIndex |= i.constants.way == Constants::Index;
    if (!hasIndex)
      return;
    uint32_t begin = parametersAt(chip.number);
    uint32_t end = begin + program.kernel->info.parameterBytes;
    schedule.parameters = last + 1;
    schedule.parametersBegin = begin % kConstantLine;
    for (uint32_t at = begin; at < end; at += kConstantLine)
      numberOf({Constants::Load, constantLineOf(at)});
    numberOf({Constants::Load, constantLineOf(end - 1)});
  }

  uint16_t numberOf(const Constants &constants) {
    if (constants.way != Constants::Operand && constants.way != Constants::Load)
      return 0;
    auto [it, isNew] = numbers.insert({{constants.way, constants.line}, 0});
    if (isNew)
      it->second = uint16_t(++last);
    return it->second;
  }

private:
  std::map<std::pair<Constants::Way, uint32_t>, uint16_t> numbers;
  uint32_t &last;
};

/// Location of a PTX line in the machine code of its block.
struct Place {
  uint32_t at = ~0u;
  uint32_t step = 0; ///< first step, or the step that starts an engine
  uint32_t stall = 0;
  std::array<uint16_t, kPipes> counts = {};
  bool isVariable = false, givesWork = false, isIndexed = false;
  std::vector<uint32_t> mmas; ///< steps of mma.sync
};

} // namespace

Schedule mx::sim::time::readSchedule(const Program &program, const Chip &chip,
                                     std::string_view listing,
                                     std::vector<Price> &prices) {
  std::vector<MachineBlock> machine =
      readMachineCode(listing, program.kernel->name);
  if (machine.empty())
    return {};
  findWgmmas(machine, program);
  TextBlocks text(program, prices);
  findTests(machine, program, text);
  std::set<uint32_t> anywhere, jumps;
  for (const MachineBlock &block : machine)
    for (const MachineInstr &i : block.code)
      (isJump(i.opcode) ? jumps : anywhere).insert(i.line);
  anywhere.insert(jumps.begin(), jumps.end());
  size_t known = 0;
  for (uint32_t line : anywhere)
    known += text.ofLine.count(line);
  if (known * kMostPerKnown < anywhere.size())
    return {};

  std::vector<std::vector<Share>> parts = partsOf(machine, text);
  std::vector<uint32_t> lengths(text.first.size());
  std::map<uint32_t, Place> places;
  Schedule schedule;
  LineWrites writes(program);
  ConstantLines constants(machine, program, chip, schedule);
  for (uint32_t b = 0; b < parts.size(); ++b) {
    schedule.begins.push_back(uint32_t(schedule.steps.size()));
    uint32_t begin = 0;
    for (const Share &part : parts[b]) {
      uint32_t cycles = 0;
      Place *last = nullptr;
      uint32_t line = 0;
      std::array<Counter, kCounters> counters;
      std::map<std::pair<uint32_t, std::string_view>, unsigned> copies;
      for (const MachineInstr &i : part.block->code) {
        auto it = text.ofLine.find(i.line);
        bool isOwn = it != text.ofLine.end() && it->second == b;
        // The line waits for its own result, for a constant load of ptxas, or
        // for results of other lines.
        std::vector<uint32_t> awaited;
        for (unsigned k = 0; k < kCounters; ++k) {
          if (!(i.waits >> k & 1))
            continue;
          if (counters[k].line == i.line || counters[k].isConstant)
            cycles = std::max(cycles, counters[k].ready);
          for (uint32_t other : std::exchange(counters[k].lines, {}))
            if (other != i.line)
              awaited.push_back(other);
        }
        if (i.counter < kCounters) {
          Counter &counter = counters[i.counter];
          counter.line = i.line;
          counter.ready = cycles + latencyOf(i, chip);
          counter.isConstant = isConstant(i.opcode);
          counter.lines.push_back(i.line);
        }
        // Code of lines from other blocks is charged to the preceding line.
        Place *place = isOwn ? &places[i.line] : last;
        uint32_t at = begin + cycles / part.copies;
        bool gives = isOwn && givesWork(i.opcode);
        if (isOwn && (place->at == ~0u || (gives && !place->givesWork))) {
          place->at = at;
          place->givesWork = gives;
          place->step = uint32_t(schedule.steps.size());
        }
        line = isOwn ? i.line : line;
        if (copies[{i.line, i.opcode}]++ % part.copies == 0) {
          if (isOwn && isMmaSync(i.opcode))
            place->mmas.push_back(uint32_t(schedule.steps.size()));
          schedule.steps.push_back({at, writes.add(schedule.waits, awaited), 0,
                                    constants.numberOf(i.constants), i.pipe,
                                    i.constants.way == Constants::Load,
                                    i.counter, i.waits, i.readsThree});
          schedule.lines.push_back(line);
        }
        if (place) {
          ++place->counts[unsigned(i.pipe)];
          place->stall = i.stall;
          place->isVariable |= isOwn && i.counter < kCounters;
          place->isIndexed |= isOwn && i.constants.way == Constants::Index;
          last = place;
        }
        cycles += i.stall + holdOf(i.opcode, chip);
      }
      begin += (cycles + part.copies - 1) / part.copies;
      if (part.copies > 1)
        for (uint32_t line : part.lines)
          if (auto it = places.find(line); it != places.end())
            for (uint16_t &count : it->second.counts)
              count = uint16_t((count + part.copies - 1) / part.copies);
    }
    lengths[b] = begin;
  }
  schedule.begins.push_back(uint32_t(schedule.steps.size()));

  for (size_t k = 0; k < prices.size(); ++k) {
    Price &p = prices[k];
    uint32_t b = text.blockOf[k];
    p.block = b;
    p.isLeader = text.first[b] == k;
    p.isLast = k + 1 == prices.size() || text.blockOf[k + 1] != b;
    p.length = lengths[b];
    const InstrInfo &info = program.info[k];
    if (!info.source)
      continue;
    p.counts = {};
    p.slots = 0;
    p.isFree = true;
    p.isDropped = !anywhere.count(info.line);
    p.jumps = jumps.count(info.line);
    // ptxas hoisted code from other blocks before this block.
    bool isFixed = p.cause == Fact::AluLatency ||
                   p.cause == Fact::PredicateLatency ||
                   p.cause == Fact::FloatLatency;
    if (p.isDropped || isFixed)
      p.latency = 0;
    auto it = places.find(info.line);
    if (it == places.end())
      continue;
    p.place = it->second.at;
    p.isFree = false;
    p.isIndexed = it->second.isIndexed;
    // ptxas emits one MMA if operands are equal.
    const std::vector<uint32_t> &mmas = it->second.mmas;
    if (mmas.empty())
      p.tensor = 0;
    // Later instructions wait for fixed latencies through their stalls.
    if (!it->second.isVariable && !p.isPoint && !p.tensor)
      p.latency = 0;
    p.stall = uint8_t(std::min<uint32_t>(it->second.stall, 255));
    if (!info.isFirst)
      continue;
    for (unsigned pipe = 0; pipe < kPipes; ++pipe) {
      p.counts[pipe] =
          uint8_t(std::min<unsigned>(it->second.counts[pipe], 255));
      p.slots = uint16_t(p.slots + p.counts[pipe]);
    }
    for (uint32_t step : mmas)
      schedule.steps[step].tensor =
          uint16_t(std::max<size_t>(1, p.tensor / mmas.size()));
  }
  return schedule;
}
