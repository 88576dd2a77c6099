//===- MainLoop.h - Main loop of wgmma_upcast_b --------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are dequantized exactly to bf16, because the tensor core does not
// support scales. Separate warpgroups dequantize B (UpcastMainLoop.h). MMA
// threads dequantize a scaled A in registers (Common/WgmmaLayouts.h). They read
// bf16 A from shared memory.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H

#include "../Common/UpcastMainLoop.h"
#include "../Common/WgmmaLayouts.h"

namespace mx::mxgpu {

/// `isOwn` is true if the kernel computes the work tile. `a` and `b` are the
/// operands' reference exponents, or null without references. All are null in
/// kernels that compute all work tiles.
struct ScaleRange {
  mlir::Value isOwn, a, b;
};

class WgmmaUpcastMainLoop final : public UpcastMainLoop {
public:
  WgmmaUpcastMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
      : UpcastMainLoop(kernel, work, b),
        layouts(llvm::cast<WgmmaAttr>(kernel.matmul.buffers.mma),
                kernel.matmul.schedule.getTileK(),
                kernel.matmul.problem.hasScalesOfA(),
                kernel.matmul.problem.isPackedB),
        ofBlock(layouts.getBlock()) {}

  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return layouts.getRowsOfBox(); }
  void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k) override;
  void enterWorkTile(ForEachWorkTileOp workTile, bool multiplies) override;
  std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile) override;
  mlir::Value finishAccumulator(mlir::Value accumulator) override;
  mlir::Type getUpcastType() override;
  mlir::Value getReferenceOfB() override { return range.b; }
  bool isFinite() const override {
    return kernel.workTiles == WorkTileClass::RelativeBF16;
  }
  /// Tests whether all operand tiles of a work tile fit f16, or bf16 if `bf16`
  /// is true, relative to references.
  mlir::Value fits(ForEachWorkTileOp workTile, bool bf16);
  /// Multiplies an accumulator by the references of both operands.
  mlir::Value scaleAccumulator(mlir::Value accumulator);

  /// Returns the accumulator of a work tile with A in shared memory. The MMAs
  /// of a step may start before the MMAs of the previous step complete.
  mlir::Value multiplyMemory(ForEachWorkTileOp workTile);
  /// Returns the accumulators of a work tile with dequantized A. A warpgroup
  /// dequantizes each row block during the MMAs of the previous block.
  mlir::Value multiplyRegisters(ForEachWorkTileOp workTile);
  LoadedTile loadTileOfA(ForEachWorkTileOp workTile, ForEachKOp step);
  /// Dequantizes row block `block` of each warpgroup to wgmma's layout.
  mlir::Value dequantizeBlock(LoadedTile tile, int64_t block);

  /// Layouts of the whole tile, and of a row block.
  UpcastLayouts layouts, ofBlock;
  ScaleRange range;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H
