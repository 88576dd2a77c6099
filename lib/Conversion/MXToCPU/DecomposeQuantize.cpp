//===- DecomposeQuantize.cpp - Dequantized destinations -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decomposes a quantization with dequantized destinations into a quantization
// to elements and scales, and an mx.dequantize.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;

Value mx::cpu::allocateLike(OpBuilder &builder, Location loc, Value out,
                            Type type, int64_t block) {
  SmallVector<int64_t> shape(cast<MemRefType>(out.getType()).getShape());
  int64_t last = static_cast<int64_t>(shape.size()) - 1;
  SmallVector<Value> sizes;
  for (auto [dim, length] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(length))
      continue;
    Value size = memref::DimOp::create(builder, loc, out, dim);
    if (int64_t(dim) == last && block != 1)
      size = arith::DivUIOp::create(
          builder, loc, size,
          arith::ConstantIndexOp::create(builder, loc, block));
    sizes.push_back(size);
  }
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() /= block;
  return memref::AllocOp::create(builder, loc, MemRefType::get(shape, type),
                                 sizes);
}

/// Dequantizes a ragged reduction as a single matrix with zeros between expert
/// groups. Rows outside all expert groups are undefined.
static void decompose(FusedQuantizeOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> outs;
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    if (!op.isDequantized(i)) {
      llvm::append_range(outs, op.getDestination(i));
      continue;
    }
    for (auto [type, block] :
         {std::pair(op.getElementType(i), int64_t(1)),
          std::pair(op.getScaleType(i), int64_t(op.getBlockSize()))})
      outs.push_back(
          mx::cpu::allocateLike(builder, loc, op.getElements(i), type, block));
  }
  builder.setInsertionPointAfter(op);
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    if (op.isDequantized(i))
      DequantizeOp::create(builder, loc, TypeRange(), outs[2 * i],
                           outs[2 * i + 1], op.getDecodeFactor(i),
                           /*offsets=*/Value(), op.getElements(i),
                           RaggedKindAttr(), /*padded=*/UnitAttr(),
                           op.getBlockSizeAttr());
  llvm::append_range(outs, op.getAmaxOuts());
  op.setDequantizedTypes({}, {});
  op.getOutsMutable().assign(outs);
}

void mx::cpu::decomposeQuantizations(Operation *root) {
  SmallVector<FusedQuantizeOp> ops;
  root->walk([&](FusedQuantizeOp op) {
    if (op.getDequantized())
      ops.push_back(op);
  });
  for (FusedQuantizeOp op : ops)
    decompose(op);
}
