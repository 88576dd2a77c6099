//===- ResultElements.h - Elements of the result, of sums -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What an operation asks for after the sums: the factor alpha, what the result
// holds, the epilogue region, and one rounding.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_RESULTELEMENTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_RESULTELEMENTS_H

#include "../../ElementRegion.h"
#include "../Kernel/KernelArguments.h"

namespace mx::mxgpu {

class ResultElements {
public:
  ResultElements(KernelBuilder &body, MatmulOpInterface op)
      : region(op.getEpilogueBlock()), body(body), op(op) {}

  /// From now on in a kernel. Without a region, sums become elements of type
  /// `stored`.
  void enter(const KernelArguments &arguments, mlir::Type stored);

  /// Elements of `columns` for the sums of each part of B.
  mlir::Value finish(mlir::ValueRange sums, const Columns &columns);
  /// The same, of sums that are added to what `result` holds in `row` where the
  /// operation accumulates, unless they are `empty`.
  mlir::Value finishOnto(mlir::ValueRange sums, mlir::Value result,
                         mlir::Value row, const Columns &columns,
                         mlir::Value empty);

  ElementRegion region;

private:
  mlir::Value getFactor(mlir::Type vector);
  mlir::Value makeElements(mlir::ValueRange sums, const Columns &columns);

  KernelBuilder &body;
  MatmulOpInterface op;
  mlir::Type stored;
  /// The factor of the sums, or null.
  mlir::Value alpha;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_RESULTELEMENTS_H
