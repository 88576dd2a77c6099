//===- Lines.cpp - Cycles of warps by instruction -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Lines.h"

#include "../machine/Handlers.h"
#include "../ptx/OpcodeClass.h"

#include <algorithm>
#include <map>

using namespace mx::sim;
using namespace mx::sim::time;

//===----------------------------------------------------------------------===//
// Waits of instructions after their issue
//===----------------------------------------------------------------------===//

namespace {
struct WaitRow {
  std::string_view opcode, modifier;
  Spent waits;
};
} // namespace

// The first matching row applies. Instructions without a row do not wait.
static constexpr WaitRow kWaits[] = {
    {"mbarrier", "", Spent::Mbarrier},
    {"wgmma", "wait_group", Spent::Mma},
    {"wgmma", "", Spent::Barrier},
    {"tcgen05", "wait::*", Spent::Result},
    {"tcgen05", "alloc", Spent::Barrier},
    {"tcgen05", "", Spent::Mma},
    {"cp", "", Spent::Group},
    {"bar", "", Spent::Barrier},
    {"barrier", "", Spent::Barrier},
    {"shfl", "", Spent::Barrier},
    {"vote", "", Spent::Barrier},
    {"match", "", Spent::Barrier},
    {"redux", "", Spent::Barrier},
    {"ld", "", Spent::Slot},
    {"st", "", Spent::Slot},
    {"ldmatrix", "", Spent::Slot},
    {"stmatrix", "", Spent::Slot},
};

static Spent waitOf(const ptx::Instruction &i) {
  for (const WaitRow &row : kWaits)
    if (row.opcode == i.opcode && hasModifier(i, row.modifier))
      return row.waits;
  return Spent::Issue;
}

/// Returns the kind of a wait for `operand`.
static Spent spentOn(Moment operand) {
  if (operand.isRequest())
    return Spent::Result;
  switch (partOf(operand.cause())) {
  case Part::Issue: // delayed only by its position in the order
    return Spent::Issue;
  case Part::Barriers:
    return Spent::Mbarrier;
  case Part::Tensor:
    return Spent::Mma;
  default:
    return Spent::Result;
  }
}

Lines::Lines(const Machine &machine, const std::vector<Price> &prices,
             bool hasMachineCode)
    : machine(machine), prices(prices), hasMachineCode(hasMachineCode),
      spent(prices.size()) {
  for (const Instr &i : machine.program.code) {
    const InstrInfo &info = machine.program.infoOf(&i);
    waits.push_back(info.source ? waitOf(*info.source) : Spent::Issue);
    if (info.source)
      firstOf.emplace(info.line, &i);
  }
}

//===----------------------------------------------------------------------===//
// Accounting of a warp
//===----------------------------------------------------------------------===//

void Lines::spend(const Instr *i, Spent on, uint64_t until) {
  if (until <= book->counted)
    return;
  spent[indexOf(i)].cycles[unsigned(on)] += until - book->counted;
  book->counted = until;
}

/// Accounts for the issued instructions in the order of issue, up to `end`.
void Lines::settle(Strand &s, uint64_t end) {
  std::stable_sort(
      s.issued.begin(), s.issued.end(),
      [](const Issued &a, const Issued &b) { return a.cycle < b.cycle; });
  for (const Issued &one : s.issued) {
    // Without machine code, an instruction issues in consecutive slots.
    uint64_t slots = hasMachineCode ? 1 : prices[indexOf(one.instr)].slots;
    uint64_t first = std::min(one.cycle - std::min(one.cycle, slots - 1), end);
    spend(one.instr, spentOn(one.operand),
          std::min(one.operand.cycle(), first));
    spend(one.instr, Spent::Issue, std::min(one.due, first));
    spend(one.instr, Spent::Slot, first);
    spend(one.instr, Spent::Issue, std::min(one.cycle + 1, end));
  }
  s.issued.clear();
}

Lines::Strand &Lines::enter(const Group &g) {
  strand = g.strand;
  if (book->strands.size() <= strand)
    book->strands.resize(strand + 1);
  return book->strands[strand];
}

/// Counts only the first of the instructions that a PTX instruction decodes to.
void Lines::count(const Instr *i, int64_t times) {
  if (machine.program.infoOf(i).isFirst)
    spent[indexOf(i)].executed += uint64_t(times);
}

void Lines::start(const Warp &w, uint64_t cycle) {
  books[&w] = Book();
  books[&w].counted = cycle;
}

void Lines::resume(const Warp &w) {
  book = &books[&w];
  const Group &g = w.groups[w.current];
  Strand &s = enter(g);
  if (s.wait == Wait::None)
    return;
  spend(s.last, waits[indexOf(s.last)], g.step);
  // Another warp of the warpgroup executed the instruction.
  count(s.last, s.wait == Wait::Warpgroup && g.pc != s.last);
  s.wait = Wait::None;
}

void Lines::await(Moment operand) {
  if (spentOn(operand) != Spent::Issue)
    book->strands[strand].awaited = operand;
}

void Lines::step(uint32_t line, uint64_t due, uint64_t cycle) {
  auto found = firstOf.find(line);
  if (found != firstOf.end())
    book->strands[strand].issued.push_back(
        {cycle, due, Moment(0, kIssue), found->second});
}

void Lines::issue(const Warp &w, const Instr *i, Moment operands,
                  uint64_t cycle) {
  issuedUpTo = w.groups[w.current].step;
  if (i->fn == converge || !machine.program.infoOf(i).source)
    return;
  Strand &s = book->strands[strand];
  s.last = i;
  count(i, 1);
  const Price &price = prices[indexOf(i)];
  if (price.slots && !price.isFree)
    s.issued.push_back(
        {cycle, operands.cycle(),
         spentOn(operands) == Spent::Issue ? s.awaited : operands, i});
  s.awaited = Moment(0, kIssue);
}

void Lines::end(const Warp &w, const Instr *i, const Instr *next) {
  constexpr size_t kMost = 1024;
  const Group *g = w.current < w.groups.size() ? &w.groups[w.current] : nullptr;
  Strand &s = book->strands[strand];
  const Price &price = prices[indexOf(i)];
  bool isSame = g && g->strand == strand && (next || g->wait != Wait::None);
  if (next && isSame && g->step <= issuedUpTo && !price.isPoint &&
      !price.endsBlock && !price.isLast && s.issued.size() < kMost)
    return;
  const Instr *at = s.last ? s.last : i;
  settle(s, issuedUpTo);
  spend(at, Spent::Issue, issuedUpTo);
  if (isSame) {
    spend(at, waits[indexOf(at)], g->step);
    if (next)
      return;
    s.wait = g->wait;
    s.last = at;
    count(at, -int64_t(at == i && g->pc == i)); // it is issued again
    return;
  }
  s = Strand();
  if (next) { // merged into another group
    spend(at, Spent::Barrier, g->step);
    enter(*g).last = at;
  }
  if (!w.live)
    books.erase(&w);
}

//===----------------------------------------------------------------------===//
// By line
//===----------------------------------------------------------------------===//

/// Returns the lines of `text` without surrounding white space.
static std::vector<std::string> linesOf(const std::string &text) {
  constexpr const char *kSpace = " \t\r";
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    line.erase(0, line.find_first_not_of(kSpace));
    line.erase(line.find_last_not_of(kSpace) + 1);
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

std::vector<LineCost> Lines::costs() const {
  const std::string &text = machine.module.text;
  std::vector<std::string> texts = linesOf(text);
  std::map<unsigned, LineCost> all;
  for (size_t k = 0; k < spent.size(); ++k) {
    const InstrInfo &info = machine.program.info[k];
    if (!spent[k].executed && spent[k].cycles == decltype(Cost::cycles)())
      continue;
    bool isHere = info.source && isOfText(*info.source, text);
    unsigned line = isHere ? info.line : 0;
    LineCost &cost = all[line];
    if (line && !cost.line) {
      cost.line = line;
      cost.source = sourceOf(info);
      if (line <= texts.size())
        cost.text = texts[line - 1];
    }
    cost.executed += spent[k].executed;
    for (unsigned n = 0; n < kSpent; ++n)
      cost.cycles[n] += spent[k].cycles[n];
  }
  std::vector<LineCost> costs;
  for (auto &[line, cost] : all)
    costs.push_back(std::move(cost));
  return costs;
}
