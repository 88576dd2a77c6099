//===- DequantizedMainLoop.h - Products by wgmma ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tensor core knows no scales: operands are dequantized to bf16, exactly.
// One thread loads tiles and scales. Warpgroups dequantize tiles of B from one
// ring to another. The threads that multiply dequantize tiles of A in their
// registers, where they also hold the sums. DequantizedLayouts.h says who holds
// what. An A of bf16 needs nobody: wgmma reads it where it was loaded.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZEDMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZEDMAINLOOP_H

#include "MainLoop.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"

namespace mx::mxgpu {

class DequantizedMainLoop : public MainLoop {
public:
  DequantizedMainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : MainLoop(kernel, work, b),
        layouts(llvm::cast<WgmmaAttr>(kernel.product.buffers.mma),
                kernel.product.schedule.getTileK(),
                kernel.product.problem.hasScalesOfA(),
                kernel.product.problem.isPackedB) {}

  void checkSizes() override {}
  void addOperands(KernelArguments &signature) override;
  void freeTemporaries() override {}

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

protected:
  /// Tiles of the reduction of a unit; the insertion point moves into the loop.
  ForEachKOp forEachTile(ForEachWorkTileOp unit, mlir::ValueRange initial = {});
  /// A tile of an operand of `element`, as bf16. `row` is where its rows begin
  /// among those of its tiles of scales.
  mlir::Value dequantize(ConsumerWaitOp stage, llvm::StringRef elements,
                         llvm::StringRef scales, mlir::Type element,
                         FragmentLayoutAttr layout, mlir::Value row,
                         ForEachKOp step, mlir::Value thread = {},
                         bool isPacked = false);
  /// Where rows of a unit's tile of B begin among those of its tiles of scales.
  mlir::Value getFirstRowOfScales(ForEachWorkTileOp unit);
  /// The thread that fills both rings of inputs, of the roles' kind `kind`.
  void buildLoad(int64_t kind);

  mlir::Value inputs, bInputs;

private:
  /// Rows of the boxes by which the copy engine loads A.
  virtual int64_t getRowsOfBox() const { return layouts.getRowsOfBox(); }
  virtual void loadA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k);

  mlir::Value encodeElements(mlir::Value operand, RingType ring,
                             llvm::StringRef field, int64_t rows);

  void buildMultiply(EpiloguePolicy &epilogue);
  void buildDequantize();
  /// The part of a tile of B that this thread has.
  mlir::Value getPartOfB();
  /// The sums of a unit.
  mlir::Value multiply(ForEachWorkTileOp unit);
  /// A tile of A as wgmma takes it: in registers, or where a stage has it.
  mlir::Value getTileOfA(ForEachWorkTileOp unit, ForEachKOp step,
                         ConsumerWaitOp stage);

  DequantizedLayouts layouts;
  mlir::Value operands;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZEDMAINLOOP_H
