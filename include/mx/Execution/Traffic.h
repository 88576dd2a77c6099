//===- Traffic.h - Memory traffic of programs -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements --mx-explain for a whole entry: lists the launches with the bytes
// read and written, and the bytes of the unfused operations. Every operand
// counts once and completely; cache hits and repeated reads of gathers are
// ignored.
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
  /// Symbols of the byte counts: dimensions of arguments.
  struct Extent {
    unsigned argument, dim;
  };
  std::vector<Extent> extents;

  /// Returns the sum over all steps; null if a term is unknown.
  mlir::AffineExpr sum(mlir::AffineExpr TrafficStep::*bytes,
                       mlir::MLIRContext *context) const;
};

/// Returns the traffic of a function with launches, as mx-to-mxgpu leaves it.
Traffic countLaunches(mlir::func::FuncOp function);
/// Returns the traffic of a function on tensors if each operation reads its
/// operands and writes its results.
Traffic countOperations(mlir::func::FuncOp function);

/// Prints the launches of `entries` (all public functions if empty) of a module
/// that compiles. `arguments` are the arrays of a call, if known.
void explainTraffic(
    llvm::raw_ostream &os, mlir::ModuleOp module, DeviceOptions options,
    llvm::ArrayRef<std::string> entries,
    std::optional<llvm::ArrayRef<NpyArray>> arguments = std::nullopt);

} // namespace mx

#endif // MX_EXECUTION_TRAFFIC_H
