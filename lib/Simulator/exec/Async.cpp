//===- Async.cpp - cp.async, bulk copies, tensor maps ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: cp.async, cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk,
// their groups, tensormap.*. A copy is done when it is issued, which is one of
// the orders that the ISA allows; its mbarrier is signalled right behind it.
//===----------------------------------------------------------------------===//

#include "Mbarriers.h"
#include "MemoryAccess.h"

#include "mx/Simulator/tensor/TensorMap.h"
#include "mx/Simulator/tensor/Tma.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

/// Where an address operand is, as it stands in Program::extra.
struct Place {
  Slot base;
  bool is64;
  int64_t offset;
};
constexpr unsigned kPlaceSlots = 4;

void addPlace(Decoder &d, const Address &a) {
  d.addExtra(a.base);
  d.addExtra(a.is64);
  d.addExtra(uint32_t(a.offset));
  d.addExtra(uint32_t(uint64_t(a.offset) >> 32));
}
Place readPlace(const Slot *s) {
  return {s[0], s[1] != 0, int64_t(uint64_t(s[3]) << 32 | s[2])};
}
uint64_t addressOf(Warp &w, const Slot *s, unsigned lane) {
  Place p = readPlace(s);
  return laneAddress(w, p.base, p.is64, p.offset, lane);
}

/// Shared addresses of asynchronous instructions may be generic ones too.
uint64_t sharedAddress(uint64_t a) {
  return a - kSharedWindow < kWindowBytes ? a - kSharedWindow : a;
}

Cta *sharedOwner(Warp &w, const Instr *i, uint64_t address, const char *what,
                 unsigned lane) {
  Cluster &c = *w.cta->cluster;
  uint64_t rank = address >> kRankShift;
  if (rank < c.ctas.size())
    return c.ctas[rank].get();
  w.fail(i, FindingKind::OutOfBounds,
         std::string(what) + " out of bounds: " +
             w.machine->describeShared(*w.cta, address, 16),
         1u << lane);
  return nullptr;
}

/// Faults of the engines speak of offsets; say which instruction and buffer.
const Instr *engineFault(Warp &w, const Instr *i, Fault f, uint32_t lanes) {
  return w.fault(i, f, lanes);
}

bool readTensorMap(Warp &w, const Instr *i, uint64_t address, unsigned lane,
                   TensorMapDesc &map) {
  if (address % tensorMapAlignment) {
    w.fail(i, FindingKind::Misaligned,
           "a tensor map must be aligned to 64 bytes: " +
               describeAddress(w, Space::Generic, address, tensorMapBytes),
           1u << lane);
    return false;
  }
  uint8_t image[tensorMapBytes];
  for (unsigned k = 0; k < tensorMapBytes; k += 64) {
    const uint8_t *p =
        resolveAddress(w, i, Space::Generic, address + k, 64, lane, false);
    if (!p)
      return false;
    std::memcpy(image + k, p, 64);
  }
  std::string error = decodeTensorMap(image, map);
  if (error.empty())
    return true;
  w.fail(i, FindingKind::IllegalInstruction,
         error + ": " +
             describeAddress(w, Space::Generic, address, tensorMapBytes),
         1u << lane);
  return false;
}

/// The CTA whose barrier gets the bytes that arrive in `to` (PTX ISA,
/// cp.async.bulk.tensor, .cta_group and .multicast).
Cta *signalled(Cta *to, Cta *holder, bool multicast, unsigned group) {
  Cluster &c = *to->cluster;
  if (!multicast)
    return holder;
  if (group != 2)
    return to;
  uint32_t rank = (to->rank & ~1u) | (holder->rank & 1u);
  return rank < c.ctas.size() ? c.ctas[rank].get() : to;
}

enum class Tile : uint8_t { Tile, Gather4, Scatter4 };

struct TensorCopy {
  unsigned rank, group;
  Tile tile;
  bool multicast;
  ReduceOp reduce;
  bool isReduce;
  uint32_t pack() const {
    return rank | group << 4 | unsigned(tile) << 8 | multicast << 12 |
           unsigned(reduce) << 13 | isReduce << 17;
  }
  explicit TensorCopy(uint32_t v)
      : rank(v & 15), group(v >> 4 & 15), tile(Tile(v >> 8 & 15)),
        multicast(v >> 12 & 1), reduce(ReduceOp(v >> 13 & 15)),
        isReduce(v >> 17 & 1) {}
  TensorCopy() : TensorCopy(0) {}
};

/// extra: dst, map, mbarrier places, the mask's slot, coordinates.
const Instr *tensorLoad(Warp &w, const Instr *i, uint32_t mask) {
  TensorCopy copy(i->aux2);
  const Slot *s = &w.machine->program.extra[i->aux];
  const Slot *coords = s + 3 * kPlaceSlots + 1;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    TensorMapDesc map;
    if (!readTensorMap(w, i, addressOf(w, s + kPlaceSlots, lane), lane, map))
      return nullptr;
    int32_t c[5];
    unsigned numCoords = copy.tile == Tile::Tile ? copy.rank : 5;
    for (unsigned k = 0; k < numCoords; ++k)
      c[k] = int32_t(w.at<uint32_t>(coords[k])[lane]);
    if (map.rank != copy.rank)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "copies " + std::to_string(copy.rank) +
                        " dimensions by a tensor map of " +
                        std::to_string(map.rank),
                    1u << lane);
    uint64_t dst = sharedAddress(addressOf(w, s, lane));
    uint64_t bar = sharedAddress(addressOf(w, s + 2 * kPlaceSlots, lane));
    Cta *to = sharedOwner(w, i, dst, "copy", lane);
    Cta *holder;
    uint32_t barOffset;
    if (!to || !mbarrierWord(w, i, Space::Shared, bar, lane, holder, barOffset))
      return nullptr;
    if (!copy.multicast && copy.group != 2 && holder != to)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "copies into CTA rank " + std::to_string(to->rank) +
                        " but signals an mbarrier of CTA rank " +
                        std::to_string(holder->rank) +
                        ", which needs .cta_group::2",
                    1u << lane);
    if (!copy.multicast && copy.group == 2 && (holder->rank ^ to->rank) > 1)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "the mbarrier is not in the CTA pair of the destination",
                    1u << lane);
    uint32_t ranks = copy.multicast
                         ? w.at<uint32_t>(s[3 * kPlaceSlots])[lane] & 0xffff
                         : 1u << to->rank;
    Cluster &cluster = *w.cta->cluster;
    if (ranks >> cluster.ctas.size())
      return w.fail(i, FindingKind::IllegalInstruction,
                    "the multicast mask names CTAs beyond the cluster of " +
                        std::to_string(cluster.ctas.size()),
                    1u << lane);
    for (; ranks; ranks &= ranks - 1) {
      Cta &target = *cluster.ctas[__builtin_ctz(ranks)];
      uint32_t offset = dst & kOffsetMask;
      TmaResult r =
          copy.tile == Tile::Tile
              ? tmaLoad(map, c, w.machine->global, target.view(), offset)
              : tmaGather4(map, c[0], c + 1, w.machine->global, target.view(),
                           offset);
      if (r.fault)
        return engineFault(w, i, r.fault, 1u << lane);
      w.machine->report.statistics.tmaBytes += r.bytes;
      Cta *signal = signalled(&target, holder, copy.multicast, copy.group);
      if (Fault f = completeTx(w, i, *signal, barOffset, r.bytes))
        return engineFault(w, i, f, 1u << lane);
    }
  }
  return i + 1;
}

/// extra: map and source places, coordinates.
const Instr *tensorStore(Warp &w, const Instr *i, uint32_t mask) {
  TensorCopy copy(i->aux2);
  const Slot *s = &w.machine->program.extra[i->aux];
  const Slot *coords = s + 2 * kPlaceSlots;
  ++w.machine->effects;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    TensorMapDesc map;
    if (!readTensorMap(w, i, addressOf(w, s, lane), lane, map))
      return nullptr;
    int32_t c[5];
    unsigned numCoords = copy.tile == Tile::Tile ? copy.rank : 5;
    for (unsigned k = 0; k < numCoords; ++k)
      c[k] = int32_t(w.at<uint32_t>(coords[k])[lane]);
    if (map.rank != copy.rank)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "copies " + std::to_string(copy.rank) +
                        " dimensions by a tensor map of " +
                        std::to_string(map.rank),
                    1u << lane);
    uint64_t src = sharedAddress(addressOf(w, s + kPlaceSlots, lane));
    Cta *from = sharedOwner(w, i, src, "copy", lane);
    if (!from)
      return nullptr;
    uint32_t offset = src & kOffsetMask;
    TmaResult r =
        copy.isReduce ? tmaReduce(copy.reduce, map, c, w.machine->global,
                                  from->view(), offset)
        : copy.tile == Tile::Tile
            ? tmaStore(map, c, w.machine->global, from->view(), offset)
            : tmaScatter4(map, c[0], c + 1, w.machine->global, from->view(),
                          offset);
    if (r.fault)
      return engineFault(w, i, r.fault, 1u << lane);
    w.machine->report.statistics.tmaBytes += r.bytes;
  }
  return i + 1;
}

enum class Bulk : uint8_t { GlobalToShared, SharedToGlobal, SharedToShared };

struct BulkCopy {
  Bulk kind;
  bool multicast, isReduce;
  ReduceOp reduce;
  ReduceType type;
  uint32_t pack() const {
    return unsigned(kind) | multicast << 4 | isReduce << 5 |
           unsigned(reduce) << 8 | unsigned(type) << 12;
  }
  explicit BulkCopy(uint32_t v)
      : kind(Bulk(v & 15)), multicast(v >> 4 & 1), isReduce(v >> 5 & 1),
        reduce(ReduceOp(v >> 8 & 15)), type(ReduceType(v >> 12 & 15)) {}
  BulkCopy() : BulkCopy(0) {}
};

/// extra: dst, src, mbarrier places, the mask's slot; b: size.
const Instr *bulkCopy(Warp &w, const Instr *i, uint32_t mask) {
  BulkCopy copy(i->aux2);
  const Slot *s = &w.machine->program.extra[i->aux];
  GlobalView &global = w.machine->global;
  ++w.machine->effects;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t dst = addressOf(w, s, lane);
    uint64_t src = addressOf(w, s + kPlaceSlots, lane);
    uint32_t size = w.at<uint32_t>(i->b)[lane];
    TmaResult r;
    if (copy.kind == Bulk::SharedToGlobal) {
      src = sharedAddress(src);
      Cta *from = sharedOwner(w, i, src, "copy", lane);
      if (!from)
        return nullptr;
      uint32_t offset = src & kOffsetMask;
      r = copy.isReduce ? bulkReduce(copy.reduce, copy.type, global, dst,
                                     from->view(), offset, size)
                        : bulkStore(global, dst, from->view(), offset, size);
      if (r.fault) {
        if (r.fault.kind == FaultKind::Bounds)
          r.fault.message +=
              " (to " + w.machine->memory.describe(dst, size) + ")";
        return engineFault(w, i, r.fault, 1u << lane);
      }
      w.machine->report.statistics.tmaBytes += r.bytes;
      continue;
    }
    dst = sharedAddress(dst);
    Cta *to = sharedOwner(w, i, dst, "copy", lane);
    Cta *holder;
    uint32_t barOffset;
    uint64_t bar = sharedAddress(addressOf(w, s + 2 * kPlaceSlots, lane));
    if (!to || !mbarrierWord(w, i, Space::Shared, bar, lane, holder, barOffset))
      return nullptr;
    if (holder != to)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "copies into CTA rank " + std::to_string(to->rank) +
                        " but signals an mbarrier of CTA rank " +
                        std::to_string(holder->rank),
                    1u << lane);
    Cluster &cluster = *w.cta->cluster;
    uint32_t ranks = copy.multicast
                         ? w.at<uint32_t>(s[3 * kPlaceSlots])[lane] & 0xffff
                         : 1u << to->rank;
    if (ranks >> cluster.ctas.size())
      return w.fail(i, FindingKind::IllegalInstruction,
                    "the multicast mask names CTAs beyond the cluster of " +
                        std::to_string(cluster.ctas.size()),
                    1u << lane);
    for (; ranks; ranks &= ranks - 1) {
      Cta &target = *cluster.ctas[__builtin_ctz(ranks)];
      uint32_t offset = dst & kOffsetMask;
      if (copy.kind == Bulk::GlobalToShared) {
        r = bulkLoad(global, src, target.view(), offset, size);
        if (r.fault && r.fault.kind == FaultKind::Bounds)
          r.fault.message +=
              " (from " + w.machine->memory.describe(src, size) + ")";
      } else {
        uint64_t a = sharedAddress(src);
        Cta *from = sharedOwner(w, i, a, "copy", lane);
        if (!from)
          return nullptr;
        uint32_t at = a & kOffsetMask;
        r = copy.isReduce
                ? bulkReduceShared(copy.reduce, copy.type, target.view(),
                                   offset, from->view(), at, size)
                : bulkShared(target.view(), offset, from->view(), at, size);
      }
      if (r.fault)
        return engineFault(w, i, r.fault, 1u << lane);
      w.machine->report.statistics.tmaBytes += r.bytes;
      Cta *signal = copy.multicast ? &target : holder;
      if (Fault f = completeTx(w, i, *signal, barOffset, r.bytes))
        return engineFault(w, i, f, 1u << lane);
    }
  }
  return i + 1;
}

/// cp.async: a: dst, b: src (both with is64 in aux2 bits 0, 1), c: src-size or
/// kNoSlot; aux: bytes; imm: offsets, 32 bits each.
const Instr *copyAsync(Warp &w, const Instr *i, uint32_t mask) {
  const Slot *s = &w.machine->program.extra[i->aux];
  unsigned bytes = i->aux2;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t dst = addressOf(w, s, lane);
    uint64_t src = addressOf(w, s + kPlaceSlots, lane);
    unsigned take = bytes;
    if (i->c != kNoSlot)
      take = w.at<uint32_t>(i->c)[lane];
    if (i->b != kNoSlot && w.predicate(i->b) >> lane & 1)
      take = 0;
    if (take > bytes)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "cp.async of " + std::to_string(take) + " of " +
                        std::to_string(bytes) + " bytes",
                    1u << lane);
    uint8_t data[16] = {};
    if (take) {
      const uint8_t *p =
          resolveAddress(w, i, Space::Global, src, bytes, lane, false);
      if (!p)
        return nullptr;
      std::memcpy(data, p, take);
    }
    uint8_t *p = resolveAddress(w, i, Space::Shared, dst, bytes, lane, true);
    if (!p)
      return nullptr;
    std::memcpy(p, data, bytes);
  }
  return i + 1;
}

const Instr *copyAsyncArrive(Warp &w, const Instr *i, uint32_t mask) {
  // Without .noinc the pending count is incremented first: no net effect.
  if (!i->aux)
    return i + 1;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    Cta *owner;
    uint32_t offset;
    if (!mbarrierWord(
            w, i, Space::Shared,
            sharedAddress(laneAddress(w, i->a, i->aux2, i->imm, lane)), lane,
            owner, offset))
      return nullptr;
    if (Fault f = arriveOn(w, i, *owner, offset, 1))
      return w.fault(i, f, 1u << lane);
  }
  return i + 1;
}

void takeHints(Decoder &d, bool &hasHint) {
  hasHint = d.take("L2::cache_hint");
}

unsigned takeGroup(Decoder &d) {
  switch (d.takeAny({"cta_group::1", "cta_group::2"})) {
  case 0:
    return 1;
  case 1:
    return 2;
  }
  return 0;
}

void decodeNothing(Decoder &d) {
  while (!d.modifiers().empty())
    d.take(d.modifiers().front());
  d.emit(nop);
}

void decodeBulkTensor(Decoder &d, bool isReduce) {
  TensorCopy copy;
  int rank = d.takeAny({"1d", "2d", "3d", "4d", "5d"}) + 1;
  if (!rank)
    return d.unsupported("expects .1d to .5d");
  copy.rank = rank;
  bool isStore = false;
  for (std::string_view m : d.modifiers()) {
    if (m == "global") {
      isStore = true;
      break;
    }
    if (m.substr(0, 6) == "shared")
      break;
  }
  d.take("global");
  d.takeAny({"shared::cta", "shared::cluster", "shared"});
  if (d.take("tile::gather4"))
    copy.tile = Tile::Gather4;
  else if (d.take("tile::scatter4"))
    copy.tile = Tile::Scatter4;
  else
    d.take("tile");
  if (copy.tile != Tile::Tile && copy.rank != 2)
    return d.unsupported("gather4 and scatter4 are of two dimensions");
  bool hasHint;
  takeHints(d, hasHint);
  copy.isReduce = isReduce;
  if (isReduce) {
    bool isFound = false;
    for (std::string_view m : d.modifiers())
      if (!isFound && parseReduceOp(m, copy.reduce)) {
        d.take(m);
        isFound = true;
        break;
      }
    if (!isFound)
      return d.unsupported("expects an operation");
  }
  unsigned numCoords = copy.tile == Tile::Tile ? copy.rank : 5;
  auto tensor = [&](const Operand &op, Address &map,
                    std::vector<Operand> &coords) {
    map = d.address(op);
    if (op.kind != Operand::Memory || op.parts.size() != 2)
      return d.unsupported("expects [map, {coordinates}]");
    coords = d.elements(op.parts[1]);
    if (coords.size() != numCoords)
      d.unsupported("expects " + std::to_string(numCoords) +
                    " coordinates, found " + std::to_string(coords.size()));
  };
  Address map;
  std::vector<Operand> coords;
  if (isStore) {
    if (!d.take("bulk_group"))
      return d.unsupported("expects .bulk_group");
    if (!d.expectOperands(2u + hasHint, 2u + hasHint))
      return;
    tensor(d.operand(0), map, coords);
    Address src = d.address(1);
    std::vector<Slot> c;
    for (const Operand &op : coords)
      c.push_back(d.use(op, 4));
    uint32_t first = d.program.extra.size();
    addPlace(d, map);
    addPlace(d, src);
    for (Slot s : c)
      d.addExtra(s);
    Instr &i = d.emit(tensorStore);
    i.aux = first;
    i.aux2 = copy.pack();
    return;
  }
  if (!d.take("mbarrier::complete_tx::bytes"))
    return d.unsupported("expects .mbarrier::complete_tx::bytes");
  copy.multicast = d.take("multicast::cluster");
  copy.group = takeGroup(d);
  size_t n = 3 + copy.multicast + hasHint;
  if (!d.expectOperands(n, n))
    return;
  Address dst = d.address(0);
  tensor(d.operand(1), map, coords);
  Address bar = d.address(2);
  Slot mask = copy.multicast ? d.use(3, {'U', 16}) : kNoSlot;
  std::vector<Slot> c;
  for (const Operand &op : coords)
    c.push_back(d.use(op, 4));
  uint32_t first = d.program.extra.size();
  addPlace(d, dst);
  addPlace(d, map);
  addPlace(d, bar);
  d.addExtra(mask);
  for (Slot s : c)
    d.addExtra(s);
  Instr &i = d.emit(tensorLoad);
  i.aux = first;
  i.aux2 = copy.pack();
}

void decodeBulk(Decoder &d, bool isReduce) {
  BulkCopy copy;
  // dst and src spaces, in this order.
  std::vector<bool> isShared;
  for (std::string_view m : d.modifiers()) {
    if (m == "global")
      isShared.push_back(false);
    else if (m.substr(0, 6) == "shared")
      isShared.push_back(true);
  }
  if (isShared.size() != 2 || (!isShared[0] && !isShared[1]))
    return d.unsupported("expects two state spaces");
  while (d.takeAny({"global", "shared::cta", "shared::cluster", "shared"}) >= 0)
    ;
  copy.kind = !isShared[0]  ? Bulk::SharedToGlobal
              : isShared[1] ? Bulk::SharedToShared
                            : Bulk::GlobalToShared;
  copy.isReduce = isReduce;
  bool hasHint;
  takeHints(d, hasHint);
  if (isReduce) {
    bool hasOp = false, hasType = false;
    std::vector<std::string_view> mods = d.modifiers();
    for (std::string_view m : mods) {
      if (!hasOp && parseReduceOp(m, copy.reduce)) {
        hasOp = true;
        d.take(m);
      } else if (!hasType && parseReduceType(m, copy.type)) {
        hasType = true;
        d.take(m);
      }
    }
    d.take("noftz");
    if (!hasOp || !hasType)
      return d.unsupported("expects an operation and a type");
  }
  bool toGlobal = copy.kind == Bulk::SharedToGlobal;
  if (!d.take(toGlobal ? "bulk_group" : "mbarrier::complete_tx::bytes"))
    return d.unsupported("expects a completion mechanism");
  copy.multicast = !toGlobal && d.take("multicast::cluster");
  size_t n = 3 + !toGlobal + copy.multicast + hasHint;
  if (!d.expectOperands(n, n))
    return;
  Address dst = d.address(0), src = d.address(1), bar = dst;
  Slot size = d.use(2, {'U', 32});
  if (!toGlobal)
    bar = d.address(3);
  Slot mask = copy.multicast ? d.use(4, {'U', 16}) : kNoSlot;
  uint32_t first = d.program.extra.size();
  addPlace(d, dst);
  addPlace(d, src);
  addPlace(d, bar);
  d.addExtra(mask);
  Instr &i = d.emit(bulkCopy);
  i.b = size;
  i.aux = first;
  i.aux2 = copy.pack();
}

void decodeCp(Decoder &d) {
  bool isReduce = d.take("reduce");
  if (!d.take("async"))
    return d.unsupported("expects .async");
  if (d.take("bulk")) {
    for (std::string_view m : d.modifiers())
      if (m == "commit_group" || m == "wait_group" || m == "prefetch")
        return decodeNothing(d);
    if (d.take("tensor"))
      return decodeBulkTensor(d, isReduce);
    return decodeBulk(d, isReduce);
  }
  for (std::string_view m : d.modifiers())
    if (m == "commit_group" || m == "wait_group" || m == "wait_all")
      return decodeNothing(d);
  if (d.take("mbarrier")) {
    d.take("arrive");
    bool noInc = d.take("noinc");
    d.takeSpace();
    d.take("b64");
    Address a = d.address(0);
    Instr &i = d.emit(copyAsyncArrive);
    i.a = a.base;
    i.imm = a.offset;
    i.aux = noInc;
    i.aux2 = a.is64;
    return;
  }
  d.takeAny({"ca", "cg"});
  d.takeAny({"shared", "shared::cta"});
  d.take("global");
  bool hasHint;
  takeHints(d, hasHint);
  d.takePrefix("L2::");
  if (!d.expectOperands(3u + hasHint, 4u + hasHint))
    return;
  int64_t bytes;
  if (!d.immediate(2, bytes))
    return;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return d.unsupported("copies 4, 8 or 16 bytes");
  Address dst = d.address(0), src = d.address(1);
  Slot size = kNoSlot, ignore = kNoSlot;
  if (d.numOperands() - hasHint == 4) {
    if (d.isPredicate(d.operand(3)))
      ignore = d.usePredicate(3);
    else
      size = d.use(3, {'U', 32});
  }
  uint32_t first = d.program.extra.size();
  addPlace(d, dst);
  addPlace(d, src);
  Instr &i = d.emit(copyAsync);
  i.b = ignore;
  i.c = size;
  i.aux = first;
  i.aux2 = bytes;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// a: address, b: new value, aux: field | ordinal << 8 | is64 << 16 | wide
/// value << 17 | space << 18.
const Instr *replaceField(Warp &w, const Instr *i, uint32_t mask) {
  Space space = Space(i->aux >> 18);
  bool is64 = i->aux >> 16 & 1;
  ++w.machine->effects;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t address = laneAddress(w, i->a, is64, i->imm, lane);
    uint8_t *p = resolveAddress(w, i, space, address, 128, lane, true);
    if (!p)
      return nullptr;
    uint64_t value = i->aux >> 17 & 1 ? w.at<uint64_t>(i->b)[lane]
                                      : w.at<uint32_t>(i->b)[lane];
    std::string error = replaceTensorMapField(p, TensorMapField(i->aux & 0xff),
                                              i->aux >> 8 & 0xff, value);
    if (!error.empty())
      return w.fail(i, FindingKind::IllegalInstruction, error, 1u << lane);
  }
  return i + 1;
}

/// extra: dst and src places. The warp copies 128 bytes once.
const Instr *copyMap(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  const Slot *s = &w.machine->program.extra[i->aux];
  unsigned lane = firstLane(mask);
  const uint8_t *from = resolveAddress(
      w, i, Space::Shared, sharedAddress(addressOf(w, s + kPlaceSlots, lane)),
      128, lane, false);
  if (!from)
    return nullptr;
  uint8_t *to = resolveAddress(w, i, Space::Generic, addressOf(w, s, lane), 128,
                               lane, true);
  if (!to)
    return nullptr;
  std::memcpy(to, from, 128);
  ++w.machine->effects;
  return i + 1;
}

void decodeTensormap(Decoder &d) {
  if (d.take("cp_fenceproxy")) {
    while (!d.modifiers().empty())
      d.take(d.modifiers().front());
    if (!d.expectOperands(3, 3))
      return;
    int64_t size;
    if (!d.immediate(2, size) || size != 128)
      return d.unsupported("expects a size of 128");
    Address dst = d.address(0), src = d.address(1);
    uint32_t first = d.program.extra.size();
    addPlace(d, dst);
    addPlace(d, src);
    d.emit(copyMap).aux = first;
    return;
  }
  if (!d.take("replace") || !d.take("tile"))
    return d.unsupported("expects .replace.tile or .cp_fenceproxy");
  TensorMapField field{};
  bool isFound = false;
  for (std::string_view m : d.modifiers())
    if (!isFound && parseTensorMapField(m, field)) {
      d.take(m);
      isFound = true;
      break;
    }
  if (!isFound)
    return d.unsupported("expects a field");
  Space space = d.takeSpace();
  d.take("b1024");
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects .b32 or .b64");
  if (!d.expectOperands(2, 3))
    return;
  Address a = d.address(0);
  int64_t ordinal = 0;
  if (d.numOperands() == 3 && !d.immediate(1, ordinal))
    return;
  if (ordinal < 0 || ordinal > 4)
    return d.unsupported("a tensor has dimensions 0 to 4");
  Slot value = d.use(d.numOperands() - 1, t);
  Instr &i = d.emit(replaceField);
  i.a = a.base;
  i.imm = a.offset;
  i.b = value;
  i.aux = unsigned(field) | unsigned(ordinal) << 8 | a.is64 << 16 |
          (t.bits == 64) << 17 | unsigned(space) << 18;
}

} // namespace

void mx::sim::addAsyncInstructions(DecodeTable &t) {
  t["cp"] = decodeCp;
  t["tensormap"] = decodeTensormap;
}
