//===- WorkTiles.h - Coordinates of work tiles ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Maps the number of a work tile to its rows, columns and split of the
// reduction, or to its group. unittests/Target/Raster.h implements the orders
// in C++.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Rows and columns of tiles, or the position of a tile (i32, unsigned).
struct Tiles {
  mlir::Value rows, columns;
};

/// Returns tile `workTile` of a grid in raster order.
Tiles buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                mlir::Value workTile);

/// Arguments of a loop's body, and existence of the work tile (i1, null if it
/// always exists).
struct SingleWorkTile {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value exists;
};

/// Work tile of a scheduler over `groups`: the arguments of the loop body, and
/// its number, or -1 if there is none (i32s).
struct ExpertWorkTile {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value number;

  llvm::SmallVector<mlir::Value> getWords() const {
    llvm::SmallVector<mlir::Value> words(arguments);
    words.push_back(number);
    return words;
  }
};

/// Sizes of a problem, computed before the first work tile.
struct Problem {
  TileSchedulerOp source;
  Tiles grid;
  mlir::Value tiles, workTiles;
};

Problem getProblem(NVVMBuilder &builder, TileSchedulerOp source);

/// Converts an unsigned i32 to index.
mlir::Value toIndex(NVVMBuilder &builder, mlir::Value number);

/// Returns the arguments of the body for work tile `workTile`. Tiles of a split
/// precede those of the next, so that concurrent tiles share rows of A and B.
llvm::SmallVector<mlir::Value>
getWorkTile(NVVMBuilder &builder, const Problem &problem, mlir::Value workTile);

/// Returns the only work tile of a CTA. It is computed at the tile scheduler,
/// for all roles and by whole warps.
SingleWorkTile getSingleWorkTile(NVVMBuilder &builder, TileSchedulerOp source);

/// Group of a tile of packed rows, first row and end (i32), and existence (i1).
struct ExpertTile {
  mlir::Value group, start, end, exists;
};

/// Finds the group by the ends of the expert groups, with all lanes of a warp.
/// `rows` (index) limits the ends.
ExpertTile findExpertTile(NVVMBuilder &builder, mlir::Value offsets,
                          mlir::Value rows, mlir::Value tile, int64_t tileRows);

/// Compute the first work tile of a CTA or pair, and the successor of the
/// current, with all lanes of a warp.
ExpertWorkTile findFirstExpertWorkTile(NVVMBuilder &builder,
                                       TileSchedulerOp source);
ExpertWorkTile findNextExpertWorkTile(NVVMBuilder &builder,
                                      TileSchedulerOp source,
                                      mlir::scf::WhileOp loop);
/// Pass a work tile through 32 bytes of shared memory.
void storeExpertWorkTile(NVVMBuilder &builder, const ExpertWorkTile &workTile,
                         mlir::Value address);
ExpertWorkTile loadExpertWorkTile(NVVMBuilder &builder, mlir::Value address);

/// Return the number of a CTA or pair, which is its first work tile, and the
/// number of CTAs or pairs: i32s.
mlir::Value getFirstWorkTile(NVVMBuilder &builder, mlir::Operation *op);
mlir::Value getWorkTileStep(NVVMBuilder &builder, mlir::Operation *op);

/// Returns the tiles that cover `size` (index, below 2^63), as an i32.
mlir::Value getTiles(NVVMBuilder &builder, mlir::Value size, int64_t tile);

/// Returns the number of work tiles of a scheduler (i32).
mlir::Value getNumWorkTiles(NVVMBuilder &builder, TileSchedulerOp source);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
