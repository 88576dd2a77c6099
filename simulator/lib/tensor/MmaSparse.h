//===- MmaSparse.h - which elements a sparse A has --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines: the metadata of tcgen05.mma.sp in tensor memory, and
// the zero-column mask of tcgen05.mma.ws.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_MMASPARSE_H
#define MXSIM_LIB_TENSOR_MMASPARSE_H

#include "MmaOperands.h"
#include "mxsim/tensor/WarpMma.h"

namespace mx::sim {

/// How many elements of a chunk are stored, of how many.
struct Granularity {
  unsigned stored, length;
};
/// Adds the stored elements of a chunk, whose indices `code` gives. Chunks come
/// in order, row after row.
void addChunk(Sparsity &sparsity, Granularity unit, unsigned code,
              unsigned chunk, unsigned row);

/// What is said of a code that the ISA gives no meaning to; `where` it is.
Fault undefinedCode(unsigned code, const std::string &where);

/// Where the metadata of a tile stands.
struct MetadataPlace {
  MmaKind kind;
  unsigned column;
  unsigned rows;
  /// Lane of row i of a matrix of as many rows: laneBase + laneOf(i).
  unsigned laneBase;
  unsigned (*laneOf)(unsigned);
};
/// `undefined` is what the ISA gives no meaning to.
Fault readMetadata(const CtaView &cta, const MetadataPlace &place, unsigned k,
                   Sparsity &sparsity, Fault &uninitialized, Fault &undefined);

/// The columns of B that count as zero, and by how many columns B is shifted.
struct ColumnMask {
  std::vector<bool> isZero;
  unsigned shift = 0;
};
Fault decodeColumnMask(uint64_t bits, const InstrDesc &desc, ColumnMask &mask);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_MMASPARSE_H
