//===- FragmentEpilogue.h - Results that are stored as they are -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A loop over columns, of which a thread has a few at a time: runs of adjacent
// ones in each of its rows. Tiles whose columns all exist take a short way of
// whole vectors; others ask for each column.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H

#include "EpiloguePolicy.h"

namespace mx::mxgpu {

class FragmentEpilogue : public EpiloguePolicy {
public:
  void store(ForEachWorkTileOp unit, Sums &sums) final;

protected:
  using EpiloguePolicy::EpiloguePolicy;

  /// Columns that a thread has at a time.
  virtual int64_t getFragmentColumns() = 0;
  /// Whether columns that do not exist matter to anything.
  virtual bool asksForColumns() { return true; }
  /// Whether vectors of `run` elements may be stored to the result; null if
  /// nothing needs to be asked.
  virtual mlir::Value isResultAligned(int64_t run) { return {}; }
  /// Where the row is stored, if not where it lies in the product.
  virtual void redirectRow(ResultRow &row) {}
  /// Elements for sums of `columns`.
  virtual mlir::Value finish(mlir::ValueRange parts, ThreadRow &row,
                             const Columns &columns, mlir::Value empty) = 0;

  /// Elements in adjacent columns of one of the thread's rows.
  struct Run {
    const ResultRow *row;
    Columns columns;
    mlir::Value elements;
  };
  /// Stores all runs of the thread, row by row. Sums of them have type `sums`,
  /// and begin in column `first`.
  virtual void storeRuns(ForEachWorkTileOp unit, llvm::ArrayRef<Run> runs,
                         FragmentType sums, mlir::Value first,
                         mlir::Value empty) = 0;

private:
  mlir::Value isWhole(ForEachWorkTileOp unit, Sums &sums,
                      llvm::MutableArrayRef<ThreadRow> rows);
  void storeColumns(ForEachWorkTileOp unit, Sums &sums,
                    llvm::MutableArrayRef<ThreadRow> rows, bool whole,
                    int64_t begin, int64_t end);
};

/// The bytes at a multiple of which rows of a result start, as far as its type
/// says, and runs of so many elements too; 0 if they are no whole word.
inline int64_t getResultAlignment(mlir::MemRefType type, int64_t run) {
  constexpr int64_t kWord = 4;
  int64_t bytes = run * type.getElementTypeBitWidth() / 8;
  int64_t found =
      std::min(getRowAlignment(type, /*dynamic=*/32), bytes & -bytes);
  return found < kWord ? 0 : found;
}

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
