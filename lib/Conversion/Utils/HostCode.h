//===- HostCode.h - Utilities for host code ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers that compiled host code and launch plans share.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_HOSTCODE_H
#define MX_LIB_CONVERSION_UTILS_HOSTCODE_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/SetVector.h"

namespace mx {

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Returns true if `value` is a constant with all bits 0 (+0.0, not -0.0).
bool isZeroBits(mlir::Value value);

/// Returns true if a global is constant and initialized, and can therefore be
/// copied to a device.
bool isConstant(mlir::memref::GetGlobalOp reference);

//===----------------------------------------------------------------------===//
// Sizes of arrays (products of extents may exceed 64 bits)
//===----------------------------------------------------------------------===//

/// Reports an error at `op` if the static extents exceed the address space.
llvm::LogicalResult verifyByteCount(mlir::Operation *op, mlir::MemRefType type);

/// Returns an i1 that is true at run time if an array of this type with these
/// dynamic extents fits the address space. Negative extents do not fit.
mlir::Value createFitsAddressSpace(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::MemRefType type,
                                   mlir::ValueRange sizes);

/// Calls `each` for every dynamic extent that may be negative, with an i1 (true
/// if the extent is not negative) and a printf format for the error.
void forEachDoubtfulExtent(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type,
    mlir::ValueRange sizes,
    llvm::function_ref<void(mlir::Value size, mlir::Value isValid,
                            const std::string &format)>
        each);

//===----------------------------------------------------------------------===//
// Run-time messages for conditions that verifiers cannot check
//===----------------------------------------------------------------------===//

/// Returns the address of the NUL-terminated constant `text` of `module`. Equal
/// texts share a constant. Its name starts with `prefix`.
mlir::Value getConstantText(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ModuleOp module, llvm::StringRef prefix,
                            const std::string &text);

/// Returns the message for an out-of-bounds access by `op`, based on upstream's
/// `message`.
std::string describeAccess(mlir::Operation *op, llvm::StringRef message);

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// Arguments of the driver function, innermost dimension first. Dimensions are
/// in elements. Strides are in bytes and begin with dimension 1.
struct TensorMapNumbers {
  llvm::SmallVector<mlir::Value> dims, strides;
};

/// Reports an error unless tensor maps support the element type of the source.
llvm::LogicalResult verifyMapElements(mxgpu::EncodeTensorMapOp op);

/// Returns the strides of a contiguous array with these sizes, in elements.
llvm::SmallVector<mlir::Value> getIdentityStrides(mlir::OpBuilder &builder,
                                                  mlir::Location loc,
                                                  mlir::ValueRange sizes);

/// Returns the tensor map of an array with these sizes and strides (index).
TensorMapNumbers getTensorMapNumbers(mlir::OpBuilder &builder,
                                     mxgpu::EncodeTensorMapOp op,
                                     mlir::ValueRange sizes,
                                     mlir::ValueRange strides);

//===----------------------------------------------------------------------===//
// Host arithmetic on array elements
//===----------------------------------------------------------------------===//

/// Returns the arithmetic and loads that compute `value`, operands first.
llvm::SetVector<mlir::Operation *> findArithmetic(mlir::Value value);

/// Returns true if `value` depends on a load.
bool followsFromMemory(mlir::Value value);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_HOSTCODE_H
