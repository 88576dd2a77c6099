//===- Operands.h - Operands in shared memory -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_IR_MMA_OPERANDS_H
#define MX_LIB_DIALECT_MXGPU_IR_MMA_OPERANDS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

target::MmaKind toTarget(MmaKind kind);

/// Drops modes of size 1.
FragmentModes makeModes(FragmentModes modes);

/// Return the numbers of rows and of reduction elements of an operand (a
/// matrix, or panels of a matrix).
int64_t getOperandRows(BufferType buffer);
int64_t getOperandReduction(BufferType buffer);

/// Fails unless panel rows are as long as the swizzle, as descriptors require.
llvm::LogicalResult verifyOperandRows(MmaOp op, BufferType buffer);

/// Descriptors of an operand for the instructions of a tile.
class DescribedOperand {
public:
  /// `encode` builds descriptors in the form of the instruction.
  DescribedOperand(NVVMBuilder &builder, BufferType buffer, mlir::Value view,
                   uint64_t (*encode)(const target::SmemDescriptor &));

  /// Advances the start by `rows` (i32), a multiple of the swizzle's period.
  void addRows(NVVMBuilder &builder, mlir::Value rows);
  /// Returns the descriptor of instruction `step` along the reduction. It
  /// starts at row `row`, a multiple of the swizzle's period.
  mlir::Value at(NVVMBuilder &builder, int64_t step, int64_t row = 0) const;

private:
  uint64_t encoded; ///< without the address
  mlir::Value low;  ///< low word (i32)
  int64_t rowBytes, stepsPerPanel, panelBytes;
};

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_IR_MMA_OPERANDS_H
