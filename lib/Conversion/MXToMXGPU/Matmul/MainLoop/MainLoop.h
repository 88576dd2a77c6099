//===- MainLoop.h - From operands to an accumulator ----------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The roles that load operands and multiply them. Each strategy has a class of
// its own (Strategies/); this is what they have in common.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H

#include "../Epilogue/EpiloguePolicy.h"
#include "OperandB.h"

namespace mx::mxgpu {

class MainLoop : public KernelPart {
public:
  // On the host.

  /// Requires sizes that this strategy needs, and no other.
  virtual void checkSizes() {}
  /// Adds the operands, as the kernel reads them.
  virtual void addOperands(KernelArguments &signature) = 0;
  /// Frees what `addOperands` allocated.
  virtual void freeTemporaries() {}

  // In the kernel.

  virtual void createRings() = 0;
  /// Builds all roles that work tiles go through; accumulators are for
  /// `epilogue`.
  virtual void buildRoles(EpiloguePolicy &epilogue) = 0;

protected:
  MainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : KernelPart(kernel), work(work), b(b) {}

  /// Adds the tensor maps of the scales that operands have.
  void addScales(KernelArguments &signature);
  /// The field of a stage.
  static BufferType getInput(RingType ring, llvm::StringRef field);
  /// A role, whose threads have the registers that the schedule's number
  /// `kind` says.
  RoleOp createRole(llvm::StringRef name, int64_t warps, bool elected,
                    int64_t kind, bool onLeader = false);
  /// The role that stores accumulators from a ring in tensor memory.
  void buildEpilogue(EpiloguePolicy &epilogue, mlir::Value accumulators);
  /// The role whose threads hold the accumulator that `multiply` gives of a
  /// work tile, and store the result.
  void buildMultiply(
      EpiloguePolicy &epilogue,
      llvm::function_ref<mlir::Value(ForEachWorkTileOp workTile)> multiply);

  /// What a role knows of a work tile from here on; `multiplies` says that its
  /// threads have rows of A.
  virtual void enterWorkTile(ForEachWorkTileOp workTile, bool multiplies) {}
  /// The part of the reduction of a work tile that this kernel multiplies.
  virtual std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile) {
    return work.getReduction(workTile);
  }
  /// The accumulator as the epilogue takes it.
  virtual mlir::Value finishAccumulator(mlir::Value accumulator) {
    return accumulator;
  }

  /// Tiles of the reduction of a work tile; the insertion point moves into the
  /// loop.
  ForEachKOp forEachTile(ForEachWorkTileOp workTile,
                         mlir::ValueRange initial = {});
  /// Starts the product of a tile, by instructions that add to `accumulator`.
  /// An A in registers may be a part of it that begins at `column` of B.
  mlir::Value start(MmaAttrInterface mma, mlir::Value a, mlir::Value b,
                    mlir::Value accumulator, mlir::IntegerAttr column = {});
  /// The same registers under another layout.
  mlir::Value relabel(mlir::Value fragment, FragmentLayoutAttr layout);
  /// Whether the product of a step is added to those before it in an
  /// accumulator.
  mlir::Value isAdded(ForEachKOp step);

  /// The tensor map of an operand, by boxes of `rows` rows.
  mlir::Value encodeElements(mlir::Value operand, RingType ring,
                             llvm::StringRef field, int64_t rows);
  /// Loads a tile of A that the tensor core reads, in boxes that begin at such
  /// rows of it.
  void loadBoxesOfA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                    llvm::ArrayRef<int64_t> firstRows);
  /// Where the loads of a CTA end: after the loop over its work tiles.
  void launchDependents(ForEachWorkTileOp workTile);
  /// Whether every tile of the reduction is full.
  bool areTilesWhole();

  WorkPolicy &work;
  OperandB &b;

private:
  mlir::Value addPartsOfCluster(mlir::Value accumulator);
  mlir::Value encodeScales(mlir::Value scales, llvm::ArrayRef<int64_t> box);
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
