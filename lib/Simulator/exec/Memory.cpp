//===- Memory.cpp - loads and stores --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: ld, ldu, st, and ways to bytes in all state spaces. Every access is
// checked for bounds and alignment, whatever the checks that are switched on.
//===----------------------------------------------------------------------===//

#include "MemoryAccess.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

std::string mx::sim::describeAddress(Warp &w, Space space, uint64_t address,
                                     uint64_t bytes) {
  if (space == Space::Generic) {
    if (address - kSharedWindow < kWindowBytes)
      return w.machine->describeShared(*w.cta, address - kSharedWindow, bytes);
    if (address - kLocalWindow < kWindowBytes) {
      space = Space::Local;
      address -= kLocalWindow;
    } else if (address - kParamWindow < kWindowBytes) {
      space = Space::Param;
      address -= kParamWindow;
    }
  }
  if (space == Space::Shared)
    return w.machine->describeShared(*w.cta, address, bytes);
  if (space == Space::Local || space == Space::Param) {
    bool isLocal = space == Space::Local;
    return std::to_string(bytes) + " bytes at offset " +
           std::to_string(address) +
           (isLocal ? " of local memory, the thread has "
                    : " of parameter space, the kernel has ") +
           std::to_string(isLocal ? w.machine->program.localBytes
                                  : w.machine->params.size()) +
           " bytes";
  }
  return w.machine->memory.describe(address, bytes);
}

uint8_t *mx::sim::resolveAddress(Warp &w, const Instr *i, Space space,
                                 uint64_t address, uint64_t bytes,
                                 unsigned lane, bool isWrite) {
  uint8_t *p = nullptr;
  uint64_t original = address;
  Space where = space;
  if (where == Space::Generic) {
    where = Space::Global;
    if (address - kSharedWindow < kWindowBytes) {
      where = Space::Shared;
      address -= kSharedWindow;
    } else if (address - kLocalWindow < kWindowBytes) {
      where = Space::Local;
      address -= kLocalWindow;
    } else if (address - kParamWindow < kWindowBytes) {
      where = Space::Param;
      address -= kParamWindow;
    }
  }
  if (where == Space::Param && address >= kLocalParams) {
    where = Space::Local;
    address -= kLocalParams;
  }
  if (address & (bytes - 1)) {
    w.fail(i, FindingKind::Misaligned,
           std::string(isWrite ? "store" : "load") + " of " +
               describeAddress(w, space, original, bytes) +
               " is not aligned to its size",
           1u << lane);
    return nullptr;
  }
  switch (where) {
  case Space::Shared: {
    Cta *owner = nullptr;
    p = w.machine->shared(w, address, bytes, owner);
    if (p && owner->tracker) {
      uint8_t *written =
          owner->tracker->written.data() + (address & kOffsetMask);
      if (isWrite)
        std::memset(written, 1, bytes);
      else if (std::memchr(written, 0, bytes))
        w.note(i, FindingKind::UninitShared,
               "load of " + describeAddress(w, space, original, bytes) +
                   ", which nobody has written",
               1u << lane);
    }
    break;
  }
  case Space::Local: {
    uint32_t frame = w.machine->program.localBytes;
    if (address <= frame && bytes <= frame - address)
      p = w.local + uint64_t(lane) * frame + address;
    break;
  }
  case Space::Param:
    if (address <= w.machine->params.size() &&
        bytes <= w.machine->params.size() - address && !isWrite)
      p = w.machine->params.data() + address;
    break;
  default:
    p = w.machine->global.translate(address, bytes, isWrite);
    break;
  }
  if (!p)
    w.fail(i, FindingKind::OutOfBounds,
           std::string(isWrite ? "store" : "load") +
               " out of bounds: " + describeAddress(w, space, original, bytes),
           1u << lane);
  return p;
}

namespace {

/// aux: first slot in extra; aux2: elements | is64 << 8 | space << 9.
struct Access {
  unsigned count;
  bool is64;
  Space space;
  explicit Access(const Instr *i)
      : count(i->aux2 & 0xff), is64(i->aux2 >> 8 & 1),
        space(Space(i->aux2 >> 9)) {}
};

/// T: the element in memory. L: the lane of its register, into which signed
/// elements are sign-extended.
template <class T, class L, bool Global>
const Instr *load(Warp &w, const Instr *i, uint32_t mask) {
  Access access(i);
  const Slot *slots = &w.machine->program.extra[i->aux];
  uint64_t bytes = access.count * sizeof(T);
  GlobalView &global = w.machine->global;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t address = laneAddress(w, i->a, access.is64, i->imm, lane);
    const uint8_t *p = nullptr;
    if (Global && !(address & (bytes - 1)))
      p = global.translate(address, bytes, false);
    if (!p)
      p = resolveAddress(w, i, access.space, address, bytes, lane, false);
    if (!p)
      return nullptr;
    for (unsigned k = 0; k < access.count; ++k) {
      T v;
      std::memcpy(&v, p + k * sizeof(T), sizeof v);
      if constexpr (sizeof(T) > 8)
        w.at<T>(slots[k])[lane] = v;
      else if constexpr (std::is_signed_v<T>)
        w.at<L>(slots[k])[lane] = L(std::make_signed_t<L>(v));
      else
        w.at<L>(slots[k])[lane] = L(v);
    }
  }
  return i + 1;
}

template <class T, class L, bool Global>
const Instr *store(Warp &w, const Instr *i, uint32_t mask) {
  Access access(i);
  const Slot *slots = &w.machine->program.extra[i->aux];
  uint64_t bytes = access.count * sizeof(T);
  GlobalView &global = w.machine->global;
  if (access.space != Space::Local)
    ++w.machine->effects;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t address = laneAddress(w, i->a, access.is64, i->imm, lane);
    uint8_t *p = nullptr;
    if (Global && !(address & (bytes - 1)))
      p = global.translate(address, bytes, true);
    if (!p)
      p = resolveAddress(w, i, access.space, address, bytes, lane, true);
    if (!p)
      return nullptr;
    for (unsigned k = 0; k < access.count; ++k) {
      T v;
      if constexpr (sizeof(T) > 8)
        v = w.at<T>(slots[k])[lane];
      else
        v = T(w.at<L>(slots[k])[lane]);
      std::memcpy(p + k * sizeof(T), &v, sizeof v);
    }
  }
  return i + 1;
}

struct Bytes16 {
  uint64_t lo, hi;
};

template <class T>
Handler pickLoad(bool wide, bool global) {
  if (wide)
    return global ? load<T, uint64_t, true> : load<T, uint64_t, false>;
  return global ? load<T, uint32_t, true> : load<T, uint32_t, false>;
}
template <class T>
Handler pickStore(bool wide, bool global) {
  if (wide)
    return global ? store<T, uint64_t, true> : store<T, uint64_t, false>;
  return global ? store<T, uint32_t, true> : store<T, uint32_t, false>;
}

Handler pickHandler(Type t, bool isLoad, unsigned laneBytes, bool global) {
  bool wide = laneBytes == 8;
  if (t.bits == 128)
    return isLoad   ? global ? load<Bytes16, uint64_t, true>
                             : load<Bytes16, uint64_t, false>
           : global ? store<Bytes16, uint64_t, true>
                    : store<Bytes16, uint64_t, false>;
  if (!isLoad) {
    switch (t.bits) {
    case 8:
      return pickStore<uint8_t>(wide, global);
    case 16:
      return pickStore<uint16_t>(wide, global);
    case 32:
      return pickStore<uint32_t>(wide, global);
    }
    return wide ? pickStore<uint64_t>(true, global) : nullptr;
  }
  bool isSigned = t.kind == 'S';
  switch (t.bits) {
  case 8:
    return isSigned ? pickLoad<int8_t>(wide, global)
                    : pickLoad<uint8_t>(wide, global);
  case 16:
    return isSigned ? pickLoad<int16_t>(wide, global)
                    : pickLoad<uint16_t>(wide, global);
  case 32:
    return isSigned ? pickLoad<int32_t>(wide, global)
                    : pickLoad<uint32_t>(wide, global);
  }
  return wide ? pickLoad<uint64_t>(true, global) : nullptr;
}

void decodeAccess(Decoder &d, bool isLoad) {
  Type t;
  unsigned count = d.takeVector();
  Space space = d.takeSpace();
  d.takeMemoryQualifiers();
  if (!d.takeType(t) || t.kind == 'P' || t.bits > 128)
    return d.unsupported("expects a type");
  // d, [a]{, policy}  or  [a], b{, policy}
  if (!d.expectOperands(2, 3))
    return;
  if (t.bits * count > 256)
    return d.unsupported("an access has at most 32 bytes");
  Address address = d.address(isLoad ? 1 : 0);
  const Operand &value = d.operand(isLoad ? 0 : 1);
  if (value.kind == Operand::Vector && count == 1)
    count = value.parts.size();
  std::vector<Operand> parts = d.elements(value);
  if (parts.size() != count)
    return d.unsupported("expects " + std::to_string(count) +
                         " elements, found " + std::to_string(parts.size()));
  if (count != 1 && count != 2 && count != 4 && count != 8)
    return d.unsupported("expects 1, 2, 4 or 8 elements");
  // All elements live in registers of one width.
  unsigned lane = 0;
  for (const Operand &p : parts)
    lane = std::max(lane, d.laneBytesOf(p));
  if (!lane)
    lane = t.bits <= 32 ? 4 : t.bits / 8;
  if (lane * 8 < t.bits)
    return d.unsupported("a register is smaller than the type");
  std::vector<Slot> slots;
  for (const Operand &p : parts)
    slots.push_back(isLoad ? d.def(p, lane) : d.use(p, lane, {t.kind, t.bits}));
  Handler h = pickHandler(t, isLoad, lane,
                          space == Space::Global || space == Space::Const);
  if (!h || (t.bits == 128) != (lane == 16))
    return d.unsupported("no such combination of type and registers");
  // The variable says more than the instruction.
  if (space == Space::Generic && address.space != Space::Generic &&
      address.space != Space::Global && address.space != Space::Const)
    return d.unsupported("the variable needs its state space here");
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(h);
  i.a = address.base;
  i.imm = address.offset;
  i.aux = first;
  i.aux2 = count | unsigned(address.is64) << 8 | unsigned(space) << 9;
}

void decodeLd(Decoder &d) { decodeAccess(d, true); }
void decodeSt(Decoder &d) { decodeAccess(d, false); }

} // namespace

namespace mx::sim {}

void mx::sim::addMemoryInstructions(DecodeTable &t) {
  t["ld"] = decodeLd;
  t["ldu"] = decodeLd;
  t["st"] = decodeSt;
}
