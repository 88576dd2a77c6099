//===- RegisterOperandTile.h - Tiles and costs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Which tiles suit kernels whose MMA warpgroups dequantize an operand in their
// registers (RegisterOperandLayouts.h), the registers of their threads, and the
// cycles of a step (docs/design/ScheduleModel.md).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDTILE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDTILE_H

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"

namespace mx::mxgpu {

/// A tile as the instruction sees it: rows of the operand in registers, rows of
/// the other, which are the instruction's columns, and elements of K.
struct RegisterOperandTile {
  int64_t rows, columns, depth;
  target::MmaType type;
  int64_t blockSize;
  /// Whether the operand is packed weights, the other one permuted, and
  /// whether it is A.
  bool isPacked, isPermuted, isOfA;

  /// Warpgroups that multiply: one for each 64 rows.
  int64_t getWarpgroups() const;
  /// Registers of a thread that multiplies, and of one that loads.
  llvm::SmallVector<int64_t> getRegisters() const;

  /// Between the MMAs of two steps.
  int64_t getStepCycles(const MatmulBuffers &buffers,
                        const target::Rates &rates) const;
  /// Of shared memory in a step, or of the threads that dequantize and
  /// multiply, where the rings of the operand and of the other have such types.
  int64_t getPortCycles(const MatmulBuffers &buffers, RingType ring,
                        RingType other, const target::Rates &rates) const;

private:
  int64_t getElementPercent() const;
  int64_t getSharedPercent() const;
  int64_t getMmaCycles(const MatmulBuffers &buffers,
                       const target::Rates &rates) const;
  int64_t getThreadCycles(const MatmulBuffers &buffers,
                          const target::Rates &rates) const;
};

/// What messages call the strategy, the tile's rows as the instruction sees
/// them, and its columns.
struct RegisterOperandNames {
  llvm::StringRef strategy, rows, columns;
};

/// The first rule that a tile breaks.
std::optional<ScheduleError>
checkRegisterOperandTile(const RegisterOperandTile &tile,
                         const RegisterOperandNames &names);
/// Calls `add` with rows, columns and elements of K of each tile worth
/// considering.
void forEachRegisterOperandTile(
    llvm::function_ref<void(int64_t rows, int64_t columns, int64_t depth)> add);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDTILE_H
