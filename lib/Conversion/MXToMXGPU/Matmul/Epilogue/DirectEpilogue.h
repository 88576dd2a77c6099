//===- DirectEpilogue.h - Threads store the result themselves ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each thread writes what it has in registers, run by run.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_DIRECTEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_DIRECTEPILOGUE_H

#include "FragmentEpilogue.h"

namespace mx::mxgpu {

class DirectEpilogue : public FragmentEpilogue {
public:
  DirectEpilogue(ProductKernel &kernel, WorkPolicy &work)
      : FragmentEpilogue(kernel, work) {}

protected:
  int64_t getFragmentColumns() override;
  mlir::Value isResultAligned(int64_t run) override;
  mlir::Value finish(mlir::ValueRange parts, ThreadRow &row,
                     const Columns &columns, mlir::Value empty) override;
  void storeRuns(ForEachWorkTileOp unit, llvm::ArrayRef<Run> runs,
                 FragmentType sums, mlir::Value first,
                 mlir::Value empty) override;
  /// Whether elements are added to those of the result.
  virtual bool addsElements() { return false; }
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_DIRECTEPILOGUE_H
