//===- Memory.cpp - Loads and stores --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: ld, ldu, st.
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "MemoryAccess.h"

#include "PeerAccess.h"
#include "StoreAsync.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

/// aux: first slot in extra; aux2: number of elements | is64 << 8 | space << 9
/// | log2(bytes per element) << 13 | strength << 16 | scope << 18.
struct Access {
  unsigned count;
  bool is64;
  Space space;
  Strength strength;
  MemoryScope scope;
  explicit Access(const Instr *i)
      : count(i->aux2 & 0xff), is64(i->aux2 >> 8 & 1),
        space(Space(i->aux2 >> 9 & 15)), strength(Strength(i->aux2 >> 16 & 3)),
        scope(MemoryScope(i->aux2 >> 18)) {}
  static unsigned bytesOf(const Instr *i) {
    return (i->aux2 & 0xff) << (i->aux2 >> 13 & 7);
  }
};

/// Valid address range of a state space, and its host memory.
struct Extent {
  uint64_t low = 0, limit = 0;
  uint8_t *host = nullptr;
};

Extent extentOf(Warp &w, const Instr *i, const Access &access,
                uint64_t firstAddress, uint64_t bytes) {
  if (access.space == Space::Shared)
    return {(uint64_t(w.cta->rank) << kRankShift) + kReservedShared,
            w.cta->shared.size() - kReservedShared,
            w.cta->shared.data() + kReservedShared};
  GlobalView::Hit &hit = w.global().hitOf(i);
  if (!w.global().find(hit, firstAddress, bytes))
    return {};
  return {hit.base, hit.bytes, hit.host};
}

/// Returns the pattern of addresses of `bytes` each, but no permutation.
template <class A>
Pattern patternOf(const A *a, A bytes) {
  A unlikeRow = 0, unlikeFirst = 0, first = a[0];
  unsigned shift = firstLane(uint32_t(bytes));
  for (unsigned lane = 0; lane < 32; ++lane) {
    unlikeRow |= a[lane] ^ (first + (A(lane) << shift));
    unlikeFirst |= a[lane] ^ first;
  }
  if (!unlikeRow)
    return Pattern::Row;
  if (!unlikeFirst)
    return Pattern::Same;
  return Pattern::Other;
}

/// Returns true if the lanes access the elements of an aligned row, in any
/// order, and records the order.
bool isPermuted(const uint64_t offsets[32], uint64_t bytes,
                LaneAddresses &addresses) {
  uint64_t unlikeFirst = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    unlikeFirst |= offsets[lane] ^ offsets[0];
  if (unlikeFirst >= 32 * bytes || unlikeFirst & (bytes - 1) || bytes < 4)
    return false;
  unsigned shift = firstLane(uint32_t(bytes));
  uint32_t filled = 0;
  auto place = [&](auto words) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned n = offsets[lane] >> shift & 31;
      filled |= 1u << n;
      for (unsigned k = 0; k < words; ++k)
        addresses.lanes[n * words + k] = Lane(lane + 1);
    }
  };
  if (bytes == 4)
    place(std::integral_constant<unsigned, 1>());
  else
    place(unsigned(bytes / 4));
  addresses.row = -int64_t(offsets[0] & (32 * bytes - 1));
  return filled == ~0u;
}

/// Marks bytes as written if `isWrite` is true. Otherwise returns false unless
/// all are written.
bool followWritten(uint8_t *written, uint64_t bytes, bool isWrite) {
  if (isWrite)
    std::memset(written, 1, bytes);
  return isWrite || !std::memchr(written, 0, bytes);
}

/// Resolves the addresses of all lanes with a single bounds check. Returns
/// false unless all are aligned and within one buffer or the CTA's own shared
/// memory; the slow path then checks each lane.
[[gnu::always_inline]] inline bool
resolveAll(Warp &w, const Instr *i, const Access &access, uint64_t bytes,
           uint32_t mask, bool isWrite, LaneAddresses &addresses) {
  if (mask != ~0u ||
      (access.space != Space::Global && access.space != Space::Const &&
       access.space != Space::Shared))
    return false;
  uint64_t low = laneAddress(w, i->a, access.is64, i->imm, 0);
  Extent extent = extentOf(w, i, access, low, bytes);
  low -= extent.low;
  if (!extent.host)
    return false;
  SharedTracker *tracker =
      access.space == Space::Shared ? w.cta->tracker.get() : nullptr;
  uint8_t *written = !tracker || tracker->written.empty()
                         ? nullptr
                         : tracker->written.data() + kReservedShared;
  addresses.pattern = access.is64
                          ? patternOf(w.at<uint64_t>(i->a), bytes)
                          : patternOf(w.at<uint32_t>(i->a), uint32_t(bytes));
  auto isWithin = [&](uint64_t first, uint64_t size) {
    return first <= extent.limit && size <= extent.limit - first;
  };
  if (addresses.pattern != Pattern::Other) {
    bool isSame = addresses.pattern == Pattern::Same;
    uint64_t size = isSame ? bytes : 32 * bytes;
    if ((low + extent.low) & (bytes - 1) || !isWithin(low, size))
      return false;
    addresses.first = extent.host + low;
    addresses.stride = isSame ? 0 : uint32_t(bytes);
    return !written || followWritten(written + low, size, isWrite);
  }
  uint64_t offsets[32], bits = low + extent.low, most = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    offsets[lane] =
        laneAddress(w, i->a, access.is64, i->imm, lane) - extent.low;
  if ((written || w.order()) && isPermuted(offsets, bytes, addresses)) {
    addresses.pattern = Pattern::Permuted;
    uint64_t row = low + uint64_t(addresses.row);
    if (bits & (bytes - 1) || !isWithin(row, 32 * bytes) ||
        (written && !followWritten(written + row, 32 * bytes, isWrite)))
      return false;
  } else {
    for (unsigned lane = 0; lane < 32; ++lane) {
      bits |= offsets[lane] + extent.low;
      most = std::max(most, offsets[lane]);
    }
    if (bits & (bytes - 1) || !isWithin(most, bytes))
      return false;
    for (unsigned lane = 0; written && lane < 32; ++lane)
      if (!followWritten(written + offsets[lane], bytes, isWrite))
        return false;
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    addresses.at[lane] = extent.host + offsets[lane];
  return true;
}

MX_AVX2 bool resolveAllAvx2(Warp &w, const Instr *i, const Access &access,
                            uint64_t bytes, uint32_t mask, bool isWrite,
                            LaneAddresses &addresses) {
  return resolveAll(w, i, access, bytes, mask, isWrite, addresses);
}

/// Resolves the address of each active lane, and adds the lanes that read
/// unwritten bytes to `unwritten`. Returns false after a finding.
bool resolveLanes(Warp &w, const Instr *i, const Access &access, uint64_t bytes,
                  uint32_t mask, bool isWrite, LaneAddresses &addresses,
                  uint32_t &unwritten) {
  if ((kHasAvx2 ? resolveAllAvx2 : resolveAll)(w, i, access, bytes, mask,
                                               isWrite, addresses))
    return true;
  addresses.pattern = Pattern::Other;
  addresses.first = nullptr;
  bool isGlobal = access.space == Space::Global || access.space == Space::Const;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t address = laneAddress(w, i->a, access.is64, i->imm, lane);
    uint8_t *p = nullptr;
    if (isGlobal && !(address & (bytes - 1)))
      p = w.global().find(w.global().hitOf(i), address, bytes);
    if (!p)
      p = resolveAddress(w, i, access.space, address, bytes, lane, isWrite,
                         &unwritten);
    if (!p)
      return false;
    addresses.at[lane] = p;
  }
  return true;
}

/// Reports a quiet access with a pattern to the order check: an access to
/// global memory, or to shared memory of the own CTA.
void followPattern(Warp &w, const Instr *i, const Access &access,
                   uint64_t bytes, Touch touch,
                   const LaneAddresses &addresses) {
  bool isSilent = touch == Touch::SilentWrite;
  AccessRange range{laneAddress(w, i->a, access.is64, i->imm, 0), 32 * bytes,
                    ~0u, LaneRun()};
  if (addresses.pattern == Pattern::Permuted) {
    range.address += uint64_t(addresses.row);
    if (!isSilent)
      range.run.table = addresses.lanes;
  } else if (addresses.pattern == Pattern::Same) {
    range.bytes = bytes;
    if (touch == Touch::Read)
      range.run.first = kSeveralLanes;
  } else if (bytes >= 4 && !isSilent) {
    range.run = {1, uint8_t(firstLane(bytes))};
  }
  AccessKind kind{touch, access.strength != Strength::Weak};
  if (access.space == Space::Global)
    return w.order()->accessGlobal(w, i, {&range, 1}, kind);
  range.address &= kOffsetMask;
  w.order()->accessShared(w, i, *w.cta, {&range, 1}, kind);
}

/// Counts the bytes, and reports the access to the order check.
void noteAccess(Warp &w, const Instr *i, const Access &access, uint64_t bytes,
                uint32_t mask, Touch touch, const LaneAddresses &addresses) {
  bool isWrite = touch != Touch::Read;
  uint64_t total = bytes * (mask == ~0u ? 32 : __builtin_popcount(mask));
  WarpStatistics &s = w.counts;
  if (access.space == Space::Shared)
    (isWrite ? s.sharedStoreBytes : s.sharedLoadBytes) += total;
  else if (access.space == Space::Global || access.space == Space::Generic)
    (isWrite ? s.globalStoreBytes : s.globalLoadBytes) += total;
  if (__builtin_expect(w.watch != nullptr, 0))
    timeLanes(w, access.space, i->a, access.is64, i->imm, bytes, mask, isWrite);
  if (!w.order() || access.space > Space::Shared ||
      access.space == Space::Const)
    return;
  // Quiet accesses neither acquire nor publish knowledge, so the order check
  // may see all their lanes together.
  bool isQuiet = access.strength == Strength::Weak ||
                 (access.strength == Strength::Relaxed &&
                  access.space == Space::Shared && w.order()->isQuiet(w));
  if (isQuiet && addresses.pattern != Pattern::Other)
    followPattern(w, i, access, bytes, touch, addresses);
  else
    followLanes(w, i, access.space, i->a, access.is64, i->imm, bytes, mask,
                touch, {access.strength, access.scope}, isQuiet);
}

/// Returns the write flags at a shared address, or null if the launch does not
/// track writes.
uint8_t *writtenAt(Warp &w, uint64_t address) {
  SharedTracker *tracker =
      w.cta->cluster->ctas[address >> kRankShift]->tracker.get();
  return !tracker || tracker->written.empty()
             ? nullptr
             : tracker->written.data() + (address & kOffsetMask);
}

/// Marks the register of each element as undefined in lanes reading an
/// unwritten byte of the element.
void markUnwritten(Warp &w, const Instr *i, const Access &access,
                   const Slot *slots, unsigned size, uint32_t among) {
  for (unsigned k = 0; k < access.count; ++k) {
    uint32_t lanes = 0;
    uint64_t first = 0;
    forLanes(among, [&](unsigned lane) {
      uint64_t address = laneAddress(w, i->a, access.is64, i->imm, lane);
      findSpace(access.space, address);
      address += k * size;
      if (!std::memchr(writtenAt(w, address), 0, size))
        return;
      first = lanes ? first : address;
      lanes |= 1u << lane;
    });
    if (lanes)
      w.undefined.mark(w, slots[k], lanes, {i, first, size});
  }
}

/// Marks the loaded registers that contain the pattern of unwritten global
/// memory.
template <class T, class L>
void markPattern(Warp &w, const Instr *i, const Access &access,
                 const Slot *slots, uint32_t mask) {
  if ((access.space != Space::Global && access.space != Space::Generic) ||
      !(w.machine->config.checks & kCheckUninitGlobal))
    return;
  for (unsigned k = 0; k < access.count; ++k) {
    const L *v = w.at<L>(slots[k]);
    uint32_t found[32], any = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      any |= found[lane] = T(v[lane]) == T(kUnwrittenPattern);
    if (!any)
      continue;
    uint32_t lanes = 0;
    forLanes(mask, [&](unsigned lane) { lanes |= found[lane] << lane; });
    if (!lanes)
      continue;
    uint64_t address =
        laneAddress(w, i->a, access.is64, i->imm, firstLane(lanes));
    if (findSpace(access.space, address) == Space::Global)
      w.undefined.mark(w, slots[k], lanes,
                       {i, address + k * sizeof(T), sizeof(T), false, true});
  }
}

/// Propagates undefined values from local memory to registers.
void loadUndefined(Warp &w, const Instr *i, const Access &access,
                   const Slot *slots, unsigned size, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    uint64_t address = laneAddress(w, i->a, access.is64, i->imm, lane);
    if (findSpace(access.space, address) == Space::Local)
      for (unsigned k = 0; k < access.count; ++k)
        w.undefined.loadLocal(w, slots[k], lane, address + k * size, size);
  });
}

/// Propagates undefined registers to memory. Their bytes become unwritten in
/// shared memory and undefined in local memory. A store of an undefined
/// register to other memory is reported.
void storeUndefined(Warp &w, const Instr *i, const Access &access,
                    const Slot *slots, unsigned size, uint32_t mask) {
  for (unsigned k = 0; k < access.count; ++k)
    for (uint32_t m = w.undefined.lanes(slots[k]) & mask; m; m &= m - 1) {
      unsigned lane = firstLane(m);
      uint64_t address = laneAddress(w, i->a, access.is64, i->imm, lane);
      Space where = findSpace(access.space, address);
      address += k * size;
      if (where == Space::Local)
        w.undefined.storeLocal(w, slots[k], lane, address, size);
      else if (w.undefined.isOfGlobal(slots[k]) &&
               (where == Space::Shared ||
                isUnwritten(size == 8 ? w.at<uint64_t>(slots[k])[lane]
                                      : w.at<uint32_t>(slots[k])[lane],
                            size)))
        continue;
      else if (where != Space::Shared || w.undefined.isOfTensor(slots[k]))
        return w.undefined.report(w, i, slots[k], mask);
      else if (uint8_t *written = writtenAt(w, address))
        std::memset(written, 0, size);
    }
}

/// Returns true if the access may execute now. Strong accesses to global memory
/// are visible to other clusters and need the turn.
bool mayRun(Warp &w, const Instr *i, const Access &access) {
  return access.strength == Strength::Weak ||
         (access.space != Space::Global && access.space != Space::Generic) ||
         w.takeTurn(i);
}

/// Prepares a load in a world, or a strong load. Returns false if the lanes are
/// polling and must wait until memory changes.
bool mayLoad(Warp &w, const Instr *i, const Access &access, uint32_t bytes,
             uint32_t mask, uint8_t *const at[32]) {
  uint64_t addresses[32] = {};
  forLanes(mask, [&](unsigned lane) {
    addresses[lane] = laneAddress(w, i->a, access.is64, i->imm, lane);
    if (hasLateStores(w))
      settleStores(w, addresses[lane], bytes);
  });
  return access.strength == Strength::Weak ||
         !isPolling(w, i, access.space, mask, addresses, at, bytes);
}

/// Calls fn(lane, host address) for element `k`, of type T, of each lane. Lanes
/// that may share bytes come in order of `lane ^ order`. Constant strides let
/// the compiler vectorize common accesses.
template <class T, class F>
inline void forElements(const LaneAddresses &addresses, unsigned k,
                        uint32_t mask, unsigned order, F &&fn) {
  bool isApart = !order || addresses.pattern == Pattern::Permuted;
  if (!addresses.first && isApart && mask == ~0u) {
    for (unsigned lane = 0; lane < 32; ++lane)
      fn(lane, addresses.at[lane] + k * sizeof(T));
    return;
  }
  if (!addresses.first || (!isApart && !addresses.stride)) {
    for (unsigned n = 0; n < 32; ++n)
      if (unsigned lane = n ^ order; mask >> lane & 1)
        fn(lane, k * sizeof(T) +
                     (addresses.first ? addresses.first : addresses.at[lane]));
    return;
  }
  auto each = [&](auto stride) {
    for (unsigned lane = 0; lane < 32; ++lane)
      fn(lane, addresses.first + k * sizeof(T) + lane * stride);
  };
  if (!addresses.stride)
    each(std::integral_constant<uint32_t, 0>());
  else if (addresses.stride == sizeof(T))
    each(std::integral_constant<uint32_t, sizeof(T)>());
  else if (addresses.stride == 4 * sizeof(T))
    each(std::integral_constant<uint32_t, 4 * sizeof(T)>());
  else
    each(addresses.stride);
}

/// T is the element type in memory, and L the lane type of the register; signed
/// elements are sign-extended.
template <class T, class L>
[[gnu::always_inline]] inline const Instr *load(Warp &w, const Instr *i,
                                                uint32_t mask) {
  Access access(i);
  if (!mayRun(w, i, access))
    return nullptr;
  const Slot *slots = &w.machine->program.extra[i->aux];
  LaneAddresses addresses;
  uint32_t unwritten = 0;
  if (!resolveLanes(w, i, access, access.count * sizeof(T), mask, false,
                    addresses, unwritten))
    return nullptr;
  if ((w.machine->device || access.strength != Strength::Weak) &&
      !mayLoad(w, i, access, access.count * sizeof(T), mask, addresses.each()))
    return nullptr;
  if (__builtin_expect(w.pendingCount, 0))
    loadUndefined(w, i, access, slots, sizeof(T), mask);
  if (unwritten)
    markUnwritten(w, i, access, slots, sizeof(T), unwritten);
  noteAccess(w, i, access, access.count * sizeof(T), mask, Touch::Read,
             addresses);
  for (unsigned k = 0; k < access.count; ++k) {
    auto *to = w.at<std::conditional_t<(sizeof(T) > 8), T, L>>(slots[k]);
    forElements<T>(addresses, k, mask, /*order=*/0,
                   [&](unsigned lane, const uint8_t *at) {
                     T v;
                     std::memcpy(&v, at, sizeof v);
                     if constexpr (std::is_signed_v<T>)
                       to[lane] = L(std::make_signed_t<L>(v));
                     else
                       to[lane] = std::remove_pointer_t<decltype(to)>(v);
                   });
  }
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8)
    markPattern<T, L>(w, i, access, slots, mask);
  return i + 1;
}

template <class T, class L>
[[gnu::always_inline]] inline const Instr *store(Warp &w, const Instr *i,
                                                 uint32_t mask) {
  Access access(i);
  const Slot *slots = &w.machine->program.extra[i->aux];
  LaneAddresses addresses;
  if (!mayRun(w, i, access))
    return nullptr;
  if (access.space != Space::Local)
    ++w.cta->cluster->effects;
  uint32_t unwritten = 0;
  if (!resolveLanes(w, i, access, access.count * sizeof(T), mask, true,
                    addresses, unwritten))
    return nullptr;
  PeerStore late;
  bool mayBeLate = hasLateStores(w);
  if (__builtin_expect(mayBeLate, 0)) {
    if (access.strength == Strength::Synchronizing &&
        access.scope == MemoryScope::System && access.space != Space::Shared)
      releaseToSystem(w);
    late.begin(w, i, i->a, access.is64, i->imm, access.count * sizeof(T), mask,
               addresses.each());
  }
  if (__builtin_expect(w.pendingCount, 0))
    storeUndefined(w, i, access, slots, sizeof(T), mask);
  // Compare old and new values only if the order check needs the result.
  bool changes = !w.order() || access.strength != Strength::Weak;
  // Of lanes that store to the same bytes, an H200 keeps the first of the last
  // 128 bytes.
  unsigned order = 128 / std::max<unsigned>(access.count * sizeof(T), 4) - 1;
  for (unsigned k = 0; k < access.count; ++k) {
    const auto *from =
        w.at<std::conditional_t<(sizeof(T) > 8), T, L>>(slots[k]);
    T unlike = {};
    forElements<T>(addresses, k, mask, order, [&](unsigned lane, uint8_t *at) {
      T old, v = T(from[lane]);
      std::memcpy(&old, at, sizeof old);
      std::memcpy(at, &v, sizeof v);
      unlike |= old ^ v;
    });
    changes |= unlike != T();
  }
  noteAccess(w, i, access, access.count * sizeof(T), mask,
             changes ? Touch::Write : Touch::SilentWrite, addresses);
  if (__builtin_expect(mayBeLate, 0))
    late.end(w);
  return i + 1;
}

template <bool IsWrite>
const Instr *touch(Warp &w, const Instr *i, uint32_t mask) {
  Access access(i);
  LaneAddresses addresses;
  if (IsWrite && access.space != Space::Local)
    ++w.cta->cluster->effects;
  uint32_t unwritten = 0;
  if (!resolveLanes(w, i, access, Access::bytesOf(i), mask, IsWrite, addresses,
                    unwritten))
    return nullptr;
  noteAccess(w, i, access, Access::bytesOf(i), mask,
             IsWrite ? Touch::Write : Touch::Read, addresses);
  return i + 1;
}

template <class T>
Handler pickLoad(bool wide) {
  return wide ? forVectors<load<T, uint64_t>>()
              : forVectors<load<T, uint32_t>>();
}
template <class T>
Handler pickStore(bool wide) {
  return wide ? forVectors<store<T, uint64_t>>()
              : forVectors<store<T, uint32_t>>();
}

Handler pickHandler(Type t, bool isLoad, unsigned laneBytes) {
  bool wide = laneBytes == 8, isSigned = t.kind == 'S';
  switch (t.bits) {
  case 8:
    return !isLoad    ? pickStore<uint8_t>(wide)
           : isSigned ? pickLoad<int8_t>(wide)
                      : pickLoad<uint8_t>(wide);
  case 16:
    return !isLoad    ? pickStore<uint16_t>(wide)
           : isSigned ? pickLoad<int16_t>(wide)
                      : pickLoad<uint16_t>(wide);
  case 32:
    return !isLoad    ? pickStore<uint32_t>(wide)
           : isSigned ? pickLoad<int32_t>(wide)
                      : pickLoad<uint32_t>(wide);
  case 64:
    return !wide    ? nullptr
           : isLoad ? pickLoad<uint64_t>(wide)
                    : pickStore<uint64_t>(wide);
  case 128:
    return isLoad ? load<unsigned __int128, uint64_t>
                  : store<unsigned __int128, uint64_t>;
  }
  return nullptr;
}

void decodeAccess(Decoder &d, bool isLoad) {
  Type t;
  unsigned count = d.takeVector();
  Space space = d.takeSpace();
  AccessOrder order = takeOrder(d, isLoad);
  if (order.strength != Strength::Weak && space != Space::Shared)
    d.useScope(order.scope);
  if (!d.takeType(t) || t.kind == 'P' || t.bits > 128)
    return d.unsupported("expects a type");
  // d, [a]{, policy}  or  [a], b{, policy}
  if (!d.expectOperands(2, 3))
    return;
  if (t.bits * count > 256)
    return d.unsupported("an access must have at most 32 bytes");
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
  // All elements use registers of the same width.
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
  Handler h = pickHandler(t, isLoad, lane);
  if (!h || (t.bits == 128) != (lane == 16))
    return d.unsupported("no such combination of type and registers");
  // A variable may have a more specific space than the instruction.
  if (space == Space::Generic && address.space != Space::Generic &&
      address.space != Space::Global && address.space != Space::Const)
    return d.unsupported("expects the state space of the variable");
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(h);
  i.a = address.base;
  i.imm = address.offset;
  i.aux = first;
  i.aux2 = count | unsigned(address.is64) << 8 | unsigned(space) << 9 |
           unsigned(__builtin_ctz(t.bits / 8)) << 13 |
           unsigned(order.strength) << 16 | unsigned(order.scope) << 18;
}

void decodeLd(Decoder &d) { decodeAccess(d, true); }
void decodeSt(Decoder &d) {
  if (d.take("async"))
    return decodeStAsync(d);
  if (d.take("bulk"))
    return decodeStBulk(d);
  decodeAccess(d, false);
}

} // namespace

Handler mx::sim::touchOf(const ptx::Instruction &source) {
  if (source.opcode == "ldmatrix" || source.opcode == "stmatrix")
    return touchMatrices;
  return source.opcode == "st" ? touch<true> : touch<false>;
}

void mx::sim::addMemoryInstructions(DecodeTable &t) {
  t["ld"] = decodeLd;
  t["ldu"] = decodeLd;
  t["st"] = decodeSt;
}
