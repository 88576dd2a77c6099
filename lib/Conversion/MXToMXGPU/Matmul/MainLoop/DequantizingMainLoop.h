//===- DequantizingMainLoop.h - Threads dequantize B ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The common part of main loops whose threads convert tiles of B to bf16,
// exactly.
// One thread loads tiles of A into a ring, and tiles and scales of B into
// another. Warpgroups dequantize tiles of B from there to a third ring, from
// which the tensor core reads.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZINGMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZINGMAINLOOP_H

#include "MainLoop.h"

namespace mx::mxgpu {

/// A tile as it lies in memory, the scales of its rows and blocks, and the
/// stage that they were read from, which is released after their last use.
struct LoadedTile {
  mlir::Value elements, scales, stage;
};

/// A work tile in a kernel that computes only some of them: whether the kernel
/// computes it, and the reference exponents of its operands, if they have any.
/// Null in a kernel that computes all work tiles.
struct UnitWindow {
  mlir::Value isOwn, a, b;
};

class DequantizingMainLoop : public MainLoop {
public:
  void checkSizes() override {}
  void addOperands(KernelArguments &signature) override;
  void freeTemporaries() override {}

  void createRings() override;

protected:
  using MainLoop::MainLoop;

  /// Rows of A that a box of its tensor map has.
  virtual int64_t getRowsOfBox() const = 0;
  /// Loads a tile of A, whose first row is `row`, from element `k` on.
  virtual void loadA(ProducerAcquireOp stage, mlir::Value row,
                     mlir::Value k) = 0;

  /// The role that multiplies, whose threads hold the sums that `multiply`
  /// gives of a unit, and store the result.
  void buildMultiply(
      EpiloguePolicy &epilogue,
      llvm::function_ref<mlir::Value(ForEachWorkTileOp unit)> multiply);
  /// The role that dequantizes tiles of B, which its threads read by one layout
  /// and write by another.
  void buildDequantize(int64_t warps, FragmentLayoutAttr read,
                       FragmentLayoutAttr written);
  /// The thread that fills both rings of inputs, of the roles' kind `kind`.
  void buildLoad(int64_t kind);
  /// Where rows of a unit's tile of B begin among those of its tiles of scales.
  mlir::Value getFirstRowOfScales(ForEachWorkTileOp unit);
  /// What this role knows of a unit from here on; `multiplies` says that its
  /// threads have rows of A.
  void enterUnit(ForEachWorkTileOp unit, bool multiplies);
  /// Tiles of the reduction of a unit; the insertion point moves into the loop.
  ForEachKOp forEachTile(ForEachWorkTileOp unit, mlir::ValueRange initial = {});
  /// Reads a tile of an operand of `element`. `row` is where its rows begin
  /// among those of its tiles of scales.
  LoadedTile loadTile(ConsumerWaitOp stage, llvm::StringRef elements,
                      llvm::StringRef scales, mlir::Type element,
                      FragmentLayoutAttr layout, mlir::Value row,
                      ForEachKOp step, mlir::Value thread = {},
                      bool isPacked = false);
  /// The tile as bf16, or as what the kernel's units have relative to
  /// `reference`, with registers in the order of `layout` if there is one.
  mlir::Value dequantize(LoadedTile tile, FragmentLayoutAttr layout = {},
                         mlir::Value reference = {});
  /// Starts the product of a tile, by instructions that add to `sums`. An A in
  /// registers may be a part of it that begins at `column` of B.
  mlir::Value start(MmaAttrInterface mma, mlir::Value a, mlir::Value b,
                    mlir::Value sums, mlir::IntegerAttr column = {});
  /// The same registers under another layout.
  mlir::Value relabel(mlir::Value fragment, FragmentLayoutAttr layout);

  /// The tensor map of an operand, by boxes of `rows` rows.
  mlir::Value encodeElements(mlir::Value operand, RingType ring,
                             llvm::StringRef field, int64_t rows);
  /// Loads a tile of A that the tensor core reads, in boxes that begin at such
  /// rows of it.
  void loadBoxesOfA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                    llvm::ArrayRef<int64_t> firstRows);

  mlir::Value inputs, bInputs, operands;
  UnitWindow window;

private:
  /// Whether all tiles of a unit fit f16, or bf16 relative to references.
  mlir::Value fits(ForEachWorkTileOp unit, bool bf16);
  /// The sums of operands that are relative to references.
  mlir::Value scaleSums(mlir::Value sums);
  void enterFirstOfParts();
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_DEQUANTIZINGMAINLOOP_H
