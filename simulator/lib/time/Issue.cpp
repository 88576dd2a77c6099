//===- Issue.cpp - Issue of instructions ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With machine code, instructions issue at their offset in the block, delayed
// by earlier instructions. A group steps through the machine code and executes
// a PTX instruction when it reaches the instruction's offset. Without machine
// code, an instruction of a block issues once operands and a slot are
// available, as if ptxas had found the best order.
//===----------------------------------------------------------------------===//

#include "MachineCode.h"
#include "Stopwatch.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mx::sim;
using namespace mx::sim::time;

//===----------------------------------------------------------------------===//
// Delays of a block
//===----------------------------------------------------------------------===//

static size_t firstAfter(const std::vector<Group::Delay> &delays,
                         uint32_t place) {
  auto isBefore = [](uint32_t place, const Group::Delay &delay) {
    return place < delay.place;
  };
  return size_t(
      std::upper_bound(delays.begin(), delays.end(), place, isBefore) -
      delays.begin());
}

static uint64_t delayAt(const Group &g, uint32_t place) {
  if (g.delay.place <= place)
    return g.delay.cycles;
  size_t k = firstAfter(g.delays, place);
  return k ? g.delays[k - 1].cycles : 0;
}

/// Inserts a delay before the latest delayed offset.
static void delayFromEarlier(Group &g, uint32_t place, uint64_t cycles) {
  std::vector<Group::Delay> &delays = g.delays;
  size_t k = firstAfter(delays, place);
  if (k && delays[k - 1].cycles >= cycles)
    return;
  if (k && delays[k - 1].place == place)
    --k;
  size_t end = k;
  while (end < delays.size() && delays[end].cycles <= cycles)
    ++end;
  bool reachesLast = g.delay.cycles <= cycles;
  delays.erase(delays.begin() + k, delays.begin() + end);
  if (reachesLast)
    g.delay = {place, cycles};
  else
    delays.insert(delays.begin() + k, {place, cycles});
}

/// Delays the code from offset `place` on by at least `cycles`.
static void delayFrom(Group &g, uint32_t place, uint64_t cycles) {
  if (place < g.delay.place)
    return delayFromEarlier(g, place, cycles);
  if (g.delay.cycles >= cycles)
    return;
  if (place > g.delay.place)
    g.delays.push_back(g.delay);
  g.delay = {place, cycles};
}

//===----------------------------------------------------------------------===//
// Start, issue and end of instructions
//===----------------------------------------------------------------------===//

/// Starts a block at instruction `i`. `i` is not the first instruction of the
/// block if lanes diverged or reconverged inside the block, or after a return.
void Stopwatch::enter(Group &g, const Instr *i, const Price &price) const {
  g.entered = i;
  g.enteredBlock = price.block;
  g.delay = {};
  g.delays.clear();
  g.base = std::max(g.step, g.block);
  g.furthest = 0;
  g.walked = machineCode.begins[price.block];
  if (price.isLeader)
    return;
  g.base -= std::min<uint64_t>(g.base, price.place);
  g.furthest = price.place;
  uint32_t end = machineCode.begins[price.block + 1];
  while (g.walked < end && machineCode.steps[g.walked].place < price.place)
    ++g.walked;
}

/// Returns true if the warp may issue at `cycle` before other warps run.
bool Stopwatch::mayIssueAhead(const Warp &w, uint64_t cycle) const {
  uint64_t end = smOf(w).wgmma.next();
  bool hasMmas = end && end + kMostAhead > now;
  uint64_t most = hasMmas ? kMostAheadOfMmas : kMostAhead;
  return cycle > now + most ? isDue(cycle) : !quarterOf(w).hasBefore(cycle);
}

/// Returns the issue cycle of a machine instruction that is ready at `cycle`.
inline uint64_t Stopwatch::take(const Warp &w, const Step &step,
                                uint64_t cycle) const {
  Quarter &quarter = quarterOf(w);
  uint64_t taken = quarter.schedule(cycle);
  if (step.pipe != Pipe::None)
    taken = std::max(taken, quarter.pipe(unsigned(step.pipe), cycle));
  if (taken < smOf(w).wgmma.next())
    quarter.takeBesideMma(step.pipe, taken + 1);
  if (step.readsThree)
    quarter.readThird(taken + 1);
  if (step.tensor) {
    taken = std::max(taken, quarter.tensor(cycle));
    quarter.tensor(cycle, step.tensor - 1u);
  }
  return taken;
}

/// Returns the cycle at which the results are available, or kNever if the cycle
/// is not known yet. Extends the path of the group if the wait is longer than
/// the previous path.
uint64_t Stopwatch::awaitResults(Warp &w,
                                 const std::vector<Registers::Part> &list) {
  Moment ready = w.ready.await({list.data(), list.data() + list.size()},
                               Moment(0, kIssue), w.group().base);
  if (ready.isOpen())
    return kNever;
  if (lines)
    lines->await(ready);
  follow(w, ready);
  return ready.cycle();
}

/// Returns the cycle at which the constant line is available to a read at
/// `cycle`. The first read fetches the line.
uint64_t Stopwatch::fetchConstants(const Warp &w, uint32_t line,
                                   uint64_t cycle) const {
  uint64_t &there = smOf(w).constants[line];
  if (there > cycle)
    there = std::min(there, cycle + chip.cycles(Fact::ConstantMiss));
  return there;
}

/// Returns the cycle at which constant operands and awaited constant loads
/// allow the step to issue.
uint64_t Stopwatch::awaitConstants(Warp &w, const Step &step, uint64_t cycle) {
  Group &g = w.group();
  uint64_t there = 0;
  if (step.constants && !step.loads)
    there = fetchConstants(w, step.constants, cycle);
  for (unsigned open = step.counters & g.openConstants; open; open &= open - 1)
    there = std::max(there, g.constants[unsigned(__builtin_ctz(open))]);
  if (there <= cycle)
    return cycle;
  Moment ready(there, Fact::ConstantMiss);
  if (lines)
    lines->await(ready);
  follow(w, ready);
  return there;
}

static_assert(sizeof(Group::constants) == kCounters * sizeof(uint64_t));

/// Delays the load's result until its constant line is available.
void Stopwatch::loadConstants(Warp &w, const Step &step, uint64_t cycle) const {
  Group &g = w.group();
  uint64_t there = fetchConstants(w, step.constants, cycle);
  if (there <= cycle || step.counter >= kCounters)
    return;
  uint64_t ready = there + chip.cycles(Fact::ConstantLatency);
  uint64_t &last = g.constants[step.counter];
  bool isOpen = g.openConstants >> step.counter & 1;
  last = isOpen ? std::max(last, ready) : ready;
  g.openConstants |= uint8_t(1u << step.counter);
}

/// Returns the arrival of parameters loaded from addresses in registers.
Moment Stopwatch::constantsOf(Warp &w, const uint64_t addresses[32],
                              uint32_t mask) const {
  uint64_t last = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t at = addresses[__builtin_ctz(m)] + machineCode.parametersBegin;
    uint64_t line = machineCode.parameters + at / kConstantLine;
    if (line <= machineCode.lastConstants)
      last = std::max(last, fetchConstants(w, uint32_t(line), issuedAt));
  }
  if (last <= issuedAt)
    return {};
  return Moment(last + chip.cycles(Fact::ConstantLatency), Fact::ConstantMiss);
}

/// Issues the machine code up to the instruction. Returns false if other warps
/// must run first.
bool Stopwatch::walk(Warp &w, const Price &price) {
  Group &g = w.group();
  const Step *steps = machineCode.steps.data();
  uint32_t end = machineCode.begins[price.block + 1];
  uint32_t last = price.isLast ? ~0u : price.place;
  for (; g.walked < end && steps[g.walked].place <= last; ++g.walked) {
    const Step step = steps[g.walked];
    uint64_t planned = g.base + step.place;
    uint64_t due = planned + delayAt(g, step.place);
    uint64_t cycle = std::max(due, g.block);
    if (step.waits) {
      uint64_t ready = awaitResults(w, machineCode.waits[step.waits]);
      if (ready == kNever) {
        g.step = std::max(g.step, cycle);
        g.wait = Wait::Answer;
        return false;
      }
      cycle = std::max(cycle, ready);
    }
    bool awaitsLoads = step.counters & g.openConstants;
    if (awaitsLoads || (step.constants && !step.loads && !hasNoIssue))
      cycle = awaitConstants(w, step, cycle);
    if (!mayIssue(w, cycle)) {
      g.step = std::max(g.step, cycle);
      return false;
    }
    if (hasNoIssue)
      continue;
    uint64_t taken = take(w, step, cycle);
    if (taken > due)
      delayFrom(g, step.place, taken - planned);
    if (awaitsLoads)
      g.openConstants &= uint8_t(~step.counters);
    if (step.loads)
      loadConstants(w, step, taken);
    if (lines)
      lines->step(machineCode.lines[g.walked], cycle, taken);
  }
  return true;
}

/// Returns true if ptxas placed the instruction before code that the group has
/// executed, so it was issued before the wait.
static bool isPassed(const Group &g, const Price &price) {
  return !price.isFree && price.place < g.furthest;
}

/// Returns the cycle at which the instruction could issue without contention.
Moment Stopwatch::dueAt(Warp &w, const Instr *i, const Price &price) const {
  Group &g = w.group();
  uint64_t cycle = g.block;
  if (hasMachineCode && price.isFree && !price.isPoint) {
    cycle = g.base;
  } else if (hasMachineCode && !price.isFree) {
    uint64_t place = g.base + price.place + delayAt(g, price.place);
    cycle = isPassed(g, price) ? place : std::max(cycle, place);
  }
  return w.ready.await(registers.reads(placeOf(i)), Moment(cycle, kIssue),
                       hasMachineCode ? g.base : g.block);
}

/// Extends the group's path by the wait for operands.
void Stopwatch::follow(Warp &w, Moment ready) const {
  Path &path = w.group().path;
  if (ready.cycle() <= path.cycle())
    return;
  w.counts.resultCycles += ready.cycle() - path.cycle();
  if (!ready.isRequest())
    return path.reach(ready.cycle(), ready.cause());
  const SourceInfo &source = infoOf(ready.source());
  if (const Path *request = w.requests->find(ready.number()))
    path = *request;
  path.reach(ready.cycle() - chip.cycles(source.latency),
             rateOf(ready.source()));
  path.reach(ready.cycle(), source.latency);
}

/// Extends the group's path by the issue of the instruction.
void Stopwatch::account(Warp &w, const Price &price) {
  Path &path = w.group().path;
  if (uint64_t ready = operands.cycle(); ready > path.cycle()) {
    // Arithmetic latency is hidden while other warps keep the scheduler busy.
    uint64_t waited = issuedAt - std::min(issuedAt, ready);
    waited -= std::min<uint64_t>(waited, std::max(1, price.slots + 0) - 1u);
    if (waited && !operands.isRequest())
      path.add(kIssue, std::min(waited, ready - path.cycle()));
    follow(w, operands);
  }
  path.reach(issuedAt, price.tensor ? Fact::MmaSyncProducts : kIssue);
}

/// Returns true if the wgmma may start; otherwise delays the group. A
/// warpgroup issues its sequence of wgmma before another warpgroup starts.
bool Stopwatch::mayStartMma(Warp &w) {
  Group &g = w.group();
  const Multiprocessor &sm = smOf(w);
  uint64_t turn = sm.mmaIssued + chip.cycles(Fact::WgmmaTurn);
  if (sm.mmaIssuer != firstOfGroup(w) && turn > g.step) {
    g.step = g.block = turn;
    g.path.reach(g.step, Fact::WgmmaTurn);
    return false;
  }
  if (hasNoIssue || winsMmaSlots(w)) {
    g.mmaLooked = 0;
    g.mmaSlots = 0;
    return true;
  }
  g.path.reach(g.step, Fact::WgmmaStart);
  return false;
}

/// Returns true once the group has the scheduler slots that the start of a
/// wgmma needs: cycles without an instruction of the 32-lane pipe, and a share
/// of the other cycles. The share shrinks with each competing warp.
bool Stopwatch::winsMmaSlots(Warp &w) {
  constexpr uint64_t kLook = 8;
  Group &g = w.group();
  Quarter &quarter = quarterOf(w);
  double needed = chip[Fact::WgmmaStart];
  unsigned others =
      quarter.countBefore(g.step + kLook + kMostAheadOfMmas, w.queuedAt);
  if (needed == 0 || !others)
    return true;
  bool isFirst = !g.mmaLooked;
  if (isFirst)
    g.mmaLooked = g.step - std::min(g.step, uint64_t(needed));
  uint64_t running = std::min(g.step, smOf(w).wgmma.next());
  running -= std::min(running, g.mmaLooked);
  uint64_t unused = quarter.unused(Pipe::Fma, g.mmaLooked, g.step);
  uint64_t used = g.step - g.mmaLooked - unused;
  used -= std::min(used, running * chip.cycles(Fact::WgmmaSlots) / 8);
  if (isFirst && !used)
    return true;
  double won = double(used) * std::pow(chip[Fact::WgmmaStartShare], others);
  double sum = double(g.mmaSlots) + won;
  quarter.schedule(g.step, uint64_t(sum) - uint64_t(g.mmaSlots));
  g.mmaSlots = float(sum + double(unused));
  g.mmaLooked = g.step;
  if (g.mmaSlots >= needed)
    return true;
  g.step = g.block = g.step + kLook;
  return false;
}

bool Stopwatch::reach(Warp &w, const Instr *i, const Price &price) {
  Group &g = w.group();
  if (hasMachineCode) {
    bool isBegin = price.isLeader && g.entered != i;
    if (isBegin || (price.block != g.enteredBlock && !price.isFree))
      enter(g, i, price);
    if ((!price.isFree || price.isLast) && !walk(w, price))
      return false;
  }
  operands = dueAt(w, i, price);
  if (operands.isOpen()) {
    g.wait = Wait::Answer;
    return false;
  }
  uint64_t due = operands.cycle();
  if (price.isPoint) {
    if (lines)
      lines->await(operands);
    follow(w, operands);
    g.step = g.block = std::max(g.step, due);
    if (!isPassed(g, price))
      operands = std::max(operands, Moment(g.block, kIssue));
  }
  // Requests of a warp must stay close in time to requests of other warps.
  if (price.isRequest) {
    uint64_t begin = std::max(g.step, due);
    if (!isDue(begin - std::min(begin, kMostAheadOfRequests))) {
      g.step = begin;
      return false;
    }
  }
  // Calendars only cover the near future, so a warp must not run far ahead.
  if (!price.isPoint)
    return mayIssue(w, g.step);
  return isDue(g.step) && (!price.isWgmma || mayStartMma(w));
}

bool Stopwatch::pass(Warp &w, const Instr *i, const Price &price) {
  Group &g = w.group();
  if (w.ready.hasOpen() || !mayIssue(w, g.step))
    return false;
  Moment begin(g.base, kIssue);
  size_t first = placeOf(i), end = first + price.quiet;
  for (size_t k = first; k < end; ++k) {
    if (!prices[k].instead)
      w.compute(i + (k - first));
    Moment ready = w.ready.await(registers.reads(k), begin, g.base);
    w.ready.set(registers.writes(k), ready.later(prices[k].latency));
  }
  g.entered = nullptr;
  return true;
}

void Stopwatch::issue(Warp &w, const Instr *i, const Price &price) {
  current = i;
  arrival = {};
  portUntil = 0;
  hasWaited = std::exchange(w.group().hasWaited, false);
  if (hasMachineCode)
    issueInOrder(w, price);
  else
    issueByOperands(w, price);
  if (price.isShuffle && price.slots)
    shuffle(w, price);
  smOf(w).issued += price.slots;
  smOf(w).warpMmas += price.tensor;
  w.counts.slots += price.slots;
  steppedTo = w.group().step;
  if (lines)
    lines->issue(w, i, operands, issuedAt);
}

/// Passes a shuffle through the pipe of shared memory. Its latency includes a
/// cycle of an idle pipe.
void Stopwatch::shuffle(Warp &w, const Price &price) {
  Multiprocessor &sm = smOf(w);
  ++sm.sharedLines;
  portUntil = sm.shared.take(issuedAt);
  if (portUntil > issuedAt + 1)
    arrival = Moment(portUntil - 1 + price.latency, Fact::SharedBytes);
}

void Stopwatch::issueInOrder(Warp &w, const Price &price) {
  Group &g = w.group();
  uint64_t cycle = operands.cycle();
  issuedAt = cycle;
  if (!price.isFree && !hasNoIssue) {
    uint64_t planned = g.base + price.place;
    if (cycle > planned)
      delayFrom(g, price.place, cycle - planned);
    if (!isPassed(g, price)) {
      g.furthest = price.place;
      account(w, price);
    }
    g.step = std::max(g.step, issuedAt + 1);
    if (price.holds) {
      g.step = std::max(g.step, issuedAt + price.latency);
      uint64_t next = g.base + price.place + price.stall;
      delayFrom(g, price.place + 1, g.step - std::min(g.step, next));
    }
  }
  if (price.isLast && !hasNoIssue) {
    uint64_t end = g.base + price.length + delayAt(g, ~0u);
    bool jumps = price.isBranch && !price.isFree;
    g.step = std::max(g.step, jumps ? issuedAt + price.stall : end);
  }
  if (price.isLast || price.isPoint) {
    g.path.reach(g.step, price.holds ? price.cause : kIssue);
    cause = g.path;
  }
}

/// Stall of branches in ptxas output, and the longest stall that ptxas adds for
/// the branch itself.
constexpr uint64_t kBranchStall = 5, kLateStall = 12;

void Stopwatch::issueByOperands(Warp &w, const Price &price) {
  Group &g = w.group();
  uint64_t cycle = operands.cycle();
  issuedAt = std::max(cycle, g.block);
  if (!price.slots)
    return;
  Quarter &quarter = quarterOf(w);
  if (!hasNoIssue) {
    uint64_t begin = cycle;
    for (unsigned pipe = 1; pipe < kPipes; ++pipe)
      if (price.counts[pipe])
        cycle = std::max(cycle, quarter.pipe(pipe, begin, price.counts[pipe]));
    issuedAt = std::max(cycle, quarter.schedule(begin, price.slots));
    bool hasMmas = issuedAt < smOf(w).wgmma.next();
    for (unsigned pipe = 1; hasMmas && pipe < kPipes; ++pipe)
      quarter.takeBesideMma(Pipe(pipe), issuedAt + 1, price.counts[pipe]);
  }
  if (price.tensor)
    issuedAt = quarter.tensor(issuedAt, price.tensor);
  account(w, price);
  uint64_t held = price.holds      ? price.latency
                  : hasNoIssue     ? 0
                  : price.isBranch ? kBranchStall
                                   : 1;
  g.step = std::max(g.step, issuedAt + held);
  if (price.endsBlock) {
    g.block = g.step;
    g.path.reach(g.step, price.holds ? price.cause : kIssue);
    cause = g.path;
  }
}

void Stopwatch::retire(Warp &w, const Instr *i, const Price &price,
                       const Instr *next) {
  uint64_t latency =
      hasWaited ? chip.cycles(Fact::MbarrierWoken) : price.latency;
  Moment ready(issuedAt + latency,
               hasWaited ? Fact::MbarrierWoken : price.cause);
  // A dropped instruction forwards the wait for its operands.
  if (!price.slots)
    ready = operands.later(issuedAt + latency - operands.cycle());
  // ptxas separates fixed-latency instructions from their uses by stalls.
  else if (hasMachineCode && !latency && !price.isPoint)
    ready = {};
  ready = openMoment(std::max(ready, arrival), i);
  w.ready.set(registers.writes(placeOf(i)), ready);
  if (w.current >= w.groups.size())
    return; // all lanes have exited
  Group &g = w.group();
  if (next)
    g.entered = nullptr;
  // The port queues accesses up to a limit.
  uint64_t queue = portUntil ? chip.cycles(Fact::SharedQueue) : 0;
  if (portUntil > issuedAt + queue) {
    g.block = std::max(g.block, portUntil - queue);
    g.step = std::max(g.step, g.block);
  }
  // A taken branch must fetch its target.
  if (price.isBranch && next && next != i + 1 && price.jumps) {
    bool isLate = hasMachineCode && price.stall > kLateStall;
    g.step += chip.cycles(isLate ? Fact::BranchLate : Fact::BranchTaken);
    g.block = g.step;
    g.path.reach(g.step, Fact::BranchTaken);
  }
}
