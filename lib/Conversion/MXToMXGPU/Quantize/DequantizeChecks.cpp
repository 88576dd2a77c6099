//===- DequantizeChecks.cpp - What mx.dequantize has a kernel for ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See QuantizeChecks.h.
//
//===----------------------------------------------------------------------===//

#include "QuantizeChecks.h"
#include "TileThreads.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Fails unless operands are matrices, or batches of them, in rows that threads
/// can read.
static LogicalResult verifyDequantizeForm(DequantizeOp op,
                                          QuantizeScheduleAttr schedule) {
  if (op.getRaggedOrNone() == RaggedKind::Reduction)
    return op.emitOpError("expected no ragged reduction on the GPU, found one: "
                          "dequantize it as the matrix that it is, without "
                          "offsets");
  auto input = cast<MemRefType>(op.getInput().getType());
  bool isWhole = isContiguous(input);
  if (!isWhole && (input.getRank() != 2 || !mayHaveStride(input)))
    return op.emitOpError("expected the input to be a matrix whose rows are "
                          "contiguous, with 4 and 6 bits and in batches with "
                          "identity layout, on the GPU, found ")
           << input;
  if (!isWhole &&
      failed(verifyRowStride(op, input, schedule.getVector(), "the input")))
    return failure();
  for (auto [value, name] : {std::pair(Value(op.getScales()), "scales"),
                             std::pair(op.getOuts()[0], "the result")})
    // Scales of one matrix, row by row, may be any slice.
    if (auto type = cast<MemRefType>(value.getType());
        !isContiguous(type) && (value != op.getScales() || type.getRank() != 2))
      return op.emitOpError("expected ")
             << name << " with identity layout on the GPU, found " << type;
  return success();
}

LogicalResult
mx::mxgpu::verifyDequantizeSupport(DequantizeOp op,
                                   QuantizeScheduleAttr schedule) {
  if (failed(verifyDequantizeForm(op, schedule)) ||
      failed(verifyRowSchedule(op, op.getBlockSize(), schedule)))
    return failure();
  if (op.getOffsets() && schedule.getTile()[0] != kScaleTileRows)
    return op.emitOpError("expected a tile of ")
           << kScaleTileRows << " rows with groups, each of which has whole "
           << "tiles of scales, found " << schedule.getTile()[0];
  return success();
}
