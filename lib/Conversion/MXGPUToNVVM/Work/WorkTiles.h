//===- WorkTiles.h - From numbers of work tiles to tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// From the number of a work tile to its rows, its columns and its split of the
// reduction, or to its group. unittests/Target/Raster.h has the orders in C++.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Rows and columns of tiles, or of one tile among them (i32, unsigned).
struct Tiles {
  mlir::Value rows, columns;
};

/// The tile with number `workTile` in the order of a grid.
Tiles buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                mlir::Value workTile);

/// The arguments of a loop's body, and whether there is a work tile (i1), or
/// null if there always is one.
struct SingleWorkTile {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value exists;
};

/// A work tile of a scheduler over `groups`: the arguments of the loop's body,
/// and the number of the work tile or, if there is none, -1 (i32s).
struct ExpertWorkTile {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value number;

  llvm::SmallVector<mlir::Value> getWords() const {
    llvm::SmallVector<mlir::Value> words(arguments);
    words.push_back(number);
    return words;
  }
};

/// What a role knows about the problem before its first work tile.
struct Problem {
  TileSchedulerOp source;
  Tiles grid;
  mlir::Value tiles, workTiles;
};

/// The problem of a tile scheduler.
Problem getProblem(NVVMBuilder &builder, TileSchedulerOp source);

/// An unsigned i32 as an index.
mlir::Value toIndex(NVVMBuilder &builder, mlir::Value number);

/// The arguments of the body for work tile `workTile`. The tiles of one split
/// come before those of the next, so that tiles that are computed at the same
/// time share rows of A and B.
llvm::SmallVector<mlir::Value>
getWorkTile(NVVMBuilder &builder, const Problem &problem, mlir::Value workTile);

/// A CTA's only work tile. It is found at the tile scheduler, for all roles at
/// once and by whole warps.
SingleWorkTile getSingleWorkTile(NVVMBuilder &builder, TileSchedulerOp source);

/// The group that has a tile of packed rows, the first of its rows in it, and
/// its end: i32s, and whether there is one (i1).
struct ExpertTile {
  mlir::Value group, start, end, exists;
};

/// Finds it by the ends of the expert groups; all lanes of a warp must take
/// part. `rows` (index) are those of the tensor, beyond which no group ends.
ExpertTile findExpertTile(NVVMBuilder &builder, mlir::Value offsets,
                          mlir::Value rows, mlir::Value tile, int64_t tileRows);

/// The first work tile of a CTA or pair, and the one after its loop's current
/// one; all lanes of a warp must take part.
ExpertWorkTile findFirstExpertWorkTile(NVVMBuilder &builder,
                                       TileSchedulerOp source);
ExpertWorkTile findNextExpertWorkTile(NVVMBuilder &builder,
                                      TileSchedulerOp source,
                                      mlir::scf::WhileOp loop);
/// Passed through 32 bytes of shared memory.
void storeExpertWorkTile(NVVMBuilder &builder, const ExpertWorkTile &workTile,
                         mlir::Value address);
ExpertWorkTile loadExpertWorkTile(NVVMBuilder &builder, mlir::Value address);

/// The number of a CTA or pair, which is that of its first work tile, and the
/// number of CTAs or pairs: i32s.
mlir::Value getFirstWorkTile(NVVMBuilder &builder, mlir::Operation *op);
mlir::Value getWorkTileStep(NVVMBuilder &builder, mlir::Operation *op);

/// Tiles that cover `size` (index, below 2^63), as an i32.
mlir::Value getTiles(NVVMBuilder &builder, mlir::Value size, int64_t tile);

/// The number of work tiles of a scheduler (i32).
mlir::Value getNumWorkTiles(NVVMBuilder &builder, TileSchedulerOp source);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
