//===- TosaInt8.cpp - MXINT8 is i8 in mx ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// TOSA has a type for MXINT8 elements, mx takes their bytes as i8. Casts
// between the two meet where one operation follows the other; arguments and
// results of functions whose callers are known become i8.
//
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

static bool isTosaInt8(Type type) {
  return isa<RankedTensorType>(type) &&
         isa<tosa::mxint8Type>(getElementTypeOrSelf(type));
}

static Type withElement(Type type, Type element) {
  return cast<RankedTensorType>(type).clone(element);
}

static Value castElement(OpBuilder &builder, Value tensor, Type element) {
  Type type = withElement(tensor.getType(), element);
  auto cast = tensor.getDefiningOp<UnrealizedConversionCastOp>();
  if (cast && cast.getNumOperands() == 1 &&
      cast.getOperand(0).getType() == type)
    return cast.getOperand(0);
  return UnrealizedConversionCastOp::create(builder, tensor.getLoc(), type,
                                            tensor)
      .getResult(0);
}

Value mx::import::getAsInt8(OpBuilder &builder, Value tensor) {
  if (!isTosaInt8(tensor.getType()))
    return tensor;
  return castElement(builder, tensor, builder.getI8Type());
}

Value mx::import::getAsTosaInt8(OpBuilder &builder, Value tensor) {
  return castElement(builder, tensor,
                     tosa::mxint8Type::get(builder.getContext()));
}

/// Makes i8 of a value, and casts it back for its other users.
static void convertArgument(BlockArgument argument) {
  OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
  argument.setType(withElement(argument.getType(), builder.getI8Type()));
  Value back = getAsTosaInt8(builder, argument);
  argument.replaceAllUsesExcept(back, back.getDefiningOp());
  for (Operation *user : llvm::make_early_inc_range(back.getUsers()))
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(user);
        cast && cast.getResult(0).getType() == argument.getType()) {
      cast.getResult(0).replaceAllUsesWith(argument);
      cast.erase();
    }
  eraseDead(back.getDefiningOp());
}

static void convertSignature(func::FuncOp function) {
  Type int8 = IntegerType::get(function.getContext(), 8);
  auto convert = [&](Type type) {
    return isTosaInt8(type) ? withElement(type, int8) : type;
  };
  FunctionType type = function.getFunctionType();
  auto inputs = llvm::map_to_vector(type.getInputs(), convert);
  auto results = llvm::map_to_vector(type.getResults(), convert);
  function.setFunctionType(
      FunctionType::get(function.getContext(), inputs, results));
  if (function.isExternal())
    return;
  for (BlockArgument argument : function.getArguments())
    if (isTosaInt8(argument.getType()))
      convertArgument(argument);
  function.walk([&](func::ReturnOp op) {
    OpBuilder atEnd(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *before = operand.get().getDefiningOp();
      operand.set(getAsInt8(atEnd, operand.get()));
      eraseDead(before ? before : op);
    }
  });
}

/// Casts what a call takes and returns.
static void convertCall(func::CallOp call) {
  OpBuilder builder(call);
  for (OpOperand &operand : call->getOpOperands())
    operand.set(getAsInt8(builder, operand.get()));
  builder.setInsertionPointAfter(call);
  for (Value result : call.getResults()) {
    if (!isTosaInt8(result.getType()))
      continue;
    result.setType(withElement(result.getType(), builder.getI8Type()));
    Value back = getAsTosaInt8(builder, result);
    result.replaceAllUsesExcept(back, back.getDefiningOp());
  }
}

void mx::import::convertInt8Signatures(Operation *module) {
  auto hasInt8 = [](func::FuncOp function) {
    FunctionType type = function.getFunctionType();
    return llvm::any_of(type.getInputs(), isTosaInt8) ||
           llvm::any_of(type.getResults(), isTosaInt8);
  };
  SymbolTableCollection symbols;
  SmallVector<func::FuncOp> functions;
  module->walk([&](func::FuncOp function) {
    if (hasInt8(function))
      functions.push_back(function);
  });
  SmallVector<func::CallOp> calls;
  module->walk([&](func::CallOp call) {
    auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (callee && llvm::is_contained(functions, callee))
      calls.push_back(call);
  });
  for (func::CallOp call : calls)
    convertCall(call);
  for (func::FuncOp function : functions)
    convertSignature(function);
}
