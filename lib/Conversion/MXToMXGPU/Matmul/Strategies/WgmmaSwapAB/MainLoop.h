//===- MainLoop.h - W times X^T by wgmma ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Threads dequantize B in the registers from which wgmma reads it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMASWAPAB_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMASWAPAB_MAINLOOP_H

#include "../Common/UpcastMainLoop.h"
#include "Layouts.h"
#include "mx/Support/ReductionOrder.h"

namespace mx::mxgpu {

class SwapABMainLoop final : public UpcastMainLoop {
public:
  SwapABMainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : UpcastMainLoop(kernel, work, b),
        swapped(llvm::cast<WgmmaAttr>(kernel.product.buffers.mma),
                kernel.product.schedule.getTileK(), kernel.product.problem.numB,
                getPermuted()),
        ofPart(llvm::cast<WgmmaAttr>(kernel.product.buffers.mma),
               kernel.product.schedule.getTileK() / getParts(),
               kernel.product.problem.numB, getPermuted()) {}

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

  /// Of a tile's reduction, an operand each. With small M products are short,
  /// and what parts cost is more: on an H200 4 % of the time with up to 48
  /// rows, while they save 6 % with 128.
  static int64_t getParts(int64_t rows) {
    constexpr int64_t kManyRows = 128;
    return rows >= kManyRows ? 2 : 1;
  }

private:
  int64_t getParts() const { return getParts(schedule.getTileM()); }
  /// Columns that are permuted among each other, or 0.
  int64_t getPermuted() const {
    return schedule.getStrategy().getPermutedA()
               ? getReductionBlock(product.problem.k)
               : 0;
  }

  /// The copy engine loads rows of A as they are.
  int64_t getRowsOfBox() const override { return schedule.getTileM(); }
  void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k) override;

  mlir::Value multiply(ForEachWorkTileOp workTile);
  /// A tile of B as memory has it. `row` is where its rows begin among those of
  /// its tiles of scales.
  LoadedTile loadTileOfB(mlir::Value row, ForEachKOp step);
  /// A part of it, as the instruction takes it.
  mlir::Value dequantizePart(LoadedTile tile, int64_t part);

  SwapABLayouts swapped, ofPart;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMASWAPAB_MAINLOOP_H
