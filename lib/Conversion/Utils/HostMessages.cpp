//===- HostMessages.cpp - Text of errors found at run time ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "HostMessages.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

Value mx::getConstantText(OpBuilder &builder, Location loc, ModuleOp module,
                          StringRef prefix, const std::string &text) {
  StringAttr bytes = builder.getStringAttr(text + '\0');
  unsigned count = 0;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    if (!global.getSymName().starts_with(prefix))
      continue;
    ++count;
    if (global.getValueOrNull() == bytes)
      return LLVM::AddressOfOp::create(builder, loc, global);
  }
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                    LLVM::Linkage::Internal,
                                    (prefix + Twine(count)).str(), bytes);
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

std::string mx::describeAccess(Operation *op, StringRef message) {
  return ("'" + op->getName().getStringRef() +
          "' op expected an access inside of its array: " + message)
      .str();
}
