//===- TensorFacts.cpp - What is known of tensors around products ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TensorFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;

bool mx::isFloatTensor(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && !type.getEncoding() &&
         isa<Float32Type, BFloat16Type, Float16Type>(type.getElementType());
}

bool mx::isZeros(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  return matchPattern(tensor, m_AnyZeroFloat());
}

/// Whether the body of an operation on elements is arith.truncf alone.
static bool isTruncation(linalg::GenericOp op) {
  auto body = op.getBody()->without_terminator();
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !llvm::hasSingleElement(body))
    return false;
  auto truncation = dyn_cast<arith::TruncFOp>(*body.begin());
  return truncation && truncation.getIn() == op.getBody()->getArgument(0) &&
         op.getBody()->getTerminator()->getOperand(0) == truncation;
}

Operation *mx::getRounding(Value value) {
  if (!getElementTypeOrSelf(value).isF32() || !value.hasOneUse())
    return nullptr;
  Operation *user = *value.getUsers().begin();
  auto generic = dyn_cast<linalg::GenericOp>(user);
  bool rounds =
      isa<arith::TruncFOp>(user) ||
      (generic && isTruncation(generic) && generic.getDpsInputs()[0] == value);
  return rounds && isFloatTensor(user->getResult(0)) ? user : nullptr;
}
