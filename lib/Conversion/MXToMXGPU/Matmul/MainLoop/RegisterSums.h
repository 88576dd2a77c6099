//===- RegisterSums.h - Sums in registers -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The threads of the epilogue are those that multiply, and hold the sums of
// their unit as a fragment.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_REGISTERSUMS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_REGISTERSUMS_H

#include "../Epilogue/Sums.h"
#include "../Kernel/ProductKernel.h"

namespace mx::mxgpu {

class RegisterSums final : public Sums {
public:
  /// Those of `fragment`, whose columns are those of all parts of B.
  RegisterSums(KernelBuilder &body, const Product &product,
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

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_REGISTERSUMS_H
