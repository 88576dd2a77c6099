//===- Tcgen05Mma.cpp - The tcgen05.mma instruction -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks an MMA, locates its operands according to the data path layouts of the
// PTX ISA ("Data Path Layout Organization", layouts A to G), and computes each
// tile. Nothing is written unless the whole operation is legal.
//===----------------------------------------------------------------------===//

#include "MmaSparse.h"
#include "MmaTile.h"
#include "mxsim/tensor/Tcgen05.h"

#include <deque>

using namespace mx::sim;

namespace {

std::string str(uint64_t value) { return std::to_string(value); }

unsigned straightLane(unsigned row) { return row; }
/// Returns the lane of a row in layouts C and F, with 16 rows per lane quarter.
unsigned quarterLane(unsigned row) { return row / 16 * 32 + row % 16; }
/// Returns the lane of the next row, for .ashift. The last row is not shifted.
unsigned shiftedLane(unsigned row) {
  return row + 1 < tmemLanes ? row + 1 : row;
}

Fault checkLayout(MmaKind kind, const SmemDesc &smem, bool transposed,
                  const char *operand) {
  bool base32 = smem.layout == SmemLayout::B128Base32;
  bool wide = kind == MmaKind::TF32;
  if (transposed && base32 != wide)
    return {FaultKind::Descriptor,
            std::string("transposed ") + operand + " of kind::" +
                std::string(name(kind)) + (wide ? " needs" : " cannot use") +
                " the 128-byte swizzle with 32-byte atoms"};
  return {};
}

/// Fails unless the address begins at lane 0, or at lane 16 if only half of the
/// data path is active.
Fault checkLane(uint32_t address, bool half, const char *what) {
  unsigned lane = tmemLane(address);
  if (lane == 0 || (half && lane == 16))
    return {};
  return {FaultKind::Alignment, std::string(what) + " must begin at lane 0" +
                                    (half ? " or 16" : "") + ", got lane " +
                                    str(lane)};
}

/// Part of D that fills a rectangle of tensor memory, with its operands.
struct Part {
  explicit Part(const InstrDesc &desc) : tile(desc) {}

  MmaTile tile;
  const CtaView *cta = nullptr;
  /// Tensor memory lane of row m: laneBase + laneOf(m).
  unsigned laneBase = 0;
  unsigned (*laneOf)(unsigned) = nullptr;
  unsigned column = 0;
  /// First bit of disable-output-lane for lane 0 of this CTA.
  unsigned disableBase = 0;
  RawRows a;
  std::vector<ScaleRow> scaleA, scaleB;
  Sparsity sparsity;
  std::vector<uint32_t *> cells;

  unsigned lane(unsigned row) const { return laneBase + laneOf(row); }
};

class Mma {
public:
  Mma(const MmaOp &op, const CtaView *ctas) : op(op), ctas(ctas) {}

  Fault run(Numerics numerics) {
    if (Fault fault = decode())
      return fault;
    makeParts();
    if (Fault fault = fetch())
      return fault;
    auto compute = op.kind == MmaKind::I8        ? runInteger
                   : numerics == Numerics::Exact ? runExact
                                                 : runTruncated;
    for (Part &part : parts) {
      finishTile(part);
      mx::sim::run(part.tile, compute);
      for (unsigned row = 0; row < part.tile.rows; ++row)
        if (part.cells[row])
          part.cta->tensor->define(part.lane(row), part.column,
                                   part.tile.columns);
    }
    return uninitialized ? uninitialized : undefined;
  }

private:
  const MmaOp &op;
  const CtaView *ctas;
  InstrDesc desc;
  SmemDesc smemA, smemB;
  ColumnMask columnMask;
  RawRows b;
  std::deque<Part> parts;
  Fault uninitialized, undefined;

  /// Returns true for layouts C and F.
  bool isHalf() const {
    return op.ctaGroup == 1 ? desc.m == 64 && !op.weightStationary
                            : desc.m == 128 && op.sparse;
  }
  /// Returns the number of parts of N that are stacked in lanes, each with a
  /// separate copy of A. There are several parts if M is 128 for a CTA pair
  /// (layout B), and if M is 64 or 32 with .ws (layouts E and G).
  unsigned stacks() const {
    if (op.weightStationary)
      return 128 / desc.m;
    return op.ctaGroup == 2 && desc.m == 128 && !op.sparse ? 2 : 1;
  }

  Fault decode() {
    if (Fault fault =
            decodeInstrDesc(op.idesc, op.kind, op.ctaGroup, op.scaleVec, desc,
                            {op.sparse, op.weightStationary}))
      return fault;
    if (Fault fault = decodeSmemDesc(op.bDesc, smemB))
      return {fault.kind, "B: " + fault.message};
    if (Fault fault = checkLayout(op.kind, smemB, desc.transposeB, "B"))
      return fault;
    if (Fault fault = decodeA())
      return fault;
    if (Fault fault = checkVariant())
      return fault;
    return checkLane(op.d, isHalf(), "D");
  }

  Fault decodeA() {
    if (!op.aInTensorMemory) {
      if (op.shiftA)
        return {FaultKind::Shape, ".ashift needs A in tensor memory"};
      if (Fault fault = decodeSmemDesc(op.aDesc, smemA))
        return {fault.kind, "A: " + fault.message};
      return checkLayout(op.kind, smemA, desc.transposeA, "A");
    }
    if (desc.transposeA)
      return {FaultKind::Descriptor, "A in tensor memory cannot be transposed"};
    if (op.shiftA && desc.m != 128u * op.ctaGroup)
      return {FaultKind::Shape, ".ashift needs M of " + str(128 * op.ctaGroup) +
                                    ", got " + str(desc.m)};
    if (Fault fault = checkLane(op.aAddress, isHalf(), "A"))
      return fault;
    return checkSameLane(op.aAddress, "A");
  }

  /// Fails if only half of the data path is active and the address does not
  /// begin at the lane of D.
  Fault checkSameLane(uint32_t address, const char *what) {
    if (!isHalf() || tmemLane(address) == tmemLane(op.d))
      return {};
    return {FaultKind::Alignment, std::string(what) +
                                      " and D must begin at the same lane, "
                                      "got " +
                                      str(tmemLane(address)) + " and " +
                                      str(tmemLane(op.d))};
  }

  Fault checkVariant() {
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
    if (op.sparse) {
      if (Fault fault = checkLane(op.metadata, isHalf(), "sparsity metadata"))
        return fault;
      if (Fault fault = checkSameLane(op.metadata, "sparsity metadata"))
        return fault;
      if (tmemColumn(op.metadata) % 2)
        return {FaultKind::Alignment,
                "sparsity metadata must begin at an even column, got " +
                    str(tmemColumn(op.metadata))};
    }
    if (op.weightStationary)
      return decodeColumnMask(op.zeroColumnMask, desc, columnMask);
    return {};
  }

  void makeParts() {
    unsigned count = stacks();
    for (unsigned cta = 0; cta < op.ctaGroup; ++cta)
      for (unsigned stack = 0; stack < count; ++stack) {
        Part &part = parts.emplace_back(desc);
        part.cta = &ctas[cta];
        part.tile.rows = desc.m / op.ctaGroup;
        part.tile.columns = desc.n / count;
        part.tile.firstB = stack * part.tile.columns + columnMask.shift;
        part.laneBase = tmemLane(op.d) + tmemLanes / count * stack;
        part.laneOf = isHalf() ? quarterLane : straightLane;
        part.column = tmemColumn(op.d);
        part.disableBase = cta * tmemLanes;
      }
  }

  Fault fetch() {
    b.rowBytes = op.sparse ? maxStepBytes : stepBytes;
    b.resize(desc.n + columnMask.shift);
    unsigned share = desc.n / op.ctaGroup + columnMask.shift;
    for (unsigned cta = 0; cta < op.ctaGroup; ++cta)
      if (Fault fault = readShared(ctas[cta].shared, smemB, desc.transposeB,
                                   desc.b, share, "B", b, cta * share))
        return fault;
    for (unsigned n = 0; n < columnMask.isZero.size(); ++n)
      if (columnMask.isZero[n])
        std::fill_n(b.row(n + columnMask.shift), b.rowBytes, uint8_t{0});
    for (Part &part : parts) {
      if (Fault fault = fetchA(part))
        return fault;
      if (desc.scaleBlocks)
        if (Fault fault = fetchScales(part))
          return fault;
      if (op.sparse)
        if (Fault fault = fetchMetadata(part))
          return fault;
      if (Fault fault = checkD(part))
        return fault;
    }
    return {};
  }

  Fault fetchA(Part &part) {
    unsigned rows = part.tile.rows;
    part.a.resize(rows);
    if (!op.aInTensorMemory)
      return readShared(part.cta->shared, smemA, desc.transposeA, desc.a, rows,
                        "A", part.a, 0);
    // Each stacked part has its own copy of A.
    uint32_t address = op.aAddress;
    if (stacks() > 1)
      address = tmemAddress(part.laneBase, tmemColumn(address));
    return readTensor(*part.cta, address, rows,
                      op.shiftA ? shiftedLane : part.laneOf, part.a, 0,
                      uninitialized);
  }

  Fault fetchScales(Part &part) {
    unsigned rows = part.tile.rows, columns = part.tile.columns;
    part.scaleA.resize(rows);
    part.scaleB.resize(columns);
    ScalePlace placeA{op.scaleA, desc.scaleIdA, desc.scaleBlocks, rows, 0, 4};
    ScalePlace placeB{op.scaleB, desc.scaleIdB,      desc.scaleBlocks,
                      columns,   part.laneBase / 32, stacks() > 1 ? 2u : 4u};
    if (Fault fault = readScales(*part.cta, placeA, "scale factors of A",
                                 part.scaleA, 0, uninitialized))
      return fault;
    return readScales(*part.cta, placeB, "scale factors of B", part.scaleB, 0,
                      uninitialized);
  }

  Fault fetchMetadata(Part &part) {
    MetadataPlace place{op.kind,
                        tmemColumn(op.metadata) + desc.sparsitySelector,
                        part.tile.rows, part.laneBase, part.laneOf};
    return readMetadata(*part.cta, place, desc.k, part.sparsity, uninitialized,
                        undefined);
  }

  Fault checkD(const Part &part) {
    TensorMemory &tensor = *part.cta->tensor;
    unsigned rows = part.tile.rows, columns = part.tile.columns;
    if (Fault fault =
            tensor.checkRows(part.cta->owner, part.laneBase, part.laneOf, rows,
                             part.column, columns, "D", true))
      return fault;
    if (!op.enableInputD || uninitialized)
      return {};
    for (unsigned row = 0; row < rows; ++row)
      if (!tensor.isDefined(part.lane(row), part.column, columns)) {
        unsigned column = part.column;
        while (tensor.isDefined(part.lane(row), column, 1))
          ++column;
        uninitialized = {FaultKind::Uninitialized,
                         "the MMA accumulates into tensor memory at lane " +
                             str(part.lane(row)) + ", column " + str(column) +
                             ", which has not been written"};
        break;
      }
    return {};
  }

  bool isDisabled(const Part &part, unsigned lane) const {
    unsigned bit = part.disableBase + lane;
    return op.disableOutputLane &&
           (op.disableOutputLane[bit / 32] >> (bit % 32) & 1);
  }

  void finishTile(Part &part) {
    MmaTile &tile = part.tile;
    tile.packingA = packingOf(op.kind, desc.a, op.aInTensorMemory);
    tile.packingB = packingOf(op.kind, desc.b, false);
    tile.a = &part.a;
    tile.b = &b;
    tile.scaleA = part.scaleA.data();
    tile.scaleB = part.scaleB.data();
    tile.sparsity = op.sparse ? &part.sparsity : nullptr;
    tile.enableInputD = op.enableInputD;
    tile.scaleInputD = op.scaleInputD;
    // According to MMA-Sim, nvfp4 and mxfp4 add exact dot products of 16
    // elements.
    if (op.kind == MmaKind::MXF4 || op.kind == MmaKind::MXF4NVF4) {
      tile.model.fractionBits = 35;
      tile.model.groupLength = desc.k / 4;
    }
    part.cells.resize(tile.rows);
    for (unsigned row = 0; row < tile.rows; ++row) {
      unsigned lane = part.lane(row);
      part.cells[row] = isDisabled(part, lane)
                            ? nullptr
                            : part.cta->tensor->row(lane) + part.column;
    }
    tile.cells = part.cells.data();
  }
};

} // namespace

Fault mx::sim::mma(const MmaOp &op, const CtaView *ctas, Numerics numerics) {
  return Mma(op, ctas).run(numerics);
}
