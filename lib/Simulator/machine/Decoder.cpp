//===- Decoder.cpp - from parsed to executable instructions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers get slots at first sight and variables their addresses; calls are
// in Calls.cpp, and convergence points are put in at the end.
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

constexpr size_t kMaxCode = 1u << 22;
constexpr uint64_t kMaxLocal = 1u << 20;

const DecodeTable &mx::sim::decodeTable() {
  static const DecodeTable table = [] {
    DecodeTable t;
    addIntegerInstructions(t);
    addBitInstructions(t);
    addVideoInstructions(t);
    addFloatInstructions(t);
    addFloatFunctions(t);
    addFloatSelection(t);
    addConversionInstructions(t);
    addMoveInstructions(t);
    addControlInstructions(t);
    addCallInstructions(t);
    addMemoryInstructions(t);
    addAtomicInstructions(t);
    addWarpInstructions(t);
    addBarrierInstructions(t);
    addBulkInstructions(t);
    addFenceInstructions(t);
    addLaunchControlInstructions(t);
    addTensorMapInstructions(t);
    addTensorInstructions(t);
    addMatrixMoveInstructions(t);
    addMmaSyncInstructions(t);
    addWgmmaInstructions(t);
    return t;
  }();
  return table;
}

static unsigned laneBytesFor(unsigned bits) {
  return bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

bool Decoder::take(std::string_view name) {
  auto it = std::find(mods.begin(), mods.end(), name);
  if (it == mods.end())
    return false;
  mods.erase(it);
  return true;
}

int Decoder::takeAny(std::initializer_list<std::string_view> names) {
  int k = 0;
  for (std::string_view n : names) {
    if (take(n))
      return k;
    ++k;
  }
  return -1;
}

std::string_view Decoder::takePrefix(std::string_view prefix) {
  for (auto it = mods.begin(); it != mods.end(); ++it)
    if (it->substr(0, prefix.size()) == prefix) {
      std::string_view found = *it;
      mods.erase(it);
      return found;
    }
  return {};
}

bool Decoder::takeType(Type &type) {
  for (auto it = mods.begin(); it != mods.end(); ++it)
    if (ptx::parseType(*it, type)) {
      mods.erase(it);
      return true;
    }
  return false;
}

unsigned Decoder::takeVector() {
  switch (takeAny({"v2", "v4", "v8"})) {
  case 0:
    return 2;
  case 1:
    return 4;
  case 2:
    return 8;
  }
  return 1;
}

Space Decoder::takeSpace() {
  switch (takeAny({"global", "shared", "shared::cta", "shared::cluster",
                   "local", "param", "param::entry", "param::func", "const"})) {
  case 0:
    return Space::Global;
  case 1:
  case 2:
  case 3:
    return Space::Shared;
  case 4:
    return Space::Local;
  case 5:
  case 6:
  case 7:
    return Space::Param;
  case 8:
    return Space::Const;
  }
  return Space::Generic;
}

void Decoder::takeMemoryQualifiers() {
  // One thread of the host executes everything in order, so every access is
  // as strong as any of these ask for; caches do not exist.
  take("mmio");
  takeAny(
      {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "sc"});
  takeAny({"cta", "cluster", "gpu", "sys"});
  takeAny({"nc"});
  takeAny({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  takePrefix("L1::");
  while (!takePrefix("L2::").empty())
    ;
  take("unified");
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

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

/// One that is the same in all functions.
Slot Decoder::sharedRegister(unsigned laneBytes) {
  Routine *saved = routine;
  routine = nullptr;
  Slot s = newRegister(laneBytes);
  routine = saved;
  return s;
}

Slot Decoder::newPredicate() {
  // 32 predicates share the space of one register.
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
    unsupported("a special register has no 128 bits");
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
      unsupported("a predicate stands where a value is expected");
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
    // Performance counters, driver registers and the graph count nothing here;
    // the last byte that the system reserves is that of all it reserves.
    if (op.name.substr(0, 2) == "pm" || op.name.substr(0, 6) == "envreg" ||
        op.name == "current_graph_exec")
      return constant(0, width);
    // Where libraries may ask for a part of it; they get no access to it here.
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
      // Dynamic shared memory begins behind the static: patched at the end.
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
  Slot s = usePredicate(op);
  if (s & (kSlotConstant | kSlotNegated)) {
    unsupported("the destination is not a predicate register");
    return scratchPredicate();
  }
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
    // tcgen05 and friends also take a bare register as an address.
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
        // The launch is refused, whoever asks for how much.
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
    // In a routine: offsets in its frame.
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

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Instr &Decoder::emit(Handler fn) {
  program.code.emplace_back();
  Instr &i = program.code.back();
  i.fn = fn;
  i.guard = guard;
  InstrInfo info;
  info.line = inst->line;
  info.loc = inst->loc;
  info.function = frame->function;
  info.source = inst;
  program.info.push_back(info);
  return i;
}

void Decoder::decodeInstruction(const ptx::Instruction &i) {
  inst = &i;
  mods = i.modifiers;
  failure.clear();
  uses.clear();
  defs.clear();
  isMove = false;
  guard = kNoSlot;
  if (i.guarded) {
    Operand op;
    op.kind = Operand::Reg;
    op.reg = i.guard;
    op.negated = i.guardNegated;
    guard = usePredicate(op);
  }
  Slot own = guard;
  size_t start = program.code.size();
  auto it = decodeTable().find(i.opcode);
  if (it == decodeTable().end())
    unsupported("no such instruction is known");
  else
    it->second(*this);
  if (failure.empty() && !mods.empty())
    unsupported("modifier '." + std::string(mods.front()) +
                "' is not known here");
  if (start > kMaxCode)
    unsupported("the program is too long");
  if (!failure.empty()) {
    program.code.resize(start);
    program.info.resize(start);
    frame->branches.erase(
        std::remove_if(frame->branches.begin(), frame->branches.end(),
                       [&](auto &b) { return b.first >= start; }),
        frame->branches.end());
    routineCalls.erase(
        std::remove_if(routineCalls.begin(), routineCalls.end(),
                       [&](auto &c) { return c.first >= start; }),
        routineCalls.end());
    if (routine)
      while (!routine->leaves.empty() && routine->leaves.back() >= start)
        routine->leaves.pop_back();
    guard = own;
    program.messages.push_back("unsupported instruction '" + i.text() +
                               "': " + failure);
    unsupportedList->push_back({program.messages.back(), i.line, 0});
    emit(reportUnsupported).aux = program.messages.size() - 1;
    return;
  }
  if (program.code.size() > start && i.opcode != "call") {
    // Where there are several, all of them read; the last one writes.
    for (size_t k = start; k < program.code.size(); ++k) {
      program.info[k].firstUse = program.uses.size();
      program.info[k].numUses = uses.size();
    }
    InstrInfo &info = program.info.back();
    info.firstDef = program.defs.size();
    info.numDefs = defs.size();
    info.isMove = isMove;
    program.uses.insert(program.uses.end(), uses.begin(), uses.end());
    program.defs.insert(program.defs.end(), defs.begin(), defs.end());
  }
}

void Decoder::decodeFunction(Frame &f) {
  Frame *outer = frame;
  f.caller = outer;
  frame = &f;
  f.registers.resize(f.function->registers.size(), kNoSlot);
  for (const ptx::Instruction &i : f.function->body) {
    f.starts.push_back(program.code.size());
    decodeInstruction(i);
  }
  f.starts.push_back(program.code.size());
  for (auto [code, target] : f.branches)
    program.code[code].imm = f.starts[target];
  frame = outer;
}

void Decoder::branch(Slot condition, bool isUniform, uint32_t target) {
  Slot saved = guard;
  guard = kNoSlot;
  Instr &i = emit(condition == kNoSlot ? branchAlways : branchIf);
  i.a = condition;
  i.aux = kNoSlot;
  guard = saved;
  frame->branches.push_back({uint32_t(program.code.size() - 1), target});
}

bool Decoder::decode(const ptx::Function &kernel,
                     std::vector<Diagnostic> &errors,
                     std::vector<Diagnostic> &unsupportedOut) {
  errorList = &errors;
  unsupportedList = &unsupportedOut;
  program.kernel = &kernel;
  program.staticSharedEnd = kReservedShared;
  // Statics of the kernel come in the order they are declared.
  Frame f;
  f.function = &kernel;
  frame = &f;
  for (ptx::Variable *v : kernel.locals)
    if (v->space == Space::Shared)
      place(*v);
  frame = nullptr;
  planCalls(kernel);
  size_t stackInit = 0;
  if (usesStack) {
    static const ptx::Instruction begin{};
    inst = &begin;
    frame = &f;
    stackInit = beginStack();
    frame = nullptr;
  }
  decodeFunction(f);
  // Falling off the end returns.
  static const ptx::Instruction end{};
  inst = &end;
  frame = &f;
  guard = kNoSlot;
  emit(exitThread);
  program.info.back().line =
      kernel.body.empty() ? kernel.line : kernel.body.back().line;
  frame = nullptr;
  decodeRoutines();
  if (usesStack)
    finishStack(stackInit);
  markConvergence();

  uint32_t align = program.dynamicSharedAlign;
  uint32_t dynamic = (program.staticSharedEnd + align - 1) / align * align;
  for (ExternFix &fix : externFixes)
    program.specials[fix.special].value =
        int64_t(dynamic + uint64_t(fix.offset));
  program.registerBytes = (program.registerBytes + 127) & ~127u;
  // Handlers may read a whole register of the pool at any slot.
  program.constants.resize(program.constants.size() + 512);
  return errors.empty();
}
