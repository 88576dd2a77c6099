//===- NumbersMainLoop.cpp - Products without scales ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "NumbersMainLoop.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void NumbersMainLoop::addOperands(KernelArguments &signature) {
  RingType ring = product.buffers.inputs;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, ring, "a", getRowsOfBox()));
  signature.add(Arg::BMap,
                layouts.hasAdjacentColumns()
                    ? encodeInterleavedB()
                    : encodeElements(matrices.b, ring, "b", b.getBoxRows()));
}

/// Loads each 32 rows of B, seen as a row-major array of 4 x 4 x 2 rows, with
/// the two modes of 4 exchanged, so that a thread's accumulators are of
/// adjacent columns.
Value NumbersMainLoop::encodeInterleavedB() {
  constexpr int64_t kPart = NumbersLayouts::kInterleaved, kPairs = 4;
  auto source = cast<MemRefType>(matrices.b.getType());
  SmallVector<int64_t> shape = {ShapedType::kDynamic, kPairs, kPairs, 2,
                                source.getDimSize(1)};
  if (!source.isDynamicDim(0))
    shape[0] = source.getDimSize(0) / kPart;
  OpFoldResult parts = host.getIndexAttr(shape[0]);
  if (source.isDynamicDim(0))
    parts = getAsOpFoldResult(host.div(host.dim(matrices.b, 0), kPart));
  OpFoldResult pairs = host.getIndexAttr(kPairs);
  SmallVector<OpFoldResult> sizes = {
      parts, pairs, pairs, host.getIndexAttr(2),
      getAsOpFoldResult(host.dim(matrices.b, 1))};
  Value split = memref::ExpandShapeOp::create(
      host, shape, matrices.b,
      ArrayRef<ReassociationIndices>{{0, 1, 2, 3}, {4}}, sizes);
  Value moved = memref::TransposeOp::create(
      host, split,
      AffineMapAttr::get(AffineMap::getPermutationMap(
          ArrayRef<unsigned>{0, 2, 1, 3, 4}, op->getContext())));
  BufferType buffer = getInput(product.buffers.inputs, "b");
  auto type = TensorMapType::get(
      op->getContext(),
      {b.getBoxRows() / kPart, kPairs, kPairs, 2, buffer.getShape().back()},
      buffer.getElementType(), buffer.getSwizzle());
  return EncodeTensorMapOp::create(host, type, moved);
}

void NumbersMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
}

void NumbersMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp unit) { return multiply(unit); });
  buildLoads();
}

Value NumbersMainLoop::multiply(ForEachWorkTileOp unit) {
  auto sums = FragmentType::get(body.getF32Type(), layouts.getSums());
  OpBuilder::InsertionGuard guard(body);
  Value zero = ZeroFragmentOp::create(body, sums);
  ForEachKOp step = forEachTile(unit, zero);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value started = start(product.buffers.mma, stage.getBuffer("a"),
                        stage.getBuffer("b"), step.getRegionIterArgs()[0]);
  Value next = MmaWaitOp::create(body, started, /*pending=*/0);
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next);
  return step.getResult(0);
}

void NumbersMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  loadBoxesOfA(stage, row, k, layouts.getFirstRows());
}

void NumbersMainLoop::buildLoads() {
  OpBuilder::InsertionGuard guard(body);
  createRole("load", 1, /*elected=*/true, /*kind=*/1);
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  OperandOrigin origin = work.getOperands(unit);
  b.begin(unit, origin);
  ForEachKOp step = forEachTile(unit);
  Value k = step.getK();
  auto stage = ProducerAcquireOp::create(body, inputs);
  loadA(stage, origin.row, k);
  b.loadElements(stage, k);
  ProducerCommitOp::create(body, stage.getStage(), Value());
  launchDependents(unit);
}
