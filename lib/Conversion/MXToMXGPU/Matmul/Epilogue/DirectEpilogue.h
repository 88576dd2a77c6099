//===- DirectEpilogue.h - Threads store the result themselves ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each thread writes the columns of its row that it has in registers.
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
  mlir::Value isResultAligned() override;
  mlir::Value finish(mlir::ValueRange parts, const ResultRow &row,
                     const Columns &columns, mlir::Value empty) override;
  void storeFragment(ForEachWorkTileOp unit, const ResultRow &row,
                     mlir::Value fragment, const Columns &columns,
                     mlir::Value empty) override;
  /// Whether elements are added to those of the result.
  virtual bool addsElements() { return false; }
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_DIRECTEPILOGUE_H
