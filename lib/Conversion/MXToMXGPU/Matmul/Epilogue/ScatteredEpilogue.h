//===- ScatteredEpilogue.h - Rows are added to others -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A list says to which row of the result each row is added, if there is such.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_SCATTEREDEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_SCATTEREDEPILOGUE_H

#include "DirectEpilogue.h"

namespace mx::mxgpu {

class ScatteredEpilogue final : public DirectEpilogue {
public:
  ScatteredEpilogue(ProductKernel &kernel, WorkPolicy &work)
      : DirectEpilogue(kernel, work) {}

  mlir::Value getRows() override;

private:
  void checkRows(mlir::Value rows) override;
  void redirectRow(ResultRow &row) override;
  bool addsElements() override { return true; }
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_SCATTEREDEPILOGUE_H
