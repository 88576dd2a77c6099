//===- GroupedLoops.cpp - Matching of loops over expert groups ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over g that multiplies slices and inserts the result into a
// loop-carried tensor is a grouped matmul if every slice belongs to expert
// group g. Such a slice is matrix g or consists of the rows between the end of
// the previous group and the end of group g.
//===----------------------------------------------------------------------===//

#include "MatmulMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;

namespace {

/// Range of the tokens of expert group g.
struct TokenRange {
  Value start, end;
};

class LoopMatcher {
public:
  LoopMatcher(scf::ForOp loop, Reason &why) : loop(loop), why(why) {}

  std::optional<MatmulMatch> match();

private:
  std::nullopt_t fail(const Twine &reason) {
    why = reason.str();
    return std::nullopt;
  }
  bool isConstant(OpFoldResult value, int64_t number) {
    return isConstantIntValue(value, number);
  }
  bool findCarried();
  bool findRange(OpFoldResult start, OpFoldResult size);
  bool isEnd(Value value);
  bool isEndBefore(Value value);
  bool isStart(Value value);
  bool isWhole(OpFoldResult offset, OpFoldResult size, Value tensor,
               int64_t dim);
  int64_t findTokens(ArrayRef<OpFoldResult> offsets,
                     ArrayRef<OpFoldResult> sizes, Value whole);
  bool isExpert(ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                Value whole);
  bool takeWhole(MatmulMatch::Operand &operand,
                 std::optional<int64_t> dim = std::nullopt);
  bool isSameSlice(tensor::InsertSliceOp insert, Value value);

  Value carried() { return loop.getRegionIterArg(number); }

  scf::ForOp loop;
  Reason &why;
  /// Index of the carried tensor.
  unsigned number = 0;
  Value offsets;
  std::optional<TokenRange> range;
};

} // namespace

static Value stripCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
             arith::ExtUIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Returns the extraction from a list that defines `value`, or null.
static tensor::ExtractOp getExtract(Value value) {
  auto extract = stripCasts(value).getDefiningOp<tensor::ExtractOp>();
  return extract && extract.getIndices().size() == 1 ? extract
                                                     : tensor::ExtractOp();
}

/// Returns true if `value` is the end of group g, which is element g of the
/// list of ends.
bool LoopMatcher::isEnd(Value value) {
  tensor::ExtractOp extract = getExtract(value);
  if (!extract || stripCasts(extract.getIndices()[0]) != loop.getInductionVar())
    return false;
  if (!offsets)
    offsets = extract.getTensor();
  return extract.getTensor() == offsets;
}

/// Returns true if `value` is element max(g - 1, 0) of the list of ends, the
/// end of the previous group.
bool LoopMatcher::isEndBefore(Value value) {
  tensor::ExtractOp extract = getExtract(value);
  if (!extract || extract.getTensor() != offsets)
    return false;
  Value index = extract.getIndices()[0];
  if (auto clamp = index.getDefiningOp<arith::MaxSIOp>();
      clamp && matchPattern(clamp.getRhs(), m_Zero()))
    index = clamp.getLhs();
  auto add = index.getDefiningOp<arith::AddIOp>();
  auto sub = index.getDefiningOp<arith::SubIOp>();
  return (add && add.getLhs() == loop.getInductionVar() &&
          isConstant(add.getRhs(), -1)) ||
         (sub && sub.getLhs() == loop.getInductionVar() &&
          isConstant(sub.getRhs(), 1));
}

/// Returns the two values from which a condition selects.
static std::optional<std::array<Value, 2>> getChoice(Value value,
                                                     Value &condition) {
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    condition = select.getCondition();
    return std::array<Value, 2>{select.getTrueValue(), select.getFalseValue()};
  }
  auto ifOp = value.getDefiningOp<scf::IfOp>();
  if (!ifOp || !ifOp.elseBlock())
    return std::nullopt;
  unsigned result = cast<OpResult>(value).getResultNumber();
  condition = ifOp.getCondition();
  return std::array<Value, 2>{ifOp.thenYield().getOperand(result),
                              ifOp.elseYield().getOperand(result)};
}

/// Returns true if `value` is the start of group g: 0, or the end of the
/// previous group. The value may be loop-carried, or selected with a condition
/// on g.
bool LoopMatcher::isStart(Value value) {
  value = stripCasts(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != loop.getBody() || !argument.getArgNumber())
      return false;
    OpOperand *init = loop.getTiedLoopInit(argument);
    OpOperand *next = loop.getTiedLoopYieldedValue(argument);
    return matchPattern(init->get(), m_Zero()) && isEnd(next->get());
  }
  Value condition;
  auto choice = getChoice(value, condition);
  auto compare =
      choice ? condition.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare || compare.getLhs() != loop.getInductionVar() ||
      !matchPattern(compare.getRhs(), m_Zero()))
    return false;
  bool isFirstGroup = compare.getPredicate() == arith::CmpIPredicate::eq;
  bool isOther =
      llvm::is_contained({arith::CmpIPredicate::ne, arith::CmpIPredicate::sgt,
                          arith::CmpIPredicate::ugt},
                         compare.getPredicate());
  auto [zero, before] = *choice;
  if (isOther)
    std::swap(zero, before);
  return (isFirstGroup || isOther) && matchPattern(zero, m_Zero()) &&
         isEndBefore(before);
}

/// Returns true if a slice contains exactly the tokens of the group.
bool LoopMatcher::findRange(OpFoldResult start, OpFoldResult size) {
  auto startValue = dyn_cast<Value>(start), sizeValue = dyn_cast<Value>(size);
  if (!startValue || !sizeValue)
    return false;
  auto length = stripCasts(sizeValue).getDefiningOp<arith::SubIOp>();
  if (!length)
    return false;
  if (range)
    return stripCasts(startValue) == range->start &&
           stripCasts(length.getLhs()) == range->end &&
           stripCasts(length.getRhs()) == range->start;
  if (stripCasts(length.getRhs()) != stripCasts(startValue) ||
      !isEnd(length.getLhs()) || !isStart(startValue))
    return false;
  range = {stripCasts(startValue), stripCasts(length.getLhs())};
  return true;
}

bool LoopMatcher::isWhole(OpFoldResult offset, OpFoldResult size, Value tensor,
                          int64_t dim) {
  if (!isConstant(offset, 0))
    return false;
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return isConstant(size, type.getDimSize(dim));
  auto value = dyn_cast<Value>(size);
  auto dimOp = value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
  return dimOp && dimOp.getSource() == tensor &&
         dimOp.getConstantIndex() == dim;
}

/// Returns the dimension of a matrix slice that is limited to the group's
/// tokens, or -1. The slice must cover the whole other dimension.
int64_t LoopMatcher::findTokens(ArrayRef<OpFoldResult> offsets,
                                ArrayRef<OpFoldResult> sizes, Value whole) {
  if (offsets.size() != 2)
    return -1;
  for (int64_t dim : {0, 1})
    if (isWhole(offsets[1 - dim], sizes[1 - dim], whole, 1 - dim) &&
        findRange(offsets[dim], sizes[dim]))
      return dim;
  return -1;
}

/// Returns true if a slice is matrix g.
bool LoopMatcher::isExpert(ArrayRef<OpFoldResult> offsets,
                           ArrayRef<OpFoldResult> sizes, Value whole) {
  return offsets.size() == 3 &&
         dyn_cast<Value>(offsets[0]) == loop.getInductionVar() &&
         isConstant(sizes[0], 1) && isWhole(offsets[1], sizes[1], whole, 1) &&
         isWhole(offsets[2], sizes[2], whole, 2);
}

/// Returns the slice of a loop-invariant tensor that defines `value`, or null.
static tensor::ExtractSliceOp getSlice(Value value, scf::ForOp loop) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.hasUnitStride() &&
                 loop.isDefinedOutsideOfLoop(slice.getSource())
             ? slice
             : tensor::ExtractSliceOp();
}

/// Replaces an operand's slice by the whole tensor. Fails unless the slice
/// contains the group's tokens along `dim` or, without `dim`, is matrix g.
bool LoopMatcher::takeWhole(MatmulMatch::Operand &operand,
                            std::optional<int64_t> dim) {
  tensor::ExtractSliceOp slice = getSlice(operand.tensor, loop);
  if (!slice)
    return false;
  SmallVector<OpFoldResult> places = slice.getMixedOffsets();
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  Value whole = slice.getSource();
  bool isIt =
      dim ? findTokens(places, sizes, whole) == *dim
          : slice.getType().getRank() == 2 && isExpert(places, sizes, whole);
  if (isIt)
    operand.tensor = whole;
  return isIt;
}

/// Finds the carried tensor. All other carried values must be ends of groups.
bool LoopMatcher::findCarried() {
  SmallVector<unsigned> tensors;
  for (BlockArgument argument : loop.getRegionIterArgs()) {
    unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
    if (isa<RankedTensorType>(argument.getType()))
      tensors.push_back(index);
    else if (!loop.getResult(index).use_empty())
      return false;
  }
  if (tensors.size() != 1)
    return false;
  number = tensors[0];
  return true;
}

/// Returns true if `insert` overwrites `value`, a slice of the carried tensor.
bool LoopMatcher::isSameSlice(tensor::InsertSliceOp insert, Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.getSource() == insert.getDest() &&
         slice.hasUnitStride() &&
         slice.getMixedOffsets() == insert.getMixedOffsets() &&
         slice.getMixedSizes() == insert.getMixedSizes();
}

static linalg::LinalgOp findContraction(scf::ForOp loop) {
  linalg::LinalgOp found;
  for (auto op : loop.getBody()->getOps<linalg::LinalgOp>())
    if (linalg::isaContractionOpInterface(op)) {
      if (found)
        return {};
      found = op;
    }
  return found;
}

std::optional<MatmulMatch> LoopMatcher::match() {
  linalg::LinalgOp op = findContraction(loop);
  if (!op)
    return std::nullopt;
  std::optional<MatmulMatch> matmul = matchMatmul(op, why);
  if (!matmul)
    return std::nullopt;
  if (!findCarried())
    return fail("the loop carries values other than a tensor and ends of "
                "expert groups");
  if (llvm::any_of(loop.getBody()->without_terminator(), [](Operation &inner) {
        return !isMemoryEffectFree(&inner);
      }))
    return fail("the loop has effects on memory");
  auto insert =
      loop.getYieldedValues()[number].getDefiningOp<tensor::InsertSliceOp>();
  Value result = matmul->result;
  if (Operation *rounding = getRounding(result))
    result = rounding->getResult(0);
  if (!insert || insert.getDest() != carried() ||
      insert.getSource() != result || !insert.hasUnitStride())
    return fail("the loop does not insert the matmul's result, rounded or not, "
                "into the tensor that it carries");
  // mx.grouped_matmul does not round before it accumulates.
  if (matmul->accumulate &&
      (result != matmul->result || !isSameSlice(insert, matmul->out)))
    return fail(
        "the matmul is not added to the previous contents of its slice");
  Value whole = loop.getInitArgs()[number];
  SmallVector<OpFoldResult> places = insert.getMixedOffsets();
  SmallVector<OpFoldResult> sizes = insert.getMixedSizes();
  // With axis 1, a matmul operand is reduced over the last dimension.
  if (isExpert(places, sizes, whole)) {
    matmul->ragged = RaggedKind::Reduction;
    if (!takeWhole(matmul->a, matmul->a.axis) ||
        !takeWhole(matmul->b, matmul->b.axis))
      return fail("an operand is not an expert group's slice of the reduction "
                  "dimension");
  } else if (findTokens(places, sizes, whole) == 0) {
    matmul->ragged = RaggedKind::Rows;
    if (!takeWhole(matmul->a, 1 - matmul->a.axis) || !takeWhole(matmul->b))
      return fail(
          "the operands are not the rows of an expert group and its matrix");
  } else {
    return fail(
        "the result is neither the rows of an expert group nor its matrix");
  }
  if (!loop.isDefinedOutsideOfLoop(offsets))
    return fail("the ends of expert groups are computed in the loop");
  Type end = getElementTypeOrSelf(offsets);
  if (!end.isInteger(32) && !end.isInteger(64))
    return fail("the ends of expert groups are not i32 or i64");
  int64_t groups = getNumExperts(offsets);
  if (ShapedType::isDynamic(groups) || !isConstant(loop.getLowerBound(), 0) ||
      !isConstant(loop.getStep(), 1) ||
      !isConstant(loop.getUpperBound(), groups))
    return fail(
        "the loop does not visit a static number of expert groups in order");
  Value matrices =
      matmul->ragged == RaggedKind::Rows ? matmul->b.tensor : whole;
  if (cast<RankedTensorType>(matrices.getType()).getDimSize(0) != groups)
    return fail(
        "the number of matrices differs from the number of expert groups");
  // An expert group without tokens yields zeros.
  if (matmul->ragged == RaggedKind::Reduction && isZeros(whole))
    matmul->accumulate = false;
  // Rows outside all expert groups keep their contents, for example zeros.
  if (matmul->ragged == RaggedKind::Rows && !matmul->accumulate &&
      !whole.getDefiningOp<tensor::EmptyOp>()) {
    if (!isZeros(whole))
      return fail("rows outside all expert groups would lose their contents");
    matmul->accumulate = true;
  }
  matmul->offsets = offsets;
  matmul->out = whole;
  matmul->result = loop.getResult(number);
  return matmul;
}

std::optional<MatmulMatch> mx::matchGroupedLoop(scf::ForOp loop, Reason &why) {
  return LoopMatcher(loop, why).match();
}
