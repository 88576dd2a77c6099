//===- StagedEpilogue.cpp - Results by way of shared memory ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "StagedEpilogue.h"
#include "ThreadRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void StagedEpilogue::requireNoRest(Value rest, StringRef what) {
  Value isZero = arith::CmpIOp::create(host, arith::CmpIPredicate::eq, rest,
                                       host.index(0));
  RequireOp::create(
      host, isZero,
      ("expected " + what +
       " at multiples of 16 bytes for epilogue = tma_store, found %lld; pad "
       "the result or take epilogue = direct")
          .str(),
      ValueRange{rest});
}

/// The copy engine needs rows and data at multiples of 16 bytes (CUDA Driver
/// API, cuTensorMapEncodeTiled).
Value StagedEpilogue::encodeResult() {
  Value out = matrices.out;
  auto type = cast<MemRefType>(out.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Value low = arith::RemUIOp::create(
      host, host.mul(host.dim(out, 1), host.index(bytes)), host.index(16));
  if (type.isDynamicDim(1))
    requireNoRest(low, "rows of outs");
  Value data = getAddress(host, out);
  Value rest = arith::RemUIOp::create(host, data, host.index(16));
  requireNoRest(rest, "the result's data");
  // Of a batch of matrices, a box has rows of one.
  Value stored = work.getStoredTensor();
  BufferType rows = getStaged();
  SmallVector<int64_t> box(rows.getShape());
  box.insert(box.begin(), cast<MemRefType>(stored.getType()).getRank() - 2, 1);
  auto map = TensorMapType::get(op->getContext(), box, rows.getElementType(),
                                rows.getSwizzle());
  return EncodeTensorMapOp::create(host, map, stored);
}

void StagedEpilogue::begin() {
  EpiloguePolicy::begin();
  staging = body.ring(product.buffers.staging, "staging");
}

Value StagedEpilogue::finish(ValueRange parts, ThreadRow &row,
                             const Columns &columns, Value empty) {
  Value finished = row.elements.finish(parts, columns);
  if (!op.getAccumulate())
    return finished;
  // Nothing added leaves the value as it is: x + -0 = x for all x.
  auto type = cast<VectorType>(finished.getType());
  Value nothing = arith::ConstantOp::create(
      body, DenseElementsAttr::get(
                type, body.getFloatAttr(type.getElementType(), -0.0)));
  return arith::SelectOp::create(body, empty, nothing, finished);
}

/// The fragment that the thread's runs make up.
Value StagedEpilogue::joinRuns(ArrayRef<Run> runs, FragmentType sums) {
  SmallVector<Value> rows;
  for (size_t inRow = sums.getLayout().getRuns().size(); !runs.empty();
       runs = runs.drop_front(inRow)) {
    SmallVector<Value> pieces;
    for (const Run &run : runs.take_front(inRow))
      pieces.push_back(run.elements);
    rows.push_back(joinElements(body, pieces));
  }
  auto type = FragmentType::get(getStaged().getElementType(), sums.getLayout());
  return FromRowsOp::create(body, type, rows);
}

void StagedEpilogue::storeRuns(ForEachWorkTileOp unit, ArrayRef<Run> runs,
                               FragmentType sums, Value first, Value) {
  StoreOrigin origin =
      work.getStoreOrigin(unit, getFirstRowOfWarp(body, sums), first);
  auto stage = ProducerAcquireOp::create(body, staging);
  StoreSharedOp::create(body, joinRuns(runs, sums), stage.getBuffer("c"),
                        ValueRange());
  TmaStoreOp::create(body, stage.getBuffer("c"), arguments.get(Arg::ResultMap),
                     origin.coordinates, origin.hasAllRows, op.getAccumulate(),
                     /*part=*/IntegerAttr());
  ProducerCommitOp::create(body, stage.getStage(), Value());
  if (!origin.hasAllRows)
    return;
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  auto ifOp = scf::IfOp::create(
      body, arith::XOrIOp::create(body, origin.hasAllRows, yes),
      /*withElse=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  for (const Run &run : runs)
    StoreFragmentOp::create(body, run.elements, getResult(), run.row->own,
                            run.columns.first, run.row->isPresent,
                            /*alignment=*/IntegerAttr(),
                            /*add=*/op.getAccumulate());
}
