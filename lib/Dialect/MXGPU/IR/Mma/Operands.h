//===- Operands.h - Tiles in shared memory as operands ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What instructions have in common, and what those do that read A and B by
// descriptors.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_IR_MMA_OPERANDS_H
#define MX_LIB_DIALECT_MXGPU_IR_MMA_OPERANDS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// The kinds have their numbers in Target.
target::MmaKind toTarget(MmaKind kind);

/// Drops modes of extent 1.
FragmentModes makeModes(FragmentModes modes);

/// Rows of an operand, `rows x elements` or panels of that, and its elements
/// along the reduction.
int64_t getOperandRows(BufferType buffer);
int64_t getOperandReduction(BufferType buffer);

/// Fails unless an operand's rows are as long as its swizzle, panel after
/// panel: what the swizzle of a descriptor means.
llvm::LogicalResult verifyOperandRows(MmaOp op, BufferType buffer);

/// The descriptor of an operand in shared memory, instruction by instruction.
class DescribedOperand {
public:
  /// `encode` gives the form of descriptors that the instruction takes.
  DescribedOperand(NVVMBuilder &builder, BufferType buffer, mlir::Value view,
                   uint64_t (*encode)(const target::SmemDescriptor &));

  /// Adds rows (i32) to where it begins, a multiple of the swizzle's pattern.
  void addRows(NVVMBuilder &builder, mlir::Value rows);
  /// The descriptor for instruction number `step` along the reduction, `row`
  /// rows (a multiple of the swizzle's pattern) below where it begins.
  mlir::Value at(NVVMBuilder &builder, int64_t step, int64_t row = 0) const;

private:
  mlir::Value descriptor;
  int64_t rowBytes, stepsPerPanel, panelBytes;
};

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_IR_MMA_OPERANDS_H
