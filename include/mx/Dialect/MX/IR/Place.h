//===- Place.h - Source locations of messages -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run-time errors print source locations in the format of compiler errors.
// Bodies of named linalg operations, which upstream creates, have no location.
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
/// of its body that lack a location.
void locateBodies(mlir::Operation *root);

/// Returns the type of an operand or a result of `op` that is a float of at
/// most `bits` bits, or null.
mlir::Type findNarrowFloat(mlir::Operation *op, unsigned bits = 8);

/// Returns the end of an error message about arithmetic on narrow floats. This
/// part names the mx operation or pass to use instead of `op`.
llvm::StringRef adviseOnNarrowFloats(mlir::Operation *op);

} // namespace mx

#endif // MX_DIALECT_MX_IR_PLACE_H
