//===- MXPlan.h - The mxplan dialect ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Arrays of #mxplan.value that describe arguments and results to callers.
inline constexpr llvm::StringLiteral kArgumentsAttrName = "mxplan.arguments";
inline constexpr llvm::StringLiteral kResultsAttrName = "mxplan.results";

/// Returns the types that replace `type` in a plan. A memref becomes a buffer
/// and an index for each dynamic size, stride and offset, in the order of
/// kernel parameters. Other types are unchanged.
llvm::SmallVector<mlir::Type> getPlanTypes(mlir::Type type);

} // namespace mx::mxplan

#endif // MX_DIALECT_MXPLAN_IR_MXPLAN_H
