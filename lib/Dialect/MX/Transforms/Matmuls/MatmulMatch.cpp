//===- MatmulMatch.cpp - Matching of linalg matmuls -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MatmulMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;

//===----------------------------------------------------------------------===//
// Gathered rows
//===----------------------------------------------------------------------===//

/// Returns the integer that becomes `value` through casts and clamps to 0.
static Value stripClamp(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool isClamp =
        isa<arith::MaxSIOp>(op) && matchPattern(op->getOperand(1), m_Zero());
    if (!isClamp && !isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// If `value` is a selected value for non-negative `number` and 0 otherwise,
/// returns the selected value. If the condition is `number` < size, sets `rows`
/// to the size.
static Value getUnlessNegative(Value value, Value number, Value &rows) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpIOp>()
                        : arith::CmpIOp();
  if (!compare || stripClamp(compare.getLhs()) != number ||
      compare.getLhs().getDefiningOp<arith::MaxSIOp>())
    return value;
  auto index = compare.getLhs().getDefiningOp<arith::IndexCastOp>();
  bool isBelow = compare.getPredicate() == arith::CmpIPredicate::ult && index &&
                 index.getIn() == number;
  if (!isBelow && !matchPattern(compare.getRhs(), m_Zero()))
    return value;
  Value chosen = select.getTrueValue(), other = select.getFalseValue();
  if (compare.getPredicate() == arith::CmpIPredicate::slt)
    std::swap(chosen, other);
  else if (!isBelow && compare.getPredicate() != arith::CmpIPredicate::sge)
    return value;
  if (!matchPattern(other, m_PosZeroFloat()))
    return value;
  if (isBelow)
    rows = compare.getRhs();
  return chosen;
}

static bool isNumRows(Value size, Value matrix) {
  if (auto dim = size.getDefiningOp<tensor::DimOp>())
    return dim.getSource() == matrix && dim.getConstantIndex() == 0;
  return isConstantIntValue(
      size, cast<RankedTensorType>(matrix.getType()).getDimSize(0));
}

std::optional<GatheredRows> mx::matchGather(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumLoops() != 2 || op.getNumParallelLoops() != 2 ||
      op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  OpOperand *numbers = op.getDpsInputOperand(0);
  AffineMap map = op.getMatchingIndexingMap(numbers);
  Value number = op.getBody()->getArgument(0);
  if (map != AffineMap::get(2, 0, getAffineDimExpr(0, op.getContext())) ||
      !(number.getType().isInteger(32) || number.getType().isInteger(64)))
    return std::nullopt;
  Value rows;
  auto extract = getUnlessNegative(op.getBody()->getTerminator()->getOperand(0),
                                   number, rows)
                     .getDefiningOp<tensor::ExtractOp>();
  if (!extract || extract.getIndices().size() != 2 ||
      stripClamp(extract.getIndices()[0]) != number ||
      (rows && !isNumRows(rows, extract.getTensor())) ||
      op.getRegion().isAncestor(extract.getTensor().getParentRegion()))
    return std::nullopt;
  auto column = extract.getIndices()[1].getDefiningOp<linalg::IndexOp>();
  auto from = cast<RankedTensorType>(extract.getTensor().getType());
  auto to = cast<RankedTensorType>(tensor.getType());
  if (!column || column.getDim() != 1 || from.getEncoding() ||
      from.getDimSize(1) != to.getDimSize(1) || to.isDynamicDim(1))
    return std::nullopt;
  return GatheredRows{extract.getTensor(), numbers->get(), bool(rows)};
}

/// Returns the axis of a dimension among the last two dimensions of an operand,
/// or -1.
static int64_t getAxis(AffineMap map, unsigned dim) {
  for (int64_t axis : {0, 1}) {
    AffineExpr expr = map.getResult(map.getNumResults() - 2 + axis);
    if (auto position = dyn_cast<AffineDimExpr>(expr);
        position && position.getPosition() == dim)
      return axis;
  }
  return -1;
}

/// Returns true if a map is an optional batch followed by two dimensions.
static bool isMatrixMap(AffineMap map, ArrayRef<unsigned> batch) {
  return map.isProjectedPermutation() &&
         map.getNumResults() == 2 + batch.size() &&
         (batch.empty() || map.getDimPosition(0) == batch[0]);
}

std::optional<MatmulMatch> mx::matchMatmul(linalg::LinalgOp op, Reason &why) {
  if (!op.hasPureTensorSemantics() || !linalg::isaContractionOpInterface(op))
    return std::nullopt;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  if (failed(dims) || dims->m.size() != 1 || dims->n.size() != 1 ||
      dims->k.size() != 1 || dims->batch.size() > 1) {
    why = "it does not have exactly one row, one column and one reduction "
          "dimension, and at most one batch dimension";
    return std::nullopt;
  }
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!llvm::all_of(
          maps, [&](AffineMap map) { return isMatrixMap(map, dims->batch); })) {
    why = "its operands are not matrices with an optional leading batch "
          "dimension";
    return std::nullopt;
  }
  if (!llvm::all_of(op->getOperands(), isFloatTensor)) {
    why = "its operands are not tensors of f32, bf16 or f16 without encoding";
    return std::nullopt;
  }
  MatmulMatch matmul;
  matmul.op = op;
  matmul.a = {op.getDpsInputs()[0], getAxis(maps[0], dims->k[0])};
  matmul.b = {op.getDpsInputs()[1], getAxis(maps[1], dims->k[0])};
  matmul.isSwapped = getAxis(maps[2], dims->m[0]) == 1;
  if (matmul.isSwapped)
    std::swap(matmul.a, matmul.b);
  matmul.result = op->getResult(0);
  matmul.out = op.getDpsInits()[0];
  matmul.accumulate = !isZeros(matmul.out);
  return matmul;
}

int64_t mx::getReductionSize(const MatmulMatch &matmul) {
  auto type = cast<RankedTensorType>(matmul.a.tensor.getType());
  return type.getDimSize(type.getRank() - 2 + matmul.a.axis);
}

RaggedKind mx::getRaggedOfOperand(const MatmulMatch &matmul,
                                  const MatmulMatch::Operand &operand) {
  if (matmul.ragged == RaggedKind::None ||
      cast<RankedTensorType>(operand.tensor.getType()).getRank() == 3)
    return RaggedKind::None;
  bool isLast = (operand.axis == 1) == (matmul.ragged == RaggedKind::Reduction);
  return isLast ? RaggedKind::Reduction : RaggedKind::Rows;
}
