//===- MmaSparse.h - which elements a sparse A has --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines: the metadata of tcgen05.mma.sp in tensor memory, and
// the zero-column mask of tcgen05.mma.ws.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TENSOR_MMASPARSE_H
#define MX_LIB_SIMULATOR_TENSOR_MMASPARSE_H

#include "MmaOperands.h"

namespace mx::sim {

/// How many elements of a chunk are stored, of how many.
struct Granularity {
  unsigned stored, length;
};
/// The places of the stored elements of a chunk whose indices `code` gives.
void placesOf(Granularity unit, unsigned code, unsigned chunk, uint8_t *out);

/// Where the metadata of a tile stands.
struct MetadataPlace {
  MmaKind kind;
  unsigned column;
  unsigned rows;
  /// Lane of row i of a matrix of as many rows: laneBase + laneOf(i).
  unsigned laneBase;
  unsigned (*laneOf)(unsigned);
};
/// Fills MmaTile::kept: for each row the places of the stored elements.
Fault readMetadata(const CtaView &cta, const MetadataPlace &place, unsigned k,
                   std::vector<uint8_t> &kept, Fault &uninitialized);

/// The columns of B that count as zero, and by how many columns B is shifted.
struct ColumnMask {
  std::vector<bool> isZero;
  unsigned shift = 0;
};
Fault decodeColumnMask(uint64_t bits, const InstrDesc &desc, ColumnMask &mask);

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_TENSOR_MMASPARSE_H
