//===- ConstantBytes.h - Constant tensors as bytes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How the elements of a constant lie in memory: as those of any array
// (docs/guide/Run.md), which is not always how MLIR keeps them. Two f4 share a
// byte, the first in the low bits; an f6 and a bit have a byte each.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_CONSTANTBYTES_H
#define MX_DIALECT_MX_IR_CONSTANTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include <optional>
#include <string>

namespace mx {

/// Why the elements cannot be written as bytes, in words that follow "expected
/// "; nothing if they can.
std::optional<std::string> findConstantFault(mlir::ElementsAttr elements);

/// Appends the elements in row-major order. The constant has no fault.
///
/// The bytes of a dense_resource are those of its elements, little-endian; of
/// f4 one byte for each or one for two, whichever fits their number.
void appendConstantBytes(mlir::ElementsAttr elements, std::string &bytes);

} // namespace mx

#endif // MX_DIALECT_MX_IR_CONSTANTBYTES_H
