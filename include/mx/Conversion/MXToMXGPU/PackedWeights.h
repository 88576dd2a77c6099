//===- PackedWeights.h - Who holds what of packed weights -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In memory, a tile of packed weights (#mxgpu.fragment_64x64) is a row for
// each thread, of what the thread holds. A tile of a kernel has some of them,
// those of adjacent columns first: rows one below the other in shared memory,
// which the threads of one or several warpgroups read.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
#define MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// The copy engine takes tiles in lines of so many bytes, the longest that a
/// box can have: rows of threads are too short for its rate.
inline constexpr int64_t kPackedLineBytes = 256;
/// Lines of a tile.
int64_t getPackedLines(mlir::Type element);

/// `rows x columns` weights in shared memory: a row for each thread of each
/// tile.
BufferType getPackedBuffer(mlir::Type element, int64_t rows, int64_t columns);
/// The map by which they are loaded: rows of tiles, lines of those, bytes.
TensorMapType getPackedMap(mlir::Type element, int64_t rows, int64_t columns);

/// What so many threads hold of `rows x columns` weights, warpgroups every so
/// many rows of tiles.
FragmentLayoutAttr getPackedWeights(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows, int64_t columns);

/// Where the elements that a layout gives to threads lie in the buffer,
/// register by register. Whole rows of tiles are packed: 64 columns each, or
/// several times as many.
FragmentLayoutAttr getPackedPlaces(FragmentLayoutAttr layout);

/// `getPackedWeights` with the rows of each 32 in another order: with digits,
/// lowest first, row 2, 4, 4 of the matrix is row 2, 4, 4 of the result where
/// the last two have changed places.
FragmentLayoutAttr getPackedOperand(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows, int64_t columns);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
