//===- OperandOrders.cpp - Orders of operands -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Support/OperandOrders.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

OperandTiles Fragment64x64Attr::getTiles() const {
  AffineExpr thread, value;
  bindDims(getContext(), thread, value);
  AffineExpr row = thread.floorDiv(32) * 16 + (thread % 32).floorDiv(4) * 2 +
                   value.floorDiv(2) % 2;
  AffineExpr column = thread % 4 * 2 + value % 2 + value.floorDiv(4) % 2 * 8 +
                      value.floorDiv(8) * 16;
  return {kWeightTileRows,
          kWeightTileColumns,
          {kWeightTileThreads, kWeightTileValues},
          AffineMap::get(2, 0, {row, column}, getContext())};
}

LogicalResult Fragment64x64Attr::verifyElement(
    Type element, function_ref<InFlightDiagnostic()> emitError) const {
  const BlockFormat &format = getPowerOfTwoFormat();
  if (format.takes(element, /*withIntegers=*/false)) // fragment_64x64 C1
    return success();
  return emitError() << "expected elements of type "
                     << format.listElements(/*withIntegers=*/false)
                     << " in order " << *this << ", found " << element;
}

LogicalResult KOrderAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t block) {
  // k_order C1
  if (block == kReductionMultiple || block == 2 * kReductionMultiple)
    return success();
  return emitError() << "expected blocks of " << kReductionMultiple << " or "
                     << 2 * kReductionMultiple << " columns, found " << block;
}

/// Thread t owns run t of the block. In memory, the pairs i of all threads
/// follow the pairs i - 1.
OperandTiles KOrderAttr::getTiles() const {
  AffineExpr row, place;
  bindDims(getContext(), row, place);
  AffineExpr pair = place.floorDiv(kReductionPair);
  AffineExpr column = pair % kReductionLanes * (getBlock() / kReductionLanes) +
                      pair.floorDiv(kReductionLanes) * kReductionPair +
                      place % kReductionPair;
  return {1, getBlock(), {}, AffineMap::get(2, 0, {row, column}, getContext())};
}

LogicalResult
KOrderAttr::verifyElement(Type element,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (element.isBF16()) // k_order C2
    return success();
  return emitError() << "expected bf16 elements in order " << *this
                     << ", found " << element;
}
