//===- ClampIndices.cpp - Reads in kernels stay inside of their arrays ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A kernel cannot end a program with a message. The host checks an index that
// it knows before the launch; any other index is clamped, on all paths alike.
// This runs before the paths part, so that they agree which indices the host
// knows.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXCLAMPINDICES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// What the host knows
//===----------------------------------------------------------------------===//

static bool isInteger(Value value) { return value.getType().isIntOrIndex(); }

static bool isArithmetic(Operation *op) {
  return isa<arith::ArithDialect>(op->getDialect()) && isPure(op) &&
         llvm::all_of(op->getOperands(), isInteger) &&
         llvm::all_of(op->getResults(), isInteger);
}

namespace {
/// Which numbers the host has without a read of the device. Answers are kept:
/// numbers share what they are computed from.
class HostNumbers {
public:
  bool contains(Value value) {
    auto [place, isNew] = known.try_emplace(value, false);
    if (!isNew)
      return place->second;
    bool isKnown = isInteger(value) && find(value);
    known[value] = isKnown;
    return isKnown;
  }

private:
  bool find(Value value) {
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
           (isArithmetic(op) &&
            llvm::all_of(op->getOperands(),
                         [&](Value operand) { return contains(operand); }));
  }

  /// Whether only hosts call a function: a caller in the module may pass
  /// numbers that follow from arrays.
  bool isEntry(Operation *op) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function || !function.isPublic())
      return false;
    auto [place, isNew] = entries.try_emplace(op, false);
    if (isNew)
      place->second = SymbolTable::symbolKnownUseEmpty(
          op, SymbolTable::getNearestSymbolTable(op->getParentOp()));
    return place->second;
  }

  llvm::DenseMap<Value, bool> known;
  llvm::DenseMap<Operation *, bool> entries;
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// An index as a sum of numbers of the host and at most one index of a loop.
struct Sum {
  std::optional<unsigned> loop;
  /// Numbers that are added and subtracted.
  SmallVector<Value> plus, minus;
};

/// An operation whose region reads elements.
class Kernel {
public:
  Kernel(Operation *op, HostNumbers &hostNumbers)
      : op(op), block(&op->getRegion(0).front()), host(op->getLoc(), op),
        hostNumbers(hostNumbers) {
    if (auto matmul = dyn_cast<MatmulOpInterface>(op))
      block = matmul.getEpilogueBlock();
  }

  LogicalResult run() {
    hoistTables();
    SmallVector<Operation *> reads;
    op->walk([&](Operation *inner) {
      if (isa<tensor::ExtractOp, memref::LoadOp>(inner))
        reads.push_back(inner);
    });
    for (Operation *read : reads)
      if (failed(clamp(read)))
        return failure();
    return success();
  }

private:
  bool isOutside(Value value) const {
    return !op->isAncestor(value.getParentRegion()->getParentOp());
  }

  void hoistTables();

  // The loops that the region is the body of.
  std::optional<unsigned> getLoop(Value value) const;
  /// Values of index, on the host.
  ArrayRef<Value> getSizes();
  int64_t getStaticSize(unsigned loop);
  /// Whether the host checks that all indices of a loop are in a dimension.
  bool isChecked(unsigned loop, Value array, int64_t dim);

  // What is known of an index.
  ConstantIntRanges getRange(Value value);
  bool isOnHost(Value value);
  /// Whether an index is below the size of a dynamic dimension, or its array is
  /// empty.
  bool isBelowSize(Value value, Value array, int64_t dim, int depth = 4);
  Value getOnHost(Value value);
  bool addTerms(Value value, Sum &sum, bool isMinus);

  // What is written.
  LogicalResult clamp(Operation *read);
  void require(Value condition, Operation *read, const Twine &what);
  void requireSum(const Sum &sum, Operation *read, unsigned dim);
  LogicalResult readUnlessEmpty(Operation *read, Value hasElements);
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return host.createOrFold<arith::CmpIOp>(predicate, a, b);
  }
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(host, number);
  }
  Value getSize(Value array, int64_t dim) {
    if (isa<MemRefType>(array.getType()))
      return host.createOrFold<memref::DimOp>(array, dim);
    return host.createOrFold<tensor::DimOp>(array, dim);
  }

  Operation *op;
  Block *block;
  ImplicitLocOpBuilder host;
  SmallVector<Value> sizes;
  llvm::DenseMap<Value, ConstantIntRanges> ranges;
  llvm::DenseMap<Value, bool> hostValues;
  IRMapping onHost;
  HostNumbers &hostNumbers;
};

} // namespace

/// Upstream moves constants and casts of arrays out of regions later: what
/// reads them is to be clamped like all that reads arrays outside.
void Kernel::hoistTables() {
  SmallVector<Operation *> tables;
  op->walk([&](Operation *inner) {
    bool isTable = isa<tensor::CastOp, memref::CastOp>(inner) ||
                   (inner->hasTrait<OpTrait::ConstantLike>() &&
                    isa<ShapedType>(inner->getResult(0).getType()));
    if (isTable && llvm::all_of(inner->getOperands(), [&](Value operand) {
          return isOutside(operand) ||
                 llvm::is_contained(tables, operand.getDefiningOp());
        }))
      tables.push_back(inner);
  });
  for (Operation *table : tables)
    table->moveBefore(op);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

std::optional<unsigned> Kernel::getLoop(Value value) const {
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

ArrayRef<Value> Kernel::getSizes() {
  if (!sizes.empty())
    return sizes;
  auto addSizes = [&](Value array, ArrayRef<int64_t> dims) {
    int64_t rank = cast<ShapedType>(array.getType()).getRank();
    for (int64_t dim : dims)
      sizes.push_back(getSize(array, dim < 0 ? rank + dim : dim));
  };
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    for (const Range &range : linalgOp.createLoopRanges(host, op->getLoc()))
      sizes.push_back(
          getValueOrCreateConstantIndexOp(host, op->getLoc(), range.size));
  } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    auto dynamic = generate.getDynamicExtents().begin();
    for (int64_t size : generate.getType().getShape())
      sizes.push_back(ShapedType::isDynamic(size) ? *dynamic++ : index(size));
  } else if (auto quantize = dyn_cast<QuantizeOp>(op)) {
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

int64_t Kernel::getStaticSize(unsigned loop) {
  return getConstantIntValue(getSizes()[loop]).value_or(ShapedType::kDynamic);
}

bool Kernel::isChecked(unsigned loop, Value array, int64_t dim) {
  // Lowerings check rows and columns of mx operations.
  if (isa<MXDialect>(op->getDialect()))
    return true;
  return ValueBoundsConstraintSet::compare(
      {getSizes()[loop]}, ValueBoundsConstraintSet::LE, {array, dim});
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Whether what upstream infers of a result holds here too: it takes a division
/// by 0, and shifts by the width or more, for undefined (docs/Spec.md).
static bool isInferred(Operation *op, ArrayRef<ConstantIntRanges> operands) {
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
    return !operands[1].umin().isZero();
  // The least number divided by -1 has a result, too.
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp,
          arith::FloorDivSIOp>(op))
    return operands[1].smin().isStrictlyPositive() ||
           operands[1].smax().slt(-1);
  if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op))
    return operands[1].umax().ult(operands[1].umax().getBitWidth());
  return isa<arith::ArithDialect>(op->getDialect());
}

/// What the numbers of the program say, whatever it reads.
ConstantIntRanges Kernel::getRange(Value value) {
  if (auto found = ranges.find(value); found != ranges.end())
    return found->second;
  // Sizes are below, and sums of some of them do not overflow.
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
    int64_t size = getStaticSize(*loop);
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

bool Kernel::isOnHost(Value value) {
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
  bool isKnown = isArithmetic(definition) &&
                 llvm::all_of(definition->getOperands(),
                              [&](Value operand) { return isOnHost(operand); });
  hostValues.try_emplace(value, isKnown);
  return isKnown;
}

bool Kernel::isBelowSize(Value value, Value array, int64_t dim, int depth) {
  if (ValueBoundsConstraintSet::compare(value, ValueBoundsConstraintSet::LT,
                                        {array, dim}))
    return true;
  Operation *definition = value.getDefiningOp();
  auto isBelow = [&](Value operand) {
    return depth > 0 && isBelowSize(operand, array, dim, depth - 1);
  };
  if (isa_and_present<arith::MinSIOp>(definition))
    return llvm::any_of(definition->getOperands(), isBelow);
  // 0 is, unless the array is empty.
  if (isa_and_present<arith::MaxSIOp>(definition))
    return llvm::all_of(definition->getOperands(), [&](Value operand) {
      return matchPattern(operand, m_Zero()) || isBelow(operand);
    });
  return false;
}

Value Kernel::getOnHost(Value value) {
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

bool Kernel::addTerms(Value value, Sum &sum, bool isMinus) {
  // More are clamped: an index of a program has a few.
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

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Where no loop runs, nothing is read.
void Kernel::require(Value condition, Operation *read, const Twine &what) {
  for (unsigned loop : llvm::seq<unsigned>(getSizes().size())) {
    Value isEmpty =
        compare(arith::CmpIPredicate::eq, getSizes()[loop], index(0));
    condition = host.createOrFold<arith::OrIOp>(condition, isEmpty);
  }
  if (matchPattern(condition, m_One()))
    return;
  std::string message = ("'" + read->getName().getStringRef() +
                         "' op expected an access inside of its array: " + what)
                            .str();
  cf::AssertOp::create(host, read->getLoc(), condition, message);
}

void Kernel::requireSum(const Sum &sum, Operation *read, unsigned dim) {
  using arith::CmpIPredicate;
  Value size = getSize(read->getOperand(0), dim);
  Value count = sum.loop ? getSizes()[*sum.loop] : index(1);
  Value first;
  for (Value number : sum.plus) {
    Value term = getOnHost(number);
    first = first ? host.createOrFold<arith::AddIOp>(first, term) : term;
  }
  for (Value number : sum.minus)
    first = host.createOrFold<arith::SubIOp>(first ? first : index(0),
                                             getOnHost(number));
  Value holds;
  if (!first) {
    holds = compare(CmpIPredicate::sle, count, size);
  } else {
    Value last = host.createOrFold<arith::SubIOp>(size, count);
    holds = host.createOrFold<arith::AndIOp>(
        compare(CmpIPredicate::sle, index(0), first),
        compare(CmpIPredicate::sle, first, last));
  }
  require(holds, read, "index " + Twine(dim) + " is out-of-bounds");
}

/// A read that a branch may skip: of an array without elements it gives 0.
LogicalResult Kernel::readUnlessEmpty(Operation *read, Value hasElements) {
  ImplicitLocOpBuilder builder(read->getLoc(), read);
  Type type = read->getResult(0).getType();
  TypedAttr zero = builder.getZeroAttr(type);
  if (!zero)
    return read->emitError()
           << "expected an array of a static size, or of integers or floats, "
              "where a branch or loop reads it by a number of the device, "
              "found elements of "
           << type;
  Value none = arith::ConstantOp::create(builder, zero);
  auto branch = scf::IfOp::create(builder, type, hasElements,
                                  /*withElseRegion=*/true);
  read->replaceAllUsesWith(branch);
  read->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(builder, read->getResults());
  builder.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(builder, none);
  return success();
}

LogicalResult Kernel::clamp(Operation *read) {
  Value array = read->getOperand(0);
  auto type = cast<ShapedType>(array.getType());
  // Kernels read no array that is made in their region; the CPU path checks it.
  if (!isOutside(array))
    return success();
  bool isReached = read->getBlock() == block && !isa<tensor::PadOp>(op);
  ImplicitLocOpBuilder here(read->getLoc(), read);
  Value hasElements;
  for (OpOperand &operand : read->getOpOperands().drop_front()) {
    int64_t dim = operand.getOperandNumber() - 1;
    Value found = operand.get();
    int64_t size = type.getDimSize(dim);
    bool isDynamic = ShapedType::isDynamic(size);
    ConstantIntRanges range = getRange(found);
    bool isAtLeast = !range.smin().isNegative();
    bool isBelow = !isDynamic && range.smax().slt(size);
    std::optional<unsigned> loop = getLoop(found);
    if ((isAtLeast && isBelow) || (loop && isChecked(*loop, array, dim)))
      continue;
    if (Sum sum; isReached && addTerms(found, sum, /*isMinus=*/false)) {
      requireSum(sum, read, dim);
      continue;
    }
    Value count = getSize(array, dim), last;
    if (isDynamic || size == 0) {
      Value exists = compare(arith::CmpIPredicate::sgt, count, index(0));
      if (isReached)
        require(exists, read,
                "dimension " + Twine(dim) + " has no elements to read");
      else
        hasElements =
            hasElements ? host.createOrFold<arith::AndIOp>(hasElements, exists)
                        : exists;
    }
    Value clamped = found;
    if (!isBelow && !(isDynamic && isBelowSize(found, array, dim))) {
      last = isDynamic
                 ? host.createOrFold<arith::SubIOp>(count, index(1))
                 : arith::ConstantIndexOp::create(here, size - 1).getResult();
      clamped = arith::MinSIOp::create(here, clamped, last);
    }
    if (!isAtLeast)
      clamped = arith::MaxSIOp::create(here, clamped,
                                       arith::ConstantIndexOp::create(here, 0));
    operand.set(clamped);
  }
  return hasElements ? readUnlessEmpty(read, hasElements) : success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ClampIndices final : mx::impl::MXClampIndicesBase<ClampIndices> {
  void runOnOperation() override {
    SmallVector<Operation *> kernels;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      bool isKernel = isa_and_present<MXDialect, linalg::LinalgDialect>(
                          inner->getDialect()) ||
                      isa<tensor::GenerateOp, tensor::PadOp>(inner);
      if (!isKernel)
        return WalkResult::advance();
      if (isa<linalg::LinalgOp, MatmulOpInterface, QuantizeOp,
              tensor::GenerateOp, tensor::PadOp>(inner) &&
          llvm::any_of(inner->getRegions(),
                       [](Region &region) { return !region.empty(); }))
        kernels.push_back(inner);
      return WalkResult::skip();
    });
    HostNumbers hostNumbers;
    for (Operation *kernel : kernels)
      if (failed(Kernel(kernel, hostNumbers).run()))
        return signalPassFailure();
  }
};
} // namespace
