//===- FragmentEpilogue.h - Results that are stored as they are -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A loop over columns, of which a thread has a few at a time. Tiles whose
// columns all exist take the short way, with vectors and without questions;
// others ask for each column.
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
  /// Whether vectors may be stored to the result; null if nothing needs to be
  /// asked.
  virtual mlir::Value isResultAligned() { return {}; }
  /// Where the row is stored, if not where it lies in the product.
  virtual void redirectRow(ResultRow &row) {}
  /// Elements for sums of `columns`.
  virtual mlir::Value finish(mlir::ValueRange parts, const ResultRow &row,
                             const Columns &columns, mlir::Value empty) = 0;
  /// Stores them.
  virtual void storeFragment(ForEachWorkTileOp unit, const ResultRow &row,
                             mlir::Value fragment, const Columns &columns,
                             mlir::Value empty) = 0;

private:
  mlir::Value isWhole(ForEachWorkTileOp unit, mlir::Value empty);
  void storeColumns(ForEachWorkTileOp unit, Sums &sums, const ResultRow &row,
                    bool whole, int64_t begin, int64_t end);
};

/// The bytes at a multiple of which rows of a result start, as far as its type
/// says.
inline int64_t getResultAlignment(mlir::MemRefType type) {
  return getRowAlignment(type, /*dynamic=*/32);
}

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_FRAGMENTEPILOGUE_H
