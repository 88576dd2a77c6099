//===- WarpColumns.h - Assignment of columns to warps --------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns of a matmul may be computed in any order. A warp owns the same
// adjacent columns of each B matrix in the tile, so a single thread holds
// all operands of an epilogue region. In an instruction, a thread owns two
// adjacent columns out of every eight. The assignment of instruction columns
// to tile columns depends on the kernel:
//
//   default    Instruction columns are tile columns.
//   quantized  A thread owns 8 adjacent columns out of every 32, so four
//              threads share a block.
//   packed     A thread owns the same columns as with quantized results. It
//              reads packed rows of B in pairs, one for each of two MMAs.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Columns of each B matrix per warp if several warps compute a quantized row.
/// This is the size of a scale block.
inline constexpr int64_t kWarpColumnsOfMatrix = 32;

class WarpColumns {
public:
  WarpColumns(const MatmulProblem &problem, MmaSyncAttr mma);

  /// Layouts of B with `depth` reduction elements: as loaded, in the register
  /// order of the instructions, and as interpreted by the instructions.
  FragmentLayoutAttr getLoaded(int64_t depth) const;
  FragmentLayoutAttr getOrdered(int64_t depth) const;
  FragmentLayoutAttr getTaken(int64_t depth) const;
  /// Layouts of the accumulator and of the result elements that it represents.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

  /// Maps `modes` from instruction columns to tile columns. `direction` selects
  /// the member of each mode that contains the column stride.
  llvm::SmallVector<FragmentMode> move(llvm::ArrayRef<FragmentMode> modes,
                                       int64_t FragmentMode::*direction) const;

private:
  FragmentModes getTakenModes(int64_t depth) const;
  /// Returns the tile column that corresponds to instruction column `column`.
  /// Requires `column` to be a power of two.
  int64_t getColumn(int64_t column) const;

  MmaSyncAttr mma;
  /// Columns per warp of each B matrix.
  int64_t ofMatrix;
  bool isPacked;
  /// Tile columns that correspond to columns 1, 2, 4, 8 and 16 of a warp.
  llvm::ArrayRef<int64_t> order;
};

/// Returns the registers per thread of the two MMA warpgroups and of the load
/// warpgroup, or an empty list if ptxas assigns registers.
llvm::SmallVector<int64_t> getMmaSyncRegisters(const MatmulProblem &problem,
                                               MmaSyncAttr mma);
std::optional<ScheduleError>
checkMmaSyncRegisters(MmaSyncAttr mma, const ScheduleFields &fields,
                      const target::TargetInfo &target);

/// Returns the cycles in which mma.sync warps read A and B from shared memory
/// for `depth` reduction elements.
int64_t getMmaSyncReadCycles(MmaSyncAttr mma, const MatmulProblem &problem,
                             int64_t depth, const target::Rates &rates);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H
