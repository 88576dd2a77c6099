//===- EpiloguePolicy.h - From sums to the result ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the threads that read the sums do with them. Each way is a file:
//
//   DirectEpilogue     threads store elements themselves
//   StagedEpilogue     through shared memory, by bulk stores
//   ScatteredEpilogue  adds each row to one that a list names
//   QuantizedEpilogue  stores elements of blocks and their scales
//
// ResultElements.h says what the elements are, ThreadRows.h whose rows are
// whose.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H

#include "../Work/WorkPolicy.h"
#include "ResultElements.h"
#include "Sums.h"
#include <vector>

namespace mx::mxgpu {

/// One of the rows that a thread has: its place in the result, and what makes
/// elements of its sums.
struct ThreadRow {
  ResultRow place;
  ResultElements elements;
};

class EpiloguePolicy : public KernelPart {
public:
  // On the host.

  /// Sees the result as the kernel writes it.
  virtual void viewResult() {}
  /// Requires that a result has `columns` that this way can write.
  virtual void checkColumns(mlir::Value columns) {}
  /// Requires that the result, and what the epilogue reads, are those of so
  /// many rows and columns.
  void checkSizes(mlir::Value rows, mlir::Value columns);
  /// The result's tensor map, or null.
  virtual mlir::Value encodeResult() { return {}; }
  llvm::ArrayRef<mlir::Value> getCaptures() {
    return elements.region.getCaptures();
  }

  // In the kernel.

  /// At the kernel's start.
  virtual void begin();
  /// Rows that the product has, and columns.
  virtual mlir::Value getRows() { return body.dim(getResult(), 0); }
  virtual mlir::Value getColumns() { return body.dim(getResult(), 1); }
  /// Stores what this thread has of the sums of a unit.
  virtual void store(ForEachWorkTileOp unit, Sums &sums) = 0;

protected:
  EpiloguePolicy(ProductKernel &kernel, WorkPolicy &work)
      : KernelPart(kernel), work(work), elements(kernel.body, op) {}

  virtual void checkRows(mlir::Value rows);
  virtual void checkScales(mlir::Value rows, mlir::Value columns) {}

  mlir::Value getResult() const { return arguments.get(Arg::Result); }
  mlir::MemRefType getResultType() const {
    return llvm::cast<mlir::MemRefType>(getResult().getType());
  }
  /// The rows of the result that this thread has of a unit, where it holds
  /// sums of type `sums`. What depends on the row alone is computed here.
  std::vector<ThreadRow> getRows(ForEachWorkTileOp unit, FragmentType sums);
  /// Calls `store` with the places from `begin` to `end` of all columns, and
  /// releases the sums when they may be overwritten.
  void drain(Sums &sums,
             llvm::function_ref<void(int64_t begin, int64_t end)> store);

  WorkPolicy &work;
  ResultElements elements;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H
