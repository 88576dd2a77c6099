//===- LaunchArrays.h - Arrays that launches access -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_LAUNCHARRAYS_H
#define MX_DIALECT_MXGPU_IR_LAUNCHARRAYS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Returns the array underlying a view or tensor map, or null if the array is
/// unknown. Arguments of an entry do not overlap, but a call within the module
/// may pass the same array twice.
mlir::Value findArray(mlir::Value memref);

/// Returns true if an operand may alias `array`.
bool mayBe(mlir::Value operand, mlir::Value array);

/// Returns true if a kernel may write an array through `argument`.
bool mayWrite(mlir::BlockArgument argument);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_LAUNCHARRAYS_H
