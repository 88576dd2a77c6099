//===- ConstantBytes.h - Constant tensors as bytes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants are stored like all other arrays (docs/guide/Run.md), which differs
// from MLIR for narrow types: a byte contains two f4 elements (low bits first),
// an f6 element or an i1 element.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_CONSTANTBYTES_H
#define MX_DIALECT_MX_IR_CONSTANTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include <optional>
#include <string>

namespace mx {

/// Returns the reason why the elements cannot be written as bytes, or none. The
/// text completes a message that starts with "expected ".
std::optional<std::string> findConstantFault(mlir::ElementsAttr elements);

/// Appends the elements in row-major order. Requires that findConstantFault
/// returns none.
///
/// A dense_resource contains little-endian elements. The size of its data
/// determines whether a byte contains a single f4 element or two.
void appendConstantBytes(mlir::ElementsAttr elements, std::string &bytes);

} // namespace mx

#endif // MX_DIALECT_MX_IR_CONSTANTBYTES_H
