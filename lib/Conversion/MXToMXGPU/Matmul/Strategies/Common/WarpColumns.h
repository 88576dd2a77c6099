//===- WarpColumns.h - Assignment of columns to warps --------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Columns of a matmul may be computed in any order. A warp owns adjacent
// columns, the same of each B matrix in the tile, so that an epilogue region
// finds its operands in a single thread. In an instruction, a thread owns two
// adjacent columns of each eight. Their assignment to columns of the tile
// depends on the kernel:
//
//   default    columns of the tile
//   quantized  8 adjacent columns of each 32, so that four threads own a block
//   packed     likewise; threads read pairs of packed rows, which are columns
//              of two instructions
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Columns of a B matrix per warp if warps share the rows of a quantized
/// result: one block.
inline constexpr int64_t kWarpColumnsOfMatrix = 32;

class WarpColumns {
public:
  WarpColumns(const MatmulProblem &problem, MmaSyncAttr mma);

  /// Layouts of a tile of B with `depth` reduction elements: as loaded, in the
  /// register order of the instructions, and as interpreted by the
  /// instructions.
  FragmentLayoutAttr getLoaded(int64_t depth) const;
  FragmentLayoutAttr getOrdered(int64_t depth) const;
  FragmentLayoutAttr getTaken(int64_t depth) const;
  /// Layout of the instructions' accumulator, and of the result elements that
  /// it represents.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

  /// Maps modes over the instructions' columns, in `direction`, to columns of
  /// the tile.
  llvm::SmallVector<FragmentMode> move(llvm::ArrayRef<FragmentMode> modes,
                                       int64_t FragmentMode::*direction) const;

private:
  FragmentModes getTakenModes(int64_t depth) const;
  /// Returns the tile column of the instructions' column `column`, a power of
  /// two.
  int64_t getColumn(int64_t column) const;

  MmaSyncAttr mma;
  /// Columns of each matrix per warp.
  int64_t ofMatrix;
  bool isPacked;
  /// Tile columns of a warp's columns 1, 2, 4, 8 and 16.
  llvm::ArrayRef<int64_t> order;
};

/// Returns the registers per thread of the two MMA warpgroups and of the load
/// warpgroup; empty if ptxas assigns registers.
llvm::SmallVector<int64_t> getMmaSyncRegisters(const MatmulProblem &problem,
                                               MmaSyncAttr mma);
/// Checks the registers of a schedule.
std::optional<ScheduleError>
checkMmaSyncRegisters(MmaSyncAttr mma, const ScheduleFields &fields,
                      const target::TargetInfo &target);

/// Returns the cycles in which mma.sync warps read A and B from shared memory
/// for `depth` reduction elements.
int64_t getMmaSyncReadCycles(MmaSyncAttr mma, const MatmulProblem &problem,
                             int64_t depth, const target::Rates &rates);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H
