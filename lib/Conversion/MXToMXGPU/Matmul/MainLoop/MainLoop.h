//===- MainLoop.h - From operands to sums -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The roles that load operands and multiply them, for one family of matrix
// instructions. A family is a file:
//
//   BlockScaledMainLoop  tcgen05.mma of operands and scales as they are, sums
//                        in tensor memory
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H

#include "../Epilogue/EpiloguePolicy.h"

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
  MainLoop(ProductKernel &kernel, WorkPolicy &work)
      : KernelPart(kernel), work(work) {}

  WorkPolicy &work;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
