//===- ClampIndices.cpp - Bounds of reads in kernels ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels cannot report an error. If the host can compute an index, the host
// checks the index before the launch; all other indices are clamped. The pass
// runs before the GPU and CPU paths diverge, so both check the same indices.
//===----------------------------------------------------------------------===//

#include "../Host/HostNumbers.h"
#include "../Utils/Sizes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXCLAMPINDICES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {

/// Operation with a region that may read elements at any index.
class Kernel {
public:
  Kernel(Operation *op, HostNumbers &hostNumbers)
      : op(op), numbers(op, hostNumbers), host(numbers.getHost()) {}

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
  void hoistTables();
  /// Returns true if the host already checks that all indices of a loop are in
  /// bounds for dimension `dim` of `array`.
  bool isChecked(unsigned loop, Value array, int64_t dim);
  LogicalResult clamp(Operation *read);
  void require(Value condition, Operation *read, const Twine &what);
  void requireSum(const IndexSum &sum, Operation *read, unsigned dim);
  LogicalResult readUnlessEmpty(Operation *read, Value hasElements);
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return host.createOrFold<arith::CmpIOp>(predicate, a, b);
  }
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(host, number);
  }

  Operation *op;
  KernelNumbers numbers;
  ImplicitLocOpBuilder &host;
};

} // namespace

/// Moves array constants and array casts out of the region, as upstream does
/// later, so reads of these arrays are also clamped.
void Kernel::hoistTables() {
  SmallVector<Operation *> tables;
  op->walk([&](Operation *inner) {
    bool isTable = isa<tensor::CastOp, memref::CastOp>(inner) ||
                   (inner->hasTrait<OpTrait::ConstantLike>() &&
                    isa<ShapedType>(inner->getResult(0).getType()));
    if (isTable && llvm::all_of(inner->getOperands(), [&](Value operand) {
          return numbers.isOutside(operand) ||
                 llvm::is_contained(tables, operand.getDefiningOp());
        }))
      tables.push_back(inner);
  });
  for (Operation *table : tables)
    table->moveBefore(op);
}

bool Kernel::isChecked(unsigned loop, Value array, int64_t dim) {
  // Lowerings check rows and columns of mx operations.
  if (isa<MXDialect>(op->getDialect()))
    return true;
  return ValueBoundsConstraintSet::compare(
      {numbers.getSizes()[loop]}, ValueBoundsConstraintSet::LE, {array, dim});
}

/// Returns true if an index is below a dynamic size, or the dimension is empty.
static bool isBelowSize(Value value, Value array, int64_t dim, int depth = 4) {
  if (ValueBoundsConstraintSet::compare(value, ValueBoundsConstraintSet::LT,
                                        {array, dim}))
    return true;
  Operation *definition = value.getDefiningOp();
  auto isBelow = [&](Value operand) {
    return depth > 0 && isBelowSize(operand, array, dim, depth - 1);
  };
  if (isa_and_present<arith::MinSIOp>(definition))
    return llvm::any_of(definition->getOperands(), isBelow);
  // 0 is in bounds unless the array is empty.
  if (isa_and_present<arith::MaxSIOp>(definition))
    return llvm::all_of(definition->getOperands(), [&](Value operand) {
      return matchPattern(operand, m_Zero()) || isBelow(operand);
    });
  return false;
}

/// Requires `condition` before the launch, unless a loop is empty, because the
/// kernel then reads nothing.
void Kernel::require(Value condition, Operation *read, const Twine &what) {
  for (unsigned loop : llvm::seq<unsigned>(numbers.getSizes().size())) {
    Value isEmpty =
        compare(arith::CmpIPredicate::eq, numbers.getSizes()[loop], index(0));
    condition = host.createOrFold<arith::OrIOp>(condition, isEmpty);
  }
  if (matchPattern(condition, m_One()))
    return;
  std::string message = ("'" + read->getName().getStringRef() +
                         "' op expected an access inside of its array: " + what)
                            .str();
  cf::AssertOp::create(host, read->getLoc(), condition, message);
}

void Kernel::requireSum(const IndexSum &sum, Operation *read, unsigned dim) {
  using arith::CmpIPredicate;
  Value size = getSize(read->getOperand(0), dim).getValue(host, host.getLoc());
  Value count = sum.loop ? numbers.getSizes()[*sum.loop] : index(1);
  Value first;
  for (Value number : sum.plus) {
    Value term = numbers.getOnHost(number);
    first = first ? host.createOrFold<arith::AddIOp>(first, term) : term;
  }
  for (Value number : sum.minus)
    first = host.createOrFold<arith::SubIOp>(first ? first : index(0),
                                             numbers.getOnHost(number));
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

/// Guards a read in a branch: if the array is empty, the result is 0.
LogicalResult Kernel::readUnlessEmpty(Operation *read, Value hasElements) {
  ImplicitLocOpBuilder builder(read->getLoc(), read);
  Type type = read->getResult(0).getType();
  TypedAttr zero = builder.getZeroAttr(type);
  if (!zero)
    return read->emitError()
           << "expected an array of static size or of integers or floats, "
              "because a branch or loop reads the array at an index that the "
              "device computes, found elements of "
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
  // Kernels cannot read arrays that the region defines. The CPU path checks
  // such reads.
  if (!numbers.isOutside(array))
    return success();
  bool isReached =
      read->getBlock() == numbers.getBlock() && !isa<tensor::PadOp>(op);
  ImplicitLocOpBuilder here(read->getLoc(), read);
  Value hasElements;
  for (OpOperand &operand : read->getOpOperands().drop_front()) {
    int64_t dim = operand.getOperandNumber() - 1;
    Value found = operand.get();
    int64_t size = type.getDimSize(dim);
    bool isDynamic = ShapedType::isDynamic(size);
    ConstantIntRanges range = numbers.getRange(found);
    bool isAtLeast = !range.smin().isNegative();
    bool isBelow = !isDynamic && range.smax().slt(size);
    std::optional<unsigned> loop = numbers.getLoop(found);
    if ((isAtLeast && isBelow) || (loop && isChecked(*loop, array, dim)))
      continue;
    if (IndexSum sum;
        isReached && numbers.addTerms(found, sum, /*isMinus=*/false)) {
      requireSum(sum, read, dim);
      continue;
    }
    Value count = getSize(array, dim).getValue(host, host.getLoc()), last;
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
      if (isa<linalg::LinalgOp, MatmulOpInterface, FusedQuantizeOp,
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
