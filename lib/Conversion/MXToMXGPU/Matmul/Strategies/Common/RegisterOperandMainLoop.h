//===- RegisterOperandMainLoop.h - wgmma from registers ------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MMA threads dequantize one operand in registers for wgmma. The other operand
// is bf16 in shared memory (RegisterOperandLayouts.h). Separate roles multiply
// and load.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDMAINLOOP_H

#include "RegisterOperandLayouts.h"
#include "UpcastMainLoop.h"

namespace mx::mxgpu {

/// Minimum number of instruction columns for which a step is split into two
/// slices of the reduction. Narrower MMAs are too short to overlap. On an H200,
/// two slices take 4 % longer with up to 48 columns and save 6 % with 128
/// columns.
inline constexpr int64_t kColumnsOfSlices = 128;
/// Returns the reduction slices of a step for an instruction of `columns`
/// columns.
inline int64_t getSlicesOfStep(int64_t columns) {
  return columns >= kColumnsOfSlices ? 2 : 1;
}

struct RegisterOperand {
  mlir::Type element;
  /// Ring fields of the operand's elements and scales and of the other operand.
  llvm::StringRef elements, scales, other;
  bool isPacked;
  RowSteps steps;
  /// Columns of the other operand permuted together, or 0.
  int64_t permuted;
};

class RegisterOperandMainLoop : public UpcastMainLoop {
public:
  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

protected:
  RegisterOperandMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b,
                          RegisterOperand operand);

  /// Return the rings of the register operand and of the other operand.
  virtual mlir::Value getRing() = 0;
  virtual mlir::Value getOtherRing() = 0;
  /// Returns the first row of a work tile's operand within its scale tiles.
  virtual mlir::Value getFirstRow(ForEachWorkTileOp workTile) = 0;

private:
  int64_t getReductionSlices() const;
  mlir::Value multiply(ForEachWorkTileOp workTile);
  /// Dequantizes a slice of a step's tile to the layout of the instruction.
  mlir::Value dequantizeSlice(LoadedTile tile, int64_t slice);

  RegisterOperand operand;
  RegisterOperandLayouts layouts, ofSlice;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDMAINLOOP_H
