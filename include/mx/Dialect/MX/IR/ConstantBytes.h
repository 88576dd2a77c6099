//===- ConstantBytes.h - Constant tensors as bytes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Memory representation of constants, equal to that of other arrays
// (docs/guide/Run.md) and not always to MLIR's: two f4 per byte, low bits
// first, and one f6 or one bit per byte.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_CONSTANTBYTES_H
#define MX_DIALECT_MX_IR_CONSTANTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include <optional>
#include <string>

namespace mx {

/// Returns the reason why the elements cannot be written as bytes, worded to
/// follow "expected ", or none.
std::optional<std::string> findConstantFault(mlir::ElementsAttr elements);

/// Appends the elements in row-major order. Requires a constant without fault.
///
/// A dense_resource contains its elements in little-endian order, with f4
/// packed or one per byte; the size of the data decides.
void appendConstantBytes(mlir::ElementsAttr elements, std::string &bytes);

} // namespace mx

#endif // MX_DIALECT_MX_IR_CONSTANTBYTES_H
