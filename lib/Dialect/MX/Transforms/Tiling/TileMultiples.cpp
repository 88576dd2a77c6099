//===- TileMultiples.cpp - Divisibility of tile offsets and sizes ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces a size or offset to the constants, loop counters and sums that compute
// the value.
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mx;
using namespace mx::tiling;

static bool isExprMultipleOf(AffineExpr expr, ValueRange dims,
                             ValueRange symbols, int64_t divisor) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() % divisor == 0;
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return isMultipleOf(OpFoldResult(dims[dim.getPosition()]), divisor);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return isMultipleOf(OpFoldResult(symbols[symbol.getPosition()]), divisor);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  bool lhs = isExprMultipleOf(binary.getLHS(), dims, symbols, divisor);
  if (expr.getKind() == AffineExprKind::Mul) {
    if (lhs || isExprMultipleOf(binary.getRHS(), dims, symbols, divisor))
      return true;
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    return factor && factor.getValue() > 0 &&
           divisor % factor.getValue() == 0 &&
           isExprMultipleOf(binary.getLHS(), dims, symbols,
                            divisor / factor.getValue());
  }
  return expr.getKind() == AffineExprKind::Add && lhs &&
         isExprMultipleOf(binary.getRHS(), dims, symbols, divisor);
}

bool mx::tiling::isMultipleOf(OpFoldResult value, int64_t divisor) {
  if (divisor == 1)
    return true;
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % divisor == 0;
  auto ssa = cast<Value>(value);
  if (auto argument = dyn_cast<BlockArgument>(ssa)) {
    auto loop = dyn_cast_or_null<LoopLikeOpInterface>(
        argument.getOwner()->getParentOp());
    auto counters = loop ? loop.getLoopInductionVars() : std::nullopt;
    if (!counters || !llvm::is_contained(*counters, argument))
      return false;
    size_t i = llvm::find(*counters, argument) - counters->begin();
    auto starts = loop.getLoopLowerBounds(), steps = loop.getLoopSteps();
    return starts && steps && isMultipleOf((*starts)[i], divisor) &&
           isMultipleOf((*steps)[i], divisor);
  }
  if (auto apply = ssa.getDefiningOp<affine::AffineApplyOp>()) {
    AffineMap map = apply.getAffineMap();
    return isExprMultipleOf(map.getResult(0), apply.getDimOperands(),
                            apply.getSymbolOperands(), divisor);
  }
  if (auto mul = ssa.getDefiningOp<arith::MulIOp>())
    return isMultipleOf(OpFoldResult(mul.getLhs()), divisor) ||
           isMultipleOf(OpFoldResult(mul.getRhs()), divisor);
  if (auto add = ssa.getDefiningOp<arith::AddIOp>())
    return isMultipleOf(OpFoldResult(add.getLhs()), divisor) &&
           isMultipleOf(OpFoldResult(add.getRhs()), divisor);
  return false;
}

bool mx::tiling::isWholeTile(OpFoldResult offset, OpFoldResult size,
                             int64_t bound, int64_t divisor) {
  if (isMultipleOf(size, divisor))
    return true;
  std::optional<int64_t> start = getConstantIntValue(offset);
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return start && *start + *constant == bound;
  auto ssa = cast<Value>(size);
  // min(tile, bound - offset), as created by tiling.
  if (auto min = ssa.getDefiningOp<affine::AffineMinOp>())
    return llvm::all_of(min.getMap().getResults(), [&](AffineExpr expr) {
      auto constant = dyn_cast<AffineConstantExpr>(expr);
      return !constant || constant.getValue() % divisor == 0 ||
             constant.getValue() >= bound;
    });
  return isWholeLoop(offset, size, bound);
}

bool mx::tiling::isWholeLoop(OpFoldResult offset, OpFoldResult size,
                             int64_t bound) {
  if (getConstantIntValue(offset) != 0)
    return false;
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant == bound;
  Operation *producer = cast<Value>(size).getDefiningOp();
  return isa_and_present<tensor::DimOp, memref::DimOp>(producer);
}
