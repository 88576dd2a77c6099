//===- BulkTensor.cpp - Tensor copies and reductions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: cp.async.bulk.tensor and cp.reduce.async.bulk.tensor, in tile,
// gather4 and scatter4 modes. Loads support multicast and complete on mbarriers
// of the cluster; stores complete through bulk groups.
//===----------------------------------------------------------------------===//

#include "AsyncOperands.h"
#include "BulkCopies.h"
#include "TensorMaps.h"

#include "mxsim/tensor/Tma.h"

#include <array>

using namespace mx::sim;
using ptx::Operand;

namespace {

/// Returns the CTA whose mbarrier counts the bytes copied to `to` (PTX ISA,
/// cp.async.bulk.tensor, .cta_group and .multicast). `holder` is the CTA of the
/// mbarrier operand.
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
  unsigned coordinates() const { return tile == Tile::Tile ? rank : 5; }
};

struct Box {
  TensorMapDesc map;
  uint64_t mapAddress;
  std::array<int32_t, 5> at;
};

bool readBox(Warp &w, const Instr *i, const TensorCopy &copy, const Slot *map,
             const Slot *coords, unsigned lane, Box &box) {
  box.mapAddress = addressOf(w, map, lane);
  if (!readTensorMap(w, i, box.mapAddress, lane, box.map))
    return false;
  for (unsigned k = 0; k < copy.coordinates(); ++k)
    box.at[k] = int32_t(w.at<uint32_t>(coords[k])[lane]);
  if (box.map.rank == copy.rank)
    return true;
  w.fail(i, FindingKind::IllegalInstruction,
         "copies " + std::to_string(copy.rank) +
             " dimensions with a tensor map of rank " +
             std::to_string(box.map.rank),
         1u << lane);
  return false;
}

uint64_t boxBytes(const TensorCopy &copy, const Box &box) {
  return tmaTransactionBytes(box.map) * (copy.tile == Tile::Tile ? 1 : 4);
}

std::vector<TmaStretch> stretchesOf(const TensorCopy &copy, const Box &box) {
  return tmaStretches(box.map, box.at.data(), copy.tile != Tile::Tile);
}

/// Describes the transfer. Adds the addresses in timed launches only.
time::Transfer transferOf(const Warp &w, const TensorCopy &copy,
                          const Box &box) {
  time::Transfer t{boxBytes(copy, box), {}, box.mapAddress};
  if (w.watch)
    for (TmaStretch s : stretchesOf(copy, box))
      time::addPieces(t.pieces, s.address, s.bytes);
  return t;
}

/// extra: addresses of dst, map and mbarrier, slot of the multicast mask,
/// coordinates.
const Instr *tensorLoad(Warp &w, const Instr *i, uint32_t mask) {
  TensorCopy copy(i->aux2);
  const Slot *s = &w.machine->program.extra[i->aux];
  const Slot *coords = s + 3 * kPlaceSlots + 1;
  Cluster &cluster = *w.cta->cluster;
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    Box box;
    if (!readBox(w, i, copy, s + kPlaceSlots, coords, lane, box))
      return nullptr;
    uint64_t dst = sharedAddress(addressOf(w, s, lane));
    uint64_t bar = sharedAddress(addressOf(w, s + 2 * kPlaceSlots, lane));
    Cta *to = sharedOwner(w, i, dst, lane);
    Cta *holder;
    uint32_t barOffset;
    if (!to ||
        !mbarrierWord(w, i, ptx::Space::Shared, bar, lane, holder, barOffset))
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
    if (!checkMulticast(w, i, ranks, lane))
      return nullptr;
    uint32_t offset = dst & kOffsetMask;
    auto known = knowledgeAtIssue(w, /*isDeferred=*/true);
    uint64_t done =
        w.trace ? w.trace->load(w, i, Engine::BulkLoad, ranks, offset,
                                transferOf(w, copy, box), steps::kCopyLatency)
                : 0;
    // Each destination is a separate copy with its own completion.
    bool isFirst = true;
    for (; ranks && next; ranks &= ranks - 1, isFirst = false) {
      Cta *target = cluster.ctas[__builtin_ctz(ranks)].get();
      Cta *signal = signalled(target, holder, copy.multicast, copy.group);
      ToShared end{known, signal, barOffset, done};
      next = issueToShared(w, i, lane, end, [=, &w, &cluster] {
        TmaResult r =
            copy.tile == Tile::Tile
                ? tmaLoad(box.map, box.at.data(), cluster.engineGlobal,
                          target->view(), offset)
                : tmaGather4(box.map, box.at[0], box.at.data() + 1,
                             cluster.engineGlobal, target->view(), offset);
        w.counts.bulkLoadBytes += r.bytes;
        w.counts.bulkReadBytes += isFirst ? r.bytes : 0;
        if (followsLeftOut(w))
          followLoad(w, stretchesOf(copy, box), *target, offset,
                     tmaSharedBytes(box.map));
        return r;
      });
    }
  }
  return next;
}

/// extra: addresses of map and source, coordinates.
const Instr *tensorStore(Warp &w, const Instr *i, uint32_t mask) {
  TensorCopy copy(i->aux2);
  // Reductions take turns, because other clusters can observe the order of
  // floating-point additions.
  if (copy.isReduce && w.isEager() && !w.takeTurn(i))
    return nullptr;
  const Slot *s = &w.machine->program.extra[i->aux];
  const Slot *coords = s + 2 * kPlaceSlots;
  Cluster &cluster = *w.cta->cluster;
  ++cluster.effects;
  if (!copy.isReduce)
    mask = firstOfEach(mask, [&](unsigned lane) {
      std::array<uint64_t, 7> key = {addressOf(w, s, lane),
                                     addressOf(w, s + kPlaceSlots, lane)};
      for (unsigned k = 0; k < copy.coordinates(); ++k)
        key[2 + k] = w.at<uint32_t>(coords[k])[lane];
      return key;
    });
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    Box box;
    if (!readBox(w, i, copy, s, coords, lane, box))
      return nullptr;
    uint64_t src = sharedAddress(addressOf(w, s + kPlaceSlots, lane));
    Cta *from = sharedOwner(w, i, src, lane);
    if (!from)
      return nullptr;
    uint32_t offset = src & kOffsetMask;
    time::Transfer transfer =
        w.trace ? transferOf(w, copy, box) : time::Transfer();
    next = issueInGroup(
        w, i, lane, copy.isReduce, *from, offset, transfer, [=, &w, &cluster] {
          auto &global = cluster.engineGlobal;
          if (from->leftOut)
            followStore(w, *from, offset, tmaSharedBytes(box.map),
                        stretchesOf(copy, box), copy.isReduce);
          return copy.isReduce ? tmaReduce(copy.reduce, box.map, box.at.data(),
                                           global, from->view(), offset)
                 : copy.tile == Tile::Tile
                     ? tmaStore(box.map, box.at.data(), global, from->view(),
                                offset)
                     : tmaScatter4(box.map, box.at[0], box.at.data() + 1,
                                   global, from->view(), offset);
        });
  }
  return next;
}

} // namespace

void mx::sim::decodeBulkTensor(Decoder &d, bool isReduce) {
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
    return d.unsupported("gather4 and scatter4 require .2d");
  bool hasHint;
  hasHint = d.take("L2::cache_hint");
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
  copy.group = takeCtaGroup(d);
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
