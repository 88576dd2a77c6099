//===- MainLoop.h - Main loop of mma_sync_block_scaled -------- -*- C++ -*-===//
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
  /// Returns the accumulator of a work tile.
  mlir::Value multiply(ForEachWorkTileOp workTile);
  /// Returns true if the next slice is loaded before the current MMA.
  bool loadsAhead() const;
  /// Loads the elements of an instruction's slice, starting at `column`.
  mlir::Value loadElements(MmaOperand operand, mlir::Type element,
                           mlir::Value buffer, int64_t column);
  /// Loads the scales of a tile, starting at row `first` of a scale tile.
  /// Unless `extent` is null, zeroes the scales of blocks `extent` and up.
  mlir::Value loadScales(MmaOperand operand, mlir::Value buffer,
                         mlir::Value first, mlir::Value extent);
  /// Returns the first scale row of a tile of `rows` rows that starts at `row`.
  mlir::Value getRowOfScales(mlir::Value row, int64_t rows);

  MmaSyncAttr mma;
  MmaSyncLayouts layouts;
  mlir::Value inputs;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_MAINLOOP_H
