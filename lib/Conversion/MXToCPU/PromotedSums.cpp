//===- PromotedSums.cpp - Sums in the precision of FP8 wgmma --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls with `promote` have the same result on all devices: that of wgmma
// with 8-bit floats (docs/reference/Spec.md, Folded operands). The values of
// elements and their products are exact in f64.
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

namespace {
constexpr int64_t kStep = 32;         // products of an instruction
constexpr int64_t kFractionBits = 13; // kept below the largest exponent
constexpr int64_t kF64Bias = 1023, kF64MantissaBits = 52, kF64Exponents = 0x7FF;
/// Exponent of zero products. Powers of two near it are normal f64.
constexpr int64_t kLeastExponent = -500;
constexpr int64_t kLeastF32Exponent = -126;

/// Emits operations on vectors of f64 and i64.
class Vectors {
public:
  Vectors(OpBuilder &builder, Location loc, int64_t size)
      : builder(builder), loc(loc),
        floats(VectorType::get({size}, builder.getF64Type())),
        integers(VectorType::get({size}, builder.getI64Type())) {}

  Value constant(int64_t value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(integers, builder.getI64IntegerAttr(value)));
  }
  Value zero() {
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(floats));
  }
  template <typename OpT>
  Value make(Value a, Value b) {
    return OpT::create(builder, loc, a, b);
  }

  /// Returns the exponents of `values`, at least `least`.
  Value getExponents(Value values, int64_t least) {
    Value bits = arith::BitcastOp::create(builder, loc, integers, values);
    bits = make<arith::ShRUIOp>(bits, constant(kF64MantissaBits));
    bits = make<arith::AndIOp>(bits, constant(kF64Exponents));
    bits = make<arith::SubIOp>(bits, constant(kF64Bias));
    return make<arith::MaxSIOp>(bits, constant(least));
  }
  /// Returns 2^exponents.
  Value getPowers(Value exponents) {
    Value bits = make<arith::AddIOp>(exponents, constant(kF64Bias));
    bits = make<arith::ShLIOp>(bits, constant(kF64MantissaBits));
    return arith::BitcastOp::create(builder, loc, floats, bits);
  }
  /// Truncates values times `factors` to integers.
  Value truncate(Value values, Value factors) {
    return arith::FPToSIOp::create(builder, loc, integers,
                                   make<arith::MulFOp>(values, factors));
  }
  /// Returns integers times `factors` with significands of kFractionBits.
  Value scale(Value values, Value factors) {
    Value scaled = make<arith::MulFOp>(
        arith::SIToFPOp::create(builder, loc, floats, values), factors);
    Value bits = arith::BitcastOp::create(builder, loc, integers, scaled);
    bits = make<arith::AndIOp>(
        bits, constant(-(int64_t{1} << (kF64MantissaBits - kFractionBits))));
    return arith::BitcastOp::create(builder, loc, floats, bits);
  }

  OpBuilder &builder;
  Location loc;
  VectorType floats, integers;
};
} // namespace

/// Returns the exponent of the smallest normal number of an operand.
static int64_t getLeastExponent(const Side &side, bool isExpanded) {
  FloatFormat format =
      isExpanded ? FloatFormat::E4M3 : *getFloatFormat(side.elements.type);
  return 1 - getInfo(format).bias;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value Matmul::addInTensorCore(const Side &a, const Side &b, Int row, Int begin,
                              Int end) {
  int64_t columns = cast<MemRefType>(panelOfB.getType()).getDimSize(1);
  Vectors vectors(builder, loc, columns);
  int64_t least[] = {getLeastExponent(a, isExpanded(a)),
                     getLeastExponent(b, isExpanded(b))};
  auto load = [&](Value position) {
    Value x = vector::BroadcastOp::create(
        builder, loc, vectors.floats, emitter.load(rowsOfA, {row, position}));
    Value y = vector::LoadOp::create(builder, loc, vectors.floats, panelOfB,
                                     ValueRange{position, emitter.index(0)});
    return std::pair(x, y);
  };
  auto addStep = [&](Value sum, Int first) -> Value {
    Int last = (first + kStep).min(end);
    // Find the largest exponent of a term, and add in f64 to find a NaN or an
    // infinity.
    auto terms = scf::ForOp::create(
        builder, loc, first, last, emitter.index(1),
        ValueRange{vectors.getExponents(sum, kLeastF32Exponent), sum},
        [&](OpBuilder &, Location, Value position, ValueRange carried) {
          auto [x, y] = load(position);
          Value product = vectors.make<arith::MulFOp>(x, y);
          Value isZero = arith::CmpFOp::create(
              builder, loc, arith::CmpFPredicate::OEQ, product, vectors.zero());
          Value exponent = arith::SelectOp::create(
              builder, loc, isZero, vectors.constant(kLeastExponent),
              vectors.make<arith::AddIOp>(vectors.getExponents(x, least[0]),
                                          vectors.getExponents(y, least[1])));
          scf::YieldOp::create(
              builder, loc,
              ValueRange{vectors.make<arith::MaxSIOp>(carried[0], exponent),
                         vectors.make<arith::AddFOp>(carried[1], product)});
        });
    Value quantum = vectors.make<arith::SubIOp>(
        terms.getResult(0), vectors.constant(kFractionBits));
    Value inverse = vectors.getPowers(
        vectors.make<arith::SubIOp>(vectors.constant(0), quantum));
    auto total = scf::ForOp::create(
        builder, loc, first, last, emitter.index(1),
        vectors.truncate(sum, inverse),
        [&](OpBuilder &, Location, Value position, ValueRange carried) {
          auto [x, y] = load(position);
          Value product = vectors.make<arith::MulFOp>(x, y);
          scf::YieldOp::create(
              builder, loc,
              vectors.make<arith::AddIOp>(carried[0],
                                          vectors.truncate(product, inverse)));
        });
    Value isFinite = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sle,
        vectors.getExponents(terms.getResult(1), kLeastExponent),
        vectors.constant(kF64Bias));
    return arith::SelectOp::create(
        builder, loc, isFinite,
        vectors.scale(total.getResult(0), vectors.getPowers(quantum)),
        terms.getResult(1));
  };
  return scf::ForOp::create(
             builder, loc, begin, end, emitter.index(kStep), vectors.zero(),
             [&](OpBuilder &, Location, Value first, ValueRange carried) {
               scf::YieldOp::create(builder, loc,
                                    addStep(carried[0], emitter.wrap(first)));
             })
      .getResult(0);
}

Value Matmul::loadScale(const Side &side, Int row, Int position) {
  Int arrayRow = side.firstRow ? *side.firstRow + row : row;
  Int block = emitter.index(0);
  if (side.blockSize != BlockFormat::kWhole)
    block = (side.firstK ? *side.firstK + position : position) / side.blockSize;
  return emitter.loadScaleValue(*side.scales, side.batch, arrayRow, block);
}

void Matmul::emitPromoted(const Side &a, const Side &b, Int aRow, Int row,
                          Int bRow, Int i, Int columns, Int k) {
  FormatArith &numbers = emitter.getNumbers();
  Int zero = emitter.index(0);
  auto round = [&](Value f64) {
    return numbers.widenToF64(
        numbers.widenToF32(numbers.round(f64, builder.getF32Type())));
  };
  auto multiply = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(builder, loc, x, y);
  };
  // Adds `partial` times `factor` with a single rounding.
  auto narrow = [&](Value f64) -> Value {
    return arith::TruncFOp::create(builder, loc, builder.getF32Type(), f64);
  };
  auto add = [&](Value sum, Value partial, Value factor) -> Value {
    if (!factor)
      return round(arith::AddFOp::create(builder, loc, sum, partial));
    Value total = math::FmaOp::create(builder, loc, narrow(partial),
                                      narrow(factor), narrow(sum));
    return numbers.widenToF64(numbers.widenToF32(total));
  };
  auto store = [&](Int j, Value sum) {
    memref::StoreOp::create(builder, loc, sum, sums, ValueRange{i, j});
  };
  Value nothing =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.0));
  emitter.loop(zero, columns, 1, [&](Int j) { store(j, nothing); });
  bool hasBlocksOfA = a.blockSize != BlockFormat::kWhole,
       hasRowsOfB = b.blockSize == BlockFormat::kWhole,
       hasBlocksOfB = !hasRowsOfB && !isExpanded(b);
  emitter.loop(zero, k, promote, [&](Int begin) {
    Value sum = addInTensorCore(a, b, row, begin, (begin + promote).min(k));
    vector::StoreOp::create(builder, loc, sum, partials, ValueRange{zero});
    emitter.loop(zero, columns, 1, [&](Int j) {
      Value partial = emitter.load(partials, {j}), factor;
      if (hasBlocksOfA)
        factor = loadScale(a, aRow, begin);
      if (hasBlocksOfB) {
        Value ofB = loadScale(b, bRow + j, begin);
        factor = factor ? round(multiply(factor, ofB)) : ofB;
      }
      store(j, add(emitter.load(sums, {i, j}), partial, factor));
    });
  });
  emitter.loop(zero, columns, 1, [&](Int j) {
    Value sum = emitter.load(sums, {i, j});
    if (!hasBlocksOfA)
      sum = round(multiply(sum, loadScale(a, aRow, zero)));
    if (hasRowsOfB)
      sum = round(multiply(sum, loadScale(b, bRow + j, zero)));
    store(j, sum);
  });
}
