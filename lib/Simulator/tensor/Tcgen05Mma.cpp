//===- Tcgen05Mma.cpp - tcgen05.mma ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks an MMA, finds its operands by the data path layouts of PTX ISA
// ("Data Path Layout Organization", layouts A, B, D, F) and hands each tile to
// the arithmetic. Nothing is written unless everything is legal.
//===----------------------------------------------------------------------===//

#include "MmaTile.h"
#include "mx/Simulator/tensor/Tcgen05.h"

#include <deque>

using namespace mx::sim;

namespace {

std::string str(uint64_t value) { return std::to_string(value); }

unsigned straightLane(unsigned row) { return row; }
/// Layout F: 16 rows in each quarter of the lanes.
unsigned quarterLane(unsigned row) { return row / 16 * 32 + row % 16; }

Fault checkLayout(MmaKind kind, const SmemDesc &smem, bool transposed,
                  const char *operand) {
  bool base32 = smem.layout == SmemLayout::B128Base32;
  bool wide = kind == MmaKind::TF32;
  if (transposed && base32 != wide)
    return {FaultKind::Descriptor,
            std::string("transposed ") + operand +
                " of kind::" + std::string(name(kind)) +
                (wide ? " needs" : " does not go with") +
                " the 128-byte swizzle with 32-byte atoms"};
  return {};
}

/// Lane 0, or 0 and 16 where only half of the data path works.
Fault checkLane(uint32_t address, bool half, const char *what) {
  unsigned lane = tmemLane(address);
  if (lane == 0 || (half && lane == 16))
    return {};
  return {FaultKind::Alignment, std::string(what) + " must begin at lane 0" +
                                    (half ? " or 16" : "") + ", got lane " +
                                    str(lane)};
}

class Mma {
public:
  Mma(const MmaOp &op, const CtaView *ctas) : op(op), ctas(ctas) {}

  Fault run(Numerics numerics) {
    if (Fault fault = decode())
      return fault;
    makeTiles();
    if (Fault fault = fetch())
      return fault;
    MmaContext context{op, desc, b,
                       packingOf(op.kind, desc.a, op.aInTensorMemory),
                       packingOf(op.kind, desc.b, false)};
    auto compute = op.kind == MmaKind::I8        ? runInteger
                   : numerics == Numerics::Exact ? runExact
                                                 : runTruncated;
    for (const MmaTile &tile : tiles)
      compute(context, tile);
    return uninitialized;
  }

private:
  const MmaOp &op;
  const CtaView *ctas;
  InstrDesc desc;
  SmemDesc smemA, smemB;
  RawRows b;
  std::deque<MmaTile> tiles;
  Fault uninitialized;

  bool isHalf() const { return op.ctaGroup == 1 && desc.m == 64; }
  /// M = 128 of a pair: each CTA has 64 rows, and halves of N on top of each
  /// other.
  bool isStacked() const { return op.ctaGroup == 2 && desc.m == 128; }

  Fault decode() {
    if (Fault fault =
            decodeInstrDesc(op.idesc, op.kind, op.ctaGroup, op.scaleVec, desc))
      return fault;
    if (Fault fault = decodeSmemDesc(op.bDesc, smemB))
      return {fault.kind, "B: " + fault.message};
    if (Fault fault = checkLayout(op.kind, smemB, desc.transposeB, "B"))
      return fault;
    if (op.aInTensorMemory) {
      if (desc.transposeA)
        return {FaultKind::Descriptor,
                "A in tensor memory cannot be transposed"};
      if (Fault fault = checkLane(op.aAddress, isHalf(), "A"))
        return fault;
      if (isHalf() && tmemLane(op.aAddress) != tmemLane(op.d))
        return {FaultKind::Alignment,
                "A and D must begin at the same lane, got " +
                    str(tmemLane(op.aAddress)) + " and " + str(tmemLane(op.d))};
    } else {
      if (Fault fault = decodeSmemDesc(op.aDesc, smemA))
        return {fault.kind, "A: " + fault.message};
      if (Fault fault = checkLayout(op.kind, smemA, desc.transposeA, "A"))
        return fault;
    }
    bool scalesD = op.kind == MmaKind::F16 || op.kind == MmaKind::TF32;
    if (op.scaleInputD && !scalesD)
      return {FaultKind::Shape, "scale-input-d does not exist for kind::" +
                                    std::string(name(op.kind))};
    if (op.scaleInputD > 15)
      return {FaultKind::Shape,
              "scale-input-d must be 0 to 15, got " + str(op.scaleInputD)};
    if (op.disableOutputLane && isBlockScaled(op.kind))
      return {FaultKind::Shape, "disable-output-lane does not exist for "
                                "kind::" +
                                    std::string(name(op.kind))};
    return checkLane(op.d, isHalf(), "D");
  }

  void makeTiles() {
    unsigned stacks = isStacked() ? 2 : 1;
    for (unsigned cta = 0; cta < op.ctaGroup; ++cta)
      for (unsigned half = 0; half < stacks; ++half) {
        MmaTile &tile = tiles.emplace_back();
        tile.cta = &ctas[cta];
        tile.rows = desc.m / op.ctaGroup;
        tile.columns = desc.n / stacks;
        tile.firstB = half * tile.columns;
        tile.laneBase = tmemLane(op.d) + 64 * half;
        tile.laneOf = isHalf() ? quarterLane : straightLane;
        tile.column = tmemColumn(op.d);
        tile.disableBase = cta * tmemLanes;
      }
  }

  Fault fetch() {
    b.resize(desc.n);
    unsigned share = desc.n / op.ctaGroup;
    for (unsigned cta = 0; cta < op.ctaGroup; ++cta)
      if (Fault fault = readShared(ctas[cta].shared, smemB, desc.transposeB,
                                   desc.b, share, "B", b, cta * share))
        return fault;
    for (MmaTile &tile : tiles) {
      if (Fault fault = fetchA(tile))
        return fault;
      if (desc.scaleBlocks)
        if (Fault fault = fetchScales(tile))
          return fault;
      if (Fault fault = checkD(tile))
        return fault;
    }
    return {};
  }

  Fault fetchA(MmaTile &tile) {
    tile.a.resize(tile.rows);
    if (!op.aInTensorMemory)
      return readShared(tile.cta->shared, smemA, desc.transposeA, desc.a,
                        tile.rows, "A", tile.a, 0);
    // The stacked halves each have their own copy of A.
    uint32_t address = op.aAddress;
    if (isStacked())
      address = tmemAddress(tile.laneBase, tmemColumn(address));
    return readTensor(*tile.cta, address, tile.rows, tile.laneOf, tile.a, 0,
                      uninitialized);
  }

  Fault fetchScales(MmaTile &tile) {
    tile.scaleA.resize(tile.rows);
    tile.scaleB.resize(tile.columns);
    ScalePlace placeA{op.scaleA, desc.scaleIdA, desc.scaleBlocks, tile.rows, 0,
                      4};
    ScalePlace placeB{op.scaleB,    desc.scaleIdB,      desc.scaleBlocks,
                      tile.columns, tile.laneBase / 32, isStacked() ? 2u : 4u};
    if (Fault fault = readScales(*tile.cta, placeA, "scale factors of A",
                                 tile.scaleA, 0, uninitialized))
      return fault;
    return readScales(*tile.cta, placeB, "scale factors of B", tile.scaleB, 0,
                      uninitialized);
  }

  Fault checkD(const MmaTile &tile) {
    TensorMemory &tensor = *tile.cta->tensor;
    unsigned first = tile.lane(0), last = tile.lane(tile.rows - 1);
    if (Fault fault =
            tensor.checkAccess(tile.cta->owner, first, last - first + 1,
                               tile.column, tile.columns, "D", true))
      return fault;
    if (!op.enableInputD || uninitialized)
      return {};
    for (unsigned row = 0; row < tile.rows; ++row)
      if (!tensor.isDefined(tile.lane(row), tile.column, tile.columns)) {
        unsigned column = tile.column;
        while (tensor.isDefined(tile.lane(row), column, 1))
          ++column;
        uninitialized = {FaultKind::Uninitialized,
                         "the MMA accumulates into tensor memory at lane " +
                             str(tile.lane(row)) + ", column " + str(column) +
                             ", which has not been written"};
        break;
      }
    return {};
  }
};

} // namespace

Fault mx::sim::mma(const MmaOp &op, const CtaView *ctas, Numerics numerics) {
  return Mma(op, ctas).run(numerics);
}
