//===- KernelParameters.h - How a kernel is given its arguments -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that knows how the arguments of an mxgpu.kernel become the
// parameters of a function in PTX: the kernel takes them apart, hosts and
// launch plans put them together.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_KERNELPARAMETERS_H
#define MX_DIALECT_MXGPU_IR_KERNELPARAMETERS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mx::mxgpu {

/// One parameter: an argument itself, or a field of one that is a memref.
struct KernelParameter {
  enum Kind : uint8_t {
    Number,    ///< a number, as it is; an index as i64
    TensorMap, ///< 128 bytes by value
    Pointer,   ///< where the offset of a memref counts from
    Size,      ///< of dimension `dim` of a memref, i64
    Stride,    ///< of dimension `dim` of a memref, in elements, i64
    Offset     ///< of a memref, in elements, i64
  };
  Kind kind = Number;
  unsigned dim = 0;
};

/// Whether the elements of a memref lie side by side in the order of its
/// dimensions, wherever in the buffer they begin.
bool isContiguous(mlir::MemRefType type);

/// What a kernel takes for an argument of `type`: for a contiguous memref that
/// begins somewhere in a buffer, one that begins where its pointer points to.
mlir::Type getParameterType(mlir::Type type);

/// The parameters that carry an argument of `type`, in order: of a memref its
/// pointer, and then what its type leaves open, which is sizes, strides and the
/// offset.
llvm::SmallVector<KernelParameter> getKernelParameters(mlir::Type type);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_KERNELPARAMETERS_H
