//===- ThreadDigits.h - Where a thread's elements begin ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A layout takes the thread's number apart into digits, each of which moves the
// element by so many rows or columns.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_THREADDIGITS_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_THREADDIGITS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// What the digits of `number`, which is below `count`, add up to, each value
/// of a digit being so much as `step` says; null if that is 0 for all.
mlir::Value
addThreadDigits(mlir::ImplicitLocOpBuilder &builder, mlir::Value number,
                int64_t count, FragmentLayoutAttr layout,
                llvm::function_ref<int64_t(const FragmentDigit &)> step);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_THREADDIGITS_H
