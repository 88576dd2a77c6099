//===- ByteCounts.cpp - How much memory an array takes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Products of extents are computed in f64, which rounds where an integer would
// wrap around.
//
//===----------------------------------------------------------------------===//

#include "ByteCounts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

/// Of the address space of a process on 64-bit hosts.
static constexpr double kMostBytes = double(int64_t(1) << 47);

static double countStaticBytes(MemRefType type) {
  Type element = type.getElementType();
  double bytes = element.isIndex()
                     ? 8
                     : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  for (int64_t extent : type.getShape())
    if (!ShapedType::isDynamic(extent))
      bytes *= double(extent);
  return bytes;
}

LogicalResult mx::verifyByteCount(Operation *op, MemRefType type) {
  Type element = type.getElementType();
  if (!element.isIntOrIndexOrFloat() || countStaticBytes(type) < kMostBytes)
    return success();
  return op->emitError("expected an array of less than 2^47 bytes, found ")
         << type;
}

Value mx::createFitsAddressSpace(OpBuilder &builder, Location loc,
                                 MemRefType type, ValueRange sizes) {
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  };
  Value bytes = constant(countStaticBytes(type));
  for (Value size : sizes) {
    Value wide =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
    // Taken for unsigned, an extent below 0 is too large.
    Value factor =
        arith::UIToFPOp::create(builder, loc, builder.getF64Type(), wide);
    bytes = arith::MulFOp::create(builder, loc, bytes, factor);
  }
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, bytes,
                               constant(kMostBytes));
}
