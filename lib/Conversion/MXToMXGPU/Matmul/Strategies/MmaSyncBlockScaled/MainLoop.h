//===- MainLoop.h - Main loop of mma_sync_block_scaled -------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_MAINLOOP_H

#include "../../MainLoop/MainLoop.h"
#include "../Common/WarpColumns.h"

namespace mx::mxgpu {

/// Register layouts of mma.sync.
///
/// In an instruction, a thread owns two adjacent columns of each eight. For a
/// quantized result, each of the four threads of a row should own eight
/// adjacent columns of each 32. With several B matrices, a warp needs the same
/// columns of each matrix. Instructions therefore read reordered rows of B
/// (WarpColumns.h).
///
/// If one operand contains 4-bit elements and the other operand bytes, a lane
/// loads eight adjacent elements of each operand with ldmatrix. These are one
/// word of 4-bit elements or two words of bytes. In both operands, elements at
/// even positions form the first half of an instruction's reduction, and
/// elements at odd positions form the second half.
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

class MmaSyncMainLoop final : public MainLoop {
public:
  MmaSyncMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b);

  void addOperands(KernelArguments &signature) override;
  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  /// Returns the accumulator of a work tile.
  mlir::Value multiply(ForEachWorkTileOp workTile);
  /// Returns true if the next slice is loaded before the current MMA.
  bool loadsAhead() const;
  /// Loads the elements of an instruction's slice, starting at `column`.
  mlir::Value loadElements(MmaOperand operand, mlir::Type element,
                           mlir::Value buffer, int64_t column);
  /// Loads the scales of a tile, starting at row `first` of a scale tile.
  /// Unless `extent` is null, zeroes the scales of blocks `extent` and up.
  mlir::Value loadScales(MmaOperand operand, mlir::Value buffer,
                         mlir::Value first, mlir::Value extent);
  /// Returns the first scale row of a tile of `rows` rows that starts at `row`.
  mlir::Value getRowOfScales(mlir::Value row, int64_t rows);

  MmaSyncAttr mma;
  MmaSyncLayouts layouts;
  mlir::Value inputs;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_MMASYNCBLOCKSCALED_MAINLOOP_H
