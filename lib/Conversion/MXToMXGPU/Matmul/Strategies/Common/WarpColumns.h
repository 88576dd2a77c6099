//===- WarpColumns.h - Which columns each warp multiplies -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A matmul is the same if its columns are multiplied in another order. A warp
// has adjacent columns of each matrix of B that a tile has columns of, as many
// of each: what an epilogue region gets for a column is then the same thread's.
// Of an instruction a thread has two adjacent columns of each eight. Which
// columns of the tile these are depends on what they become and come from:
//
//   as they are  columns of the tile, where nothing asks for others
//   quantized    8 adjacent ones of each 32, so that four threads have a block
//   packed       the same. Rows of packed weights are pairs, of which a thread
//                reads both: they are columns of two instructions
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Columns of a matrix of B that a warp has where warps share blocks of a
/// result: those of one block.
inline constexpr int64_t kWarpColumnsOfMatrix = 32;

class WarpColumns {
public:
  WarpColumns(const MatmulProblem &problem, MmaSyncAttr mma);

  /// A tile of B with `depth` elements of the reduction: as threads read it,
  /// the same in the order of the instructions' registers, and what these are
  /// for the instructions.
  FragmentLayoutAttr getLoaded(int64_t depth) const;
  FragmentLayoutAttr getOrdered(int64_t depth) const;
  FragmentLayoutAttr getTaken(int64_t depth) const;
  /// Accumulators as the instructions give them, and which elements of the
  /// result they are.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

  /// Modes whose steps of columns of instructions, in `direction`, become those
  /// of columns of the tile.
  llvm::SmallVector<FragmentMode> move(llvm::ArrayRef<FragmentMode> modes,
                                       int64_t FragmentMode::*direction) const;

private:
  FragmentModes getTakenModes(int64_t depth) const;
  /// The column of the tile that column `column` of the instructions is, a
  /// power of two.
  int64_t getColumn(int64_t column) const;

  MmaSyncAttr mma;
  /// Columns of a warp of each matrix.
  int64_t ofMatrix;
  bool isPacked;
  /// Columns of the tile that columns 1, 2, 4, 8 and 16 of a warp are.
  llvm::ArrayRef<int64_t> order;
};

/// Registers of a thread of the two warpgroups that multiply by mma.sync, and
/// of the one that loads, where they divide them; none where ptxas chooses.
llvm::SmallVector<int64_t> getMmaSyncRegisters(const MatmulProblem &problem,
                                               MmaSyncAttr mma);
/// Checks those that are given.
std::optional<ScheduleError>
checkMmaSyncRegisters(MmaSyncAttr mma, const ScheduleFields &fields,
                      const target::TargetInfo &target);

/// Cycles in which the warps of mma.sync read their rows of A and of B from
/// shared memory, for a tile of `depth` elements of the reduction.
int64_t getMmaSyncReadCycles(MmaSyncAttr mma, const MatmulProblem &problem,
                             int64_t depth, const target::Rates &rates);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPCOLUMNS_H
