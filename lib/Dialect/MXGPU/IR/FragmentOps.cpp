//===- FragmentOps.cpp - What threads hold in registers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Verifiers of what the epilogue and quantizers read into registers, and write
// to shared and global memory.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mx/Dialect/MXGPU/IR/IndexRange.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

LogicalResult DrainColumnOp::verify() {
  if (failed(verifyTakenBy<ConsumeOp>(*this, getSlot())))
    return failure();
  BufferType buffer = getSlot().getType().getRing().getBuffers().front();
  if (buffer.getSpace() != Space::Tmem)
    return emitOpError("expected a slot in tensor memory, found ") << buffer;
  return success();
}

OpFoldResult DrainColumnOp::fold(FoldAdaptor) {
  return getSlot().getType().getRing().getOverlap() ? Value() : getPlace();
}

bool DrainColumnOp::isRest() {
  auto places = getIndexRange(getPlace());
  return places && places->first >= getSlot().getType().getRing().getOverlap();
}

bool DrainColumnOp::isShared() {
  auto places = getIndexRange(getPlace());
  return places && places->last < getSlot().getType().getRing().getOverlap();
}

LogicalResult mxgpu::verifyBlock(Operation *op, Type type) {
  auto vector = cast<VectorType>(type);
  Type element = vector.getElementType();
  if (vector.getRank() != 1 || vector.isScalable() || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() % 8)
    return op->emitOpError("expected a vector of one dimension with elements "
                           "of whole bytes, found ")
           << type;
  return success();
}

/// A matrix whose elements are those of a value in registers.
static LogicalResult verifyMatrix(Operation *op, MemRefType type,
                                  Type elementType) {
  if (type.getRank() != 2 || !type.getLayout().isIdentity())
    return op->emitOpError("expected a matrix with identity layout, found ")
           << type;
  if (type.getElementType() != elementType)
    return op->emitOpError("expected a matrix of ")
           << elementType << ", found " << type.getElementType();
  return success();
}

LogicalResult LoadAccumulatorOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer || failed(verifyTakenBy<ConsumeOp>(*this, getSlot())) ||
      failed(verifyBlock(*this, getType())))
    return failure();
  if (buffer.getSpace() != Space::Tmem)
    return emitOpError("expected a buffer in tensor memory, found ") << buffer;
  auto type = cast<VectorType>(getType());
  if (type.getElementType() != buffer.getElementType())
    return emitOpError("expected a vector of ")
           << buffer.getElementType() << ", found " << type.getElementType();
  // PTX ISA, tcgen05.ld: .x1 to .x128.
  int64_t columns = type.getNumElements();
  if (!llvm::isPowerOf2_64(columns) || columns > 128)
    return emitOpError("expected a power of two up to 128 of columns, found ")
           << columns;
  if (buffer.getShape()[1] % columns)
    return emitOpError("expected a divisor of ")
           << buffer.getShape()[1] << " columns, found " << columns;
  return success();
}

LogicalResult StoreFragmentOp::verify() {
  auto type = cast<VectorType>(getFragment().getType());
  if (failed(verifyBlock(*this, type)) ||
      failed(verifyMatrix(*this, cast<MemRefType>(getDest().getType()),
                          type.getElementType())))
    return failure();
  std::optional<int64_t> alignment = getAlignment();
  if (!alignment)
    return success();
  if (*alignment != 16 && *alignment != 32)
    return emitOpError("expected an alignment of 16 or 32 bytes, found ")
           << *alignment;
  int64_t bytes =
      type.getNumElements() * type.getElementType().getIntOrFloatBitWidth() / 8;
  if (bytes % *alignment)
    return emitOpError("expected a multiple of ")
           << *alignment << " bytes, found " << bytes;
  return success();
}

LogicalResult TmaStoreOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer || failed(verifyTakenBy<AcquireOp>(*this, getSlot())))
    return failure();
  RingType ring = getSlot().getType().getRing();
  if (ring.getConsumer() != Agent::TmaStore)
    return emitOpError("expected a ring with consumer tma_store, found ")
           << stringifyAgent(ring.getConsumer());
  TensorMapType map = getMap().getType();
  if (getCoords().size() != map.getBox().size())
    return emitOpError("expected ")
           << map.getBox().size() << " coordinates, found "
           << getCoords().size();
  if (map.getBox() != buffer.getShape() ||
      map.getElementType() != buffer.getElementType() ||
      map.getSwizzle() != buffer.getSwizzle())
    return emitOpError("expected a map with the shape, type and swizzle of ")
           << buffer << ", found " << map;
  // PTX ISA, cp.reduce.async.bulk.tensor: what .add takes of these.
  if (getAdd() && !map.getElementType().isF32())
    return emitOpError("expected to add elements of f32, found ")
           << map.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

LogicalResult LoadBlockOp::verify() {
  if (failed(verifyBlock(*this, getType())))
    return failure();
  return verifyMatrix(*this, cast<MemRefType>(getSource().getType()),
                      cast<VectorType>(getType()).getElementType());
}

LogicalResult StoreBlockOp::verify() {
  if (failed(verifyBlock(*this, getValue().getType())))
    return failure();
  return verifyMatrix(*this, cast<MemRefType>(getDest().getType()),
                      cast<VectorType>(getValue().getType()).getElementType());
}

LogicalResult QuantizeBlockOp::verify() {
  if (failed(verifyBlock(*this, getInput().getType())) ||
      failed(verifyBlock(*this, getElements().getType())))
    return failure();
  auto input = cast<VectorType>(getInput().getType());
  auto elements = cast<VectorType>(getElements().getType());
  if (input.getShape() != ArrayRef<int64_t>{32})
    return emitOpError("expected a block of 32 elements, found ") << input;
  if (!isa<BFloat16Type, Float16Type, Float32Type>(input.getElementType()))
    return emitOpError("expected elements of bf16, f16 or f32, found ")
           << input.getElementType();
  if (elements.getShape() != input.getShape() ||
      !isa<Float8E4M3FNType>(elements.getElementType()))
    return emitOpError("expected 32 results of f8E4M3FN, found ") << elements;
  if (!isa<Float8E8M0FNUType>(getScale().getType()))
    return emitOpError("expected a scale of f8E8M0FNU, found ")
           << getScale().getType();
  return success();
}

LogicalResult StoreScalesOp::verify() {
  auto dest = cast<MemRefType>(getDest().getType());
  if (dest.getRank() != 5 || !dest.getLayout().isIdentity() ||
      dest.getShape().drop_front(2) != ArrayRef<int64_t>{32, 4, 4})
    return emitOpError("expected tiles of shape ...x32x4x4, found ") << dest;
  if (!isa<Float8E8M0FNUType>(dest.getElementType()))
    return emitOpError("expected tiles of f8E8M0FNU, found ")
           << dest.getElementType();
  if (getScales().size() != 4)
    return emitOpError("expected 4 scales, found ") << getScales().size();
  for (Value scale : getScales())
    if (scale.getType() != dest.getElementType())
      return emitOpError("expected scales of ")
             << dest.getElementType() << ", found " << scale.getType();
  return success();
}
