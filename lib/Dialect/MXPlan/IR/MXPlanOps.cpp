//===- MXPlanOps.cpp - Operations of the mxplan dialect -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MX/IR/ConstantBytes.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"
#include "mx/Target/TensorMap.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxplan;

static LogicalResult verifyGroup(Operation *op, FlatSymbolRefAttr name,
                                 SymbolTableCollection &symbolTable) {
  Operation *symbol = symbolTable.lookupNearestSymbolFrom(op, name);
  if (isa_and_present<RankGroupOp>(symbol))
    return success();
  return op->emitOpError("expected an mx.group, found ")
         << (symbol ? symbol->getName().getStringRef() : "nothing") << " named "
         << name;
}

#define GET_OP_CLASSES
#include "mx/Dialect/MXPlan/IR/MXPlanOps.cpp.inc"

LogicalResult ReadOp::verify() {
  Type type = getResult().getType();
  if (type.isIndex() ||
      llvm::is_contained({8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth()))
    return success();
  return emitOpError("expected index, or an integer or float of 8, 16, 32 or "
                     "64 bits, found ")
         << type;
}

LogicalResult WaitOp::verify() {
  Operation *collective = getToken().getDefiningOp();
  return collective && collective->getBlock() == (*this)->getBlock()
             ? success()
             : emitOpError("expected a collective in the same block");
}

LogicalResult EncodeTensorMapOp::verify() {
  size_t rank = getType().getBox().size();
  if (rank > target::kTensorMapMaxRank)
    return emitOpError("expected at most ")
           << target::kTensorMapMaxRank << " dimensions, found " << rank;
  if (getDims().size() != rank || getStrides().size() + 1 != rank)
    return emitOpError("expected ")
           << rank << " dims and " << rank - 1 << " strides for a box of "
           << rank << " dimensions, found " << getDims().size() << " and "
           << getStrides().size();
  return success();
}

LogicalResult ConstantOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Operation *symbol =
      symbolTable.lookupNearestSymbolFrom(getOperation(), getGlobalAttr());
  auto global = dyn_cast_if_present<memref::GlobalOp>(symbol);
  if (!global || !global.getConstant() ||
      !isa_and_present<ElementsAttr>(global.getInitialValueAttr()))
    return emitOpError("expected a constant memref.global with a value, "
                       "found ")
           << (symbol ? symbol->getName().getStringRef() : "nothing")
           << " named " << getGlobalAttr();
  if (std::optional<std::string> fault =
          findConstantFault(cast<ElementsAttr>(global.getInitialValueAttr())))
    return emitOpError("expected ") << *fault;
  return success();
}

/// Returns the parameter types of a kernel in a plan.
static SmallVector<Type> getLaunchTypes(mxgpu::KernelOp kernel) {
  SmallVector<Type> types;
  Type i64 = IntegerType::get(kernel.getContext(), 64);
  for (Type argument : kernel.getArgumentTypes())
    for (Type type : getPlanTypes(argument))
      types.push_back(type.isIndex() ? i64 : type);
  return types;
}

LogicalResult SliceOp::verify() {
  for (Operation *user : (*this)->getUsers())
    if (!isa<LaunchOp>(user)) // slice C1
      return emitOpError("expected uses only as a parameter of mxplan.launch, "
                         "found a use by '")
             << user->getName() << "'";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Operation *callee =
      symbolTable.lookupNearestSymbolFrom(getOperation(), getKernelAttr());
  SmallVector<Type> expected;
  if (auto kernel = dyn_cast_if_present<mxgpu::KernelOp>(callee)) {
    expected = getLaunchTypes(kernel);
  } else if (auto function = dyn_cast_if_present<FunctionOpInterface>(callee)) {
    // Only the number of parameters of a lowered kernel is known.
    if (function.getNumArguments() == getArgs().size())
      return success();
    return emitOpError("expected ")
           << function.getNumArguments() << " parameters, found "
           << getArgs().size();
  } else {
    return emitOpError("expected a kernel, found ")
           << (callee ? callee->getName().getStringRef() : "nothing")
           << " named " << getKernelAttr();
  }
  if (expected.size() != getArgs().size())
    return emitOpError("expected ")
           << expected.size() << " parameters, found " << getArgs().size();
  for (auto [index, wanted, found] :
       llvm::enumerate(expected, getArgs().getTypes()))
    if (wanted != found)
      return emitOpError("expected parameter ")
             << index << " of type " << wanted << ", found " << found;
  return success();
}
