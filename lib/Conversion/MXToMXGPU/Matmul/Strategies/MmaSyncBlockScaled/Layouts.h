//===- Layouts.h - Register layouts of mma.sync --------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In an instruction, a thread owns two adjacent columns of each eight. For a
// quantized result, the four threads of a row should own eight adjacent columns
// of each 32, and for several B matrices a warp needs the same columns of each.
// The instruction therefore multiplies rows of B in another order
// (WarpColumns.h).
//
// If 4-bit elements are multiplied by bytes, a lane loads eight adjacent
// elements of either operand: one word from ldmatrix, or two. Elements at even
// positions form the first half of an instruction's reduction, at odd positions
// the second, in both operands.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_LAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_LAYOUTS_H

#include "../Common/WarpColumns.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

class MmaSyncLayouts {
public:
  MmaSyncLayouts(MmaSyncAttr mma, const MatmulProblem &problem)
      : mma(mma), columns(problem, mma),
        isMoved(problem.isQuantized || problem.numB > 1),
        isMixed(
            mma.getKind() == MmaKind::MXF8F6F4 &&
            (getStoredBits(problem.a) == 4 || getStoredBits(problem.b) == 4)) {}

  /// Fragment of an operand with `depth` elements or scales of the reduction:
  /// as loaded and, in the same registers, as interpreted by the instruction.
  FragmentType getLoaded(MmaOperand operand, mlir::Type element,
                         int64_t depth) const;
  FragmentType getTaken(MmaOperand operand, mlir::Type element,
                        int64_t depth) const;
  /// Returns the layout of the result elements in the accumulator.
  FragmentLayoutAttr getResult() const;

private:
  MmaSyncAttr mma;
  WarpColumns columns;
  /// `isMoved`: columns of the instruction are permuted. `isMixed`: 4-bit
  /// elements are multiplied by bytes.
  bool isMoved, isMixed;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_LAYOUTS_H
