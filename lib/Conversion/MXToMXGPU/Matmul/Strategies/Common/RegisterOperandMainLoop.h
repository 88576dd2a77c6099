//===- RegisterOperandMainLoop.h - From registers ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Threads dequantize one operand in the registers from which wgmma reads it,
// and the other is bf16 in shared memory (RegisterOperandLayouts.h). One role
// multiplies, one loads.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDMAINLOOP_H

#include "RegisterOperandLayouts.h"
#include "UpcastMainLoop.h"

namespace mx::mxgpu {

/// Columns of the instruction from which on a step's reduction has two
/// slices, an operand each. With fewer, MMAs are short and slices cost more:
/// on an H200 4 % of the time with up to 48 columns, while they save 6 % with
/// 128.
inline constexpr int64_t kColumnsOfSlices = 128;
/// Slices of a step's reduction, by columns of the instruction.
inline int64_t getSlicesOfStep(int64_t columns) {
  return columns >= kColumnsOfSlices ? 2 : 1;
}

/// The operand that goes through registers.
struct RegisterOperand {
  mlir::Type element;
  /// The fields of a stage that have its elements and their scales, and the
  /// one of the other operand.
  llvm::StringRef elements, scales, other;
  bool isPacked;
  RowSteps steps;
  /// Columns of the other that are permuted among each other, or 0.
  int64_t permuted;
};

class RegisterOperandMainLoop : public UpcastMainLoop {
public:
  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

protected:
  RegisterOperandMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b,
                          RegisterOperand operand);

  /// The rings of this operand, and of the other.
  virtual mlir::Value getRing() = 0;
  virtual mlir::Value getOtherRing() = 0;
  /// Where a work tile's rows of the operand begin among those of its tiles of
  /// scales.
  virtual mlir::Value getFirstRow(ForEachWorkTileOp workTile) = 0;

private:
  int64_t getReductionSlices() const;
  mlir::Value multiply(ForEachWorkTileOp workTile);
  /// A slice of a step's tile, as the instruction takes it.
  mlir::Value dequantizeSlice(LoadedTile tile, int64_t slice);

  RegisterOperand operand;
  RegisterOperandLayouts layouts, ofSlice;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDMAINLOOP_H
