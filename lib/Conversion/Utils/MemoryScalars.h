//===- MemoryScalars.h - Numbers that follow from memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Arithmetic of the host on elements that it reads from arrays.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_MEMORYSCALARS_H
#define MX_LIB_CONVERSION_UTILS_MEMORYSCALARS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace mx {

/// The arithmetic and the loads that `value` follows from, operands first. What
/// else it follows from is operands of these.
llvm::SetVector<mlir::Operation *> findArithmetic(mlir::Value value);

/// Whether a load is among them.
bool followsFromMemory(mlir::Value value);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_MEMORYSCALARS_H
