//===- WorkPolicy.h - Division into work tiles ---------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A work tile is a tile of a result with all or part of the reduction. Policies
// define the first rows and columns of its operands, scales and result, and the
// rows that exist:
//
//   DenseWork      for a single matrix
//   SplitWork      for a single matrix; several work tiles share a result tile,
//                  and each reduces a slice
//   ClusterWork    for a single matrix; the CTAs of a cluster share a work
//                  tile, and each reduces a slice
//   RowsWork       for expert groups of rows, each with a B matrix
//   MaskedWork     for expert groups that each own the first rows of a matrix
//   ReductionWork  for expert groups that divide the reduction, each with a
//                  result
//
// GroupedWork.h defines the last three.
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

/// First rows of A and B of a CTA in a work tile, and their scale tiles.
struct OperandOrigin {
  mlir::Value row, rowTile, column, columnTile;
};

/// Matrices of A and B in stacks of matrices, null for single matrices, and the
/// first row of a work tile in its matrix.
struct MatrixOrigin {
  mlir::Value a, row, b;
};

/// Start of a work tile's rows in the result's tensor map.
struct StoreOrigin {
  llvm::SmallVector<mlir::Value> coordinates;
  /// Whether all rows of a staged tile belong to the work tile. Null if the
  /// tensor map excludes all other rows.
  mlir::Value hasAllRows;
};

class WorkPolicy : public KernelComponent {
public:
  // Host code.

  virtual llvm::StringRef getKernelName() const = 0;
  /// Collapses batches of matrices to stacked rows.
  virtual void viewMatrices() {}
  /// Requires at run time that sizes match the number of expert groups.
  virtual void checkExperts() {}
  /// Return the number of scale tiles along rows of A and the result, and along
  /// rows of B. Return null if the rows of a single matrix determine the
  /// number.
  virtual mlir::Value getRowTiles(mlir::Value rows) { return {}; }
  virtual mlir::Value getColumnTiles(mlir::Value columns) { return {}; }
  /// Returns the row count of each A matrix, or null if the kernel does not
  /// need the row count.
  virtual mlir::OpFoldResult getMatrixRows() { return {}; }
  /// Returns the result in the form accessed by bulk stores.
  virtual mlir::Value getStoredTensor() { return matrices.out; }
  /// Returns an upper bound on the number of work tiles.
  mlir::Value getWorkTiles();

  // Kernel code.

  /// Creates the tile scheduler. `rows` and `columns` are result sizes before
  /// rows are scattered. `workTiles` is the ring of work tiles, or null.
  virtual void createScheduler(mlir::Value rows, mlir::Value columns,
                               mlir::Value workTiles) = 0;
  TileSchedulerOp getScheduler() const { return scheduler; }
  /// Returns the columns of the result. A scheduler may cover a part of them.
  virtual mlir::Value getResultColumns() { return scheduler.getColumns(); }

  /// Returns the first row of A in this CTA's part of a work tile.
  mlir::Value getFirstRow(ForEachWorkTileOp workTile);
  virtual OperandOrigin getOperands(ForEachWorkTileOp workTile) = 0;
  virtual MatrixOrigin getMatrices(ForEachWorkTileOp workTile) {
    return {{}, getFirstRow(workTile), {}};
  }
  /// Returns the scale tile that contains the first row.
  virtual mlir::Value getRowTile(ForEachWorkTileOp workTile);
  /// Return the rows of the scale-range tables (mxgpu.load_scale_range) for a
  /// work tile. For A, `number` selects one of its tiles of 128 rows and is
  /// clamped to the last tile.
  virtual mlir::Value getScaleRangeOfA(ForEachWorkTileOp workTile,
                                       mlir::Value number);
  virtual mlir::Value getScaleRangeOfB(ForEachWorkTileOp workTile);
  /// Returns the reduction slice of a work tile.
  virtual std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile);
  /// Tests whether the reduction of a work tile is empty.
  virtual mlir::Value isEmpty(ForEachWorkTileOp workTile);
  /// Returns a common divisor of all reduction slice sizes, or kDynamic.
  virtual int64_t getReductionMultiple();

  /// Returns the result row for row `inTile` of this CTA's part of a work tile.
  /// `clamped` is the last row if the row does not exist, so reads are valid.
  virtual ResultRow getRow(ForEachWorkTileOp workTile, mlir::Value inTile) = 0;
  /// Returns the end of the rows to write, in the index space of getFirstRow().
  virtual mlir::Value getRowEnd(ForEachWorkTileOp workTile) = 0;
  /// Returns the origin of the rows that start at `inTile`.
  virtual StoreOrigin getStoreOrigin(ForEachWorkTileOp workTile,
                                     mlir::Value inTile,
                                     mlir::Value column) = 0;

protected:
  explicit WorkPolicy(MatmulKernel &kernel) : KernelComponent(kernel) {}

  /// Returns an upper bound on the number of row tiles.
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

/// A work tile is a result tile with the whole reduction.
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

/// A work tile is a result tile with a slice of the reduction. Partial results
/// are stacked, and another kernel adds them (SplitReduction.cpp).
class SplitWork final : public DenseWork {
public:
  explicit SplitWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;

private:
  mlir::Value getResultRow(ForEachWorkTileOp workTile) override;
};

/// The CTAs of a cluster share a tile, and each CTA reduces a slice.
class ClusterWork final : public DenseWork {
public:
  explicit ClusterWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  /// Tests the whole reduction, because the slice of another CTA may be
  /// nonempty if the slice of this CTA is empty.
  mlir::Value isEmpty(ForEachWorkTileOp workTile) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_WORKPOLICY_H
