//===- SwappedMainLoop.h - Products by wgmma of B times A^T -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// For few rows of A: a tile has as many as wgmma has columns, and the 64 rows
// of the instruction are rows of B (SwappedLayouts.h). B goes from where it was
// loaded to the registers of the MMA warpgroups, which dequantize it there. Two
// roles are enough: one thread loads, warpgroups multiply.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_SWAPPEDMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_SWAPPEDMAINLOOP_H

#include "DequantizingMainLoop.h"
#include "mx/Conversion/MXToMXGPU/SwappedLayouts.h"

namespace mx::mxgpu {

class SwappedMainLoop final : public DequantizingMainLoop {
public:
  SwappedMainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : DequantizingMainLoop(kernel, work, b),
        swapped(llvm::cast<WgmmaAttr>(kernel.product.buffers.mma),
                kernel.product.schedule.getTileK(),
                kernel.product.problem.numB),
        ofPart(llvm::cast<WgmmaAttr>(kernel.product.buffers.mma),
               kernel.product.schedule.getTileK() / getParts(),
               kernel.product.problem.numB) {}

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  /// Of a tile's reduction, an operand each. With few rows products are short,
  /// and what parts cost is more: on an H200 4 % of the time with up to 48
  /// rows, while they save 6 % with 128.
  int64_t getParts() const {
    constexpr int64_t kManyRows = 128;
    return schedule.getTileM() >= kManyRows ? 2 : 1;
  }

  /// The copy engine loads rows of A as they are.
  int64_t getRowsOfBox() const override { return schedule.getTileM(); }
  void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k) override;

  mlir::Value multiply(ForEachWorkTileOp unit);
  /// A tile of B as memory has it. `row` is where its rows begin among those of
  /// its tiles of scales.
  LoadedTile loadTileOfB(mlir::Value row, ForEachKOp step);
  /// A part of it, as the instruction takes it.
  mlir::Value dequantizePart(LoadedTile tile, int64_t part);

  SwappedLayouts swapped, ofPart;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_SWAPPEDMAINLOOP_H
