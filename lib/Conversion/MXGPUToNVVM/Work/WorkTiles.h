//===- WorkTiles.h - Coordinates of work tiles ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// From the number of a work tile to its rows, its columns and its split of the
// reduction.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H

#include "../Lowering.h"
#include "Raster.h"

namespace mx::mxgpu {

/// What a role knows about the problem before its first work tile.
struct Problem {
  TileSchedulerOp source;
  Tiles grid;
  mlir::Value tiles, units;
};

/// The problem of a tile scheduler.
Problem getProblem(NVVMBuilder &builder, TileSchedulerOp source);

/// An unsigned i32 as an index.
mlir::Value toIndex(NVVMBuilder &builder, mlir::Value number);

/// The arguments of the body for work tile `unit`. The tiles of one split come
/// before those of the next, so that tiles that are computed at the same time
/// share rows of A and B.
llvm::SmallVector<mlir::Value>
getUnit(NVVMBuilder &builder, const Problem &problem, mlir::Value unit);

/// A CTA's only work tile. It is found at the tile scheduler, for all roles at
/// once and by whole warps.
SingleWorkTile getSingleWorkTile(NVVMBuilder &builder, TileSchedulerOp source);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
