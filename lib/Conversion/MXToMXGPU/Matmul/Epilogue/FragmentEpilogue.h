//===- FragmentEpilogue.h - Epilogues by runs of columns ------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Results that are stored as they are: by each thread, to rows that a list
// names, or by bulk copies.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H

#include "EpiloguePolicy.h"

namespace mx::mxgpu {

/// A loop over columns, of which a thread has a few at a time: runs of adjacent
/// ones in each of its rows. Tiles whose columns all exist take a short way of
/// whole vectors; others ask for each column.
class FragmentEpilogue : public EpiloguePolicy {
public:
  void store(ForEachWorkTileOp workTile, Accumulator &accumulator) final;

protected:
  using EpiloguePolicy::EpiloguePolicy;

  /// Columns that a thread has at a time.
  virtual int64_t getFragmentColumns() = 0;
  /// Whether columns that do not exist matter to anything.
  virtual bool asksForColumns() { return true; }
  /// Whether vectors of `run` elements may be stored to the result; null if
  /// nothing needs to be asked.
  virtual mlir::Value isResultAligned(int64_t run) { return {}; }
  /// Where the row is stored, if not where it lies in the result.
  virtual void redirectRow(ResultRow &row) {}
  /// Elements for accumulators of `columns`.
  virtual mlir::Value finish(mlir::ValueRange accumulators, ThreadRow &row,
                             const Columns &columns, mlir::Value empty) = 0;

  /// Elements in adjacent columns of one of the thread's rows.
  struct Run {
    const ResultRow *row;
    Columns columns;
    mlir::Value elements;
  };
  /// Stores all runs of the thread, row by row. Their accumulators have type
  /// `accumulator`, and begin in column `first`.
  virtual void storeRuns(ForEachWorkTileOp workTile, llvm::ArrayRef<Run> runs,
                         FragmentType accumulator, mlir::Value first,
                         mlir::Value empty) = 0;

private:
  mlir::Value isWhole(ForEachWorkTileOp workTile, Accumulator &accumulator,
                      llvm::MutableArrayRef<ThreadRow> rows);
  void storeColumns(ForEachWorkTileOp workTile, Accumulator &accumulator,
                    llvm::MutableArrayRef<ThreadRow> rows, bool whole);
};

/// The bytes at a multiple of which rows of a result start, as far as its type
/// says, and runs of so many elements too; 0 if they are no whole word.
int64_t getResultAlignment(mlir::MemRefType type, int64_t run);

/// Each thread writes what it has in registers, run by run.
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
  /// Whether elements are added to those of the result.
  virtual bool addsElements() { return false; }
};

/// A list says to which row of the result each row is added, if there is such.
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

/// Each warp writes columns of its rows to shared memory, from where the copy
/// engine stores them, or adds them to the result. It leaves out what lies
/// outside the result, or outside the group's matrix of it. Where a group of
/// rows ends among those of a warp, it would write the next one's: the threads
/// store theirs themselves.
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
  /// Requires that `rest`, of a division by 16 bytes, is 0.
  void requireNoRest(mlir::Value rest, llvm::StringRef what);
  /// What a warp stages at a time.
  BufferType getStaged() const {
    return matmul.buffers.staging.getBuffers().front();
  }

  mlir::Value staging;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
