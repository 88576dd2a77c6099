//===- KernelArguments.h - A kernel's arguments by name ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The host passes values under names, and the kernel finds them under the same.
// Their order is the one in which they were added; nothing else counts them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_KERNELARGUMENTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_KERNELARGUMENTS_H

#include "../../KernelBuilder.h"

namespace mx::mxgpu {

/// What kernels of products take. `getProductArguments` and the kernel that
/// adds the parts of a split reduction say which of them a kernel has.
enum class Arg {
  AMap,         ///< Tensor maps of the operands and of their scales.
  BMap,         //
  AScalesMap,   //
  BScalesMap,   //
  Parts,        ///< Sums of the parts of a split reduction, to be added.
  Result,       ///< What is written.
  Offsets,      ///< Of groups: their ends.
  K,            ///< Elements of the reduction.
  Alpha,        ///< The factor of the sums.
  Captures,     ///< What the epilogue region reads from outside.
  ResultMap,    ///< The result's tensor map, for bulk stores.
  MatrixRows,   ///< Of masked groups: rows of each matrix.
  ScatterRows,  ///< The row of the result that each row is added to.
  AWindow,      ///< Tables of the scales of A's tiles, and of B's.
  BWindow,      //
  ResultScales, ///< Scales of a quantized result.
};

class KernelArguments {
public:
  /// The next argument, if there is one: nothing is added for null. A size that
  /// is an attribute is a constant in the kernel, and no argument.
  void add(Arg name, mlir::OpFoldResult value);
  /// Several under one name.
  void addAll(Arg name, mlir::ValueRange values);

  /// What the host passes to the launch.
  llvm::SmallVector<mlir::Value> getHostValues() const;

  /// From now on names stand for values in `kernel`; `body` writes constants.
  void enter(KernelOp kernel, KernelBuilder &body);
  /// The value in the kernel, or null if it has none.
  mlir::Value get(Arg name) const;
  llvm::ArrayRef<mlir::Value> getAll(Arg name) const;

private:
  struct Entry {
    Arg name;
    llvm::SmallVector<mlir::OpFoldResult> onHost;
    llvm::SmallVector<mlir::Value> inKernel;
  };
  llvm::SmallVector<Entry> entries;
};

/// The size of a dimension: an attribute where the type knows it.
mlir::OpFoldResult getSize(KernelBuilder &host, mlir::Value memref,
                           int64_t dim);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_KERNEL_KERNELARGUMENTS_H
