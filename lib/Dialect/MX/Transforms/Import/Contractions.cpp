//===- Contractions.cpp - Products of linalg with scales ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Any operation of linalg whose body adds a product to its result: matmul,
// batch_matmul, contract, generic, with the scales before it or in its body.
//
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "TensorFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

/// The product that a body adds to the element of its result.
static arith::MulFOp findProduct(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op->getNumResults() != 1 || op.getNumReductionLoops() == 0)
    return {};
  Block *body = op.getBlock();
  Value old = body->getArgument(op.getNumDpsInputs());
  auto sum =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() == old) == (sum.getRhs() == old))
    return {};
  Value added = sum.getLhs() == old ? sum.getRhs() : sum.getLhs();
  return added.getDefiningOp<arith::MulFOp>();
}

/// The sizes of a destination, by way of what it was made of.
static SmallVector<OpFoldResult> getSizesOf(OpBuilder &builder, Value out) {
  while (auto fill = out.getDefiningOp<linalg::FillOp>())
    out = fill.getDpsInits()[0];
  if (auto empty = out.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  return tensor::getMixedSizes(builder, out.getLoc(), out);
}

/// Whether a failure to trace a product is worth a remark.
static LogicalResult giveUp(Reason &why) {
  if (!why.empty())
    why = "its operands are not imported: " + why;
  return failure();
}

LogicalResult mx::import::importContraction(Operation *root,
                                            const Options &options,
                                            Reason &why) {
  auto op = dyn_cast<linalg::LinalgOp>(root);
  arith::MulFOp multiply = op ? findProduct(op) : arith::MulFOp();
  if (!multiply)
    return failure();
  Indices loops = getLoops(getLoopSizes(op));
  FailureOr<Factor> left = traceBody(op, multiply.getLhs(), loops, why);
  FailureOr<Factor> right = traceBody(op, multiply.getRhs(), loops, why);
  if (failed(left) || failed(right) || (!left->scales && !right->scales))
    return giveUp(why);
  FailureOr<Indices> out = evaluateOperand(op, *op.getDpsInitOperand(0), loops);
  if (failed(out)) {
    why = "its loops do not reach all elements of its result";
    return failure();
  }
  Product product;
  product.root = root;
  product.left = *left;
  product.right = *right;
  product.out = *out;
  product.reductions = getReductions(op, loops);
  product.result = root->getResult(0);
  Value init = op.getDpsInits()[0];
  if (!isZeros(init))
    product.init = init;
  product.getSizes = [init](OpBuilder &builder) {
    return getSizesOf(builder, init);
  };
  return rewriteProduct(product, options, why);
}
