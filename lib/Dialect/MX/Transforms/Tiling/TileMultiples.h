//===- TileMultiples.h - Which sizes are multiples --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What is known of the offsets and sizes of tiles: constants, loop counters and
// what is made of them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_TILING_TILEMULTIPLES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_TILING_TILEMULTIPLES_H

#include "mlir/IR/OpDefinition.h"

namespace mx::tiling {

/// True if `value` is known to be a multiple: a constant, a loop counter, or
/// made of them.
bool isMultipleOf(mlir::OpFoldResult value, int64_t divisor);

/// True if a tile is whole in units of `divisor`, or ends where the loop ends.
bool isWholeTile(mlir::OpFoldResult offset, mlir::OpFoldResult size,
                 int64_t bound, int64_t divisor);

/// True if a tile covers its loop.
bool isWholeLoop(mlir::OpFoldResult offset, mlir::OpFoldResult size,
                 int64_t bound);

} // namespace mx::tiling

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_TILING_TILEMULTIPLES_H
