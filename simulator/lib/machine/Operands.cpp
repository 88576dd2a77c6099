//===- Operands.cpp - Register slots of operands and variables ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers are allocated on first use, and variables are mapped to addresses.
// Constants use registers of the constant pool; special registers are filled in
// when a warp starts.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Handlers.h"
#include "Routines.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

constexpr uint64_t kMaxLocal = 1u << 20;

static unsigned laneBytesFor(unsigned bits) {
  return bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

void Decoder::unsupported(std::string why) {
  if (failure.empty())
    failure = std::move(why);
}

bool Decoder::expectOperands(size_t low, size_t high) {
  if (numOperands() >= low && numOperands() <= high)
    return true;
  unsupported("expects " + std::to_string(low) +
              (high > low ? " to " + std::to_string(high) : "") +
              " operands, found " + std::to_string(numOperands()));
  return false;
}

const Operand &Decoder::operandAt(size_t k) {
  if (k < inst->operands.size())
    return inst->operands[k];
  unsupported("expects more than " + std::to_string(numOperands()) +
              " operands");
  return nothing;
}

const std::vector<Operand> &Decoder::elements(const Operand &op) {
  if (op.kind == Operand::Vector)
    return op.parts;
  single.assign(1, op);
  return single;
}

Slot Decoder::newRegister(unsigned laneBytes) {
  Slot s = program.registerBytes;
  program.registerBytes += laneBytes * 32;
  if (routine)
    routine->registers.push_back({s, laneBytes});
  return s;
}

/// Allocates a register shared by all functions.
Slot Decoder::sharedRegister(unsigned laneBytes) {
  Routine *saved = routine;
  routine = nullptr;
  Slot s = newRegister(laneBytes);
  routine = saved;
  return s;
}

Slot Decoder::newPredicate() {
  // 32 predicates share one register.
  if (predicateBytes % 128 == 0) {
    nextPredicate = newRegister(4);
    predicateBytes = 0;
    if (routine)
      routine->registers.back().second = kPredicateBlock;
  }
  Slot s = nextPredicate + predicateBytes;
  predicateBytes += 4;
  return s;
}

Slot Decoder::scratch(unsigned laneBytes) {
  auto [it, isNew] = specials.try_emplace(
      std::make_tuple(int(Special::Zero), laneBytes, int64_t(0)), 0);
  if (isNew)
    it->second = sharedRegister(laneBytes);
  return it->second;
}

Slot Decoder::scratchPredicate() { return scratch(4); }

Slot Decoder::constant(uint64_t value, unsigned laneBytes) {
  if (laneBytes == 4)
    value &= 0xffffffffu;
  auto [it, isNew] = constants.try_emplace({value, laneBytes}, 0);
  if (isNew) {
    size_t at = program.constants.size();
    program.constants.resize(at + laneBytes * 32, 0);
    for (unsigned lane = 0; lane < 32; ++lane)
      std::memcpy(&program.constants[at + lane * laneBytes], &value,
                  std::min(laneBytes, 8u));
    it->second = uint32_t(at) | kSlotConstant;
  }
  return it->second;
}

Slot Decoder::constantPredicate(bool value) {
  return constant(value ? 0xffffffffu : 0, 4);
}

Slot Decoder::special(Special kind, unsigned laneBytes, int64_t value) {
  if (laneBytes > 8) {
    unsupported("a special register cannot have 128 bits");
    laneBytes = 8;
  }
  auto [it, isNew] =
      specials.try_emplace(std::make_tuple(int(kind), laneBytes, value), 0);
  if (isNew) {
    it->second = sharedRegister(laneBytes);
    program.specials.push_back({kind, it->second, laneBytes, value});
  }
  return it->second;
}

namespace {
struct SpecialRow {
  const char *name;
  Special kind;
};
constexpr SpecialRow kSpecialRows[] = {
    {"tid.x", Special::TidX},
    {"tid.y", Special::TidY},
    {"tid.z", Special::TidZ},
    {"ntid.x", Special::NtidX},
    {"ntid.y", Special::NtidY},
    {"ntid.z", Special::NtidZ},
    {"ctaid.x", Special::CtaidX},
    {"ctaid.y", Special::CtaidY},
    {"ctaid.z", Special::CtaidZ},
    {"nctaid.x", Special::NctaidX},
    {"nctaid.y", Special::NctaidY},
    {"nctaid.z", Special::NctaidZ},
    {"clusterid.x", Special::ClusterIdX},
    {"clusterid.y", Special::ClusterIdY},
    {"clusterid.z", Special::ClusterIdZ},
    {"nclusterid.x", Special::NclusterIdX},
    {"nclusterid.y", Special::NclusterIdY},
    {"nclusterid.z", Special::NclusterIdZ},
    {"cluster_ctaid.x", Special::ClusterCtaidX},
    {"cluster_ctaid.y", Special::ClusterCtaidY},
    {"cluster_ctaid.z", Special::ClusterCtaidZ},
    {"cluster_nctaid.x", Special::ClusterNctaidX},
    {"cluster_nctaid.y", Special::ClusterNctaidY},
    {"cluster_nctaid.z", Special::ClusterNctaidZ},
    {"cluster_ctarank", Special::ClusterCtaRank},
    {"cluster_nctarank", Special::ClusterNctaRank},
    {"is_explicit_cluster", Special::IsExplicitCluster},
    {"laneid", Special::LaneId},
    {"warpid", Special::WarpId},
    {"nwarpid", Special::NwarpId},
    {"smid", Special::SmId},
    {"nsmid", Special::NsmId},
    {"gridid", Special::GridId},
    {"lanemask_eq", Special::LaneMaskEq},
    {"lanemask_le", Special::LaneMaskLe},
    {"lanemask_lt", Special::LaneMaskLt},
    {"lanemask_ge", Special::LaneMaskGe},
    {"lanemask_gt", Special::LaneMaskGt},
    {"total_smem_size", Special::TotalSmem},
    {"aggr_smem_size", Special::AggrSmem},
    {"dynamic_smem_size", Special::DynamicSmem},
    {"reserved_smem_offset_begin", Special::ReservedSmemBegin},
    {"reserved_smem_offset_end", Special::ReservedSmemEnd},
    {"envreg1", Special::GridWorkspaceHigh},
    {"envreg2", Special::GridWorkspaceLow},
    {"clock", Special::Clock},
    {"clock64", Special::Clock64},
    {"clock_hi", Special::ClockHi},
    {"globaltimer", Special::GlobalTimer},
    {"globaltimer_lo", Special::GlobalTimerLo},
    {"globaltimer_hi", Special::GlobalTimerHi},
};
} // namespace

unsigned Decoder::laneBytesOf(const Operand &op) const {
  if (op.kind == Operand::Reg)
    return laneBytesFor(frame->function->registers[op.reg].type.bits);
  return 0;
}

bool Decoder::isPredicate(const Operand &op) const {
  return op.kind == Operand::Reg &&
         frame->function->registers[op.reg].type.kind == 'P';
}

Slot Decoder::use(const Operand &op, unsigned laneBytes, Type immediate) {
  unsigned width = laneBytes ? laneBytes : laneBytesFor(immediate.bits);
  switch (op.kind) {
  case Operand::Reg: {
    const ptx::Register &r = frame->function->registers[op.reg];
    if (!op.name.empty())
      unsupported("component '." + std::string(op.name) +
                  "' of a register is not supported here");
    if (r.type.kind == 'P') {
      unsupported("expected a value, found a predicate");
      return constant(0, width);
    }
    unsigned have = laneBytesFor(r.type.bits);
    if (laneBytes && have != laneBytes) {
      unsupported("register '" + std::string(r.name) + "' has " +
                  std::to_string(r.type.bits) + " bits where " +
                  std::to_string(laneBytes * 8) + " are expected");
      return constant(0, width);
    }
    Slot &s = frame->registers[op.reg];
    if (s == kNoSlot)
      s = newRegister(have);
    uses.push_back(s);
    return s;
  }
  case Operand::Imm:
    return constant(op.value, width);
  case Operand::F32:
    if (immediate.kind == 'F' && immediate.bits == 64) {
      uint32_t bits = op.value;
      float f;
      std::memcpy(&f, &bits, 4);
      double d = f;
      uint64_t wide;
      std::memcpy(&wide, &d, 8);
      return constant(wide, width);
    }
    return constant(op.value, width);
  case Operand::F64:
    if (width == 4) {
      double d;
      std::memcpy(&d, &op.value, 8);
      float f = d;
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      return constant(bits, 4);
    }
    return constant(op.value, width);
  case Operand::Special:
    for (const SpecialRow &row : kSpecialRows) {
      if (op.name != row.name)
        continue;
      if (row.kind >= Special::Clock) {
        Slot s = scratch(width);
        emit(width == 8 ? readClock<uint64_t> : readClock<uint32_t>).d = s;
        program.code.back().aux = unsigned(row.kind);
        return s;
      }
      return special(row.kind, width);
    }
    // Performance counters, driver registers and %current_graph_exec are 0.
    if (op.name.substr(0, 2) == "pm" || op.name.substr(0, 6) == "envreg" ||
        op.name == "current_graph_exec")
      return constant(0, width);
    // On hardware, part of the reserved memory can be reserved for libraries.
    // The simulator reserves no memory for libraries.
    if (op.name == "reserved_smem_offset_0" ||
        op.name == "reserved_smem_offset_1")
      return special(Special::ReservedSmemBegin, width);
    if (op.name == "reserved_smem_offset_cap")
      return special(Special::ReservedSmemEnd, width);
    unsupported("special register '%" + std::string(op.name) +
                "' is not supported");
    return constant(0, width);
  case Operand::Var: {
    ptx::Variable &v = *op.var;
    if (v.space == Space::Shared) {
      uint64_t at = v.isExtern ? 0 : place(v);
      if (!v.isExtern)
        return special(Special::SharedAddress, width, at + op.value);
      place(v);
      // Dynamic shared memory follows static memory. The size of static memory
      // is known only at the end, so the address is patched later.
      auto key = int64_t((uint64_t(1) << 40) + uint64_t(op.value));
      size_t before = program.specials.size();
      Slot s = special(Special::SharedAddress, width, key);
      if (program.specials.size() != before)
        externFixes.push_back({before, op.value});
      return s;
    }
    if (isPlacedLocally(v))
      return localAddress(place(v) + op.value, width);
    return constant(place(v) + op.value, width);
  }
  case Operand::Func: {
    const auto &functions = frame->function->home->functionByName;
    auto it = functions.find(op.name);
    if (it == functions.end()) {
      unsupported("function '" + std::string(op.name) + "' is not declared");
      return constant(0, width);
    }
    return constant(addressOfFunction(*it->second), width);
  }
  default:
    break;
  }
  unsupported("operand is not a value");
  return constant(0, width);
}

Slot Decoder::def(const Operand &op, unsigned laneBytes) {
  if (op.kind == Operand::Sink)
    return scratch(laneBytes ? laneBytes : 8);
  if (op.kind != Operand::Reg || !op.name.empty()) {
    unsupported("the destination is not a register");
    return scratch(laneBytes ? laneBytes : 8);
  }
  const ptx::Register &r = frame->function->registers[op.reg];
  unsigned have = laneBytesFor(r.type.bits);
  if (r.type.kind == 'P' || (laneBytes && have != laneBytes)) {
    unsupported("register '" + std::string(r.name) + "' has " +
                std::to_string(r.type.bits) + " bits where " +
                std::to_string(laneBytes * 8) + " are expected");
    return scratch(laneBytes ? laneBytes : 8);
  }
  Slot &s = frame->registers[op.reg];
  if (s == kNoSlot)
    s = newRegister(have);
  defs.push_back(s);
  return s;
}

Slot Decoder::use(size_t k, Type type) {
  return use(operandAt(k), laneBytesFor(type.bits), type);
}

Slot Decoder::def(size_t k, Type type) {
  return def(operandAt(k), laneBytesFor(type.bits));
}

Slot Decoder::usePredicate(const Operand &op) {
  uses.push_back(predicateOf(op));
  return uses.back();
}

Slot Decoder::predicateOf(const Operand &op) {
  if (op.kind == Operand::Imm)
    return constantPredicate(op.value != 0);
  if (op.kind == Operand::Special && op.name == "is_explicit_cluster") {
    Slot from = special(Special::IsExplicitCluster, 4);
    Slot p = temporaryPredicate();
    Instr &i = emit(predicateFromWord);
    i.d = p;
    i.a = from;
    return op.negated ? p | kSlotNegated : p;
  }
  if (!isPredicate(op)) {
    unsupported("expects a predicate");
    return constantPredicate(false);
  }
  Slot &s = frame->registers[op.reg];
  if (s == kNoSlot)
    s = newPredicate();
  return op.negated ? s | kSlotNegated : s;
}

Slot Decoder::defPredicate(const Operand &op) {
  if (op.kind == Operand::Sink)
    return scratchPredicate();
  Slot s = predicateOf(op);
  if (s & (kSlotConstant | kSlotNegated)) {
    unsupported("the destination is not a predicate register");
    return scratchPredicate();
  }
  defs.push_back(s);
  return s;
}

bool Decoder::immediate(size_t k, int64_t &value) {
  const Operand &op = operandAt(k);
  if (op.kind == Operand::Imm) {
    value = op.value;
    return true;
  }
  unsupported("operand " + std::to_string(k + 1) +
              " must be an integer constant");
  return false;
}

Address Decoder::address(const Operand &op) {
  Address a;
  if (op.kind != Operand::Memory) {
    // tcgen05 and related instructions also accept a bare register as an
    // address.
    unsupported("expects an address in brackets");
    a.base = constant(0, 8);
    return a;
  }
  const Operand &base = op.parts[0];
  a.offset = op.value;
  if (base.kind == Operand::Var) {
    a.space = base.var->space;
    a.base = use(base, 8);
    return a;
  }
  a.is64 = laneBytesOf(base) != 4;
  a.base = use(base, a.is64 ? 8 : 4);
  return a;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

bool Decoder::isPlacedLocally(const ptx::Variable &v) const {
  if (v.space == Space::Local)
    return true;
  if (v.space != Space::Param)
    return false;
  const auto &params = program.kernel->params;
  return std::find(params.begin(), params.end(), &v) == params.end();
}

uint64_t Decoder::place(ptx::Variable &v) {
  switch (v.space) {
  case Space::Shared: {
    if (v.isExtern) {
      program.dynamicSharedAlign =
          std::max(program.dynamicSharedAlign, v.align);
      return 0;
    }
    auto [it, isNew] = sharedPlaces.try_emplace(&v, 0);
    if (isNew) {
      uint64_t at = (program.staticSharedEnd + v.align - 1) / v.align * v.align;
      if (at + v.bytes > kOffsetMask) {
        // This size makes the checks of a launch reject the kernel.
        program.staticSharedEnd = kOffsetMask;
        return kReservedShared;
      }
      program.staticSharedEnd = at + v.bytes;
      it->second = at;
      v.address = at;
      program.sharedVariables.push_back(&v);
    }
    return it->second;
  }
  case Space::Global:
  case Space::Const: {
    const ptx::Variable &d = v.definition ? *v.definition : v;
    if (!d.placed)
      unsupported("variable '" + std::string(v.name) + "' is not defined");
    return d.address;
  }
  case Space::Param:
  case Space::Local: {
    if (!isPlacedLocally(v))
      return v.address;
    for (Frame *f = frame; f; f = f->caller) {
      auto it = f->locals.find(&v);
      if (it != f->locals.end())
        return it->second;
    }
    // The address is an offset in the frame of the routine or the kernel.
    uint32_t &used = routine ? routine->frameBytes : program.localBytes;
    uint64_t at = (used + v.align - 1) / v.align * v.align;
    if (v.bytes > kMaxLocal || at + v.bytes > kMaxLocal) {
      unsupported("more than 1 MiB of local memory");
      return 0;
    }
    used = (at + std::max<uint64_t>(v.bytes, 1) + 15) & ~15ull;
    if (v.space == Space::Param)
      at += kLocalParams;
    frame->locals[&v] = at;
    return at;
  }
  default:
    break;
  }
  unsupported("variable '" + std::string(v.name) + "' has no address");
  return 0;
}
