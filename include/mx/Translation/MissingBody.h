//===- MissingBody.h - Calls of functions that are not there ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every way to run a program says it in the same words.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TRANSLATION_MISSINGBODY_H
#define MX_TRANSLATION_MISSINGBODY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mx {

/// An error at the declaration of a function that is called.
inline llvm::LogicalResult refuseMissingBody(mlir::func::FuncOp function) {
  return function.emitError("expected a body of '")
         << function.getSymName()
         << "', found a declaration: a program has the functions that it "
            "calls";
}

} // namespace mx

#endif // MX_TRANSLATION_MISSINGBODY_H
