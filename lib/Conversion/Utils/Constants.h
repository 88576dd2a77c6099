//===- Constants.h - What is known of values --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_CONSTANTS_H
#define MX_LIB_CONVERSION_UTILS_CONSTANTS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mx {

/// Whether `value` is a constant number all of whose bits are 0: not -0.0.
bool isZeroBits(mlir::Value value);

/// Whether a global is a constant with a value, which can be copied to a
/// device.
bool isConstant(mlir::memref::GetGlobalOp reference);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_CONSTANTS_H
