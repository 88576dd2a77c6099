//===- FusedRegionBuilder.cpp - Regions built from other regions ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value in a region keeps the type and the rounding of the replaced tensor.
//===----------------------------------------------------------------------===//

#include "FusedRegionBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mx;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// How a prologue accesses an operand of an elementwise operation.
namespace {
enum class Access {
  Number,  ///< scalar
  Element, ///< another input
  Extract, ///< tensor read in the region
  None
};
} // namespace

/// Returns true if a map reads along rows. The column must be the last index or
/// absent, because kernels process consecutive columns of a row.
static bool isReadAlongRows(AffineMap map) {
  int64_t previous =
      int64_t(map.getNumDims()) - 3; // a region has no batch index
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || int64_t(dim.getPosition()) <= previous)
      return false;
    previous = dim.getPosition();
  }
  return true;
}

static Access getAccess(linalg::LinalgOp op, OpOperand *operand) {
  auto type = dyn_cast<RankedTensorType>(operand->get().getType());
  if (!type)
    return Access::Number;
  if (type.getEncoding())
    return Access::None;
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (map.isIdentity() &&
      isa<Float32Type, BFloat16Type, Float16Type>(type.getElementType()))
    return Access::Element;
  return isReadAlongRows(map) ? Access::Extract : Access::None;
}

/// Returns true for operations that a prologue may contain.
static bool isInlinable(Operation &op, unsigned numLoops) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return index.getDim() + 2 >= numLoops;
  // Expanded math functions may contain branches for special cases.
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return branch.getNumResults() &&
           llvm::all_of(branch->getRegions(), [&](Region &region) {
             return llvm::all_of(region.getOps(), [&](Operation &inner) {
               return isa<scf::YieldOp>(inner) ||
                      (!isa<linalg::IndexOp>(inner) &&
                       isInlinable(inner, numLoops));
             });
           });
  return isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
         op.getNumRegions() == 0;
}

/// Returns a string like "input 0 is read by (d0, d1) -> (d1, d0)".
static std::string describeAccess(linalg::LinalgOp op, OpOperand &operand,
                                  StringRef verb) {
  std::string text;
  llvm::raw_string_ostream os(text);
  bool isInit = op.isDpsInit(&operand);
  unsigned first = isInit ? op.getNumDpsInputs() : 0;
  os << (isInit ? "result " : "input ") << operand.getOperandNumber() - first
     << " is " << verb << " by " << op.getMatchingIndexingMap(&operand);
  return text;
}

Obstacle mx::findElementwiseObstacle(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return {"some of its operands are not tensors"};
  if (op.getNumLoops() < 2)
    return {"its results have fewer than two dimensions"};
  if (op.getNumParallelLoops() != op.getNumLoops())
    return {"one of its loops is a reduction"};
  bool hasElements = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Access access = getAccess(op, input);
    if (access == Access::None) {
      auto type = cast<RankedTensorType>(input->get().getType());
      if (type.getEncoding())
        return {"input " + std::to_string(input->getOperandNumber()) +
                " has a layout"};
      return {describeAccess(op, *input, "read") +
              ", which is not a subset of its loops in order"};
    }
    hasElements |= access == Access::Element;
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (!op.getMatchingIndexingMap(&init).isIdentity())
      return {describeAccess(op, init, "written") + ", not element by element"};
    if (op.payloadUsesValueFromOperand(&init))
      return {"its region reads the contents of outs: pass these contents as "
              "an input"};
  }
  if (!hasElements)
    return {"no input is a tensor of f32, bf16 or f16 with the shape of its "
            "results"};
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!isInlinable(inner, op.getNumLoops()))
      return {"its region contains " + inner.getName().getStringRef().str() +
              ", but fusion supports only arith, math, linalg.index of the "
              "last two dimensions, and branches of arith and math"};
  return {};
}

bool mx::usesPlaces(linalg::LinalgOp op) {
  return !op.getBlock()->getOps<linalg::IndexOp>().empty() ||
         llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
           return getAccess(op, input) == Access::Extract;
         });
}

/// For NVFP4, element times scale is exact in f32, so only the multiplication
/// by the tensor factor rounds. After a rounding to f16 or bf16, this
/// multiplication would round a second time. The type of scales implies the
/// blocks of a quantized input.
bool mx::canInline(DequantizeOp op) {
  Type scaleType = getElementTypeOrSelf(op.getScales());
  return op.getNumResults() == 1 && !op.getOffsets() &&
         &getBlockFormat(scaleType) ==
             &getBlockFormat(scaleType, op.getBlockSize()) &&
         (!op.getGlobalScale() || op.getOutType().getElementType().isF32());
}

FusedRegionBuilder::FusedRegionBuilder(IRRewriter &rewriter, Operation *place,
                                       Block *epilogue)
    : rewriter(rewriter), place(place),
      prologue(epilogue ? nullptr : std::make_unique<Block>()),
      block(epilogue ? epilogue : prologue.get()) {
  if (prologue)
    prologue->addArguments({rewriter.getIndexType(), rewriter.getIndexType()},
                           {place->getLoc(), place->getLoc()});
  row = block->getArguments().take_back(2)[0];
  column = block->getArguments().back();
}

SmallVector<Value> FusedRegionBuilder::inlinePrologue(FusedQuantizeOp op) {
  Block *prologue = op.getPrologueBlock();
  if (!prologue)
    return {getElement(op.getInput())};
  IRMapping mapping;
  mapping.map(prologue->getArguments().take_back(2),
              ArrayRef<Value>{row, column});
  for (auto [source, argument] :
       llvm::zip(op.getSources(), prologue->getArguments()))
    mapping.map(argument, getElement(source));
  return clone(*prologue, mapping);
}

void FusedRegionBuilder::inlineElementwise(linalg::LinalgOp op) {
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands())
    mapping.map(op.getMatchingBlockArgument(input), access(op, input));
  locations.push_back(op.getLoc());
  SmallVector<Value> values = clone(*op.getBlock(), mapping);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    computed[result] = value;
}

void FusedRegionBuilder::inlineDequantize(DequantizeOp op) {
  locations.push_back(op.getLoc());
  Value number = getElement(
      {op.getInput(), op.getScales(), op.getOutType().getElementType()});
  if (Value factor = op.getGlobalScale()) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(block);
    number = arith::MulFOp::create(rewriter, op.getLoc(), number, factor);
  }
  computed[op->getResult(0)] = number;
}

void FusedRegionBuilder::inlineMatmul(MatmulOpInterface matmul, Value tensor,
                                      int64_t matrix, int64_t width) {
  Value sum = block->getArgument(unsigned(matrix));
  Type type = getElementTypeOrSelf(tensor);
  Block *epilogue = matmul.getEpilogueBlock();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(block);
  Location loc = matmul.getLoc();
  if (!epilogue) {
    if (!type.isF32())
      sum = arith::TruncFOp::create(rewriter, sum.getLoc(), type, sum);
    computed[tensor] = sum;
    return;
  }
  Value inMatmul = column;
  if (matrix)
    inMatmul = arith::AddIOp::create(
        rewriter, loc, column,
        arith::ConstantIndexOp::create(rewriter, loc, matrix * width));
  IRMapping mapping;
  // A matmul with several B matrices already has all accumulators.
  SmallVector<Value> arguments = {sum};
  if (matmul.getNumB() > 1)
    arguments.assign(block->args_begin(),
                     block->args_begin() + matmul.getNumB());
  arguments.append({row, inMatmul});
  mapping.map(epilogue->getArguments(), arguments);
  computed[tensor] = clone(*epilogue, mapping).front();
}

FusedQuantizeOp FusedRegionBuilder::finish(FusedQuantizeOp alike,
                                           ArrayRef<int64_t> axes,
                                           ArrayRef<Value> outs, bool hasAmax,
                                           ArrayRef<Value> values) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(block);
  YieldOp::create(rewriter, place->getLoc(), values);
  rewriter.setInsertionPoint(place);
  locations.push_back(place->getLoc());
  SmallVector<Value> inputs, scales;
  for (const QuantizeSource &source : sources) {
    inputs.push_back(source.tensor);
    if (source.scales)
      scales.push_back(source.scales);
  }
  FusedQuantizeOp op =
      alike.createAlike(rewriter, rewriter.getFusedLoc(locations), inputs,
                        scales, axes, outs, hasAmax, /*hasPrologue=*/true);
  op.getPrologue().front().push_back(prologue.release());
  return op;
}

Value FusedRegionBuilder::getElement(const QuantizeSource &source) {
  if (Value value = computed.lookup(source.tensor))
    return value;
  auto found = llvm::find(sources, source);
  if (found != sources.end())
    return block->getArgument(unsigned(found - sources.begin()));
  sources.push_back(source);
  return block->insertArgument(unsigned(sources.size() - 1), source.numberType,
                               source.tensor.getLoc());
}

Value FusedRegionBuilder::extract(Value tensor, ValueRange indices) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(block);
  return tensor::ExtractOp::create(rewriter, place->getLoc(), tensor, indices);
}

SmallVector<Value> FusedRegionBuilder::getElements(ValueRange tensors) {
  return llvm::map_to_vector(tensors,
                             [&](Value tensor) { return getElement(tensor); });
}

Value FusedRegionBuilder::getElement(Value tensor) {
  if (!prologue && !computed.count(tensor))
    return extract(tensor, {row, column});
  return getElement({tensor, Value(), getElementTypeOrSelf(tensor)});
}

Value FusedRegionBuilder::access(linalg::LinalgOp op, OpOperand *operand) {
  switch (getAccess(op, operand)) {
  case Access::Number:
    return operand->get();
  case Access::Element:
    return getElement(operand->get());
  case Access::Extract: {
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
      indices.push_back(
          getIndex(cast<AffineDimExpr>(expr).getPosition(), op.getNumLoops()));
    return extract(operand->get(), indices);
  }
  case Access::None:
    break;
  }
  llvm_unreachable("findElementwiseObstacle rejects this access");
}

Value FusedRegionBuilder::getIndex(unsigned loop, unsigned numLoops) {
  return loop + 1 == numLoops ? column : row;
}

SmallVector<Value> FusedRegionBuilder::clone(Block &body, IRMapping &mapping) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(block);
  for (Operation &op : body.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      auto parent = cast<linalg::LinalgOp>(body.getParentOp());
      mapping.map(index.getResult(),
                  getIndex(index.getDim(), parent.getNumLoops()));
      continue;
    }
    rewriter.clone(op, mapping);
  }
  SmallVector<Value> values;
  for (Value value : body.getTerminator()->getOperands())
    values.push_back(mapping.lookupOrDefault(value));
  return values;
}
