//===- MainLoop.cpp - From operands to an accumulator ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

BufferType MainLoop::getInput(RingType ring, StringRef field) {
  return ring.getBuffers()[ring.getFieldIndex(field)];
}

void MainLoop::addScales(KernelArguments &signature) {
  if (matrices.aScales) {
    BufferType aScales = getInput(product.buffers.inputs, "sfa");
    signature.add(Arg::AScalesMap,
                  encodeScales(matrices.aScales, aScales.getShape()));
  }
  signature.add(Arg::BScalesMap,
                encodeScales(matrices.bScales, b.getScaleBox()));
}

/// A tile of 32 x 4 x 4 bytes is two rows of 256, the longest that a box can
/// have.
Value MainLoop::encodeScales(Value scales, ArrayRef<int64_t> box) {
  auto source = cast<MemRefType>(scales.getType());
  Value flat = memref::CollapseShapeOp::create(
      host, scales, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3, 4}});
  SmallVector<int64_t> shape = {source.getDimSize(0), source.getDimSize(1), 2,
                                256};
  SmallVector<OpFoldResult> sizes = {getAsOpFoldResult(host.dim(scales, 0)),
                                     getAsOpFoldResult(host.dim(scales, 1)),
                                     host.getIndexAttr(2),
                                     host.getIndexAttr(256)};
  Value split = memref::ExpandShapeOp::create(
      host, shape, flat, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}},
      sizes);
  auto type = TensorMapType::get(op->getContext(), box, source.getElementType(),
                                 Swizzle::None);
  return EncodeTensorMapOp::create(host, type, split);
}

RoleOp MainLoop::createRole(StringRef name, int64_t warps, bool elected,
                            int64_t kind, bool onLeader) {
  RoleOp role = body.role(name, warps, elected, onLeader);
  if (ArrayRef<int64_t> registers = schedule.getRegisters(); !registers.empty())
    role.setRegisters(registers[kind]);
  return role;
}

void MainLoop::buildEpilogue(EpiloguePolicy &epilogue, Value accumulators) {
  OpBuilder::InsertionGuard guard(body);
  createRole("epilogue", kEpilogueWarps, /*elected=*/false, /*kind=*/0);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  TmemAccumulator accumulator(body, product, accumulators,
                              work.isEmpty(workTile));
  epilogue.store(workTile, accumulator);
}

/// The sum of the parts of a cluster. What follows is for the CTA that has it,
/// and the others wait for it.
Value MainLoop::addPartsOfCluster(Value accumulator) {
  accumulator = AddPartsOp::create(body, accumulator, ThreadIdOp::create(body),
                                   IntegerAttr());
  Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                        CtaRankOp::create(body), body.index(0));
  auto ifOp = scf::IfOp::create(body, isFirst, /*withElse=*/false);
  EndPartsOp::create(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  return accumulator;
}

void MainLoop::buildMultiply(
    EpiloguePolicy &epilogue,
    llvm::function_ref<Value(ForEachWorkTileOp workTile)> multiply) {
  OpBuilder::InsertionGuard guard(body);
  createRole("multiply", product.buffers.epilogueWarps, /*elected=*/false,
             /*kind=*/0);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(workTile);
  enterWorkTile(workTile, /*multiplies=*/true);
  Value multiplied = multiply(workTile);
  if (schedule.getParts() > 1)
    multiplied = addPartsOfCluster(multiplied);
  multiplied = relabel(multiplied, product.buffers.accumulatorLayout);
  RegisterAccumulator accumulator(body, product, finishAccumulator(multiplied),
                                  empty);
  epilogue.store(workTile, accumulator);
}

ForEachKOp MainLoop::forEachTile(ForEachWorkTileOp workTile,
                                 ValueRange initial) {
  auto [start, end] = getReduction(workTile);
  return body.forEachK(start, end, schedule.getTileK(), initial);
}

Value MainLoop::start(MmaAttrInterface mma, Value a, Value b, Value accumulator,
                      IntegerAttr column) {
  return MmaOp::create(body, accumulator.getType(), mma, a, b,
                       /*a_scales=*/Value(), /*b_scales=*/Value(), accumulator,
                       /*b_offset=*/Value(),
                       /*accumulate=*/Value(), /*extent=*/Value(),
                       /*first_warp=*/IntegerAttr(), column)
      .getAccumulator();
}

Value MainLoop::relabel(Value fragment, FragmentLayoutAttr layout) {
  Type element = cast<FragmentType>(fragment.getType()).getElementType();
  return RelabelFragmentOp::create(body, FragmentType::get(element, layout),
                                   fragment);
}

Value MainLoop::encodeElements(Value operand, RingType ring, StringRef field,
                               int64_t rows) {
  BufferType buffer = getInput(ring, field);
  auto type =
      TensorMapType::get(op->getContext(), {rows, buffer.getShape().back()},
                         buffer.getElementType(), buffer.getSwizzle());
  return EncodeTensorMapOp::create(host, type, toBytes(host, operand));
}

void MainLoop::loadBoxesOfA(ProducerAcquireOp stage, Value row, Value k,
                            ArrayRef<int64_t> firstRows) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
  for (auto [number, first] : llvm::enumerate(firstRows))
    TmaLoadOp::create(body, boxes.map,
                      ValueRange{first ? body.add(row, first) : row,
                                 boxes.getColumn(body, k, 0)},
                      stage.getBuffer("a"), stage.getStage(),
                      firstRows.size() > 1
                          ? body.index(static_cast<int64_t>(number))
                          : Value(),
                      /*multicast=*/false, schedule.getL2A());
}

Value MainLoop::isAdded(ForEachKOp step) {
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  return arith::XOrIOp::create(body, step.getFirst(), yes);
}

void MainLoop::launchDependents(ForEachWorkTileOp workTile) {
  if (!schedule.getPdl())
    return;
  body.setInsertionPointAfter(workTile);
  LaunchDependentsOp::create(body);
}

bool MainLoop::areTilesWhole() {
  int64_t multiple = work.getReductionMultiple();
  return !ShapedType::isDynamic(multiple) &&
         multiple % schedule.getTileK() == 0;
}
