//===- MXPlan.h - The mxplan dialect ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the mxplan dialect: what the host does between kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXPLAN_IR_MXPLAN_H
#define MX_DIALECT_MXPLAN_IR_MXPLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

#include "mx/Dialect/MXPlan/IR/MXPlanDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MXPlan/IR/MXPlanAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mx/Dialect/MXPlan/IR/MXPlanTypes.h.inc"

#define GET_OP_CLASSES
#include "mx/Dialect/MXPlan/IR/MXPlanOps.h.inc"

namespace mx::mxplan {

/// What callers see of a function's arguments and results: arrays of
/// #mxplan.value.
inline constexpr llvm::StringLiteral kArgumentsAttrName = "mxplan.arguments";
inline constexpr llvm::StringLiteral kResultsAttrName = "mxplan.results";

/// What a plan has in place of a value of `type`: of a memref a buffer and an
/// index for each number that the type leaves open, in the order of a kernel's
/// parameters; anything else itself.
llvm::SmallVector<mlir::Type> getPlanTypes(mlir::Type type);

} // namespace mx::mxplan

#endif // MX_DIALECT_MXPLAN_IR_MXPLAN_H
