//===- PackedWeights.h - Who holds what of packed weights -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In memory, packed weights (mx/Support/WeightLayout.h) are a matrix with a row
// for each thread of each tile, of what the thread holds. A tile of a kernel
// has some of them one below the other: loaded by copies of a row for each
// thread of one, and read by the threads of one or several warpgroups.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
#define MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Shared memory of `rows` x 64 weights: of rows as copies bring them.
BufferType getPackedBuffer(mlir::Type element, int64_t rows);

/// What so many threads hold of `rows` x 64 weights, warpgroups of adjacent
/// rows: as elements of the buffer, and as those of the matrix.
FragmentLayoutAttr getPackedPlaces(mlir::MLIRContext *context, int64_t threads,
                                   int64_t rows);
FragmentLayoutAttr getPackedWeights(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows);

/// `getPackedWeights` with the rows of each 32 in another order: with digits,
/// lowest first, row 2, 4, 4 of the matrix is row 2, 4, 4 of the result where
/// the last two have changed places.
FragmentLayoutAttr getPackedOperand(mlir::MLIRContext *context, int64_t threads,
                                    int64_t rows);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_PACKEDWEIGHTS_H
