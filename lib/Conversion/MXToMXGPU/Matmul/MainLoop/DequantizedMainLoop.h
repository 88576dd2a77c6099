//===- DequantizedMainLoop.h - Products by wgmma ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tensor core knows no scales: operands are dequantized to bf16, exactly.
// Others dequantize B (DequantizingMainLoop.h). The threads that multiply
// dequantize tiles of A in their registers, where they also hold the sums.
// DequantizedLayouts.h says who holds what. An A of bf16 needs nobody: wgmma
// reads it where it was loaded.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZEDMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZEDMAINLOOP_H

#include "DequantizingMainLoop.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"

namespace mx::mxgpu {

class DequantizedMainLoop final : public DequantizingMainLoop {
public:
  DequantizedMainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : DequantizingMainLoop(kernel, work, b),
        layouts(llvm::cast<WgmmaAttr>(kernel.product.buffers.mma),
                kernel.product.schedule.getTileK(),
                kernel.product.problem.hasScalesOfA(),
                kernel.product.problem.isPackedB) {}

  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return layouts.getRowsOfBox(); }
  void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k) override;

  /// The sums of a unit.
  mlir::Value multiply(ForEachWorkTileOp unit);
  /// A tile of A as wgmma takes it: in registers, or where a stage has it.
  mlir::Value getTileOfA(ForEachWorkTileOp unit, ForEachKOp step,
                         ConsumerWaitOp stage);

  DequantizedLayouts layouts;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZEDMAINLOOP_H
