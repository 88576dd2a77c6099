//===- Sizes.h - Sizes of arrays --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_SIZES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_SIZES_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx {

/// Size as a number, or as a dimension of an array.
struct Size {
  mlir::OpFoldResult number;
  mlir::Value array;
  int64_t dim = 0;

  /// Returns true if two sizes are provably equal.
  bool operator==(const Size &other) const {
    return number == other.number && array == other.array && dim == other.dim;
  }
  mlir::Value getValue(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// Returns dimension `dim` of the array as a constant, as the operand of a
/// tensor.empty or as a dimension of another array, if possible.
Size getSize(mlir::Value array, int64_t dim);

/// Requires at run time, with the message of the CPU path, that dimension `dim`
/// of the operand `name` has the size `expected`.
mxgpu::RequireOp requireSize(mlir::OpBuilder &builder, mlir::Location loc,
                             int64_t dim, const llvm::Twine &name,
                             mlir::Value expected, mlir::Value found);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_SIZES_H
