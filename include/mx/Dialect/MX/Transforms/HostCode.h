//===- HostCode.h - Separation of host and device functions -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module may contain the program around mx functions: a `main` that fills
// arrays, copies them to the device with gpu.memcpy, calls a layer and prints.
// Device pipelines must not touch this code, which uses host memory.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_TRANSFORMS_HOSTCODE_H
#define MX_DIALECT_MX_TRANSFORMS_HOSTCODE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace mx {

/// Returns the functions with a body that operate on device memory. The mx
/// pipelines compile these functions:
///   - functions with tensors or with mx or mxgpu operations;
///   - functions with linalg operations or parallel loops on memrefs, unless
///     they contain gpu operations (code that allocates device memory and
///     launches kernels manages the host itself);
///   - their callees, and their callers without gpu operations.
/// All other functions are host code.
llvm::DenseSet<mlir::Operation *> findDeviceFunctions(mlir::ModuleOp module);

/// Returns true if the function only computes scalars and accesses no memory.
/// Such a function is valid on the host and on a device.
bool isArithmetic(mlir::func::FuncOp function);

/// Returns the operations that `roots` reach through symbols, and the roots.
llvm::DenseSet<mlir::Operation *>
findReachable(mlir::ModuleOp module, llvm::ArrayRef<mlir::Operation *> roots);

/// Erases operations that `entries` do not reach.
void eraseUnreachable(mlir::ModuleOp module,
                      llvm::ArrayRef<mlir::func::FuncOp> entries);

/// Returns an mx-skip-host-code pass that runs the pipeline built by
/// `populate`.
std::unique_ptr<mlir::Pass>
createMXSkipHostCode(llvm::function_ref<void(mlir::OpPassManager &)> populate);

} // namespace mx

#endif // MX_DIALECT_MX_TRANSFORMS_HOSTCODE_H
