//===- RegisterOperandTile.h - Tiles with a register operand -- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Legal tiles, registers and step cycles (docs/design/ScheduleModel.md) of
// kernels whose MMA warpgroups dequantize an operand in registers
// (RegisterOperandLayouts.h).
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDTILE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDTILE_H

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"

namespace mx::mxgpu {

/// Tile sizes from the instruction's view. `rows` counts rows of the register
/// operand. `columns` counts instruction columns, which are rows of the other
/// operand. `depth` counts reduction elements.
struct RegisterOperandTile {
  int64_t rows, columns, depth;
  target::MmaType type;
  int64_t blockSize;
  /// True if the operand consists of packed weights, if the other operand is
  /// permuted, and if the operand is A.
  bool isPacked, isPermuted, isOfA;

  /// Returns the number of MMA warpgroups, one for each 64 rows.
  int64_t getWarpgroups() const;
  /// Returns the registers per thread, {MMA warpgroup, load warpgroup}.
  llvm::SmallVector<int64_t> getRegisters() const;

  /// Returns the cycles between the MMAs of two steps.
  int64_t getStepCycles(const MatmulBuffers &buffers,
                        const target::Rates &rates) const;
  /// Returns the cycles of a step in shared memory or in the MMA threads,
  /// whichever is larger.
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

/// Names of the strategy and of the rows and columns of the tile in messages.
struct RegisterOperandNames {
  llvm::StringRef strategy, rows, columns;
};

/// Returns the first rule that a tile violates.
std::optional<ScheduleError>
checkRegisterOperandTile(const RegisterOperandTile &tile,
                         const RegisterOperandNames &names);
/// Calls `add` with rows, columns and reduction elements of candidate tiles.
void forEachRegisterOperandTile(
    llvm::function_ref<void(int64_t rows, int64_t columns, int64_t depth)> add);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDTILE_H
