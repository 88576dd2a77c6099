//===- Place.h - Source locations of messages -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Source locations of run-time errors, printed like locations of compiler
// errors. Bodies created upstream lack locations.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_PLACE_H
#define MX_DIALECT_MX_IR_PLACE_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace mx {

/// Returns "file:line:column: " of the first file location within `loc`.
std::string getPlace(mlir::Location loc);

/// Assigns the location of each `linalg` operation in `root` to the operations
/// of its body that lack a location, such as bodies of named operations, which
/// upstream creates.
void locateBodies(mlir::Operation *root);

/// Returns the type of an operand or a result of `op` that is a float of at
/// most `bits` bits, or null.
mlir::Type findNarrowFloat(mlir::Operation *op, unsigned bits = 8);

/// Returns a suggestion for `op`, unsupported arithmetic on narrow floats, as
/// the end of an error.
llvm::StringRef adviseOnNarrowFloats(mlir::Operation *op);

} // namespace mx

#endif // MX_DIALECT_MX_IR_PLACE_H
