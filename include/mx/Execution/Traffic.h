//===- Traffic.h - Bytes that a program moves through memory ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What --mx-explain says about a whole entry: its launches in order, with the
// bytes of what each reads and writes, and what all operations would if none
// were fused. Every operand counts once and as a whole; what caches save, and
// what gathers read again, does not count.
//
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_TRAFFIC_H
#define MX_EXECUTION_TRAFFIC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mx/Execution/DeviceCode.h"
#include "mxsim/io/Npy.h"

namespace mx {

/// Something that moves bytes: a launch, a copy, a fill, or an operation.
struct TrafficStep {
  std::string name;
  bool isLaunch = false;
  /// Bytes, over the extents of arguments; null if they are not known.
  mlir::AffineExpr read, written;
};

struct Traffic {
  std::vector<TrafficStep> steps;
  /// The symbols of the bytes: dimensions of arguments.
  struct Extent {
    unsigned argument, dim;
  };
  std::vector<Extent> extents;

  /// Of all steps; null if one is not known.
  mlir::AffineExpr sum(mlir::AffineExpr TrafficStep::*bytes,
                       mlir::MLIRContext *context) const;
};

/// Of a function that launches kernels, as mx-to-mxgpu leaves it.
Traffic countLaunches(mlir::func::FuncOp function);
/// Of a function on tensors, where each operation reads its operands and writes
/// its results.
Traffic countOperations(mlir::func::FuncOp function);

/// Prints the launches of `entries`, or of all public functions without any, of
/// a module that compiles; `arguments` are those of a call, if known.
void explainTraffic(
    llvm::raw_ostream &os, mlir::ModuleOp module, DeviceOptions options,
    llvm::ArrayRef<std::string> entries,
    std::optional<llvm::ArrayRef<NpyArray>> arguments = std::nullopt);

} // namespace mx

#endif // MX_EXECUTION_TRAFFIC_H
