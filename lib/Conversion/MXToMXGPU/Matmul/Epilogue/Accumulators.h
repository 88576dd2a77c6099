//===- Accumulators.h - Where the epilogue finds accumulators - -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where the epilogue finds the accumulator of a work tile: threads hold it,
// or it lies in tensor memory.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_ACCUMULATORS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_ACCUMULATORS_H

#include "../Kernel/ProductKernel.h"

namespace mx::mxgpu {

/// The accumulator of a work tile, as an epilogue reads it. Columns of a tile
/// are read in an order of the main loop's: those that the next work tile
/// overwrites come first.
class Accumulator {
public:
  virtual ~Accumulator() = default;

  /// It may be read after this.
  virtual void wait() = 0;
  /// Whether nothing was multiplied. Then it is zeros.
  virtual mlir::Value isEmpty() = 0;
  /// The column of the tile that is read in `place`.
  virtual mlir::Value getColumn(mlir::Value place) = 0;
  /// How threads hold `count` columns of it.
  virtual FragmentType getType(int64_t count) = 0;
  /// Fragments of that type, one for each part of B: the `count` columns from
  /// `place` on.
  virtual llvm::SmallVector<mlir::Value> load(mlir::Value place,
                                              int64_t count) = 0;
  /// Columns that must be read before `release`.
  virtual int64_t getColumnsToRelease() = 0;
  /// The next work tile may begin.
  virtual void release() = 0;
};

class RegisterAccumulator final : public Accumulator {
public:
  /// Those of `fragment`, whose columns are those of all parts of B.
  RegisterAccumulator(KernelBuilder &body, const Product &product,
                      mlir::Value fragment, mlir::Value empty)
      : body(body), product(product), fragment(fragment), empty(empty) {}

  void wait() override {}
  mlir::Value isEmpty() override { return empty; }
  mlir::Value getColumn(mlir::Value place) override { return place; }
  FragmentType getType(int64_t count) override;
  llvm::SmallVector<mlir::Value> load(mlir::Value place,
                                      int64_t count) override;
  int64_t getColumnsToRelease() override { return product.getTileColumns(); }
  void release() override {}

private:
  KernelBuilder &body;
  const Product &product;
  mlir::Value fragment, empty;
};

class TmemAccumulator final : public Accumulator {
public:
  TmemAccumulator(KernelBuilder &body, const Product &product,
                  mlir::Value accumulators, mlir::Value empty)
      : body(body), product(product), accumulators(accumulators), empty(empty) {
  }

  void wait() override;
  mlir::Value isEmpty() override { return empty; }
  mlir::Value getColumn(mlir::Value place) override;
  FragmentType getType(int64_t count) override;
  llvm::SmallVector<mlir::Value> load(mlir::Value place,
                                      int64_t count) override;
  int64_t getColumnsToRelease() override;
  void release() override;

private:
  /// Where the columns of a part lie in tensor memory.
  mlir::Value getColumnOfPart(mlir::Value place, int64_t part);

  KernelBuilder &body;
  const Product &product;
  mlir::Value accumulators, empty;
  ConsumerWaitOp stage;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_ACCUMULATORS_H
