//===- ConvertedMainLoop.h - bf16 by weights, by tcgen05.mma ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A is bf16 and goes to the tensor core as it is; threads dequantize B for it
// (DequantizingMainLoop.h). One thread issues MMAs of kind f16, four warps read
// finished sums from tensor memory.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_CONVERTEDMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_CONVERTEDMAINLOOP_H

#include "DequantizingMainLoop.h"

namespace mx::mxgpu {

class ConvertedMainLoop final : public DequantizingMainLoop {
public:
  ConvertedMainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : DequantizingMainLoop(kernel, work, b) {}

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return product.getARows(); }
  void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k) override;

  void buildMma();

  mlir::Value accumulators;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_CONVERTEDMAINLOOP_H
