//===- HostNumbers.cpp - Numbers known on the host ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "HostNumbers.h"
#include "../Utils/Sizes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

static bool isInteger(Value value) { return value.getType().isIntOrIndex(); }

static bool isIntegerArithmetic(Operation *op) {
  return isa<arith::ArithDialect>(op->getDialect()) && isPure(op) &&
         llvm::all_of(op->getOperands(), isInteger) &&
         llvm::all_of(op->getResults(), isInteger);
}

bool HostNumbers::contains(Value value) {
  auto [place, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return place->second;
  bool isKnown = isInteger(value) && find(value);
  known[value] = isKnown;
  return isKnown;
}

bool HostNumbers::find(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<LoopLikeOpInterface>(parent)) {
      std::optional<SmallVector<Value>> inductions =
          loop.getLoopInductionVars();
      return inductions && llvm::is_contained(*inductions, value);
    }
    return argument.getOwner()->isEntryBlock() && isEntry(parent);
  }
  Operation *op = value.getDefiningOp();
  return isa<tensor::DimOp, memref::DimOp>(op) ||
         (isIntegerArithmetic(op) &&
          llvm::all_of(op->getOperands(),
                       [&](Value operand) { return contains(operand); }));
}

bool HostNumbers::isEntry(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || !function.isPublic())
    return false;
  auto [place, isNew] = entries.try_emplace(op, false);
  if (isNew)
    place->second = SymbolTable::symbolKnownUseEmpty(
        op, SymbolTable::getNearestSymbolTable(op->getParentOp()));
  return place->second;
}

KernelNumbers::KernelNumbers(Operation *op, HostNumbers &hostNumbers)
    : op(op), block(&op->getRegion(0).front()), host(op->getLoc(), op),
      hostNumbers(hostNumbers) {
  if (auto matmul = dyn_cast<MatmulOpInterface>(op))
    block = matmul.getEpilogueBlock();
}

bool KernelNumbers::isOutside(Value value) const {
  return !op->isAncestor(value.getParentRegion()->getParentOp());
}

std::optional<unsigned> KernelNumbers::getLoop(Value value) const {
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return unsigned(index.getDim());
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != block ||
      isa<linalg::LinalgOp, tensor::PadOp>(op))
    return std::nullopt;
  unsigned number = argument.getArgNumber();
  if (isa<tensor::GenerateOp>(op))
    return number;
  unsigned numElements = block->getNumArguments() - 2;
  if (number < numElements)
    return std::nullopt;
  return number - numElements;
}

ArrayRef<Value> KernelNumbers::getSizes() {
  if (!sizes.empty())
    return sizes;
  auto addSizes = [&](Value array, ArrayRef<int64_t> dims) {
    int64_t rank = cast<ShapedType>(array.getType()).getRank();
    for (int64_t dim : dims)
      sizes.push_back(getSize(array, dim < 0 ? rank + dim : dim)
                          .getValue(host, host.getLoc()));
  };
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    for (const Range &range : linalgOp.createLoopRanges(host, op->getLoc()))
      sizes.push_back(
          getValueOrCreateConstantIndexOp(host, op->getLoc(), range.size));
  } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    auto dynamic = generate.getDynamicExtents().begin();
    for (int64_t size : generate.getType().getShape())
      sizes.push_back(ShapedType::isDynamic(size)
                          ? *dynamic++
                          : arith::ConstantIndexOp::create(host, size));
  } else if (auto quantize = dyn_cast<FusedQuantizeOp>(op)) {
    if (Value gather = quantize.getGather())
      addSizes(gather, {0});
    else
      addSizes(quantize.getInput(), {-2});
    addSizes(quantize.getInput(), {-1});
  } else {
    addSizes(op->getOperand(0), {-2}); // A
    addSizes(cast<DestinationStyleOpInterface>(op).getDpsInits()[0], {-1});
  }
  return sizes;
}

/// Returns true if upstream's range inference is valid here. Upstream treats
/// division by 0 and shifts by at least the bit width as undefined, but
/// docs/reference/Math.md defines their results.
static bool isInferred(Operation *op, ArrayRef<ConstantIntRanges> operands) {
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
    return !operands[1].umin().isZero();
  // docs/reference/Math.md also defines the minimum divided by -1.
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp,
          arith::FloorDivSIOp>(op))
    return operands[1].smin().isStrictlyPositive() ||
           operands[1].smax().slt(-1);
  if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op))
    return operands[1].umax().ult(operands[1].umax().getBitWidth());
  return isa<arith::ArithDialect>(op->getDialect());
}

ConstantIntRanges KernelNumbers::getRange(Value value) {
  if (auto found = ranges.find(value); found != ranges.end())
    return found->second;
  // Upper bound of sizes, low enough that sums of a few sizes do not overflow.
  constexpr int64_t kMost = int64_t(1) << 60;
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  auto range = ConstantIntRanges::maxRange(width);
  auto setRange = [&](const APInt &first, const APInt &last) {
    if (first.sle(last))
      range = ConstantIntRanges::fromSigned(first, last);
  };
  Operation *definition = value.getDefiningOp();
  std::optional<unsigned> loop = getLoop(value);
  auto argument = dyn_cast<BlockArgument>(value);
  auto forOp = argument
                   ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                   : scf::ForOp();
  if (loop) {
    int64_t size =
        getConstantIntValue(getSizes()[*loop]).value_or(ShapedType::kDynamic);
    setRange(APInt(width, 0),
             APInt(width, ShapedType::isDynamic(size)
                              ? kMost
                              : std::max<int64_t>(size, 1) - 1));
  } else if (isa_and_present<tensor::DimOp, memref::DimOp>(definition)) {
    setRange(APInt(width, 0), APInt(width, kMost));
  } else if (forOp && value == forOp.getInductionVar() &&
             !forOp.getUnsignedCmp()) {
    ConstantIntRanges end = getRange(forOp.getUpperBound());
    if (getRange(forOp.getStep()).smin().isStrictlyPositive() &&
        !end.smax().isMinSignedValue())
      setRange(getRange(forOp.getLowerBound()).smin(), end.smax() - 1);
  } else if (auto infer = dyn_cast_or_null<InferIntRangeInterface>(definition);
             infer && llvm::all_of(definition->getOperands(), isInteger)) {
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : definition->getOperands())
      operands.push_back(getRange(operand));
    if (isInferred(definition, operands))
      infer.inferResultRanges(
          operands, [&](Value result, const ConstantIntRanges &found) {
            if (result == value)
              range = found;
          });
  }
  ranges.try_emplace(value, range);
  return range;
}

bool KernelNumbers::isOnHost(Value value) {
  if (isOutside(value))
    return hostNumbers.contains(value);
  Operation *definition = value.getDefiningOp();
  if (!definition)
    return false;
  if (isa<tensor::DimOp, memref::DimOp>(definition))
    return isOutside(definition->getOperand(0)) &&
           isOnHost(definition->getOperand(1));
  if (auto found = hostValues.find(value); found != hostValues.end())
    return found->second;
  bool isKnown = isIntegerArithmetic(definition) &&
                 llvm::all_of(definition->getOperands(),
                              [&](Value operand) { return isOnHost(operand); });
  hostValues.try_emplace(value, isKnown);
  return isKnown;
}

Value KernelNumbers::getOnHost(Value value) {
  if (isOutside(value))
    return value;
  if (Value made = onHost.lookupOrNull(value))
    return made;
  Operation *definition = value.getDefiningOp();
  for (Value operand : definition->getOperands())
    if (!isOutside(operand))
      onHost.map(operand, getOnHost(operand));
  host.clone(*definition, onHost);
  return onHost.lookup(value);
}

bool KernelNumbers::addTerms(Value value, IndexSum &sum, bool isMinus) {
  // Typical indices have few terms; longer sums are clamped.
  constexpr size_t kMostTerms = 8;
  if (sum.plus.size() + sum.minus.size() == kMostTerms)
    return false;
  if (std::optional<unsigned> loop = getLoop(value)) {
    if (isMinus || sum.loop)
      return false;
    sum.loop = loop;
    return true;
  }
  if (isOnHost(value)) {
    (isMinus ? sum.minus : sum.plus).push_back(value);
    return true;
  }
  Operation *definition = value.getDefiningOp();
  if (!isa_and_present<arith::AddIOp, arith::SubIOp>(definition) ||
      isOutside(value))
    return false;
  return addTerms(definition->getOperand(0), sum, isMinus) &&
         addTerms(definition->getOperand(1), sum,
                  isMinus != isa<arith::SubIOp>(definition));
}
