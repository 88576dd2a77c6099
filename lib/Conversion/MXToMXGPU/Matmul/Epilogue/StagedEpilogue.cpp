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
    requireNoRest(low, "rows of the result");
  Value data = memref::ExtractAlignedPointerAsIndexOp::create(host, out);
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

void StagedEpilogue::storeFragment(ForEachWorkTileOp unit, const ResultRow &row,
                                   Value fragment, const Columns &columns,
                                   Value empty) {
  // Nothing added leaves the value as it is: x + -0 = x for all x.
  if (op.getAccumulate()) {
    auto type = cast<VectorType>(fragment.getType());
    Value nothing = arith::ConstantOp::create(
        body, DenseElementsAttr::get(
                  type, body.getFloatAttr(type.getElementType(), -0.0)));
    fragment = arith::SelectOp::create(body, empty, nothing, fragment);
  }
  StoreOrigin origin =
      work.getStoreOrigin(unit, getFirstRowOfWarp(body), columns.first);
  auto stage = ProducerAcquireOp::create(body, staging);
  StoreSharedOp::create(body, fragment, stage.getBuffer("c"), ValueRange());
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
  StoreFragmentOp::create(body, fragment, getResult(), row.own, columns.first,
                          row.isPresent, /*alignment=*/IntegerAttr(),
                          /*add=*/op.getAccumulate());
}
