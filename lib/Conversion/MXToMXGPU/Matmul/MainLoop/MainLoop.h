//===- MainLoop.h - From operands to sums -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The roles that load operands and multiply them, for one family of matrix
// instructions. A family is a file:
//
//   BlockScaledMainLoop  tcgen05.mma of operands and scales as they are, sums
//                        in tensor memory
//   DequantizedMainLoop  wgmma of operands that threads dequantize to bf16,
//                        sums in registers
//   SwappedMainLoop      the same of B times A^T, for few rows of A
//   NumbersMainLoop      wgmma of operands of bf16 without scales
//   ConvertedMainLoop    tcgen05.mma of bf16 and of weights that threads
//                        dequantize, sums in tensor memory
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

  /// Requires sizes that this family needs, and no other.
  virtual void checkSizes() = 0;
  /// Adds the operands, as the kernel reads them.
  virtual void addOperands(KernelArguments &signature) = 0;
  /// Frees what `addOperands` allocated.
  virtual void freeTemporaries() = 0;

  // In the kernel.

  virtual void createRings() = 0;
  /// Builds all roles that units go through; sums are for `epilogue`.
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
  /// The role that stores sums from a ring in tensor memory.
  void buildEpilogue(EpiloguePolicy &epilogue, mlir::Value accumulators);
  /// Whether the product of a step is added to those before it in an
  /// accumulator.
  mlir::Value isAdded(ForEachKOp step);
  /// Where the loads of a CTA end: after the loop over its work tiles.
  void launchDependents(ForEachWorkTileOp unit);
  /// Whether every tile of the reduction is full.
  bool areTilesWhole();

  WorkPolicy &work;
  OperandB &b;

private:
  mlir::Value encodeScales(mlir::Value scales, llvm::ArrayRef<int64_t> box);
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
