//===- EndProgram.cpp - Ends a program with a message ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// By exit: cf.assert would abort, dump core and hide the values. dprintf and
// exit are in every C library, so that stock mlir-runner finds them.
//
//===----------------------------------------------------------------------===//

#include "EndProgram.h"
#include "../Utils/HostMessages.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Support/ExitStatus.h"

using namespace mlir;

/// The declaration of a C function.
static LLVM::LLVMFuncOp declare(OpBuilder &builder, ModuleOp module,
                                StringRef name, LLVM::LLVMFunctionType type) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

void mx::createEndProgramUnless(OpBuilder &builder, Location loc,
                                ModuleOp module, Value condition,
                                const llvm::Twine &format, ValueRange values) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  auto print = declare(
      builder, module, "dprintf",
      LLVM::LLVMFunctionType::get(i32, {i32, pointer}, /*isVarArg=*/true));
  auto exit = declare(builder, module, "exit",
                      LLVM::LLVMFunctionType::get(none, {i32}));
  auto constant = [&](int32_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  auto text = [&](const llvm::Twine &bytes) {
    return getConstantText(builder, loc, module, "__mx_message_", bytes.str());
  };

  Value isWrong = arith::XOrIOp::create(
      builder, loc, condition,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  auto ifOp = scf::IfOp::create(builder, loc, isWrong,
                                /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  constexpr int32_t kStandardError = 2;
  // The place goes in as an argument: it may contain a '%'.
  SmallVector<Value> arguments = {constant(kStandardError), text("%s" + format),
                                  text(getPlace(loc))};
  for (Value value : values) {
    if (value.getType() != i64)
      value = value.getType().isIndex()
                  ? Value(arith::IndexCastOp::create(builder, loc, i64, value))
                  : Value(arith::ExtUIOp::create(builder, loc, i64, value));
    arguments.push_back(value);
  }
  LLVM::CallOp::create(builder, loc, print, arguments);
  LLVM::CallOp::create(builder, loc, exit, ValueRange{constant(kExitBadInput)});
}
