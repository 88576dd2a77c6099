//===- Place.h - Where a message points -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Errors that are found at run time name the place in the program, as those of
// the compiler do.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_PLACE_H
#define MX_DIALECT_MX_IR_PLACE_H

#include "mlir/IR/Location.h"
#include <string>

namespace mx {

/// "file:line:column: " of the first file location within `loc`.
std::string getPlace(mlir::Location loc);

} // namespace mx

#endif // MX_DIALECT_MX_IR_PLACE_H
