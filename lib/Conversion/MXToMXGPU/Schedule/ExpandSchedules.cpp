//===- ExpandSchedules.cpp - Branches on the sizes of a matmul ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Replaces a matmul that has several schedules with branches on the host. Each
// branch contains the matmul with a schedule. Ranges of sizes may share a
// schedule.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXEXPANDSCHEDULES
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

/// Maps each `tensor.empty` to its copies for the results of matmuls.
using CopiesOfEmpty = DenseMap<Operation *, SmallVector<tensor::EmptyOp>>;

/// Replaces a matmul with branches on its sizes.
class Expander {
public:
  Expander(MatmulOpInterface op, CopiesOfEmpty &copies)
      : op(op), copies(copies), rewriter(op->getContext()), loc(op->getLoc()) {}

  void run(ArrayRef<ScheduleCaseAttr> cases) {
    rewriter.setInsertionPoint(op);
    copyEmptyOuts();
    rewriter.replaceOp(op, build(cases)->getResults());
  }

private:
  Value copyEmpty(tensor::EmptyOp empty);
  void copyEmptyOuts();
  Value getDim(Value shaped, int64_t fromEnd);
  Value getIndex(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value getM();
  Value getK();
  Value limitToExpected(Value size, int64_t padding);
  Value getN();
  Value getGroups();
  Value fits(ScheduleCaseAttr one);
  Value getChoice(ArrayRef<ScheduleCaseAttr> cases,
                  ArrayRef<ScheduleAttr> schedules);
  Operation *build(ScheduleAttr schedule);
  Operation *build(ArrayRef<ScheduleCaseAttr> cases);

  MatmulOpInterface op;
  CopiesOfEmpty &copies;
  IRRewriter rewriter;
  Location loc;
};

} // namespace

/// Returns the outermost branch around `op` that is inside the region of
/// `empty`, or `op` itself.
static Operation *getOutermostBranch(Operation *op, tensor::EmptyOp empty) {
  Operation *outermost = op;
  for (Operation *parent = op->getParentOp();
       isa<scf::IfOp, scf::IndexSwitchOp>(parent) &&
       empty->getParentRegion()->isAncestor(parent->getParentRegion());
       parent = parent->getParentOp())
    outermost = parent;
  return outermost;
}

/// Returns a copy of `empty` for the result of the matmul. Matmuls in mutually
/// exclusive branches share a copy, so a value selected from either branch
/// has a single buffer.
Value Expander::copyEmpty(tensor::EmptyOp empty) {
  Operation *place = getOutermostBranch(op, empty);
  SmallVector<tensor::EmptyOp> &known = copies[empty];
  for (tensor::EmptyOp copy : known)
    if (copy->getBlock() == place->getBlock() && copy->isBeforeInBlock(place) &&
        llvm::all_of(copy->getUsers(), [&](Operation *user) {
          return insideMutuallyExclusiveRegions(user, op);
        }))
      return copy;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(place);
  known.push_back(cast<tensor::EmptyOp>(rewriter.clone(*empty)));
  return known.back();
}

/// Gives each result its own memory. Bufferization supports matmuls that share
/// a `tensor.empty`, but not if a matmul is in a branch.
void Expander::copyEmptyOuts() {
  for (OpOperand &operand : op->getOpOperands())
    if (auto empty = operand.get().getDefiningOp<tensor::EmptyOp>())
      operand.set(copyEmpty(empty));
}

/// Returns the size of a dimension. `fromEnd` is 1 for the last dimension.
Value Expander::getDim(Value shaped, int64_t fromEnd) {
  int64_t dim = cast<ShapedType>(shaped.getType()).getRank() - fromEnd;
  if (isa<TensorType>(shaped.getType()))
    return tensor::DimOp::create(rewriter, loc, shaped, dim);
  return memref::DimOp::create(rewriter, loc, shaped, dim);
}

/// Returns the smaller of a size in rows and the expected rows with `padding`.
Value Expander::limitToExpected(Value size, int64_t padding) {
  auto rows = op->getAttrOfType<IntegerAttr>(kExpectedRowsAttrName);
  return rows ? arith::MinSIOp::create(rewriter, loc, size,
                                       getIndex(rows.getInt() + padding))
                    .getResult()
              : size;
}

/// Returns the number of rows of all expert groups and matrices, as in
/// `getMatmulProblem`.
Value Expander::getM() {
  Value rows = getDim(op.getA(), 2);
  int64_t rank = cast<ShapedType>(op.getA().getType()).getRank();
  for (int64_t fromEnd = 3; fromEnd <= rank; ++fromEnd)
    rows =
        arith::MulIOp::create(rewriter, loc, getDim(op.getA(), fromEnd), rows);
  return op.getRaggedOrNone() == RaggedKind::Rows ? limitToExpected(rows, 0)
                                                  : rows;
}

/// Returns the size of the reduction, with the padding of expert groups.
Value Expander::getK() {
  Value size = getDim(op.getA(), 1);
  if (op.getRaggedOrNone() != RaggedKind::Reduction)
    return size;
  int64_t groups =
      cast<ShapedType>(op.getExpertOffsets().getType()).getDimSize(0);
  return ShapedType::isDynamic(groups) ? size
                                       : limitToExpected(size, 127 * groups);
}

/// Returns the number of expert groups, or of matrices of a batch.
Value Expander::getGroups() {
  if (op.getExpertOffsets())
    return getDim(op.getExpertOffsets(), 1);
  int64_t rank = cast<ShapedType>(op.getA().getType()).getRank();
  Value groups = getIndex(1);
  for (int64_t fromEnd = 3; fromEnd <= rank; ++fromEnd)
    groups = arith::MulIOp::create(rewriter, loc, getDim(op.getA(), fromEnd),
                                   groups);
  return groups;
}

/// Returns the number of columns of all B matrices.
Value Expander::getN() {
  Value columns = getDim(op.getOut(), 1);
  if (op.getNumB() == 1)
    return columns;
  return arith::MulIOp::create(rewriter, loc, columns, getIndex(op.getNumB()));
}

/// Tests at run time whether the sizes are within the limits of a case.
Value Expander::fits(ScheduleCaseAttr one) {
  Value all;
  auto check = [&](int64_t limit, llvm::function_ref<Value()> getSize) {
    if (ShapedType::isDynamic(limit))
      return;
    Value size = getSize();
    Value most = getIndex(limit);
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sle,
                                     size, most);
    all = all ? arith::AndIOp::create(rewriter, loc, all, is) : is;
  };
  check(one.getMaxM(), [&] { return getM(); });
  check(one.getMaxN(), [&] { return getN(); });
  check(one.getMaxK(), [&] { return getK(); });
  check(one.getMaxGroups(), [&] { return getGroups(); });
  return all;
}

/// Returns the schedule index of the first case that matches the sizes.
Value Expander::getChoice(ArrayRef<ScheduleCaseAttr> cases,
                          ArrayRef<ScheduleAttr> schedules) {
  auto getNumber = [&](ScheduleCaseAttr one) {
    return getIndex(llvm::find(schedules, one.getSchedule()) -
                    schedules.begin());
  };
  Value choice = getNumber(cases.back());
  for (ScheduleCaseAttr one : llvm::reverse(cases.drop_back()))
    choice = arith::SelectOp::create(rewriter, loc, fits(one), getNumber(one),
                                     choice);
  return choice;
}

Operation *Expander::build(ScheduleAttr schedule) {
  Operation *copy = rewriter.clone(*op);
  copy->removeAttr(kSchedulesAttrName);
  copy->setAttr(kScheduleAttrName, schedule);
  return copy;
}

Operation *Expander::build(ArrayRef<ScheduleCaseAttr> cases) {
  llvm::SetVector<ScheduleAttr> schedules;
  for (ScheduleCaseAttr one : cases)
    schedules.insert(one.getSchedule());
  if (schedules.size() == 1)
    return build(schedules.front());
  Value choice = getChoice(cases, schedules.getArrayRef());
  SmallVector<int64_t> numbers =
      llvm::to_vector(llvm::seq<int64_t>(schedules.size() - 1));
  auto branches = scf::IndexSwitchOp::create(
      rewriter, loc, op->getResultTypes(), choice, numbers, numbers.size());
  OpBuilder::InsertionGuard guard(rewriter);
  for (auto [number, schedule] : llvm::enumerate(schedules)) {
    bool isLast = number + 1 == schedules.size();
    Region &region = isLast ? branches.getDefaultRegion()
                            : branches.getCaseRegions()[number];
    rewriter.setInsertionPointToStart(&region.emplaceBlock());
    Operation *matmul = build(schedule);
    scf::YieldOp::create(rewriter, loc, matmul->getResults());
  }
  return branches;
}

namespace {
struct ExpandSchedulesPass final
    : mx::mxgpu::impl::MXExpandSchedulesBase<ExpandSchedulesPass> {
  void runOnOperation() override {
    SmallVector<MatmulOpInterface> ops;
    getOperation().walk([&](MatmulOpInterface op) {
      if (op->hasAttr(kSchedulesAttrName))
        ops.push_back(op);
    });
    CopiesOfEmpty copies;
    for (MatmulOpInterface op : ops) {
      auto cases = op->getAttrOfType<ArrayAttr>(kSchedulesAttrName);
      Expander(op, copies)
          .run(llvm::to_vector(cases.getAsRange<ScheduleCaseAttr>()));
    }
  }
};
} // namespace
