//===- MainLoop.h - Matmuls of dequantized operands, by wgmma ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tensor core knows no scales: operands are dequantized to bf16, exactly.
// Others dequantize B (UpcastMainLoop.h). The threads that multiply
// dequantize tiles of A in their registers, where they also hold the
// accumulator. Common/WgmmaLayouts.h says which thread holds what. An A of bf16
// needs no converter: wgmma reads it where it was loaded.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H

#include "../Common/UpcastMainLoop.h"
#include "../Common/WgmmaLayouts.h"

namespace mx::mxgpu {

/// A work tile in a kernel that computes only some of them: whether the kernel
/// computes it, and the reference exponents of its operands, if they have any.
/// Null in a kernel that computes all work tiles.
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
  /// Whether all tiles of a work tile fit f16, or bf16 relative to references.
  mlir::Value fits(ForEachWorkTileOp workTile, bool bf16);
  /// The accumulator of operands that are relative to references.
  mlir::Value scaleAccumulator(mlir::Value accumulator);

  /// The accumulator of a work tile whose A wgmma reads where a stage has it.
  /// While it multiplies a step, the next step's instructions are started.
  mlir::Value multiplyMemory(ForEachWorkTileOp workTile);
  /// Those of one whose A the threads dequantize, a block of each warpgroup's
  /// rows at a time: while wgmma multiplies one, the next is dequantized.
  mlir::Value multiplyRegisters(ForEachWorkTileOp workTile);
  LoadedTile loadTileOfA(ForEachWorkTileOp workTile, ForEachKOp step);
  /// Block `block` of each warpgroup's rows, as wgmma takes it in registers.
  mlir::Value dequantizeBlock(LoadedTile tile, int64_t block);

  /// Of the tile, and of a block of it.
  UpcastLayouts layouts, ofBlock;
  ScaleRange range;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_MAINLOOP_H
