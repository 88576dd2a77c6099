//===- Layouts.h - Register layouts of mma.sync --------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In an instruction, a thread owns two adjacent columns of each eight. For a
// quantized result, each of the four threads of a row should own eight adjacent
// columns of each 32. With several B matrices, a warp needs the same columns of
// each matrix. Instructions therefore read reordered rows of B (WarpColumns.h).
//
// If one operand contains 4-bit elements and the other operand bytes, a lane
// loads eight adjacent elements of each operand with ldmatrix. These are one
// word of 4-bit elements or two words of bytes. In both operands, elements at
// even positions form the first half of an instruction's reduction, and
// elements at odd positions form the second half.
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

  /// Fragments of an operand with `depth` reduction elements or scales. The
  /// first describes the registers as loaded, the second as the instruction
  /// interprets the same registers.
  FragmentType getLoaded(MmaOperand operand, mlir::Type element,
                         int64_t depth) const;
  FragmentType getTaken(MmaOperand operand, mlir::Type element,
                        int64_t depth) const;
  /// Returns the layout of the result elements in the accumulator.
  FragmentLayoutAttr getResult() const;

private:
  MmaSyncAttr mma;
  WarpColumns columns;
  /// `isMoved` is true if columns of the instruction are permuted, and
  /// `isMixed` if 4-bit elements are multiplied by bytes.
  bool isMoved, isMixed;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_LAYOUTS_H
