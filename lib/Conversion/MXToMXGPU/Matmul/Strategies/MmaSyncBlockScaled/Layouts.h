//===- Layouts.h - Register layouts of mma.sync -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Of an instruction a thread holds two adjacent columns of each eight. Where
// the result is quantized, the four threads that share a row need eight
// adjacent columns of each 32 each, so that a block of a row is theirs, and of
// several matrices of B a warp needs the same columns. They have them if the
// instruction multiplies rows of B in another order (WarpColumns.h).
//
// Where elements of 4 bits meet bytes, a lane loads eight adjacent ones of
// either: a word of the first, as ldmatrix gives it, and two of the second.
// Those of even numbers are multiplied as the first half of an instruction's
// reduction, those of odd ones as the second, of both operands alike.
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

  /// How threads load an operand, with `depth` elements or scales of the
  /// reduction, and how the instruction takes it: the same registers.
  FragmentType getLoaded(MmaOperand operand, mlir::Type element,
                         int64_t depth) const;
  FragmentType getTaken(MmaOperand operand, mlir::Type element,
                        int64_t depth) const;
  /// Which elements of the result the accumulators are.
  FragmentLayoutAttr getResult() const;

private:
  MmaSyncAttr mma;
  WarpColumns columns;
  /// Whether columns of the instruction are other ones of the tile, and
  /// elements of 4 bits meet bytes.
  bool isMoved, isMixed;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_LAYOUTS_H
