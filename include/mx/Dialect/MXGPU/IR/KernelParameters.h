//===- KernelParameters.h - Kernel parameters -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapping from arguments of an mxgpu.kernel to parameters of the PTX function,
// shared by the lowering of kernels, host code and launch plans.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_KERNELPARAMETERS_H
#define MX_DIALECT_MXGPU_IR_KERNELPARAMETERS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mx::mxgpu {

/// Parameter of a PTX function: an argument, or a field of a memref argument.
struct KernelParameter {
  enum Kind : uint8_t {
    Number,    ///< scalar; an index is passed as i64
    TensorMap, ///< 128 bytes by value
    Pointer,   ///< base of a memref, before its offset
    Size,      ///< size of dimension `dim` of a memref, i64
    Stride,    ///< stride of dimension `dim` in elements, i64
    Offset     ///< offset of a memref in elements, i64
  };
  Kind kind = Number;
  unsigned dim = 0;
};

/// Returns true if elements are contiguous and row-major, at any offset.
bool isContiguous(mlir::MemRefType type);

/// Returns the parameter type of an argument. A contiguous memref is passed
/// without its offset, which is added to the pointer.
mlir::Type getParameterType(mlir::Type type);

/// Returns the parameters of an argument in order: for a memref the pointer,
/// then each dynamic size, stride and offset.
llvm::SmallVector<KernelParameter> getKernelParameters(mlir::Type type);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_KERNELPARAMETERS_H
