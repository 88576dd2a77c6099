//===- WorkPolicy.h - Division into work tiles ---------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A work tile is a tile of a result with all or part of the reduction. Policies
// define where its operands, scales and result start and which rows exist:
//
//   DenseWork      one matrix
//   SplitWork      one matrix; several work tiles share a result tile, each
//                  with a slice of the reduction
//   ClusterWork    one matrix; the CTAs of a cluster share a work tile, each
//                  with a slice of the reduction
//   RowsWork       expert groups of rows, each with a B matrix
//   MaskedWork     expert groups with the first rows of separate matrices
//   ReductionWork  expert groups of the reduction, each with a result
//
// GroupedWork.h defines the last three.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_WORKPOLICY_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_WORKPOLICY_H

#include "../Kernel/MatmulKernel.h"

namespace mx::mxgpu {

/// A result row of an epilogue thread.
struct ResultRow {
  /// Row index, and the index of the nearest existing row.
  mlir::Value own, clamped;
  /// Row index in the matrix for the epilogue region.
  mlir::Value inMatrix;
  mlir::Value isPresent;
};

/// Start of a CTA's operands of a work tile: rows of A and B and their scale
/// tiles.
struct OperandOrigin {
  mlir::Value row, rowTile, column, columnTile;
};

/// Start of a work tile's rows in the result's tensor map.
struct StoreOrigin {
  llvm::SmallVector<mlir::Value> coordinates;
  /// Whether all rows of a staged tile belong to the work tile; null if other
  /// rows are outside the map.
  mlir::Value hasAllRows;
};

class WorkPolicy : public KernelComponent {
public:
  // Host code.

  virtual llvm::StringRef getKernelName() const = 0;
  /// Stacks batches of matrices.
  virtual void viewMatrices() {}
  /// Requires the sizes of expert groups.
  virtual void checkExperts() {}
  /// Scale tiles for rows of A and the result, and of B; null if the rows of a
  /// single matrix determine them.
  virtual mlir::Value getRowTiles(mlir::Value rows) { return {}; }
  virtual mlir::Value getColumnTiles(mlir::Value columns) { return {}; }
  /// Returns the rows of a matrix of A if the kernel needs them, or null.
  virtual mlir::OpFoldResult getMatrixRows() { return {}; }
  /// Returns the result in the form used by bulk stores.
  virtual mlir::Value getStoredTensor() { return matrices.out; }
  /// Returns an upper bound of the work tiles.
  mlir::Value getWorkTiles();

  // Kernel code.

  /// Creates the tile scheduler. `rows` and `columns` are sizes before rows are
  /// scattered; `workTiles` is the ring of work tiles, or null.
  virtual void createScheduler(mlir::Value rows, mlir::Value columns,
                               mlir::Value workTiles) = 0;
  TileSchedulerOp getScheduler() const { return scheduler; }

  /// Returns the first row of A in this CTA's part of a work tile.
  mlir::Value getFirstRow(ForEachWorkTileOp workTile);
  virtual OperandOrigin getOperands(ForEachWorkTileOp workTile) = 0;
  /// Returns the scale tile of those rows.
  virtual mlir::Value getRowTile(ForEachWorkTileOp workTile);
  /// Rows of the scale-range tables (mxgpu.load_scale_range) for tile `number`
  /// of a work tile's rows of A, in tiles of 128 clamped to the last, and for
  /// its rows of B.
  virtual mlir::Value getScaleRangeOfA(ForEachWorkTileOp workTile,
                                       mlir::Value number);
  virtual mlir::Value getScaleRangeOfB(ForEachWorkTileOp workTile);
  /// Returns the reduction slice of a work tile.
  virtual std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile);
  /// Returns whether the reduction of a work tile is empty.
  virtual mlir::Value isEmpty(ForEachWorkTileOp workTile);
  /// Returns a common divisor of all reduction slices, or kDynamic.
  virtual int64_t getReductionMultiple();

  /// Returns the result row for row `inTile` of this CTA's part of a work tile.
  /// `clamped` refers to the last row if the row does not exist, so reads are
  /// valid.
  virtual ResultRow getRow(ForEachWorkTileOp workTile, mlir::Value inTile) = 0;
  /// Returns the end of the rows that a work tile may write, in the index space
  /// of getFirstRow().
  virtual mlir::Value getRowEnd(ForEachWorkTileOp workTile) = 0;
  /// Returns the origin of rows from `inTile` on.
  virtual StoreOrigin getStoreOrigin(ForEachWorkTileOp workTile,
                                     mlir::Value inTile,
                                     mlir::Value column) = 0;

protected:
  explicit WorkPolicy(MatmulKernel &kernel) : KernelComponent(kernel) {}

  /// Returns an upper bound of the row tiles.
  virtual mlir::Value getNumRowTiles() = 0;
  mlir::Value isBelow(mlir::Value row, mlir::Value end);
  /// Returns `row`, or the last row before `end`.
  mlir::Value clamp(mlir::Value row, mlir::Value end);
  llvm::SmallVector<int64_t> getTile() const;

  TileSchedulerOp scheduler;
};

/// Collapses a batch into a matrix of stacked rows.
mlir::Value stackRows(KernelBuilder &host, mlir::Value batch);

//===----------------------------------------------------------------------===//
// Matmuls without expert groups
//===----------------------------------------------------------------------===//

/// Work tiles are result tiles with the whole reduction.
class DenseWork : public WorkPolicy {
public:
  explicit DenseWork(MatmulKernel &kernel) : WorkPolicy(kernel) {}

  llvm::StringRef getKernelName() const override { return "matmul"; }
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  OperandOrigin getOperands(ForEachWorkTileOp workTile) override;
  ResultRow getRow(ForEachWorkTileOp workTile, mlir::Value inTile) override;
  mlir::Value getRowEnd(ForEachWorkTileOp) override { return resultRows; }
  StoreOrigin getStoreOrigin(ForEachWorkTileOp workTile, mlir::Value inTile,
                             mlir::Value column) override;

protected:
  mlir::Value getNumRowTiles() override;
  /// Returns the first result row of this CTA's part of a work tile.
  virtual mlir::Value getResultRow(ForEachWorkTileOp workTile);

  mlir::Value resultRows;
};

/// Work tiles have slices of the reduction. Partial results are stacked;
/// SplitReduction.h adds them.
class SplitWork final : public DenseWork {
public:
  explicit SplitWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;

private:
  mlir::Value getResultRow(ForEachWorkTileOp workTile) override;
};

/// CTAs of a cluster share a tile, each with a slice of the reduction.
class ClusterWork final : public DenseWork {
public:
  explicit ClusterWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  /// Considers the whole reduction, as other CTAs may have nonempty slices.
  mlir::Value isEmpty(ForEachWorkTileOp workTile) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_WORKPOLICY_H
