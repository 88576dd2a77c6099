//===- Traffic.h - Memory traffic of programs -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements --mx-explain for a whole entry: lists the launches with the bytes
// that they read and write. For comparison, also lists the bytes that unfused
// operations would move. Each operand is counted once at its full size. Cache
// hits and repeated reads of gathers are ignored.
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_TRAFFIC_H
#define MX_EXECUTION_TRAFFIC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mx/Execution/DeviceCode.h"
#include "mxsim/io/Npy.h"

namespace mx {

/// Launch, copy, fill or operation that moves bytes.
struct TrafficStep {
  std::string name;
  bool isLaunch = false;
  /// Bytes in terms of argument extents; null if unknown.
  mlir::AffineExpr read, written;
};

struct Traffic {
  std::vector<TrafficStep> steps;
  /// Dimension of an argument. The byte counts use these as symbols.
  struct Extent {
    unsigned argument, dim;
  };
  std::vector<Extent> extents;

  /// Returns the sum over all steps; null if a term is unknown.
  mlir::AffineExpr sum(mlir::AffineExpr TrafficStep::*bytes,
                       mlir::MLIRContext *context) const;
};

/// Returns the traffic of a function with launches, the output of mx-to-mxgpu.
Traffic countLaunches(mlir::func::FuncOp function);
/// Returns the traffic of a function on tensors, assuming that each operation
/// reads its operands from memory and writes its results to memory.
Traffic countOperations(mlir::func::FuncOp function);

/// Prints the traffic of `entries` (of all public functions if empty). `module`
/// must compile without errors. `arguments` are the arrays of a call, if known.
void explainTraffic(
    llvm::raw_ostream &os, mlir::ModuleOp module, DeviceOptions options,
    llvm::ArrayRef<std::string> entries,
    std::optional<llvm::ArrayRef<NpyArray>> arguments = std::nullopt);

} // namespace mx

#endif // MX_EXECUTION_TRAFFIC_H
