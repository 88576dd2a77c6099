//===- UpcastMainLoop.h - Threads dequantize ------------------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The common part of main loops whose threads convert tiles of B, or of A, to
// bf16, exactly. One thread loads tiles of A into a ring, and of B into
// another, with the scales that they have. Warpgroups dequantize tiles of B
// from there to a third ring, from which the tensor core reads; or the MMA
// warpgroups do, into their registers.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTMAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTMAINLOOP_H

#include "../../MainLoop/MainLoop.h"

namespace mx::mxgpu {

/// A tile as it lies in memory, the scales of its rows and blocks, and the
/// stage that they were read from, which is released after their last use.
struct LoadedTile {
  mlir::Value elements, scales, stage;
};

class UpcastMainLoop : public MainLoop {
public:
  void addOperands(KernelArguments &signature) override;
  void createRings() override;

protected:
  using MainLoop::MainLoop;

  /// Rows of A that a box of its tensor map has.
  virtual int64_t getRowsOfBox() const = 0;
  /// Loads a tile of A, whose first row is `row`, from element `k` on.
  virtual void loadA(ProducerAcquireOp stage, mlir::Value row,
                     mlir::Value k) = 0;
  /// The type that the elements of a kernel become.
  virtual mlir::Type getUpcastType() { return body.getBF16Type(); }
  /// The exponent that elements of B are relative to, or null, and whether no
  /// element is NaN.
  virtual mlir::Value getReferenceOfB() { return {}; }
  virtual bool isFinite() const { return false; }

  /// The role that dequantizes tiles of B, which its threads read by one layout
  /// and write by another.
  void buildDequantize(int64_t warps, FragmentLayoutAttr read,
                       FragmentLayoutAttr written);
  /// The thread that fills both rings of inputs.
  void buildLoad();
  /// Where rows of a work tile's tile of B, or of A, begin among those of its
  /// tiles of scales: low tiles begin within one.
  mlir::Value getFirstRowOfScales(ForEachWorkTileOp workTile);
  mlir::Value getFirstRowOfScalesOfA(ForEachWorkTileOp workTile);
  /// Elements of a tile from `column` on, as `type` says, from a buffer of a
  /// stage. One of packed weights has them where `getPackedPlaces`
  /// (PackedWeights.h) says. `thread` may be null, as in mxgpu.load_fragment.
  mlir::Value loadWeights(mlir::Value buffer, FragmentType type,
                          mlir::Value thread, bool isPacked,
                          int64_t column = 0);
  /// The scales of a tile's rows and blocks that a thread of `type` has.
  mlir::Value loadScales(mlir::Value buffer, FragmentType type, mlir::Value row,
                         ForEachKOp step, mlir::Value thread = {});
  /// Reads a tile of an operand of `element`. `row` is where its rows begin
  /// among those of its tiles of scales.
  LoadedTile loadTile(ConsumerWaitOp stage, llvm::StringRef elements,
                      llvm::StringRef scales, mlir::Type element,
                      FragmentLayoutAttr layout, mlir::Value row,
                      ForEachKOp step, mlir::Value thread = {},
                      bool isPacked = false);
  /// The tile as bf16, or as the type that elements of this kernel have
  /// relative to `reference`, with registers in the order of `layout` if there
  /// is one. `block` columns of the tile have a scale, or as many as of the
  /// matmul if it is 0.
  mlir::Value dequantize(LoadedTile tile, FragmentLayoutAttr layout = {},
                         mlir::Value reference = {}, int64_t block = 0);

  mlir::Value inputs, bInputs, operands;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_UPCASTMAINLOOP_H
