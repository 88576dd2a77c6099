//===- HostCode.h - What the host code of all paths shares ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Constants, sizes and messages of the code of the host, whether it is compiled
// or becomes a launch plan, and the numbers of the tensor maps that it encodes.
//
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

/// Whether `value` is a constant number all of whose bits are 0: not -0.0.
bool isZeroBits(mlir::Value value);

/// Whether a global is a constant with a value, which can be copied to a
/// device.
bool isConstant(mlir::memref::GetGlobalOp reference);

//===----------------------------------------------------------------------===//
// Sizes of arrays: extents come from users, and their product may have more
// than 64 bits
//===----------------------------------------------------------------------===//

/// That the extents which are known leave room for an array of this type; if
/// not, an error of `op`.
llvm::LogicalResult verifyByteCount(mlir::Operation *op, mlir::MemRefType type);

/// Whether an array of this type, with these dynamic extents, has a size that
/// an address space may have room for, as an i1 computed at run time. Extents
/// below 0 have not.
mlir::Value createFitsAddressSpace(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::MemRefType type,
                                   mlir::ValueRange sizes);

/// Calls `each` for every dynamic extent of the array that may be below 0, with
/// the i1 that it is not and a printf format for it.
void forEachDoubtfulExtent(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type,
    mlir::ValueRange sizes,
    llvm::function_ref<void(mlir::Value size, mlir::Value isValid,
                            const std::string &format)>
        each);

//===----------------------------------------------------------------------===//
// Messages at run time: all paths check then what verifiers could not see
//===----------------------------------------------------------------------===//

/// The address of `text` as a constant of `module`, NUL-terminated and made
/// once; the names of such constants begin with `prefix`.
mlir::Value getConstantText(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ModuleOp module, llvm::StringRef prefix,
                            const std::string &text);

/// Of an element or a slice that `op` takes from an array, and that is not in
/// it: `message` is upstream's.
std::string describeAccess(mlir::Operation *op, llvm::StringRef message);

//===----------------------------------------------------------------------===//
// Tensor maps: the numbers follow from the extents of a memref
//===----------------------------------------------------------------------===//

/// As the driver takes them: dimensions innermost first and in elements,
/// strides in bytes and from dimension 1 on.
struct TensorMapNumbers {
  llvm::SmallVector<mlir::Value> dims, strides;
};

/// That there is such a map of the elements of the source; if not, an error.
llvm::LogicalResult verifyMapElements(mxgpu::EncodeTensorMapOp op);

/// The strides of an array of these sizes without gaps, in elements.
llvm::SmallVector<mlir::Value> getIdentityStrides(mlir::OpBuilder &builder,
                                                  mlir::Location loc,
                                                  mlir::ValueRange sizes);

/// The numbers of the map of an array with these sizes and strides (index).
TensorMapNumbers getTensorMapNumbers(mlir::OpBuilder &builder,
                                     mxgpu::EncodeTensorMapOp op,
                                     mlir::ValueRange sizes,
                                     mlir::ValueRange strides);

//===----------------------------------------------------------------------===//
// Arithmetic on elements that the host reads from arrays
//===----------------------------------------------------------------------===//

/// The arithmetic and the loads that `value` follows from, operands first. What
/// else it follows from is operands of these.
llvm::SetVector<mlir::Operation *> findArithmetic(mlir::Value value);

/// Whether a load is among them.
bool followsFromMemory(mlir::Value value);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_HOSTCODE_H
