//===- EpiloguePolicy.h - How accumulators become a result ---- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where the epilogue finds the accumulator of a work tile, what elements it
// makes of it, and the interface of the epilogues, which store them:
//
// DirectEpilogue     threads store elements themselves
// StagedEpilogue     through shared memory, by bulk stores
// ScatteredEpilogue  adds each row to one that a list names
// QuantizedEpilogue  stores elements of blocks and their scales
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H

#include "../../Builder/ElementRegion.h"
#include "../Work/WorkPolicy.h"
#include <vector>

namespace mx::mxgpu {

//===----------------------------------------------------------------------===//
// Where accumulators are found
//===----------------------------------------------------------------------===//

/// The accumulator of a work tile, as an epilogue reads it.
class Accumulator {
public:
  virtual ~Accumulator();

  /// It may be read after this.
  virtual void wait() {}
  /// Whether nothing was multiplied. Then it is zeros.
  mlir::Value isEmpty() const { return empty; }
  /// How threads hold `count` columns of it.
  virtual FragmentType getType(int64_t count) = 0;
  /// Fragments of that type, one for each matrix of B: the `count` columns from
  /// `column` on.
  llvm::SmallVector<mlir::Value> load(mlir::Value column, int64_t count);
  /// The next work tile may begin.
  virtual void release() {}
  /// Which of the thread's `rows` rows it has, from the first to before the
  /// second.
  virtual std::pair<size_t, size_t> getRowsOf(size_t rows) { return {0, rows}; }

protected:
  Accumulator(KernelBuilder &body, const ScheduledMatmul &matmul,
              mlir::Value empty)
      : body(body), matmul(matmul), empty(empty) {}

  /// Columns from `column` on, counted through all matrices of B.
  virtual mlir::Value loadFragment(FragmentType type, mlir::Value column) = 0;

  KernelBuilder &body;
  const ScheduledMatmul &matmul;
  mlir::Value empty;
};

class RegisterAccumulator final : public Accumulator {
public:
  /// Those of `fragment`, whose columns are those of all matrices of B.
  /// With a rank, those that this CTA of a cluster has of a shared sum.
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
// What they become
//===----------------------------------------------------------------------===//

/// What an operation asks for after the accumulator: the factor alpha, what the
/// result holds, the epilogue region, and one rounding.
class ResultElements {
public:
  ResultElements(KernelBuilder &body, MatmulOpInterface op);

  /// From now on in a kernel. Without a region, accumulators become elements of
  /// type `stored`.
  void enter(const KernelArguments &arguments, mlir::Type stored);

  /// Elements of `columns` for the accumulator of each matrix of B.
  mlir::Value finish(mlir::ValueRange accumulators, const Columns &columns);
  /// The same, of accumulators that are added to what `result` holds in `row`
  /// where the operation accumulates, unless they are `empty`.
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
  /// The factor of the accumulator, or null.
  mlir::Value alpha;
};

/// The row of the tile that is number `number` of this thread's.
mlir::Value getRowOfThread(KernelBuilder &body, FragmentType type,
                           int64_t number);

/// The first of the consecutive rows that this thread's warp has.
mlir::Value getFirstRowOfWarp(KernelBuilder &body, FragmentType type);

/// The column where a run of the thread's begins, which is `first` where the
/// columns of the fragment do.
mlir::Value getColumnOfRun(KernelBuilder &body, FragmentType type,
                           int64_t number, mlir::Value first);

/// Elements `first` to `first + count` of a vector; all of them are the vector.
mlir::Value takeElements(KernelBuilder &body, mlir::Value vector, int64_t first,
                         int64_t count);
/// Vectors one after the other.
mlir::Value joinElements(KernelBuilder &body, mlir::ValueRange vectors);

/// Where the scales of row `row` lie in a tile of scales: [r % 32, r / 32]
/// (docs/reference/Spec.md).
struct ScaleWordPlace {
  mlir::Value inQuarter, quarter;
};
ScaleWordPlace getScaleWord(KernelBuilder &body, mlir::Value row);

/// One of the rows that a thread has: its place in the result, and what makes
/// elements of its accumulator.
struct ThreadRow {
  ResultRow place;
  ResultElements elements;
};

class EpiloguePolicy : public KernelComponent {
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
  llvm::ArrayRef<mlir::Value> getCaptures() const {
    return elements.region.getCaptures();
  }

  // In the kernel.

  /// At the kernel's start.
  virtual void begin();
  /// Rows that the result has, and columns.
  virtual mlir::Value getRows();
  virtual mlir::Value getColumns();
  /// Stores what this thread has of the accumulator of a work tile.
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
  /// The rows of the result that this thread has of a work tile, where it holds
  /// an accumulator of type `accumulator`. What depends on the row alone is
  /// computed here.
  std::vector<ThreadRow> getRows(ForEachWorkTileOp workTile,
                                 FragmentType accumulator);

  WorkPolicy &work;
  ResultElements elements;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_EPILOGUEPOLICY_H
