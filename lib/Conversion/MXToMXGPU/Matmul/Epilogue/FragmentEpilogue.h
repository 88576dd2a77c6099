//===- FragmentEpilogue.h - Epilogues that store column runs -- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Stores of unquantized results: by threads, to listed rows, or by bulk copies.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H

#include "EpiloguePolicy.h"

namespace mx::mxgpu {

/// A loop over columns. In each iteration, a thread processes runs of adjacent
/// columns in each of its rows. Tiles without missing columns use vectors
/// without checks.
class FragmentEpilogue : public EpiloguePolicy {
public:
  void store(ForEachWorkTileOp workTile, Accumulator &accumulator) final;

protected:
  using EpiloguePolicy::EpiloguePolicy;

  /// Returns the columns of an iteration.
  virtual int64_t getFragmentColumns() = 0;
  /// Returns true if missing columns need checks.
  virtual bool asksForColumns() { return true; }
  /// Returns whether vectors of `run` elements may be stored to the result;
  /// null if always.
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
  /// their accumulators and `first` the first column.
  virtual void storeRuns(ForEachWorkTileOp workTile, llvm::ArrayRef<Run> runs,
                         FragmentType accumulator, mlir::Value first,
                         mlir::Value empty) = 0;

private:
  mlir::Value isWhole(ForEachWorkTileOp workTile, Accumulator &accumulator,
                      llvm::MutableArrayRef<ThreadRow> rows);
  void storeColumns(ForEachWorkTileOp workTile, Accumulator &accumulator,
                    llvm::MutableArrayRef<ThreadRow> rows, bool whole);
};

/// Returns the static alignment of result rows and of runs of `run` elements,
/// in bytes; 0 if less than a word.
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

/// Adds each row to the result row that a list names, if that row exists.
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
/// reductions, which skip elements outside the result or the group's matrix.
/// Where an expert group ends within a warp's rows, a bulk store would
/// overwrite the next group, so threads store these rows.
class StagedEpilogue final : public FragmentEpilogue {
public:
  StagedEpilogue(MatmulKernel &kernel, WorkPolicy &work)
      : FragmentEpilogue(kernel, work) {}

  mlir::Value encodeResult() override;
  void begin() override;

private:
  int64_t getFragmentColumns() override {
    return getStaged().getShape().back();
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
  /// Returns the staging buffer of a warp.
  BufferType getStaged() const {
    return matmul.buffers.staging.getBuffers().front();
  }

  mlir::Value staging;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
