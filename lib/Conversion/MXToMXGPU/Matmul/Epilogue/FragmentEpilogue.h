//===- FragmentEpilogue.h - Epilogues that store column runs -- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogues that store unquantized results. Threads store the elements or add
// them to listed rows, or bulk copies store them.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H

#include "EpiloguePolicy.h"

namespace mx::mxgpu {

/// Epilogue that loops over columns. In each iteration, a thread processes runs
/// of adjacent columns in each of its rows. Tiles with all columns in bounds
/// use vectors without checks.
class FragmentEpilogue : public EpiloguePolicy {
public:
  void store(ForEachWorkTileOp workTile, Accumulator &accumulator) final;

protected:
  using EpiloguePolicy::EpiloguePolicy;

  /// Returns the columns of an iteration.
  virtual int64_t getFragmentColumns() = 0;
  /// Returns true if columns past the end of the result need checks.
  virtual bool asksForColumns() { return true; }
  /// Returns whether vectors of `run` elements may be stored to the result, or
  /// null if they always may.
  virtual mlir::Value isResultAligned(int64_t run) { return {}; }
  /// Changes the destination row.
  virtual void redirectRow(ResultRow &row) {}
  /// Returns the elements for the accumulators of `columns`.
  virtual mlir::Value finish(mlir::ValueRange accumulators, ThreadRow &row,
                             const Columns &columns, mlir::Value empty) = 0;

  /// Adjacent elements of a thread's row.
  struct Run {
    const ResultRow *row;
    Columns columns;
    mlir::Value elements;
  };
  /// Stores all runs of the thread, row by row. `accumulator` is the type of
  /// the runs' accumulators, and `first` is the first column.
  virtual void storeRuns(ForEachWorkTileOp workTile, llvm::ArrayRef<Run> runs,
                         FragmentType accumulator, mlir::Value first,
                         mlir::Value empty) = 0;
  /// Stores a run from registers. With 'where', stores its selected elements
  /// one by one if the work tile may contain elements of another class.
  void storeRun(ForEachWorkTileOp workTile, const Run &run,
                mlir::IntegerAttr alignment, bool adds);

private:
  mlir::Value isWhole(ForEachWorkTileOp workTile, Accumulator &accumulator,
                      llvm::MutableArrayRef<ThreadRow> rows);
  void storeColumns(ForEachWorkTileOp workTile, Accumulator &accumulator,
                    llvm::MutableArrayRef<ThreadRow> rows, bool whole);
};

/// Returns the static alignment of result rows and `run`-element runs, in
/// bytes, or 0 if the alignment is less than a word.
int64_t getResultAlignment(mlir::MemRefType type, int64_t run);

/// Stores from registers, run by run.
class DirectEpilogue : public FragmentEpilogue {
public:
  DirectEpilogue(MatmulKernel &kernel, WorkPolicy &work)
      : FragmentEpilogue(kernel, work) {}

protected:
  int64_t getFragmentColumns() override;
  mlir::Value isResultAligned(int64_t run) override;
  mlir::Value finish(mlir::ValueRange accumulators, ThreadRow &row,
                     const Columns &columns, mlir::Value empty) override;
  void storeRuns(ForEachWorkTileOp workTile, llvm::ArrayRef<Run> runs,
                 FragmentType accumulator, mlir::Value first,
                 mlir::Value empty) override;
  /// Returns true if elements are added to the result.
  virtual bool addsElements() { return false; }
};

/// Adds each row to a result row from a list, if the result row is in bounds.
class ScatteredEpilogue final : public DirectEpilogue {
public:
  ScatteredEpilogue(MatmulKernel &kernel, WorkPolicy &work)
      : DirectEpilogue(kernel, work) {}

  mlir::Value getRows() override;

private:
  void checkRows(mlir::Value rows) override;
  void redirectRow(ResultRow &row) override;
  bool addsElements() override { return true; }
};

/// Stages columns of a warp's rows in shared memory for bulk stores or bulk
/// reductions, which skip elements outside the result or the expert group's
/// matrix. If an expert group ends within a warp's rows, a bulk store would
/// overwrite the next expert group, so threads store these rows.
class StagedEpilogue final : public FragmentEpilogue {
public:
  StagedEpilogue(MatmulKernel &kernel, WorkPolicy &work)
      : FragmentEpilogue(kernel, work) {}

  mlir::Value encodeResult() override;
  void begin() override;

private:
  int64_t getFragmentColumns() override {
    llvm::ArrayRef<int64_t> shape = getStaged().getShape();
    return hasPanels() ? shape.front() * shape.back() : shape.back();
  }
  bool asksForColumns() override { return elements.region.usesColumns(); }
  mlir::Value finish(mlir::ValueRange accumulators, ThreadRow &row,
                     const Columns &columns, mlir::Value empty) override;
  void storeRuns(ForEachWorkTileOp workTile, llvm::ArrayRef<Run> runs,
                 FragmentType accumulator, mlir::Value first,
                 mlir::Value empty) override;
  mlir::Value joinRuns(llvm::ArrayRef<Run> runs, FragmentType accumulator);
  /// Requires `rest`, the remainder of a division by 16 bytes, to be 0.
  void requireNoRest(mlir::Value rest, llvm::StringRef what);
  bool hasPanels() const { return getStaged().getShape().size() > 2; }
  /// Returns the staging buffer of a warp: rows, or panels of all rows.
  BufferType getStaged() const {
    return matmul.buffers.staging.getBuffers().front();
  }

  mlir::Value staging;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
