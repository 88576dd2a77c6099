//===- EndProgram.h - Ends a program with a message -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_ENDPROGRAM_H
#define MX_LIB_CONVERSION_MXTOCPU_ENDPROGRAM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/Twine.h"

namespace mx {

/// Where the i1 `condition` is false, prints the place of `loc` and `format`,
/// a printf format for `values` (integers or indices, as %ld or %lld), and ends
/// the program with kExitBadInput.
void createEndProgramUnless(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ModuleOp module, mlir::Value condition,
                            const llvm::Twine &format, mlir::ValueRange values);

} // namespace mx

#endif // MX_LIB_CONVERSION_MXTOCPU_ENDPROGRAM_H
