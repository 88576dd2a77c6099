//===- MainLoop.h - Main loop of wgmma_upcast_b --------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operands are dequantized to bf16, exactly, as the tensor core does not
// support scales. Separate warpgroups dequantize B (UpcastMainLoop.h). MMA
// threads dequantize A in registers, beside the accumulator
// (Common/WgmmaLayouts.h); bf16 A is read from shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H

#include "../Common/UpcastMainLoop.h"
#include "../Common/WgmmaLayouts.h"

namespace mx::mxgpu {

/// Condition under which the kernel computes the work tile, and reference
/// exponents of its operands, if any. Null in kernels that compute all work
/// tiles.
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
  /// Returns whether all tiles of a work tile fit f16, or bf16 relative to
  /// references.
  mlir::Value fits(ForEachWorkTileOp workTile, bool bf16);
  /// Scales the accumulator of operands relative to references.
  mlir::Value scaleAccumulator(mlir::Value accumulator);

  /// Returns the accumulator of a work tile with A in shared memory. The next
  /// step's MMAs start before a step's MMAs complete.
  mlir::Value multiplyMemory(ForEachWorkTileOp workTile);
  /// Returns the accumulators of a work tile with dequantized A, by row blocks
  /// of each warpgroup: the next block is dequantized during the MMAs.
  mlir::Value multiplyRegisters(ForEachWorkTileOp workTile);
  LoadedTile loadTileOfA(ForEachWorkTileOp workTile, ForEachKOp step);
  /// Dequantizes row block `block` of each warpgroup to wgmma's layout.
  mlir::Value dequantizeBlock(LoadedTile tile, int64_t block);

  /// Layouts of the tile and of a row block.
  UpcastLayouts layouts, ofBlock;
  ScaleRange range;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H
