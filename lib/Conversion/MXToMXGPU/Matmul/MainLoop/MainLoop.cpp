//===- MainLoop.cpp - From operands to sums -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What all families have in common. See the header.
//
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "TmemSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  TmemSums sums(body, product, accumulators, work.isEmpty(unit));
  epilogue.store(unit, sums);
}

Value MainLoop::isAdded(ForEachKOp step) {
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  return arith::XOrIOp::create(body, step.getFirst(), yes);
}

void MainLoop::launchDependents(ForEachWorkTileOp unit) {
  if (!schedule.getPdl())
    return;
  body.setInsertionPointAfter(unit);
  LaunchDependentsOp::create(body);
}

bool MainLoop::areTilesWhole() {
  int64_t multiple = work.getReductionMultiple();
  return !ShapedType::isDynamic(multiple) &&
         multiple % schedule.getTileK() == 0;
}
