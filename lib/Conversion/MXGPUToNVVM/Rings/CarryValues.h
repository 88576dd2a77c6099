//===- CarryValues.h - Values that loops and branches carry -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A role keeps a few values that change as it runs, like its place in a ring.
// They are made arguments and results of the loops and branches on the way.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_CARRYVALUES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_CARRYVALUES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace mx::mxgpu {

/// Which operations change the values, and what the values are after one.
struct Changes {
  llvm::function_ref<bool(mlir::Operation *)> isChange;
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Operation *,
                                                    mlir::ValueRange)>
      change;
};

/// Carries `values` through `block` and the scf.for, scf.if and scf.while in
/// it; returns what they are at its end. Fails with an error at any other
/// operation that has a change in it.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
carryThrough(mlir::Block &block, mlir::ValueRange values,
             const Changes &changes);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_CARRYVALUES_H
