//===- WorkPolicy.h - How a matmul is divided into tiles --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A work tile is a tile of a result with all or some of the reduction. Kinds of
// work differ in where the operands, the scales and the result of a work tile
// begin, and in which rows of it exist:
//
//   DenseWork      one matrix
//   SplitWork      the same; several work tiles share a tile of the result, and
//                  each has a slice of the reduction
//   ClusterWork    the same; the CTAs of a cluster share a work tile, and each
//                  has a slice of the reduction
//   RowsWork       expert groups of rows, each with its matrix b
//   MaskedWork     expert groups that have the first rows of matrices
//   ReductionWork  expert groups of the reduction, each with its result
//
// The last three are in GroupedWork.h.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_WORKPOLICY_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_WORKPOLICY_H

#include "../Kernel/MatmulKernel.h"

namespace mx::mxgpu {

/// A row of the result that a thread of the epilogue has.
struct ResultRow {
  /// Its number, and that of the nearest row that exists.
  mlir::Value own, clamped;
  /// Its number in the matrix that the epilogue region sees.
  mlir::Value inMatrix;
  mlir::Value isPresent;
};

/// Where what this CTA loads of a work tile begins: rows of A and of B, and the
/// tiles of their scales.
struct OperandOrigin {
  mlir::Value row, rowTile, column, columnTile;
};

/// Where rows of a work tile begin in the result's tensor map.
struct StoreOrigin {
  llvm::SmallVector<mlir::Value> coordinates;
  /// Whether all rows of a staged tile are the work tile's; null if what is
  /// beyond them lies outside the map.
  mlir::Value hasAllRows;
};

class WorkPolicy : public KernelComponent {
public:
  // On the host.

  virtual llvm::StringRef getKernelName() const = 0;
  /// Sees batches of matrices as one.
  virtual void viewMatrices() {}
  /// Requires sizes of experts.
  virtual void checkExperts() {}
  /// Tiles of scales of rows of A and of the result, and of B; null where the
  /// rows of one matrix say it.
  virtual mlir::Value getRowTiles(mlir::Value rows) { return {}; }
  virtual mlir::Value getColumnTiles(mlir::Value columns) { return {}; }
  /// Rows of a matrix of A where the kernel must know them, or null.
  virtual mlir::OpFoldResult getMatrixRows() { return {}; }
  /// The result as bulk stores see it.
  virtual mlir::Value getStoredTensor() { return matrices.out; }
  /// As many work tiles as there are, or may be.
  mlir::Value getWorkTiles();

  // In the kernel.

  /// Makes the tile scheduler. `rows` and `columns` are those of the result
  /// before rows are scattered; `workTiles` is the ring by which work tiles
  /// come, or null.
  virtual void createScheduler(mlir::Value rows, mlir::Value columns,
                               mlir::Value workTiles) = 0;
  TileSchedulerOp getScheduler() const { return scheduler; }

  /// The first row of a work tile, and of A, that this CTA computes.
  mlir::Value getFirstRow(ForEachWorkTileOp workTile);
  virtual OperandOrigin getOperands(ForEachWorkTileOp workTile) = 0;
  /// The tile of scales where those rows begin.
  virtual mlir::Value getRowTile(ForEachWorkTileOp workTile);
  /// The rows of the scale-range tables (mxgpu.load_scale_range) that tell of
  /// tile `number` of 128 rows of A that a work tile has, or of its last one if
  /// it has no more, and of its rows of B.
  virtual mlir::Value getScaleRangeOfA(ForEachWorkTileOp workTile,
                                       mlir::Value number);
  virtual mlir::Value getScaleRangeOfB(ForEachWorkTileOp workTile);
  /// The slice of the reduction that a work tile has.
  virtual std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile);
  /// Whether it has nothing to multiply.
  virtual mlir::Value isEmpty(ForEachWorkTileOp workTile);
  /// What all slices of the reduction are a multiple of, or kDynamic.
  virtual int64_t getReductionMultiple();

  /// The row of the result that is row `inTile` of this CTA's share of a work
  /// tile. A row that does not exist counts as the last one, so that whatever
  /// is read exists.
  virtual ResultRow getRow(ForEachWorkTileOp workTile, mlir::Value inTile) = 0;
  /// The end of the rows that a work tile may write, as its first row is
  /// counted.
  virtual mlir::Value getRowEnd(ForEachWorkTileOp workTile) = 0;
  /// For rows from `inTile` on.
  virtual StoreOrigin getStoreOrigin(ForEachWorkTileOp workTile,
                                     mlir::Value inTile,
                                     mlir::Value column) = 0;

protected:
  explicit WorkPolicy(MatmulKernel &kernel) : KernelComponent(kernel) {}

  /// Tiles of rows that work tiles have, or may have.
  virtual mlir::Value getNumRowTiles() = 0;
  mlir::Value isBelow(mlir::Value row, mlir::Value end);
  /// `row`, or the last one before `end`.
  mlir::Value clamp(mlir::Value row, mlir::Value end);
  llvm::SmallVector<int64_t> getTile() const;

  TileSchedulerOp scheduler;
};

/// A batch of matrices as one, whose rows lie one below the other.
mlir::Value stackRows(KernelBuilder &host, mlir::Value batch);

//===----------------------------------------------------------------------===//
// Matmuls without experts
//===----------------------------------------------------------------------===//

/// A work tile is a tile of the result and has the whole reduction.
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
  /// The row of the result where this CTA's share of a work tile begins.
  virtual mlir::Value getResultRow(ForEachWorkTileOp workTile);

  mlir::Value resultRows;
};

/// Each work tile has a slice of the reduction. The results of the slices lie
/// one below the other; SplitReduction.h adds them.
class SplitWork final : public DenseWork {
public:
  explicit SplitWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;

private:
  mlir::Value getResultRow(ForEachWorkTileOp workTile) override;
};

/// The CTAs of a cluster share a tile: each has a slice of the reduction.
class ClusterWork final : public DenseWork {
public:
  explicit ClusterWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  /// The whole reduction counts: other CTAs may have slices of it.
  mlir::Value isEmpty(ForEachWorkTileOp workTile) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_WORKPOLICY_H
