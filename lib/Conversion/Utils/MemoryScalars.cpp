//===- MemoryScalars.cpp - Numbers that follow from memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "MemoryScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

static bool isArithmetic(Operation *op) {
  if (isa<memref::LoadOp>(op))
    return true;
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

static void addArithmetic(Value value, llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || ops.contains(op) || !isArithmetic(op))
    return;
  for (Value operand : op->getOperands())
    addArithmetic(operand, ops);
  ops.insert(op);
}

llvm::SetVector<Operation *> mx::findArithmetic(Value value) {
  llvm::SetVector<Operation *> ops;
  addArithmetic(value, ops);
  return ops;
}

bool mx::followsFromMemory(Value value) {
  return llvm::any_of(findArithmetic(value), llvm::IsaPred<memref::LoadOp>);
}
