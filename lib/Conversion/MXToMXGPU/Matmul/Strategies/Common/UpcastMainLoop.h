//===- UpcastMainLoop.h - Dequantizing main loops ------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common part of main loops in which threads convert tiles of B or A exactly to
// bf16. A single thread loads A and B, with their scales, into two rings.
// Either separate warpgroups dequantize B into a third ring for the tensor
// core, or MMA warpgroups dequantize an operand into registers.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTMAINLOOP_H

#include "../../MainLoop/MainLoop.h"

namespace mx::mxgpu {

/// A loaded tile and its scales. Its stage is released after the last use.
struct LoadedTile {
  mlir::Value elements, scales, stage;
};

class UpcastMainLoop : public MainLoop {
public:
  void addOperands(KernelArguments &signature) override;
  void createRings() override;

protected:
  using MainLoop::MainLoop;

  /// Returns the number of rows per box of A.
  virtual int64_t getRowsOfBox() const = 0;
  /// Loads the tile of A at `row` and `k`.
  virtual void loadA(ProducerAcquireOp stage, mlir::Value row,
                     mlir::Value k) = 0;
  /// Returns the type of dequantized elements.
  virtual mlir::Type getUpcastType() { return body.getBF16Type(); }
  /// Returns the reference exponent of dequantized B, or null. `isFinite`
  /// returns true if no element is NaN.
  virtual mlir::Value getReferenceOfB() { return {}; }
  virtual bool isFinite() const { return false; }

  /// Builds the role that dequantizes B from layout `read` to layout `written`.
  void buildDequantize(int64_t warps, FragmentLayoutAttr read,
                       FragmentLayoutAttr written);
  /// Builds the producer of both input rings.
  void buildLoad();
  /// Return the first row of a work tile's B or A within its scale tiles, which
  /// may contain more rows than the tile.
  mlir::Value getFirstRowOfScales(ForEachWorkTileOp workTile);
  mlir::Value getFirstRowOfScalesOfA(ForEachWorkTileOp workTile);
  /// Loads elements, starting at `column`, as a `type` fragment.
  /// `getPackedPlaces` (PackedWeights.h) returns the locations of packed
  /// weights. `thread` may be null, as in mxgpu.load_fragment.
  mlir::Value loadWeights(mlir::Value buffer, FragmentType type,
                          mlir::Value thread, bool isPacked,
                          int64_t column = 0);
  /// Loads the scales of a thread's rows and blocks in a fragment of `type`.
  mlir::Value loadScales(mlir::Value buffer, FragmentType type, mlir::Value row,
                         ForEachKOp step, mlir::Value thread = {});
  /// Loads an operand tile and its scales, starting at `row` of a scale tile.
  LoadedTile loadTile(ConsumerWaitOp stage, llvm::StringRef elements,
                      llvm::StringRef scales, mlir::Type element,
                      FragmentLayoutAttr layout, mlir::Value row,
                      ForEachKOp step, mlir::Value thread = {},
                      bool isPacked = false);
  /// Dequantizes a tile to the kernel's type, relative to `reference` if given,
  /// with registers ordered by `layout` if given. `block` is the number of
  /// columns per scale, or 0 for the block size of the matmul.
  mlir::Value dequantize(LoadedTile tile, FragmentLayoutAttr layout = {},
                         mlir::Value reference = {}, int64_t block = 0);

  mlir::Value inputs, bInputs, operands;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTMAINLOOP_H
