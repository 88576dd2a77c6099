//===- EpiloguePolicy.h - Epilogues of matmul kernels --------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulators, result elements, and the epilogues that store them:
//
// DirectEpilogue     stores from threads
// StagedEpilogue     bulk stores through shared memory
// ScatteredEpilogue  adds rows to listed rows
// QuantizedEpilogue  stores quantized elements and scales
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H

#include "../../Builder/ElementRegion.h"
#include "../Work/WorkPolicy.h"
#include <vector>

namespace mx::mxgpu {

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

class Accumulator {
public:
  virtual ~Accumulator();

  /// Waits until the accumulator is complete.
  virtual void wait() {}
  /// Returns whether the reduction was empty and the accumulator is zero.
  mlir::Value isEmpty() const { return empty; }
  /// Returns the fragment type of `count` columns.
  virtual FragmentType getType(int64_t count) = 0;
  /// Loads `count` columns starting at `column`, a fragment per B matrix.
  llvm::SmallVector<mlir::Value> load(mlir::Value column, int64_t count);
  /// Releases the accumulator for the next work tile.
  virtual void release() {}
  /// Returns the half-open range of available rows among `rows` thread rows.
  virtual std::pair<size_t, size_t> getRowsOf(size_t rows) { return {0, rows}; }

protected:
  Accumulator(KernelBuilder &body, const ScheduledMatmul &matmul,
              mlir::Value empty)
      : body(body), matmul(matmul), empty(empty) {}

  /// Loads a fragment starting at `column`, counted across all B matrices.
  virtual mlir::Value loadFragment(FragmentType type, mlir::Value column) = 0;

  KernelBuilder &body;
  const ScheduledMatmul &matmul;
  mlir::Value empty;
};

class RegisterAccumulator final : public Accumulator {
public:
  /// Wraps a fragment that spans the columns of all B matrices. If a cluster
  /// rank is given, only the share of this CTA is available.
  RegisterAccumulator(KernelBuilder &body, const ScheduledMatmul &matmul,
                      mlir::Value fragment, mlir::Value empty,
                      std::optional<int64_t> rank = std::nullopt)
      : Accumulator(body, matmul, empty), fragment(fragment), rank(rank) {}

  FragmentType getType(int64_t count) override;
  std::pair<size_t, size_t> getRowsOf(size_t rows) override;

private:
  mlir::Value loadFragment(FragmentType type, mlir::Value column) override;

  mlir::Value fragment;
  std::optional<int64_t> rank;
};

class TmemAccumulator final : public Accumulator {
public:
  TmemAccumulator(KernelBuilder &body, const ScheduledMatmul &matmul,
                  mlir::Value accumulators, mlir::Value empty)
      : Accumulator(body, matmul, empty), accumulators(accumulators) {}

  void wait() override;
  FragmentType getType(int64_t count) override;
  void release() override;

private:
  mlir::Value loadFragment(FragmentType type, mlir::Value column) override;

  mlir::Value accumulators;
  ConsumerWaitOp stage;
};

//===----------------------------------------------------------------------===//
// Result elements
//===----------------------------------------------------------------------===//

/// Computes the result from accumulators by applying the factor alpha,
/// accumulation, the epilogue region and rounding.
class ResultElements {
public:
  ResultElements(KernelBuilder &body, MatmulOpInterface op);

  /// Maps captured values to kernel arguments. Without an epilogue region,
  /// results are rounded to `stored`.
  void enter(const KernelArguments &arguments, mlir::Type stored);

  /// Returns the elements of `columns` for an accumulator of each B matrix.
  mlir::Value finish(mlir::ValueRange accumulators, const Columns &columns);
  /// Returns the elements, added to `row` of `result` if the operation
  /// accumulates. If `empty` is true, the old value is kept.
  mlir::Value finishOnto(mlir::ValueRange accumulators, mlir::Value result,
                         mlir::Value row, const Columns &columns,
                         mlir::Value empty);

  ElementRegion region;

private:
  mlir::Value getFactor(mlir::Type vector);
  mlir::Value makeElements(mlir::ValueRange accumulators,
                           const Columns &columns);

  KernelBuilder &body;
  MatmulOpInterface op;
  mlir::Type stored;
  /// Factor of the accumulator, or null.
  mlir::Value alpha;
};

/// Returns the tile row of the thread's row `number`.
mlir::Value getRowOfThread(KernelBuilder &body, FragmentType type,
                           int64_t number);

/// Returns the first of the warp's consecutive rows.
mlir::Value getFirstRowOfWarp(KernelBuilder &body, FragmentType type);

/// Returns the first column of the thread's run `number` in a fragment that
/// starts at column `first`.
mlir::Value getColumnOfRun(KernelBuilder &body, FragmentType type,
                           int64_t number, mlir::Value first);

/// Returns `count` elements of a vector, starting at `first`.
mlir::Value takeElements(KernelBuilder &body, mlir::Value vector, int64_t first,
                         int64_t count);
mlir::Value joinElements(KernelBuilder &body, mlir::ValueRange vectors);

/// Position of a row's scales in a scale tile: [r % 32, r / 32]
/// (docs/reference/Spec.md).
struct ScaleWordPlace {
  mlir::Value inQuarter, quarter;
};
ScaleWordPlace getScaleWord(KernelBuilder &body, mlir::Value row);

/// A row of a thread, with its position in the result and its epilogue.
struct ThreadRow {
  ResultRow place;
  ResultElements elements;
};

class EpiloguePolicy : public KernelComponent {
public:
  // Host code.

  /// Replaces the result with the view that the kernel writes.
  virtual void viewResult() {}
  /// Requires a number of result columns that the epilogue supports.
  virtual void checkColumns(mlir::Value columns) {}
  /// Requires result and epilogue inputs to match `rows` and `columns`.
  void checkSizes(mlir::Value rows, mlir::Value columns);
  /// Returns the tensor map of the result, or null.
  virtual mlir::Value encodeResult() { return {}; }
  llvm::ArrayRef<mlir::Value> getCaptures() const {
    return elements.region.getCaptures();
  }

  // Kernel code.

  /// Emits code at the start of the kernel.
  virtual void begin();
  virtual mlir::Value getRows();
  virtual mlir::Value getColumns();
  /// Stores this thread's part of a work tile.
  virtual void store(ForEachWorkTileOp workTile, Accumulator &accumulator) = 0;

protected:
  EpiloguePolicy(MatmulKernel &kernel, WorkPolicy &work)
      : KernelComponent(kernel), work(work), elements(kernel.body, op) {}

  virtual void checkRows(mlir::Value rows);
  virtual void checkScales(mlir::Value rows, mlir::Value columns) {}

  mlir::Value getResult() const { return arguments.get(Arg::Result); }
  mlir::MemRefType getResultType() const {
    return llvm::cast<mlir::MemRefType>(getResult().getType());
  }
  /// Returns this thread's rows of a work tile for an accumulator type. Emits
  /// the computations that depend only on the row.
  std::vector<ThreadRow> getRows(ForEachWorkTileOp workTile,
                                 FragmentType accumulator);

  WorkPolicy &work;
  ResultElements elements;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H
