//===- NumbersMainLoop.h - Products without scales --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Both operands are bf16, and wgmma takes them as they are. Two roles: one
// thread loads tiles of both into a ring, warpgroups multiply them there and
// hold the sums.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_NUMBERSMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_NUMBERSMAINLOOP_H

#include "DequantizingMainLoop.h"
#include "mx/Conversion/MXToMXGPU/NumbersLayouts.h"

namespace mx::mxgpu {

class NumbersMainLoop final : public DequantizingMainLoop {
public:
  NumbersMainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : DequantizingMainLoop(kernel, work, b),
        layouts(llvm::cast<WgmmaAttr>(kernel.product.buffers.mma),
                kernel.product.schedule.getTileK(),
                kernel.product.problem.isQuantized) {}

  void addOperands(KernelArguments &signature) override;
  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return layouts.getRowsOfBox(); }
  void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k) override;
  void buildLoads();
  /// The tensor map of a B whose rows are loaded in another order.
  mlir::Value encodeInterleavedB();

  /// The sums of a unit.
  mlir::Value multiply(ForEachWorkTileOp unit);

  NumbersLayouts layouts;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_NUMBERSMAINLOOP_H
