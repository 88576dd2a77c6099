//===- WorkTiles.h - Coordinates of work tiles ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the number of a work tile to its rows, columns and split of the
// reduction, or to its expert group. unittests/Target/Raster.h implements the
// raster orders in C++.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Numbers of row and column tiles, or the position of a tile (unsigned i32).
struct Tiles {
  mlir::Value rows, columns;
};

/// Returns tile `workTile` of a grid in raster order.
Tiles buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                mlir::Value workTile);

/// Arguments of a loop's body for a work tile. `exists` (i1) is false if there
/// is no work tile, and null if the work tile always exists.
struct SingleWorkTile {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value exists;
};

/// Work tile of a scheduler over expert groups: the arguments of the loop body
/// (i32), and the number of the work tile (i32), or -1 past the last.
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

/// Returns the arguments of the body for work tile `workTile`. All tiles of a
/// split precede the tiles of the next split, so concurrent tiles share
/// rows of A and B.
llvm::SmallVector<mlir::Value>
getWorkTile(NVVMBuilder &builder, const Problem &problem, mlir::Value workTile);

/// Returns the only work tile of a CTA. Inserts the computation of the work
/// tile at the tile scheduler, where all roles share the result and whole warps
/// execute the code.
SingleWorkTile getSingleWorkTile(NVVMBuilder &builder, TileSchedulerOp source);

/// Group, first row and end of a tile of packed rows (i32), and a flag (i1)
/// that is true if the tile exists.
struct ExpertTile {
  mlir::Value group, start, end, exists;
};

/// Finds the expert group of a tile of packed rows from the ends of the groups.
/// `rows` (index) limits the ends. All lanes of a warp must participate.
ExpertTile findExpertTile(NVVMBuilder &builder, mlir::Value offsets,
                          mlir::Value rows, mlir::Value tile, int64_t tileRows);

/// Compute the first work tile of a CTA or pair, and the work tile after the
/// current work tile. All lanes of a warp must participate.
ExpertWorkTile findFirstExpertWorkTile(NVVMBuilder &builder,
                                       TileSchedulerOp source);
ExpertWorkTile findNextExpertWorkTile(NVVMBuilder &builder,
                                      TileSchedulerOp source,
                                      mlir::scf::WhileOp loop);
/// Store and load a work tile in 32 bytes of shared memory.
void storeExpertWorkTile(NVVMBuilder &builder, const ExpertWorkTile &workTile,
                         mlir::Value address);
ExpertWorkTile loadExpertWorkTile(NVVMBuilder &builder, mlir::Value address);

/// Return the index of a CTA or pair, which is its first work tile, and the
/// number of CTAs or pairs (i32).
mlir::Value getFirstWorkTile(NVVMBuilder &builder, mlir::Operation *op);
mlir::Value getWorkTileStep(NVVMBuilder &builder, mlir::Operation *op);

/// Returns the number of tiles (i32) that cover `size` (index, below 2^63).
mlir::Value getTiles(NVVMBuilder &builder, mlir::Value size, int64_t tile);

/// Returns the number of work tiles of a scheduler (i32).
mlir::Value getNumWorkTiles(NVVMBuilder &builder, TileSchedulerOp source);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_WORK_WORKTILES_H
