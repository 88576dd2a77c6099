//===- TileThreads.h - Threads that share a tile ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All threads of a role take pieces of the rows of a tile: adjacent threads
// adjacent pieces, and each of them every so many rows.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_TILETHREADS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_TILETHREADS_H

#include "../KernelBuilder.h"

namespace mx::mxgpu {

struct TileThreads {
  int64_t step;            ///< rows that all threads take at a time
  mlir::Value row, column; ///< of the first element of the first piece

  /// In a tile with so many columns, of pieces of `vector` elements.
  static TileThreads get(KernelBuilder &body, int64_t threads, int64_t columns,
                         int64_t vector);
};

/// Work tiles that are tiles of a matrix, and a role that takes them. The
/// builder is left in the loop over them, `row` and `column` are of the matrix.
TileThreads forEachTile(KernelBuilder &body, llvm::StringRef role,
                        mlir::Value rows, mlir::Value columns,
                        llvm::ArrayRef<int64_t> tile, int64_t threads,
                        int64_t vector, RasterAttr raster);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_TILETHREADS_H
