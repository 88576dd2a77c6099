//===- Needs.cpp - which values decide something --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice backwards through the program (Weiser, "Program slicing"), from what
// decides to what computes it. Registers are followed whatever the order of the
// instructions, local memory as a whole: that may find a need where there is
// none, never the other way round.
//
// Through other memory no value is followed: what is stored there is computed
// where a load of the same kind of memory needs its result, but for results of
// arithmetic (isArithmetic), which mostly nothing decides by. Their bytes are
// marked as left out, and a load that needs them ends the launch (LeftOut.h).
//===----------------------------------------------------------------------===//

#include "Needs.h"

#include "../machine/Handlers.h"
#include "../report/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

/// What an instruction does with its operands.
enum class Role : uint8_t {
  Decides,    ///< by all of them
  Computes,   ///< results
  Gathers,    ///< results, of operands of other lanes
  Loads,      ///< from an address
  Stores,     ///< to an address
  Combines,   ///< atom and red: with what is in memory
  Multiplies, ///< wgmma: descriptors decide
  Fetches, ///< tcgen05.ld: products out of tensor memory, its address decides
  Unknown, ///< any memory may decide
  Calls,   ///< moves registers that are not among its operands
};

struct RoleRow {
  std::string_view opcode;
  std::string_view modifier; ///< that it has, as a prefix with '*'
  Role role;
};
// The first row that fits; DataFlow says the rest.
constexpr RoleRow kRoles[] = {
    {"activemask", "", Role::Decides},
    // Its carry is no register.
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

/// Others may wait for what such an access does.
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

bool isProduct(const ptx::Instruction &i) {
  return isWarpMma(i) || i.opcode == "tcgen05";
}

/// A result of it is a number with a fraction: a sum, a conversion.
bool isArithmetic(const ptx::Instruction &i) {
  if (i.opcode == "ld" || i.opcode == "ldu" || i.opcode == "st" ||
      i.opcode == "mov" || i.opcode == "atom" || i.opcode == "selp" ||
      i.opcode == "slct" || i.opcode == "setp" || i.opcode == "set")
    return false;
  // The first type is that of the result.
  for (std::string_view m : i.modifiers) {
    for (std::string_view prefix : {"f16", "f32", "f64", "bf16", "tf32", "e2m1",
                                    "e2m3", "e3m2", "e4m3", "e5m2", "ue8m0"})
      if (m.substr(0, prefix.size()) == prefix)
        return true;
    ptx::Type type;
    if (ptx::parseType(m, type))
      return false;
  }
  return false;
}

/// Kinds of memory.
enum Kind : uint8_t { kShared = 1, kLocal = 2, kGlobal = 4 };

uint8_t kindsOf(const ptx::Instruction &i) {
  if (i.opcode == "ldmatrix" || i.opcode == "stmatrix" ||
      hasModifier(i, "shared*"))
    return kShared;
  if (hasModifier(i, "local"))
    return kLocal;
  if (hasModifier(i, "global"))
    return kGlobal;
  // Without calls these are never stored to.
  if (hasModifier(i, "const") || hasModifier(i, "param*"))
    return 0;
  return kShared | kLocal | kGlobal;
}

class Slice {
public:
  Slice(const Program &program, bool onlyProducts)
      : program(program), onlyProducts(onlyProducts), size(program.code.size()),
        registers(program.registerBytes / 4 + 1), roles(size), lasts(size) {
    for (size_t k = size; k-- > 0;) {
      const InstrInfo *next = k + 1 < size ? &program.info[k + 1] : nullptr;
      roles[k] = roleOf(program.info[k], program.code[k]);
      bool goesOn = next && next->source == program.info[k].source &&
                    next->source && !next->isFirst;
      lasts[k] = goesOn ? lasts[k + 1] : uint32_t(k);
      // Values between its parts are not among its operands.
      if (goesOn && (roles[k] != Role::Computes || roles[lasts[k]] != roles[k]))
        std::fill(&roles[k], &roles[lasts[k]] + 1, Role::Unknown);
    }
  }

  Needs find() {
    Needs needs;
    repeat([&](uint32_t k) { followArithmetic(k); });
    repeat([&](uint32_t k) { followNeeds(k); });
    bool hasCalls = false;
    for (uint32_t k = 0; k < size && !needs.ofProducts; ++k) {
      bool gives = roles[k] == Role::Multiplies || roles[k] == Role::Fetches;
      uint32_t by = gives ? user(k) : kNone;
      hasCalls |= roles[k] == Role::Calls;
      if (by != kNone || hasCalls)
        needs.ofProducts = &program.info[hasCalls ? k : by];
    }
    needs.leavesOutShared =
        !onlyProducts && !needs.ofProducts && !(neededKinds & kShared);
    for (uint32_t k = 0; k < size; ++k) {
      Work work = workOf(k);
      if (onlyProducts || needs.ofProducts)
        work.part = Work::All;
      if (needs.ofProducts && work.leavesOut)
        work = {Work::All, false, /*stores=*/true};
      work.needs |= hasCalls && roles[k] == Role::Loads;
      needs.work.push_back(work);
    }
    return needs;
  }

private:
  static constexpr uint32_t kNone = ~0u;
  struct Register {
    uint32_t user = kNone;     ///< an instruction that decides by it
    bool isArithmetic = false; ///< it may hold a result of arithmetic
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
  /// What an instruction of PTX writes, whichever of its parts is asked.
  template <class F>
  void forDefs(uint32_t k, F &&f) {
    const InstrInfo &info = program.info[lasts[k]];
    for (uint32_t d = 0; d < info.numDefs; ++d)
      f(registers[program.defs[info.firstDef + d] / 4]);
  }
  /// Who decides by a result.
  uint32_t user(uint32_t k) {
    uint32_t by = kNone;
    forDefs(k, [&](Register &r) { by = std::min(by, r.user); });
    return by;
  }

  //===-- Forwards: results of arithmetic ---------------------------------===//

  bool usesArithmetic(uint32_t k) {
    bool any = false;
    forUses(k, [&](Register &r) { any |= r.isArithmetic; });
    return any;
  }
  void followArithmetic(uint32_t k) {
    const ptx::Instruction &source = *program.info[k].source;
    bool isOwn = isProduct(source) || (!onlyProducts && isArithmetic(source));
    bool any = isOwn || usesArithmetic(k);
    // An integer that is made of a number decides more often.
    if (source.opcode == "cvt" && !isArithmetic(source))
      any = onlyProducts && any;
    // What memory holds is looked at there.
    if (roles[k] == Role::Loads || roles[k] == Role::Combines)
      any = false;
    if (any)
      forDefs(k, [&](Register &r) {
        changed |= !r.isArithmetic;
        r.isArithmetic = true;
      });
  }

  //===-- Backwards: needs ------------------------------------------------===//

  void need(Slot s, uint32_t by) {
    if (s != kNoSlot && !(s & kSlotConstant))
      need(registers[s / 4], by);
  }
  void need(Register &r, uint32_t by) {
    changed |= r.user == kNone;
    r.user = r.user == kNone ? by : r.user;
  }
  void needOperands(uint32_t k, uint32_t by) {
    need(program.code[k].guard, by);
    forUses(k, [&](Register &r) { need(r, by); });
  }
  void needMemory(uint8_t kinds) {
    changed |= kinds & ~neededKinds;
    neededKinds |= kinds;
  }
  bool isArithmeticElsewhere(uint32_t k) {
    return !(kindsOf(*program.info[k].source) & kLocal) && usesArithmetic(k);
  }
  /// Other kernels may load what is stored to global memory.
  bool needsStored(uint32_t k) {
    uint8_t kinds = kindsOf(*program.info[k].source);
    return (kinds & (neededKinds | kGlobal)) && !isArithmeticElsewhere(k);
  }

  void followNeeds(uint32_t k) {
    const Instr &i = program.code[k];
    uint8_t kinds = kindsOf(*program.info[k].source);
    uint32_t by = user(k);
    switch (roles[k]) {
    case Role::Unknown:
      needMemory(kShared | kLocal);
      return needOperands(k, k);
    case Role::Decides:
    case Role::Calls:
      need(i.a, k); // of a branch
      if (program.info[k].flow == DataFlow::Loads)
        needMemory(kinds);
      return needOperands(k, k);
    case Role::Computes:
    case Role::Gathers:
      if (by != kNone)
        return needOperands(k, by);
      if (roles[k] == Role::Gathers)
        need(i.guard, k);
      return;
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
      if (by != kNone)
        needMemory(kinds);
      if (roles[k] == Role::Combines && by != kNone)
        needOperands(k, by);
      else if (roles[k] != Role::Loads && needsStored(k))
        needOperands(k, k);
      return;
    }
  }

  Work workOf(uint32_t k) {
    if (!program.info[k].source)
      return {};
    bool isNeeded = user(k) != kNone;
    switch (roles[k]) {
    case Role::Computes:
      return {isNeeded ? Work::All : Work::Time};
    case Role::Gathers:
      return {isNeeded ? Work::All : Work::TimeTogether};
    case Role::Loads:
      return {isNeeded ? Work::All : Work::Access, false, false, isNeeded};
    case Role::Stores:
      isNeeded = needsStored(k);
      return {isNeeded ? Work::All : Work::Access, !isNeeded, isNeeded};
    case Role::Combines:
      return {Work::All, !isNeeded && !needsStored(k), false, isNeeded};
    default:
      // Strong accesses.
      return {Work::All, false, program.info[k].flow == DataFlow::Stores,
              program.info[k].flow == DataFlow::Loads && isNeeded};
    }
  }

  const Program &program;
  const bool onlyProducts;
  const size_t size;
  std::vector<Register> registers;
  std::vector<Role> roles;
  /// The last of what the same instruction of PTX has become.
  std::vector<uint32_t> lasts;
  uint8_t neededKinds = 0;
  bool changed = false;
};

} // namespace

Needs mx::sim::time::findNeeds(const Program &program, bool onlyProducts) {
  return Slice(program, onlyProducts).find();
}
