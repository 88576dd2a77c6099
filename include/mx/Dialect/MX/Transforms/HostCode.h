//===- HostCode.h - Which functions are not mx's ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A module may hold the program around mx's functions: a `main` that fills
// arrays, copies them to the device by gpu.memcpy, calls a layer and prints.
// Its memory is the host's, so no pass of a pipeline for devices may touch it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_TRANSFORMS_HOSTCODE_H
#define MX_DIALECT_MX_TRANSFORMS_HOSTCODE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace mx {

/// The functions with a body whose memory is the device's, and which mx's
/// pipelines compile. Those are
///   - functions with tensors or with operations of mx and mxgpu;
///   - functions with linalg operations or parallel loops on memrefs, unless
///     they have operations of the gpu dialect: who allocates device memory and
///     launches kernels knows about the host by himself;
///   - what such a function calls, and what calls one without operations of the
///     gpu dialect.
/// All others are host code.
llvm::DenseSet<mlir::Operation *> findDeviceFunctions(mlir::ModuleOp module);

/// Whether a function computes numbers and touches no memory, so that it is the
/// same for the host and for a device.
bool isArithmetic(mlir::func::FuncOp function);

/// The operations of a module that `roots` reach by symbols, and themselves.
llvm::DenseSet<mlir::Operation *>
findReachable(mlir::ModuleOp module, llvm::ArrayRef<mlir::Operation *> roots);

/// Erases what `entries` do not need.
void eraseUnreachable(mlir::ModuleOp module,
                      llvm::ArrayRef<mlir::func::FuncOp> entries);

/// The pass mx-skip-host-code around the pipeline that `populate` makes.
std::unique_ptr<mlir::Pass>
createMXSkipHostCode(llvm::function_ref<void(mlir::OpPassManager &)> populate);

} // namespace mx

#endif // MX_DIALECT_MX_TRANSFORMS_HOSTCODE_H
