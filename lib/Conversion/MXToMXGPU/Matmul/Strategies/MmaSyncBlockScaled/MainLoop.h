//===- MainLoop.h - Operands that warps multiply ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_MAINLOOP_H

#include "../../MainLoop/MainLoop.h"
#include "Layouts.h"

namespace mx::mxgpu {

class MmaSyncMainLoop final : public MainLoop {
public:
  MmaSyncMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b);

  void addOperands(KernelArguments &signature) override;
  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  /// The accumulator of a work tile.
  mlir::Value multiply(ForEachWorkTileOp workTile);
  /// Whether a slice is loaded before the one before is multiplied.
  bool loadsAhead() const;
  /// Elements of one instruction's slice of the reduction, from `column` on.
  mlir::Value loadElements(MmaOperand operand, mlir::Type element,
                           mlir::Value buffer, int64_t column);
  /// The scales of a tile, from row `first` of a tile of scales on, those of
  /// blocks from `extent` on being 0; null for none.
  mlir::Value loadScales(MmaOperand operand, mlir::Value buffer,
                         mlir::Value first, mlir::Value extent);
  /// The row where scales of a tile of `rows` rows begin, of which row `row` is
  /// the first.
  mlir::Value getRowOfScales(mlir::Value row, int64_t rows);

  MmaSyncAttr mma;
  MmaSyncLayouts layouts;
  mlir::Value inputs;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_MAINLOOP_H
