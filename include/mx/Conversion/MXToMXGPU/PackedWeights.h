//===- PackedWeights.h - Register layouts of packed weights --- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In memory, each thread owns a row of a packed weight tile
// (#mxgpu.fragment_64x64): the thread's fragment. Kernel tiles cover several
// packed tiles, stored in shared memory column tile by column tile.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
#define MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Bytes of a line of the tensor map. Lines are as long as a box allows,
/// because the rows of single threads are too short for the copy engine's rate.
inline constexpr int64_t kPackedLineBytes = 256;
/// Returns the number of lines of a packed tile.
int64_t getPackedLines(mlir::Type element);

/// Returns the shared-memory buffer for `rows x columns` weights, with a row
/// for each thread of each packed tile.
BufferType getPackedBuffer(mlir::Type element, int64_t rows, int64_t columns);
/// Returns the tensor map of a load: rows of packed tiles, lines in such a row,
/// bytes.
TensorMapType getPackedMap(mlir::Type element, int64_t rows, int64_t columns);

/// Returns the register layout of `rows x columns` packed weights for `threads`
/// threads. Successive rows of packed tiles go to successive warpgroups.
FragmentLayoutAttr getPackedWeights(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows, int64_t columns);

/// Returns the buffer locations of the elements of `layout`, register by
/// register. The width of `layout` is 64 or a multiple of 64 columns.
FragmentLayoutAttr getPackedPlaces(FragmentLayoutAttr layout);

/// Returns `getPackedWeights` with the rows of each 32 permuted: the row index
/// has modes (2, 4, 4), lowest first, and the last two are exchanged.
FragmentLayoutAttr getPackedOperand(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows, int64_t columns);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
