//===- Raster.h - Which tile a work tile is ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The orders as instructions; unittests/Target/Raster.h has them in C++.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_WORK_RASTER_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_WORK_RASTER_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// Rows and columns of tiles, or of one tile among them (i32, unsigned).
struct Tiles {
  mlir::Value rows, columns;
};

/// The tile with number `unit` in the order of a grid.
Tiles buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                mlir::Value unit);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_WORK_RASTER_H
