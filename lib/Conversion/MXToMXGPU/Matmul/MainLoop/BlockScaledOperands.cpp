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
  signature.add(Arg::AScalesMap,
                encodeScales(matrices.aScales, getInput("sfa").getShape()));
  signature.add(Arg::BScalesMap,
                encodeScales(matrices.bScales, b.getScaleBox()));
}

void BlockScaledMainLoop::freeTemporaries() {
  for (Value temporary : temporaries)
    memref::DeallocOp::create(host, temporary);
}

/// The field of a stage of the inputs.
BufferType BlockScaledMainLoop::getInput(StringRef field) const {
  RingType ring = product.buffers.inputs;
  return ring.getBuffers()[ring.getFieldIndex(field)];
}

/// Boxes fill the field of a stage, panel by panel.
Value BlockScaledMainLoop::encodeElements(Value operand,
                                          const target::OperandForm &form,
                                          StringRef field, int64_t rows) {
  BufferType buffer = getInput(field);
  auto type = TensorMapType::get(
      op->getContext(), {rows, buffer.getShape().back()},
      buffer.getElementType(), buffer.getSwizzle(), buffer.getPadded());
  if (form.repacked)
    operand =
        temporaries.emplace_back(packSixBits(host, operand, kernel.module));
  return EncodeTensorMapOp::create(host, type, operand);
}

/// A tile of 32 x 4 x 4 bytes is two rows of 256, the longest that a box can
/// have.
Value BlockScaledMainLoop::encodeScales(Value scales, ArrayRef<int64_t> box) {
  auto source = cast<MemRefType>(scales.getType());
  Value flat = memref::CollapseShapeOp::create(
      host, scales, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3, 4}});
  SmallVector<int64_t> shape = {source.getDimSize(0), source.getDimSize(1), 2,
                                256};
  SmallVector<OpFoldResult> sizes = {getAsOpFoldResult(host.dim(scales, 0)),
                                     getAsOpFoldResult(host.dim(scales, 1)),
                                     host.getIndexAttr(2),
                                     host.getIndexAttr(256)};
  Value split = memref::ExpandShapeOp::create(
      host, shape, flat, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}},
      sizes);
  auto type = TensorMapType::get(op->getContext(), box, source.getElementType(),
                                 Swizzle::None);
  return EncodeTensorMapOp::create(host, type, split);
}
