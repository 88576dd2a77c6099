//===- MatmulEpilogue.cpp - The role that stores the result ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Four warps move finished accumulators from tensor memory to the result.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Columns that an epilogue thread holds at a time.
static constexpr int64_t kFragmentColumns = 32;

void MatmulBuilder::buildEpilogue() {
  OpBuilder::InsertionGuard guard(body);
  Type outType = cast<MemRefType>(result.getType()).getElementType();
  auto getFragment = [&](Type elementType) {
    return FragmentType::get(op.getContext(), kFragmentColumns, elementType);
  };
  body.role("epilogue", kEpilogueWarps, /*elected=*/false);
  ForEachWorkOp unit = body.forEachWork(work);
  Value empty = isEmpty(unit);
  Value slot = body.create<ConsumeOp>(accumulators);
  Value zero = body.index(0), columns = body.index(schedule.getTileN());
  auto loop =
      body.create<scf::ForOp>(zero, columns, body.index(kFragmentColumns));
  body.create<ReleaseOp>(slot);
  body.setInsertionPointToStart(loop.getBody());
  Value column = loop.getInductionVar();
  Value fragment = body.create<LoadAccumulatorOp>(
      getFragment(body.getF32Type()), slot, "d", column, empty);
  if (!outType.isF32())
    fragment = body.create<CastFragmentOp>(getFragment(outType), fragment);
  body.create<StoreFragmentOp>(fragment, result, unit.getRow(),
                               body.add(unit.getColumn(), column));
}
