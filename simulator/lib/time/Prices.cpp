//===- Prices.cpp - Costs of PTX instructions -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rates of pipes are measured for a sample of the instructions
// (29571104fae6:benchmarks/chip/results/h200.json, lanes per cycle). Counts of
// machine instructions are taken from kernels for sm_90a.
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "../machine/Handlers.h"
#include "../ptx/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

/// kPoint, kEnds, kHolds and kJumps set isPoint, endsBlock, holds and isBranch
/// of Price.
enum Flag : uint8_t { kPoint = 1, kEnds = 2, kHolds = 4, kJumps = 8 };

struct PriceRow {
  std::string_view opcode;
  std::string_view modifier; ///< required modifier; a prefix if it ends in '*'
  uint8_t slots;
  Pipe pipe;
  Fact latency;
  uint8_t flags = 0;
};

constexpr Fact kAlu = Fact::AluLatency, kFloat = Fact::FloatLatency,
               kSpecial = Fact::SpecialLatency, kWarp = Fact::WarpLatency,
               kNone = Fact::Count;

// The first matching row applies.
constexpr PriceRow kPrices[] = {
    // Dropped or folded by ptxas.
    {"ld", "param*", 0, Pipe::None, kNone},
    {"cvta", "", 0, Pipe::None, kNone},
    {"isspacep", "", 1, Pipe::Alu, kAlu},
    {"mapa", "", 1, Pipe::Alu, kAlu},
    {"getctarank", "", 1, Pipe::Alu, kAlu},
    // Memory. Waits for memory and shared memory are added by the engines.
    {"ld", "volatile", 1, Pipe::None, kNone, kPoint},
    {"ld", "relaxed", 1, Pipe::None, kNone, kPoint},
    {"ld", "acquire", 1, Pipe::None, kNone, kPoint},
    {"ld", "mmio", 1, Pipe::None, kNone, kPoint},
    {"st", "volatile", 1, Pipe::None, kNone, kPoint},
    {"st", "relaxed", 1, Pipe::None, kNone, kPoint},
    {"st", "release", 1, Pipe::None, kNone, kPoint},
    {"st", "mmio", 1, Pipe::None, kNone, kPoint},
    {"st", "async", 1, Pipe::None, kNone, kPoint},
    {"st", "bulk", 1, Pipe::None, kNone, kPoint},
    {"ld", "", 1, Pipe::None, kNone},
    {"ldu", "", 1, Pipe::None, kNone},
    {"st", "", 1, Pipe::None, kNone},
    {"ldmatrix", "", 1, Pipe::None, kNone},
    {"stmatrix", "", 1, Pipe::None, kNone},
    {"prefetch", "", 1, Pipe::None, kNone},
    {"prefetchu", "", 1, Pipe::None, kNone},
    {"atom", "shared*", 1, Pipe::None, Fact::AtomicLatency, kPoint},
    {"atom", "", 1, Pipe::None, kNone, kPoint},
    {"red", "", 1, Pipe::None, kNone, kPoint},
    {"multimem", "", 1, Pipe::None, kNone, kPoint},
    // Engines.
    {"wgmma", "mma_async", 3, Pipe::None, kNone, kPoint},
    {"wgmma", "", 1, Pipe::None, kNone, kPoint},
    // Waits for tensor memory are added by Stopwatch.
    {"tcgen05", "ld", 1, Pipe::None, kNone},
    {"tcgen05", "st", 1, Pipe::None, kNone},
    {"tcgen05", "wait::*", 1, Pipe::None, kNone, kEnds},
    {"tcgen05", "fence::*", 1, Pipe::None, kNone, kEnds},
    {"tcgen05", "alloc", 2, Pipe::None, Fact::TmemAlloc, kPoint | kHolds},
    {"tcgen05", "", 2, Pipe::None, kNone, kPoint},
    {"mma", "", 1, Pipe::None, Fact::MmaSyncLatency},
    {"wmma", "mma", 2, Pipe::None, Fact::MmaSyncLatency},
    {"wmma", "", 4, Pipe::None, kNone},
    {"cp", "commit_group", 1, Pipe::None, kNone, kPoint},
    {"cp", "wait_group", 1, Pipe::None, kNone, kPoint},
    {"cp", "bulk", 4, Pipe::None, Fact::CopyGive, kPoint | kHolds},
    {"cp", "reduce", 4, Pipe::None, Fact::CopyGive, kPoint | kHolds},
    {"cp", "", 1, Pipe::None, kNone, kPoint},
    {"tensormap", "", 2, Pipe::None, kNone, kPoint},
    {"clusterlaunchcontrol", "", 2, Pipe::None, kNone, kPoint},
    {"griddepcontrol", "", 1, Pipe::None, kNone, kPoint},
    {"setmaxnreg", "", 1, Pipe::None, kNone, kPoint},
    {"mbarrier", "try_wait", 1, Pipe::None, Fact::MbarrierTest, kPoint},
    {"mbarrier", "test_wait", 1, Pipe::None, Fact::MbarrierTest, kPoint},
    {"mbarrier", "arrive*", 1, Pipe::None, Fact::MbarrierArrive,
     kPoint | kHolds},
    {"mbarrier", "", 1, Pipe::None, kNone, kPoint},
    {"bar", "warp", 1, Pipe::None, kNone, kEnds},
    {"bar", "", 1, Pipe::None, kNone, kPoint},
    {"barrier", "", 1, Pipe::None, kNone, kPoint},
    {"fence", "", 1, Pipe::None, kNone, kPoint},
    {"membar", "", 1, Pipe::None, kNone, kPoint},
    {"nanosleep", "", 1, Pipe::None, kNone, kPoint},
    // Control.
    {"bra", "", 1, Pipe::None, kNone, kEnds | kJumps},
    {"brx", "", 3, Pipe::None, kNone, kEnds | kJumps},
    {"call", "", 1, Pipe::None, kNone, kEnds | kJumps},
    {"ret", "", 1, Pipe::None, kNone, kEnds | kJumps},
    {"exit", "", 1, Pipe::None, kNone, kPoint},
    {"trap", "", 1, Pipe::None, kNone, kPoint},
    // Between lanes.
    {"shfl", "", 1, Pipe::Convert, kWarp},
    {"redux", "", 1, Pipe::Convert, Fact::ReduxLatency},
    {"match", "", 1, Pipe::Convert, Fact::MatchLatency},
    {"vote", "", 1, Pipe::Alu, kWarp},
    {"elect", "", 2, Pipe::Alu, kWarp},
    {"activemask", "", 1, Pipe::Alu, kWarp},
    {"movmatrix", "", 1, Pipe::Convert, kWarp},
    // Functions.
    {"ex2", "bf16x2", 2, Pipe::Special, kSpecial},
    {"ex2", "f16x2", 2, Pipe::Special, kSpecial},
    {"ex2", "", 1, Pipe::Special, kSpecial},
    {"lg2", "", 1, Pipe::Special, kSpecial},
    {"sin", "", 2, Pipe::Special, kSpecial},
    {"cos", "", 2, Pipe::Special, kSpecial},
    {"tanh", "", 1, Pipe::Special, kSpecial},
    {"popc", "", 1, Pipe::Special, kSpecial},
    {"bfind", "", 1, Pipe::Special, kSpecial},
    {"clz", "", 2, Pipe::Special, kSpecial},
    {"brev", "", 1, Pipe::Special, kSpecial},
    {"rcp", "approx", 1, Pipe::Special, kSpecial},
    {"rcp", "", 8, Pipe::Special, kSpecial},
    {"rsqrt", "", 1, Pipe::Special, kSpecial},
    {"sqrt", "approx", 2, Pipe::Special, kSpecial},
    {"sqrt", "", 10, Pipe::Special, kSpecial},
    {"div", "approx", 2, Pipe::Special, kSpecial},
    {"div", "", 18, Pipe::Special, kSpecial},
    {"rem", "", 20, Pipe::Special, kSpecial},
    // Conversions.
    {"cvt", "satfinite", 1, Pipe::Convert, kAlu},
    {"cvt", "e4m3x2", 1, Pipe::Alu, kAlu},
    {"cvt", "e5m2x2", 1, Pipe::Alu, kAlu},
    {"cvt", "bf16x2", 1, Pipe::Alu, kAlu},
    {"cvt", "f16x2", 1, Pipe::Alu, kAlu},
    {"cvt", "bf16", 1, Pipe::Alu, kAlu},
    {"cvt", "f*", 1, Pipe::Special, kSpecial},
    {"cvt", "", 1, Pipe::Alu, kAlu},
    // Arithmetic.
    {"setp", "", 1, Pipe::Alu, Fact::PredicateLatency},
    {"mad", "", 1, Pipe::Multiply, kAlu},
    {"mul", "wide", 1, Pipe::Multiply, kAlu},
    {"fma", "", 1, Pipe::Fma, kFloat},
    {"add", "f*", 1, Pipe::Fma, kFloat},
    {"sub", "f*", 1, Pipe::Fma, kFloat},
    {"mul", "f*", 1, Pipe::Fma, kFloat},
    {"add", "bf*", 1, Pipe::Fma, kFloat},
    {"sub", "bf*", 1, Pipe::Fma, kFloat},
    {"mul", "bf*", 1, Pipe::Fma, kFloat},
    {"max", "bf*", 1, Pipe::Fma, kFloat},
    {"min", "bf*", 1, Pipe::Fma, kFloat},
    {"max", "f16*", 1, Pipe::Fma, kFloat},
    {"min", "f16*", 1, Pipe::Fma, kFloat},
};

bool isWide(const ptx::Instruction &i) {
  return hasModifier(i, "u64") || hasModifier(i, "s64") ||
         hasModifier(i, "b64") || hasModifier(i, "f64");
}

void setSlots(Price &p, Pipe pipe, unsigned slots) {
  p.counts = {};
  p.counts[unsigned(pipe)] = uint8_t(slots);
  p.slots = uint16_t(slots);
}

Price make(const Chip &chip, uint8_t slots, Pipe pipe, Fact latency,
           uint8_t flags) {
  Price p;
  setSlots(p, pipe, slots);
  if (latency != kNone) {
    p.latency = uint16_t(chip.cycles(latency));
    p.cause = latency;
  }
  p.isPoint = flags & kPoint;
  p.endsBlock = flags & (kEnds | kPoint);
  p.holds = flags & kHolds;
  p.isBranch = flags & kJumps;
  return p;
}

/// ptxas drops moves between registers, but not moves of special registers.
Price priceOfMove(const ptx::Instruction &i, const Chip &chip) {
  bool isSpecial = std::any_of(
      i.operands.begin(), i.operands.end(), [](const ptx::Operand &o) {
        return o.kind == ptx::Operand::Special &&
               (o.name.substr(0, 4) == "%tid" || o.name.substr(0, 4) == "%cta");
      });
  return isSpecial ? make(chip, 1, Pipe::Alu, kWarp, 0) : Price();
}

/// Cycles of a sub-partition's tensor core for m16n8k16 and similar shapes. The
/// rate depends on the element width of A.
uint16_t tensorCycles(const ptx::Instruction &i, const Chip &chip) {
  uint64_t products = 0;
  unsigned bits = 0;
  for (std::string_view m : i.modifiers) {
    unsigned sizes[3] = {}, at = 0;
    for (char c : m)
      if (at && c >= '0' && c <= '9')
        sizes[at - 1] = 10 * sizes[at - 1] + unsigned(c - '0');
      else if (at < 3 && c == "mnk"[at])
        ++at;
      else
        break;
    if (sizes[0] && sizes[1] && sizes[2])
      products = uint64_t(sizes[0]) * sizes[1] * sizes[2];
    // Types are in the order D, A, B, C.
    if (m == "bf16" || m == "f16")
      bits = 16;
    else if (m == "tf32" && bits != 16)
      bits = 32;
    else if (m == "f64")
      bits = 64;
    else if (m == "e4m3" || m == "e5m2")
      bits = chip.number == 90 ? 16 : 8; // Hopper converts to f16
    else if (m == "s8" || m == "u8")
      bits = 8;
  }
  double cycles = double(products) * (bits ? bits : 16) / 16 /
                  (chip[Fact::MmaSyncProducts] / 4);
  return uint16_t(std::max(1.0, cycles + 0.5));
}

Price priceOf(const ptx::Instruction &i, const Chip &chip) {
  if (i.opcode == "mov")
    return priceOfMove(i, chip);
  for (const PriceRow &row : kPrices) {
    if (row.opcode != i.opcode || !hasModifier(i, row.modifier))
      continue;
    Price p = make(chip, row.slots, row.pipe, row.latency, row.flags);
    // Upper and lower half are computed in sequence.
    if (isWide(i) && (i.opcode == "mad" || i.opcode == "div" ||
                      i.opcode == "rem" || i.opcode == "shfl"))
      setSlots(p, row.pipe, 3 * row.slots);
    p.isRequest = (i.opcode == "ld" || i.opcode == "st") &&
                  !hasModifier(i, "shared*") && !hasModifier(i, "param*") &&
                  !hasModifier(i, "const*") && !hasModifier(i, "local");
    p.isShuffle = i.opcode == "shfl";
    p.isWgmma = i.opcode == "wgmma" && hasModifier(i, "mma_async");
    p.passesL1 = i.opcode == "ld" && hasModifier(i, "L1::no_allocate");
    if (row.latency == Fact::MmaSyncLatency)
      p.tensor = tensorCycles(i, chip);
    // An MMA with converted operands is two f16 MMAs.
    if (p.tensor && chip.number == 90 &&
        (hasModifier(i, "e4m3") || hasModifier(i, "e5m2")))
      setSlots(p, Pipe::None, 2);
    return p;
  }
  // Remaining instructions are integer and bitwise; wide types take two or
  // more.
  uint8_t slots = !isWide(i) ? 1 : i.opcode == "mul" ? 4 : 2;
  return make(chip, slots, Pipe::Alu, kAlu, 0);
}

/// Returns true if a branch shortly after the test repeats it on failure.
bool isRepeated(const Program &program, size_t test) {
  constexpr size_t kNear = 8;
  size_t end = std::min(program.code.size(), test + kNear);
  for (size_t k = test + 1; k < end; ++k) {
    const Instr &i = program.code[k];
    size_t target = size_t(i.imm);
    if ((i.fn == branchIf || i.fn == branchAlways) && target <= test &&
        test - target < kNear)
      return true;
  }
  return false;
}

bool isPeek(const Program &program, size_t k) {
  constexpr size_t kOperands = 3; // without the time limit
  const ptx::Instruction &i = *program.info[k].source;
  return i.opcode == "mbarrier" && hasModifier(i, "try_wait") &&
         i.operands.size() <= kOperands && !isRepeated(program, k);
}

} // namespace

std::vector<Price> mx::sim::time::pricesOf(const Program &program,
                                           const Chip &chip,
                                           std::string_view listing,
                                           Schedule &schedule) {
  std::vector<Price> prices(program.code.size());
  for (size_t k = 0; k < prices.size(); ++k) {
    const InstrInfo &info = program.info[k];
    // Reconvergence points and other instructions without PTX take no time.
    if (!info.source || program.code[k].fn == converge)
      continue;
    Handler fn = program.code[k].fn;
    bool readsClock = fn == readClock<uint32_t> || fn == readClock<uint64_t>;
    Price &p = prices[k];
    p = readsClock ? make(chip, 1, Pipe::None, kNone, kPoint)
                   : priceOf(*info.source, chip);
    p.isPeek = isPeek(program, k);
    if (!info.isFirst)
      setSlots(p, Pipe::None, 0);
  }
  schedule = readSchedule(program, chip, listing, prices);
  return prices;
}
