//===- MainLoop.h - From operands to sums -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The roles that load operands and multiply them, for one family of matrix
// instructions; and where the epilogue finds the sums. A family is a file:
//
//   BlockScaledMainLoop  tcgen05.mma of operands and scales as they are, sums
//                        in tensor memory
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H

#include "../Work/WorkPolicy.h"

namespace mx::mxgpu {

class EpiloguePolicy;

/// The sums of a unit, as an epilogue reads them. Columns of a tile are read in
/// an order of the main loop's: those that the next unit overwrites come first.
class Sums {
public:
  virtual ~Sums() = default;

  /// Sums may be read after this.
  virtual void wait() = 0;
  /// Whether nothing was multiplied. Then they are zeros.
  virtual mlir::Value isEmpty() = 0;
  /// The column of the tile that is read in `place`.
  virtual mlir::Value getColumn(mlir::Value place) = 0;
  /// The sums, for each part of B, of the `count` columns from `place` on.
  virtual llvm::SmallVector<mlir::Value> load(mlir::Value place,
                                              int64_t count) = 0;
  /// Columns that must be read before `release`.
  virtual int64_t getColumnsToRelease() = 0;
  /// The next unit may begin.
  virtual void release() = 0;
};

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
  MainLoop(ProductKernel &kernel, WorkPolicy &work)
      : KernelPart(kernel), work(work) {}

  WorkPolicy &work;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
