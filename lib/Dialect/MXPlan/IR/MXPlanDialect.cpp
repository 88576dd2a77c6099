//===- MXPlanDialect.cpp - Registration of the mxplan dialect -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxplan;

#include "mx/Dialect/MXPlan/IR/MXPlanDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MXPlan/IR/MXPlanAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "mx/Dialect/MXPlan/IR/MXPlanTypes.cpp.inc"

void MXPlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mx/Dialect/MXPlan/IR/MXPlanAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "mx/Dialect/MXPlan/IR/MXPlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mx/Dialect/MXPlan/IR/MXPlanOps.cpp.inc"
      >();
}

SmallVector<Type> mx::mxplan::getPlanTypes(Type type) {
  using mxgpu::KernelParameter;
  SmallVector<Type> types;
  Type buffer = BufferType::get(type.getContext());
  Type index = IndexType::get(type.getContext());
  for (KernelParameter parameter : mxgpu::getKernelParameters(type)) {
    bool isWhole = parameter.kind == KernelParameter::Number ||
                   parameter.kind == KernelParameter::TensorMap;
    bool isBuffer = parameter.kind == KernelParameter::Pointer;
    types.push_back(isWhole ? type : isBuffer ? buffer : index);
  }
  return types;
}

LogicalResult
MXPlanDialect::verifyOperationAttribute(Operation *op,
                                        NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto function = dyn_cast<func::FuncOp>(op);
  auto values = dyn_cast<ArrayAttr>(attribute.getValue());
  bool isArguments = name == kArgumentsAttrName;
  if (!function || (!isArguments && name != kResultsAttrName))
    return op->emitOpError("expected ")
           << kArgumentsAttrName << " and " << kResultsAttrName
           << " of func.func, found " << name;
  if (!values || !llvm::all_of(values, llvm::IsaPred<ValueAttr>))
    return op->emitOpError("expected ")
           << name << " to be an array of #mxplan.value, found "
           << attribute.getValue();
  SmallVector<Type> expected;
  for (auto value : values.getAsRange<ValueAttr>())
    llvm::append_range(expected, getPlanTypes(value.getType()));
  ArrayRef<Type> found =
      isArguments ? function.getArgumentTypes() : function.getResultTypes();
  if (found != ArrayRef<Type>(expected))
    return op->emitOpError("expected ")
           << (isArguments ? "arguments" : "results") << " of types ("
           << expected << ") as in " << name << ", found (" << found << ")";
  return success();
}
