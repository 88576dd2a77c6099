//===- BlockScaledOperands.cpp - Operands of tcgen05.mma on the host ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operands and scales are described to the copy engine. See
// BlockScaledMainLoop.h.
//
//===----------------------------------------------------------------------===//

#include "BlockScaledMainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Scales of B come in tiles of 128 rows, of which the tensor core can begin at
/// half. Narrower tiles of B do not all begin there, so that one must cover the
/// matrix.
void BlockScaledMainLoop::checkSizes() {
  if (schedule.getTileN() >= kScaleTileRows / 2)
    return;
  Value n = host.dim(matrices.out, 1);
  Value columns = host.index(schedule.getTileN());
  Value fits =
      arith::CmpIOp::create(host, arith::CmpIPredicate::ule, n, columns);
  RequireOp::create(host, fits,
                    "expected at most %lld columns with a tile of as "
                    "many, found %lld",
                    ValueRange{columns, n});
}

void BlockScaledMainLoop::addOperands(KernelArguments &signature) {
  const target::ProductForm &form = product.problem.product;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, *form.a, "a", product.getARows()));
  signature.add(Arg::BMap,
                encodeElements(matrices.b, *form.b, "b", b.getBoxRows()));
  addScales(signature);
}

void BlockScaledMainLoop::freeTemporaries() {
  for (Value temporary : temporaries)
    memref::DeallocOp::create(host, temporary);
}

/// Boxes fill the field of a stage, panel by panel.
Value BlockScaledMainLoop::encodeElements(Value operand,
                                          const target::OperandForm &form,
                                          StringRef field, int64_t rows) {
  BufferType buffer = getInput(product.buffers.inputs, field);
  auto type = TensorMapType::get(
      op->getContext(), {rows, buffer.getShape().back()},
      buffer.getElementType(), buffer.getSwizzle(), buffer.getPadded());
  if (form.repacked)
    operand =
        temporaries.emplace_back(packSixBits(host, operand, kernel.module));
  return EncodeTensorMapOp::create(host, type, operand);
}
