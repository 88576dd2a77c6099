//===- Sums.h - What an epilogue reads --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The door between main loops, which know where sums are, and epilogues, which
// know what becomes of them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_SUMS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_SUMS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// The sums of a unit, as an epilogue reads them. Columns of a tile are read in
/// an order of the main loop's: those that the next unit overwrites come first.
class Sums {
public:
  virtual ~Sums() = default;

  /// Sums may be read after this.
  virtual void wait() = 0;
  /// Whether nothing was multiplied. Then they are zeros.
  virtual mlir::Value isEmpty() = 0;
  /// The column of the tile that is read in `place`.
  virtual mlir::Value getColumn(mlir::Value place) = 0;
  /// How threads hold `count` columns of sums.
  virtual FragmentType getType(int64_t count) = 0;
  /// Fragments of that type, one for each part of B: the sums of the `count`
  /// columns from `place` on.
  virtual llvm::SmallVector<mlir::Value> load(mlir::Value place,
                                              int64_t count) = 0;
  /// Columns that must be read before `release`.
  virtual int64_t getColumnsToRelease() = 0;
  /// The next unit may begin.
  virtual void release() = 0;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_SUMS_H
