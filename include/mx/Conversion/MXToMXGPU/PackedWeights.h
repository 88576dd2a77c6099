//===- PackedWeights.h - Register layouts of packed weights --- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In memory, each row of a packed weight tile (#mxgpu.fragment_64x64) is the
// fragment of one thread. Kernel tiles cover several packed tiles, stored in
// shared memory column tile by column tile.
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
#define MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Line length of the tensor map, in bytes. Lines are as long as a box allows,
/// because a single thread's row is too short for the copy engine's full rate.
inline constexpr int64_t kPackedLineBytes = 256;
int64_t getPackedLines(mlir::Type element);

/// Returns the shared-memory buffer for `rows x columns` weights, with a row
/// for each thread of each packed tile.
BufferType getPackedBuffer(mlir::Type element, int64_t rows, int64_t columns);
/// Returns the tensor map for loads. Its dimensions are the rows of packed
/// tiles, the lines per row and the bytes per line.
TensorMapType getPackedMap(mlir::Type element, int64_t rows, int64_t columns);

/// Returns the register layout of `rows x columns` packed weights for `threads`
/// threads. Successive rows of packed tiles go to successive warpgroups.
FragmentLayoutAttr getPackedWeights(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows, int64_t columns);

/// Returns the buffer locations of the elements of `layout`, register by
/// register. The width of `layout` must be a multiple of 64 columns.
FragmentLayoutAttr getPackedPlaces(FragmentLayoutAttr layout);

/// Returns `getPackedWeights` with permuted rows in each 32-row block. The
/// permutation exchanges the upper two of the row modes (2, 4, 4).
FragmentLayoutAttr getPackedOperand(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows, int64_t columns);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
