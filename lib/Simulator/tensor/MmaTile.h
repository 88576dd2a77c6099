//===- MmaTile.h - one datapath's share of an MMA -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines. An MMA is a list of tiles: rows of A times columns
// of B into a rectangle of one CTA's tensor memory. One tile for cta_group::1,
// one per CTA for M = 256, two per CTA for M = 128 of a pair.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TENSOR_MMATILE_H
#define MX_LIB_SIMULATOR_TENSOR_MMATILE_H

#include "MmaOperands.h"

namespace mx::sim {

struct MmaTile {
  const CtaView *cta = nullptr;
  unsigned rows = 0, columns = 0;
  /// First column of B that this tile takes.
  unsigned firstB = 0;
  /// Tensor memory lane of row m: laneBase + laneOf(m).
  unsigned laneBase = 0;
  unsigned (*laneOf)(unsigned) = nullptr;
  unsigned column = 0;
  /// First bit of disable-output-lane for lane 0 of this CTA.
  unsigned disableBase = 0;

  RawRows a;
  std::vector<ScaleRow> scaleA, scaleB;

  unsigned lane(unsigned row) const { return laneBase + laneOf(row); }
};

/// What all tiles of an instruction share.
struct MmaContext {
  const MmaOp &op;
  const InstrDesc &desc;
  /// All columns of B.
  const RawRows &b;
  Packing packingA, packingB;

  bool isDisabled(const MmaTile &tile, unsigned lane) const {
    unsigned bit = tile.disableBase + lane;
    return op.disableOutputLane &&
           (op.disableOutputLane[bit / 32] >> (bit % 32) & 1);
  }
};

void runExact(const MmaContext &context, const MmaTile &tile);
void runTruncated(const MmaContext &context, const MmaTile &tile);
void runInteger(const MmaContext &context, const MmaTile &tile);

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_TENSOR_MMATILE_H
