//===- TmemSums.h - Sums in tensor memory -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// They come by a ring of accumulators, which may overlap: then the columns that
// the next one takes are read first.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_TMEMSUMS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_TMEMSUMS_H

#include "../Epilogue/Sums.h"
#include "../Kernel/ProductKernel.h"

namespace mx::mxgpu {

class TmemSums final : public Sums {
public:
  TmemSums(KernelBuilder &body, const Product &product,
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

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_TMEMSUMS_H
