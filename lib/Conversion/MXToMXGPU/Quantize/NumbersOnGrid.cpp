//===- NumbersOnGrid.cpp - What is dequantized as soon as it is quantized -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// mx.dequantize of what mx.quantize has just written, and nothing else reads,
// are the numbers that the format has instead of those of the input. Threads
// that quantize have elements and scale in registers, so that they write the
// numbers at once and neither of the two.
//
//===----------------------------------------------------------------------===//

#include "NumbersOnGrid.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// The one operation that uses what `writer` writes to a buffer of its own.
static DequantizeOp getOnlyReader(QuantizeOp writer, Value buffer) {
  if (!buffer.getDefiningOp<memref::AllocOp>())
    return {};
  DequantizeOp reader;
  for (Operation *user : buffer.getUsers()) {
    if (user == writer || isa<memref::DeallocOp, memref::DimOp>(user))
      continue;
    auto dequantize = dyn_cast<DequantizeOp>(user);
    if (!dequantize || (reader && reader != dequantize))
      return {};
    reader = dequantize;
  }
  return reader;
}

/// Whether nothing that `op` reads changes before `later`.
static bool canWait(Operation *op, Operation *later) {
  if (op->getBlock() != later->getBlock() || !op->isBeforeInBlock(later))
    return false;
  for (Operation *next = op->getNextNode(); next != later;
       next = next->getNextNode()) {
    if (isMemoryEffectFree(next))
      continue;
    auto effects = dyn_cast<MemoryEffectOpInterface>(next);
    if (!effects || next->getNumRegions() ||
        effects.hasEffect<MemoryEffects::Write>() ||
        effects.hasEffect<MemoryEffects::Free>())
      return false;
  }
  return true;
}

/// Whether each row is quantized by itself: groups of rows matter for where
/// their scales lie, and for which rows are among the largest magnitude.
static bool isByRows(QuantizeOp op) {
  return op.getAxes() == ArrayRef<int64_t>{1} && !op.getSquare() &&
         op.getInput().getType().getRank() == 2 &&
         (!op.getOffsets() || (op.getRaggedOrNone() == RaggedKind::Rows &&
                               op.getAmaxOuts().empty()));
}

DequantizeOp mx::mxgpu::findNumbers(QuantizeOp op) {
  if (!isByRows(op) || op.getNumDestinations() != 1)
    return {};
  Value elements = op.getElements(0), scales = op.getScales(0);
  DequantizeOp reader = getOnlyReader(op, elements);
  if (!reader || reader != getOnlyReader(op, scales) ||
      reader.getInput() != elements || reader.getScales() != scales ||
      reader.getOffsets() != op.getOffsets() ||
      reader.getRaggedOrNone() != op.getRaggedOrNone() ||
      reader.getBlockSize() != op.getBlockSize() ||
      !cast<MemRefType>(reader.getOuts()[0].getType()).getLayout().isIdentity())
    return {};
  return canWait(op, reader) ? reader : DequantizeOp();
}
