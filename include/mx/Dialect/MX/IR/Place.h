//===- Place.h - Where a message points -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Errors that are found at run time name the place in the program, as those of
// the compiler do. Bodies that upstream makes have no place of their own.
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

/// "file:line:column: " of the first file location within `loc`.
std::string getPlace(mlir::Location loc);

/// Gives operations without a location, in bodies of `linalg` operations within
/// `root`, the location of the `linalg` operation: upstream writes the bodies
/// of named ones.
void locateBodies(mlir::Operation *root);

/// Returns the type of an operand or a result of `op` that is a float of at
/// most `bits` bits, or null.
mlir::Type findNarrowFloat(mlir::Operation *op, unsigned bits = 8);

/// Returns the way around `op`, arithmetic on narrow floats without a lowering,
/// as the end of an error.
llvm::StringRef adviseOnNarrowFloats(mlir::Operation *op);

} // namespace mx

#endif // MX_DIALECT_MX_IR_PLACE_H
