//===- ReduceKernel.cpp - Kernel of row reductions ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each warp reduces a row, divided into pieces of consecutive elements. Each
// lane reduces every 32nd piece, with an accumulator for each element of a
// piece. The order of summation depends only on the number of columns and the
// types, not on addresses.
//===----------------------------------------------------------------------===//

#include "../Builder/ElementRegion.h"
#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kWarps = 8; // warps of a CTA; each reduces a row

/// Returns the neutral element (-0.0 for addition).
static float getNeutral(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Add:
    return -0.0f;
  case ReduceKind::Maximum:
    return -std::numeric_limits<float>::infinity();
  case ReduceKind::Minimum:
    return std::numeric_limits<float>::infinity();
  }
  llvm_unreachable("all kinds are listed");
}

namespace {

class ReduceBuilder {
public:
  ReduceBuilder(linalg::GenericOp op, ReduceKind kind, ArrayRef<Value> matrices,
                gpu::GPUModuleOp module)
      : op(op), kind(kind), matrices(matrices), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()), module(module),
        region(op.getBody()) {}

  LogicalResult build();

private:
  void checkSizes();
  /// Maps a host value into the kernel.
  Value inKernel(Value value);
  void buildBody();
  void beginIf(arith::CmpIPredicate predicate, Value a, Value b) {
    body.beginIf(arith::CmpIOp::create(body, predicate, a, b));
  }
  Value emitRow(Value row, Value lane);
  Value areAligned();
  scf::ForOp emitPieces(Value from, Value to, Value sums, Value row,
                        bool areWhole);
  Value combine(Value a, Value b);

  Value constant(Type type) {
    auto number = host.getF32FloatAttr(getNeutral(kind));
    auto vector = dyn_cast<VectorType>(type);
    return arith::ConstantOp::create(
        body, vector ? TypedAttr(DenseElementsAttr::get(vector, number))
                     : TypedAttr(number));
  }

  linalg::GenericOp op;
  ReduceKind kind;
  ArrayRef<Value> matrices;
  KernelBuilder host, body;
  gpu::GPUModuleOp module;
  ElementRegion region;
  int64_t vector = 0;
  Value columnsOnHost;
  llvm::SetVector<Value> passed;
  KernelOp kernel;
  /// Values in the kernel.
  SmallVector<Value> inputs;
  Value columns;
};

} // namespace

Value ReduceBuilder::combine(Value a, Value b) {
  switch (kind) {
  case ReduceKind::Add:
    return arith::AddFOp::create(body, a, b);
  case ReduceKind::Maximum:
    return arith::MaximumFOp::create(body, a, b);
  case ReduceKind::Minimum:
    return arith::MinimumFOp::create(body, a, b);
  }
  llvm_unreachable("all kinds are listed");
}

/// Requires the dynamic sizes to match.
void ReduceBuilder::checkSizes() {
  Value sizes[] = {host.dim(op.getDpsInits()[0], 0), columnsOnHost};
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!isa<MemRefType>(operand->get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      requireSize(host, host.dim(operand->get(), i),
                  sizes[map.getDimPosition(i)],
                  "dimension " + Twine(i) + " of input " +
                      Twine(operand->getOperandNumber()));
  }
}

Value ReduceBuilder::inKernel(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return body.index(*number);
  return kernel.getBody().getArgument(
      unsigned(llvm::find(passed, value) - passed.begin()));
}

/// Returns whether the rows of a matrix, possibly strided, are aligned for
/// vector loads, or null if the type rules out alignment.
static Value areRowsAligned(KernelBuilder &body, Value matrix) {
  auto type = cast<MemRefType>(matrix.getType());
  if (type.getLayout().isIdentity())
    return getRowAlignment(type, /*dynamic=*/kLoadBytes)
               ? isAligned(body, matrix, kLoadBytes)
               : Value();
  int64_t multiple = kLoadBytes * 8 / type.getElementTypeBitWidth();
  auto [strides, offset] = type.getStridesAndOffset();
  auto isOdd = [&](int64_t number) {
    return !ShapedType::isDynamic(number) && number % multiple;
  };
  if (isOdd(strides[0]) || isOdd(offset))
    return {};
  auto view = memref::ExtractStridedMetadataOp::create(body, matrix);
  Value elements = body.orBits(view.getStrides()[0], view.getOffset());
  return isAligned(body, matrix, kLoadBytes, elements);
}

/// Returns whether vector loads are possible, or null if they never are.
Value ReduceBuilder::areAligned() {
  Value all;
  for (Value input : inputs) {
    Value aligned = areRowsAligned(body, input);
    if (!aligned)
      return {};
    all = all ? body.andBits(all, aligned) : aligned;
  }
  if (Value loads = region.areLoadsAligned(body, vector))
    all = body.andBits(all, loads);
  return all;
}

/// Emits a loop over a lane's pieces that carries the accumulators and the
/// column of the next piece. Whole pieces use vector loads. Partial pieces load
/// single elements and replace elements past the end with the neutral element.
scf::ForOp ReduceBuilder::emitPieces(Value from, Value to, Value sums,
                                     Value row, bool areWhole) {
  Value step = body.index(vector * target::kWarpSize);
  auto loop = scf::ForOp::create(body, from, to, step, ValueRange{sums, from});
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  Value column = loop.getInductionVar();
  Columns place{column, vector, /*last=*/Value(), /*isPresent=*/Value()};
  if (!areWhole)
    place.last = body.sub(columns, 1);
  SmallVector<Value> elements;
  for (Value input : inputs) {
    Type element = getElementTypeOrSelf(input.getType());
    elements.push_back(
        areWhole ? LoadBlockOp::create(body, VectorType::get(vector, element),
                                       input, row, column,
                                       /*in_bounds=*/true)
                       .getResult()
                 : loadColumns(body, input, row, place));
  }
  Value value = region.emit(body, elements, place)[0];
  if (!areWhole) {
    auto indices = VectorType::get(vector, body.getIndexType());
    Value numbers = body.add(vector::BroadcastOp::create(body, indices, column),
                             vector::StepOp::create(body, indices));
    Value exists = body.isBelow(
        numbers, vector::BroadcastOp::create(body, indices, columns));
    value = body.select(exists, value, constant(value.getType()));
  }
  scf::YieldOp::create(body,
                       ValueRange{combine(loop.getRegionIterArg(0), value),
                                  body.add(column, step)});
  return loop;
}

Value ReduceBuilder::emitRow(Value row, Value lane) {
  region.emitScalars(body, row);
  if (Value isReduced = region.getRowCondition(APFloat(getNeutral(kind))))
    columns = body.select(isReduced, columns, body.index(0));
  Value column = body.mul(lane, body.index(vector));
  Value sums = constant(VectorType::get(vector, body.getF32Type()));
  if (Value aligned = areAligned()) {
    // Exclusive upper bound of the first column of a whole piece.
    Value end = body.add(columns, 1 - vector);
    end = body.select(aligned, end, body.index(0));
    scf::ForOp whole = emitPieces(column, end, sums, row, /*areWhole=*/true);
    sums = whole.getResult(0);
    column = whole.getResult(1);
  }
  sums =
      emitPieces(column, columns, sums, row, /*areWhole=*/false).getResult(0);
  SmallVector<Value> values;
  for (int64_t i = 0; i < vector; ++i)
    values.push_back(
        vector::ExtractOp::create(body, sums, ArrayRef<int64_t>{i}));
  for (; values.size() > 1; values.resize(values.size() / 2))
    for (size_t i = 0, half = values.size() / 2; i < half; ++i)
      values[i] = combine(values[i], values[i + half]);
  return ReduceLanesOp::create(body, kind, values[0]);
}

void ReduceBuilder::buildBody() {
  body.setInsertionPointToStart(&kernel.getBody().front());
  Value result = inKernel(op.getDpsInits()[0]);
  for (Value matrix : matrices)
    inputs.push_back(inKernel(matrix));
  for (Value value : region.getCaptures())
    region.capture(value, inKernel(value));
  columns = inKernel(columnsOnHost);
  Value rows = body.dim(result, 0);
  Value work = body.scheduleTiles(rows, body.index(1), {kWarps, 1});
  body.role("reduce", kWarps, /*elected=*/false);
  auto [warp, lane] = body.warpAndLane();
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  Value row = body.add(workTile.getRow(), warp);
  // The condition is uniform in a warp.
  beginIf(arith::CmpIPredicate::ult, row, rows);
  Value before = memref::LoadOp::create(body, result, row);
  Value total = combine(before, emitRow(row, lane));
  beginIf(arith::CmpIPredicate::eq, lane, body.index(0));
  memref::StoreOp::create(body, total, result, row);
}

LogicalResult ReduceBuilder::build() {
  if (failed(region.verify()))
    return failure();
  int64_t bits = 32;
  for (Value matrix : matrices)
    bits = std::min<int64_t>(
        bits, getElementTypeOrSelf(matrix.getType()).getIntOrFloatBitWidth());
  vector = kLoadBytes * 8 / bits;
  columnsOnHost = host.dim(matrices[0], 1);
  checkSizes();
  auto pass = [&](Value value) {
    if (!getConstantIntValue(value))
      passed.insert(value);
  };
  llvm::for_each(matrices, pass);
  llvm::for_each(region.getCaptures(), pass);
  pass(columnsOnHost);
  Value result = op.getDpsInits()[0];
  pass(result);
  kernel = host.kernel(module, "reduce",
                       ValueRange(passed.getArrayRef()).getTypes());
  buildBody();
  host.launch(kernel, host.ceilDiv(host.dim(result, 0), kWarps),
              passed.getArrayRef());
  op.erase();
  return success();
}

LogicalResult mx::mxgpu::convertReduction(linalg::LinalgOp op,
                                          gpu::GPUModuleOp module) {
  if (auto reduce = dyn_cast<linalg::ReduceOp>(op.getOperation())) {
    IRRewriter rewriter(op);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(generic))
      return failure();
    op = *generic;
  }
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic)
    return op.emitOpError("expected linalg.fill, linalg.generic or "
                          "linalg.reduce on the GPU, where linalg operations "
                          "fill memory with zeros or reduce rows of matrices");
  if (failed(verifyRowReduction(generic)))
    return failure();
  RowReduction reduction = makeRowReduction(generic);
  return ReduceBuilder(generic, reduction.kind, reduction.matrices, module)
      .build();
}
