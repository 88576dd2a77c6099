//===- MapNumbers.h - The numbers of tensor maps ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Host code and launch plans encode the same maps: what the driver is told
// follows here from the extents of a memref.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_MAPNUMBERS_H
#define MX_LIB_CONVERSION_UTILS_MAPNUMBERS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx {

/// As the driver takes them: dimensions innermost first and in elements,
/// strides in bytes and from dimension 1 on.
struct TensorMapNumbers {
  llvm::SmallVector<mlir::Value> dims, strides;
};

/// That there is such a map of the elements of the source; if not, an error.
llvm::LogicalResult verifyMapElements(mxgpu::EncodeTensorMapOp op);

/// The strides of an array of these sizes without gaps, in elements.
llvm::SmallVector<mlir::Value> getIdentityStrides(mlir::OpBuilder &builder,
                                                  mlir::Location loc,
                                                  mlir::ValueRange sizes);

/// The numbers of the map of an array with these sizes and strides (index).
TensorMapNumbers getTensorMapNumbers(mlir::OpBuilder &builder,
                                     mxgpu::EncodeTensorMapOp op,
                                     mlir::ValueRange sizes,
                                     mlir::ValueRange strides);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_MAPNUMBERS_H
