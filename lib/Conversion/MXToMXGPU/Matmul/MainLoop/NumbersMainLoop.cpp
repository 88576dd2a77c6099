//===- NumbersMainLoop.cpp - Products without scales ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "NumbersMainLoop.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void NumbersMainLoop::addOperands(KernelArguments &signature) {
  RingType ring = product.buffers.inputs;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, ring, "a", getRowsOfBox()));
  signature.add(Arg::BMap,
                encodeElements(matrices.b, ring, "b", b.getBoxRows()));
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
  OpBuilder::InsertionGuard guard(body);
  auto sums = FragmentType::get(body.getF32Type(), layouts.getSums());
  Value zero = ZeroFragmentOp::create(body, sums);
  ForEachKOp step = forEachTile(unit, zero);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value started =
      MmaOp::create(body, sums, product.buffers.mma, stage.getBuffer("a"),
                    stage.getBuffer("b"), /*a_scales=*/Value(),
                    /*b_scales=*/Value(), step.getRegionIterArgs()[0],
                    /*a_row=*/Value(), /*b_offset=*/Value(),
                    /*accumulate=*/Value(), /*extent=*/Value(),
                    /*first_warp=*/IntegerAttr())
          .getSums();
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
