//===- HostMessages.h - Text of errors found at run time --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Both paths check at run time what verifiers could not see, and say where.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_HOSTMESSAGES_H
#define MX_LIB_CONVERSION_UTILS_HOSTMESSAGES_H

#include "mlir/IR/BuiltinOps.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "llvm/ADT/StringRef.h"

namespace mx {

/// The address of `text` as a constant of `module`, NUL-terminated and made
/// once; the names of such constants begin with `prefix`.
mlir::Value getConstantText(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ModuleOp module, llvm::StringRef prefix,
                            const std::string &text);

/// Of an element or a slice that `op` takes from an array, and that is not in
/// it: `message` is upstream's.
std::string describeAccess(mlir::Operation *op, llvm::StringRef message);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_HOSTMESSAGES_H
