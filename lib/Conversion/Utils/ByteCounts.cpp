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
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;

/// Of the address space of a process on 64-bit hosts.
static constexpr double kMostBytes = double(int64_t(1) << 47);

/// Whether it is a size of an array, or follows from such sizes.
static bool isNeverNegative(Value value) {
  Operation *op = value.getDefiningOp();
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return *number >= 0;
  return isa_and_present<memref::DimOp>(op) ||
         (isa_and_present<arith::AddIOp, arith::MulIOp, arith::DivUIOp,
                          arith::CeilDivUIOp, arith::RemUIOp, arith::MinUIOp,
                          arith::MaxUIOp>(op) &&
          llvm::all_of(op->getOperands(), isNeverNegative));
}

void mx::forEachDoubtfulExtent(
    OpBuilder &builder, Location loc, MemRefType type, ValueRange sizes,
    llvm::function_ref<void(Value, Value, const std::string &)> each) {
  auto size = sizes.begin();
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent))
      continue;
    if (Value value = *size++; !isNeverNegative(value)) {
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value isValid = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sge, value, zero);
      each(value, isValid,
           "expected dimension " + std::to_string(dim) +
               " of an array to be at least 0, found %lld");
    }
  }
}

static double countStaticBytes(MemRefType type) {
  Type element = type.getElementType();
  double bytes = llvm::divideCeil(mx::getElementBits(element), 8);
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
