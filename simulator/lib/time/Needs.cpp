//===- Needs.cpp - Backward slice of values that affect timing ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes a backward slice (Weiser, "Program slicing") from the instructions
// that affect timing. Registers are tracked flow-insensitively and local memory
// as a whole, so the slice may be too large, but never too small.
//
// The slice contains the stores to shared memory for needed loads, and all
// stores to global memory, because another kernel may load the data. Only
// stores of MMA results are omitted. Their bytes are marked, and a load of such
// bytes ends the launch if the loaded value affects timing (LeftOut.h).
//===----------------------------------------------------------------------===//

#include "Needs.h"

#include "../machine/Handlers.h"
#include "../ptx/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

/// Effect of an instruction on the slice.
enum class Role : uint8_t {
  Decides,    ///< all operands affect timing
  Computes,   ///< computes results from its operands
  Gathers,    ///< computes results from operands of other lanes
  Loads,      ///< loads from an address
  Stores,     ///< stores to an address
  Combines,   ///< atom and red: combines an operand with memory
  Multiplies, ///< wgmma: descriptors affect timing
  Fetches,    ///< tcgen05.ld: reads accumulators; the address affects timing
  Unknown,    ///< any memory may affect timing
  Calls,      ///< moves registers that are not operands
};

struct RoleRow {
  std::string_view opcode;
  std::string_view modifier; ///< required modifier; a prefix if it ends in '*'
  Role role;
};
// The first matching row applies. DataFlow covers all other instructions.
constexpr RoleRow kRoles[] = {
    {"activemask", "", Role::Decides},
    // The carry is not a register.
    {"add", "cc", Role::Decides},
    {"addc", "", Role::Decides},
    {"atom", "", Role::Combines},
    {"bar", "", Role::Decides},
    {"barrier", "", Role::Decides},
    {"bra", "", Role::Decides},
    {"brx", "", Role::Decides},
    {"call", "", Role::Calls},
    {"clusterlaunchcontrol", "", Role::Decides},
    {"cp", "", Role::Decides},
    {"createpolicy", "", Role::Decides},
    {"elect", "", Role::Decides},
    {"exit", "", Role::Decides},
    {"fence", "", Role::Decides},
    {"griddepcontrol", "", Role::Decides},
    {"ldmatrix", "", Role::Loads},
    {"mad", "cc", Role::Decides},
    {"madc", "", Role::Decides},
    {"mbarrier", "", Role::Decides},
    {"membar", "", Role::Decides},
    {"mma", "", Role::Gathers},
    {"movmatrix", "", Role::Gathers},
    {"nanosleep", "", Role::Decides},
    {"prefetch", "", Role::Decides},
    {"prefetchu", "", Role::Decides},
    {"red", "async", Role::Unknown},
    {"red", "", Role::Combines},
    {"ret", "", Role::Decides},
    {"setmaxnreg", "", Role::Decides},
    {"st", "async", Role::Decides},
    {"st", "bulk", Role::Decides},
    {"stmatrix", "", Role::Stores},
    {"sub", "cc", Role::Decides},
    {"subc", "", Role::Decides},
    {"tcgen05", "ld", Role::Fetches},
    {"tcgen05", "", Role::Decides},
    {"trap", "", Role::Decides},
    {"wgmma", "mma_async", Role::Multiplies},
    {"wgmma", "", Role::Decides},
    {"wmma", "mma", Role::Gathers},
};

/// Returns true for accesses on which other threads may wait.
bool isStrong(const ptx::Instruction &i) {
  constexpr std::string_view kStrong[] = {"volatile", "relaxed", "acquire",
                                          "release", "mmio"};
  return std::any_of(std::begin(kStrong), std::end(kStrong),
                     [&](std::string_view m) { return hasModifier(i, m); });
}

Role roleOf(const InstrInfo &info, const Instr &i) {
  if (!info.source || i.fn == converge || i.fn == branchAlways ||
      i.fn == branchIf || i.fn == branchIndexed || i.fn == exitThread ||
      i.fn == reportUnsupported)
    return Role::Decides;
  const ptx::Instruction &source = *info.source;
  for (const RoleRow &row : kRoles)
    if (row.opcode == source.opcode && hasModifier(source, row.modifier))
      return row.role;
  switch (info.flow) {
  case DataFlow::Computes:
  case DataFlow::Selects:
  case DataFlow::Masks:
  case DataFlow::Moves:
    return Role::Computes;
  case DataFlow::Shuffles:
  case DataFlow::Gathers:
    return Role::Gathers;
  case DataFlow::Loads:
    return source.opcode != "ld" ? Role::Unknown
           : isStrong(source)    ? Role::Decides
                                 : Role::Loads;
  case DataFlow::Stores:
    return isStrong(source) ? Role::Decides : Role::Stores;
  default:
    return Role::Unknown;
  }
}

bool isMma(const ptx::Instruction &i) {
  return isWarpMma(i) || i.opcode == "tcgen05";
}

enum Kind : uint8_t { kShared = 1, kLocal = 2, kGlobal = 4 };

uint8_t kindsOf(const ptx::Instruction &i, bool hasLocal) {
  if (i.opcode == "ldmatrix" || i.opcode == "stmatrix" ||
      hasModifier(i, "shared*"))
    return kShared;
  if (hasModifier(i, "local"))
    return kLocal;
  if (hasModifier(i, "global"))
    return kGlobal;
  // Without calls, these spaces are never written.
  if (hasModifier(i, "const") || hasModifier(i, "param*"))
    return 0;
  return kShared | kGlobal | (hasLocal ? kLocal : 0);
}

class Slice {
public:
  Slice(const Program &program, bool onlyMmas)
      : program(program), onlyMmas(onlyMmas), size(program.code.size()),
        registers(program.registerBytes / 4 + 1), roles(size), lasts(size) {
    for (size_t k = size; k-- > 0;) {
      const InstrInfo *next = k + 1 < size ? &program.info[k + 1] : nullptr;
      roles[k] = roleOf(program.info[k], program.code[k]);
      bool goesOn = next && next->source == program.info[k].source &&
                    next->source && !next->isFirst;
      lasts[k] = goesOn ? lasts[k + 1] : uint32_t(k);
      // Values passed between the parts of a PTX instruction are not operands.
      if (goesOn && (roles[k] != Role::Computes || roles[lasts[k]] != roles[k]))
        std::fill(&roles[k], &roles[lasts[k]] + 1, Role::Unknown);
    }
  }

  Needs find() {
    Needs needs;
    repeat([&](uint32_t k) { followMmas(k); });
    for (uint32_t k = 0; k < size; ++k)
      storesOthers |= program.info[k].source && isStore(k) &&
                      kindsOf(k) == kShared && !usesMma(k);
    repeat([&](uint32_t k) { followNeeds(k); });
    bool hasCalls = false;
    for (uint32_t k = 0; k < size && !needs.ofMmas; ++k) {
      bool gives = roles[k] == Role::Multiplies || roles[k] == Role::Fetches;
      uint32_t by = gives ? decider(k) : kNone;
      hasCalls |= roles[k] == Role::Calls;
      if (roles[k] == Role::Multiplies && by == kNone && isStored(k))
        by = k;
      if (by != kNone || hasCalls)
        needs.ofMmas = &program.info[hasCalls ? k : by];
    }
    needs.leavesOutShared =
        !onlyMmas && !needs.ofMmas && !(wantedKinds & kShared);
    for (uint32_t k = 0; k < size; ++k) {
      Work work = workOf(k);
      if (onlyMmas || needs.ofMmas)
        work.part = Work::All;
      if (needs.ofMmas && work.leavesOut)
        work = {Work::All, false, /*stores=*/true};
      work.decides |= hasCalls && roles[k] == Role::Loads;
      needs.work.push_back(work);
    }
    return needs;
  }

private:
  static constexpr uint32_t kNone = ~0u;
  struct Register {
    uint32_t decider = kNone; ///< an instruction whose timing depends on it
    bool isStored = false;    ///< may reach needed memory
    bool isOfMma = false;     ///< may be derived from an MMA
    bool isLoaded = false;    ///< derived through shared or local memory
  };

  template <class F>
  void repeat(F &&follow) {
    do {
      changed = false;
      for (size_t k = size; k-- > 0;)
        if (program.info[k].source && program.code[k].fn != converge)
          follow(uint32_t(k));
    } while (changed);
  }
  template <class F>
  void forUses(uint32_t k, F &&f) {
    const InstrInfo &info = program.info[k];
    for (uint32_t u = 0; u < info.numUses; ++u)
      if (Slot s = program.uses[info.firstUse + u]; !(s & kSlotConstant))
        f(registers[s / 4]);
  }
  /// Visits the results of the PTX instruction that `k` is part of.
  template <class F>
  void forDefs(uint32_t k, F &&f) {
    const InstrInfo &info = program.info[lasts[k]];
    for (uint32_t d = 0; d < info.numDefs; ++d)
      f(registers[program.defs[info.firstDef + d] / 4]);
  }
  /// Returns the first instruction whose timing depends on a result of `k`.
  uint32_t decider(uint32_t k) {
    uint32_t by = kNone;
    forDefs(k, [&](Register &r) { by = std::min(by, r.decider); });
    return by;
  }
  bool isStored(uint32_t k) {
    bool any = false;
    forDefs(k, [&](Register &r) { any |= r.isStored; });
    return any;
  }
  bool isStore(uint32_t k) const {
    return roles[k] == Role::Stores || roles[k] == Role::Combines ||
           program.info[k].source->opcode == "st";
  }
  bool isWanted(uint32_t k) { return decider(k) != kNone || isStored(k); }

  //===-- Forward: values derived from MMAs -------------------------------===//

  bool uses(uint32_t k, bool Register::*what) {
    bool any = false;
    forUses(k, [&](Register &r) { any |= r.*what; });
    return any;
  }
  bool usesMma(uint32_t k) { return uses(k, &Register::isOfMma); }
  void mark(uint32_t k, bool Register::*what) {
    forDefs(k, [&](Register &r) {
      changed |= !(r.*what);
      r.*what = true;
    });
  }
  void followMmas(uint32_t k) {
    const ptx::Instruction &source = *program.info[k].source;
    uint8_t kinds = kindsOf(k);
    bool isLoad = roles[k] == Role::Loads;
    if (roles[k] == Role::Stores && usesMma(k) && kinds & ~mmaKinds) {
      mmaKinds |= kinds;
      changed = true;
    }
    if (!isLoad && (isMma(source) || usesMma(k)))
      mark(k, &Register::isOfMma);
    // LeftOut tracks global memory.
    if (isLoad ? kinds & mmaKinds & ~kGlobal
               : isMma(source) || uses(k, &Register::isLoaded))
      mark(k, &Register::isLoaded);
  }

  //===-- Backward: needed values -----------------------------------------===//

  uint8_t kindsOf(uint32_t k) const {
    return ::kindsOf(*program.info[k].source, program.localBytes != 0);
  }
  /// Marks a register as needed by instruction `by`, or by memory if `by` is
  /// kNone.
  void need(Slot s, uint32_t by) {
    if (s != kNoSlot && !(s & kSlotConstant))
      need(registers[s / 4], by);
  }
  void need(Register &r, uint32_t by) {
    changed |= by == kNone ? !r.isStored : r.decider == kNone;
    r.isStored |= by == kNone;
    r.decider = r.decider == kNone ? by : r.decider;
  }
  void needOperands(uint32_t k, uint32_t by) {
    need(program.code[k].guard, by);
    forUses(k, [&](Register &r) { need(r, by); });
  }
  /// Propagates the needs of the results to the operands.
  void passOn(uint32_t k) {
    if (uint32_t by = decider(k); by != kNone)
      needOperands(k, by);
    if (isStored(k))
      needOperands(k, kNone);
  }
  /// Returns true for a bulk copy to global memory of values not derived from
  /// MMAs.
  bool copiesValues(uint32_t k) {
    return hasModifier(*program.info[k].source, "bulk_group") &&
           (storesOthers || !(mmaKinds & kShared));
  }
  void needMemory(uint8_t kinds) {
    changed |= kinds & ~wantedKinds;
    wantedKinds |= kinds;
  }
  /// Returns true if the slice contains the value written by a store or an
  /// atomic.
  bool isWantedInMemory(uint32_t k) {
    uint8_t kinds = kindsOf(k);
    if (kinds == kLocal)
      return wantedKinds & kLocal;
    // Values derived through memory are usually a tile of results on its way to
    // global memory.
    return kinds & (wantedKinds | kGlobal) &&
           !uses(k,
                 kinds == kGlobal ? &Register::isLoaded : &Register::isOfMma);
  }

  void followNeeds(uint32_t k) {
    const Instr &i = program.code[k];
    uint8_t kinds = kindsOf(k);
    switch (roles[k]) {
    case Role::Unknown:
      needMemory(kShared | kLocal);
      return needOperands(k, k);
    case Role::Decides:
    case Role::Calls:
      need(i.a, k); // guard of a branch
      if (program.info[k].flow == DataFlow::Loads)
        needMemory(kinds);
      if (copiesValues(k))
        needMemory(kShared);
      return needOperands(k, k);
    case Role::Gathers:
      need(i.guard, k);
      [[fallthrough]];
    case Role::Computes:
      return passOn(k);
    case Role::Fetches:
      return needOperands(k, k);
    case Role::Multiplies:
      need(i.guard, k);
      need(i.a, k);
      return need(i.b, k);
    case Role::Loads:
    case Role::Stores:
    case Role::Combines:
      need(i.guard, k);
      need(i.a, k);
      if (isWanted(k))
        needMemory(kinds);
      if (roles[k] == Role::Loads)
        return;
      passOn(k);
      // The access may be to local memory, where bytes are not marked.
      if (kinds != kLocal && kinds & kLocal && usesMma(k))
        needOperands(k, k);
      if (isWantedInMemory(k))
        needOperands(k, kNone);
      return;
    }
  }

  Work workOf(uint32_t k) {
    if (!program.info[k].source)
      return {};
    Work work;
    bool wants = isWanted(k);
    work.decides = decider(k) != kNone;
    work.passesOn = isStored(k);
    switch (roles[k]) {
    case Role::Computes:
      return {wants ? Work::All : Work::Time};
    case Role::Gathers:
      return {wants ? Work::All : Work::TimeTogether};
    case Role::Loads:
      work.part = wants ? Work::All : Work::Access;
      return work;
    case Role::Stores:
      work.stores = isWantedInMemory(k);
      work.leavesOut = !work.stores;
      work.part = work.stores ? Work::All : Work::Access;
      return work;
    case Role::Combines:
      work.leavesOut = !wants && !isWantedInMemory(k);
      return work;
    default:
      // Strong accesses.
      work.stores = program.info[k].flow == DataFlow::Stores;
      return program.info[k].flow == DataFlow::Loads || work.stores ? work
                                                                    : Work();
    }
  }

  const Program &program;
  const bool onlyMmas;
  const size_t size;
  std::vector<Register> registers;
  std::vector<Role> roles;
  /// Index of the last part of each PTX instruction.
  std::vector<uint32_t> lasts;
  uint8_t wantedKinds = 0, mmaKinds = 0;
  bool storesOthers = false; ///< stores non-MMA values to shared memory
  bool changed = false;
};

} // namespace

Needs mx::sim::time::findNeeds(const Program &program, bool onlyMmas) {
  return Slice(program, onlyMmas).find();
}
