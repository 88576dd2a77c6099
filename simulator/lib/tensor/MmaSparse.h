//===- MmaSparse.h - Metadata of sparse operands ----------------*- C++ -*-===//
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

/// Number of stored elements in a chunk of A, and length of the chunk.
struct Granularity {
  unsigned stored, length;
};
/// Adds the stored elements of a chunk with the indices in `code`. Chunks must
/// be added in order, row by row.
void addChunk(Sparsity &sparsity, Granularity unit, unsigned code,
              unsigned chunk, unsigned row);

/// Returns the fault for a code that the ISA does not define, found at `where`.
Fault undefinedCode(unsigned code, const std::string &where);

struct MetadataPlace {
  MmaKind kind;
  unsigned column;
  unsigned rows;
  /// Lane of row i in a matrix of `rows` rows: laneBase + laneOf(i).
  unsigned laneBase;
  unsigned (*laneOf)(unsigned);
};
/// Reads the metadata of a tile. Codes that the ISA does not define set
/// `undefined`.
Fault readMetadata(const CtaView &cta, const MetadataPlace &place, unsigned k,
                   Sparsity &sparsity, Fault &uninitialized, Fault &undefined);

/// Columns of B that are replaced by zero, and the column shift of B.
struct ColumnMask {
  std::vector<bool> isZero;
  unsigned shift = 0;
};
Fault decodeColumnMask(uint64_t bits, const InstrDesc &desc, ColumnMask &mask);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_MMASPARSE_H
