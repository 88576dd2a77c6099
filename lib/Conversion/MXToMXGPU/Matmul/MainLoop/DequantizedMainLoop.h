//===- DequantizedMainLoop.h - Products by wgmma ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tensor core knows no scales: operands are dequantized to bf16, exactly.
// Others dequantize B (DequantizingMainLoop.h). The threads that multiply
// dequantize tiles of A in their registers, where they also hold the sums.
// DequantizedLayouts.h says which thread holds what. An A of bf16 needs no
// converter: wgmma reads it where it was loaded.
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
                kernel.product.problem.isPackedB),
        ofBlock(layouts.getBlock()) {}

  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return layouts.getRowsOfBox(); }
  void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k) override;

  /// The sums of a unit whose A wgmma reads where a stage has it. While it
  /// multiplies a step, the next step's instructions are started.
  mlir::Value multiplyMemory(ForEachWorkTileOp unit);
  /// Those of one whose A the threads dequantize, a block of each warpgroup's
  /// rows at a time: while wgmma multiplies one, the next is dequantized.
  mlir::Value multiplyRegisters(ForEachWorkTileOp unit);
  LoadedTile loadTileOfA(ForEachWorkTileOp unit, ForEachKOp step);
  /// Block `block` of each warpgroup's rows, as wgmma takes it in registers.
  mlir::Value dequantizeBlock(LoadedTile tile, int64_t block);

  /// Of the tile, and of a block of it.
  DequantizedLayouts layouts, ofBlock;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZEDMAINLOOP_H
