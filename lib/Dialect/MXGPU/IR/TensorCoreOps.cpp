//===- TensorCoreOps.cpp - Loads, scale copies and tensor maps ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Covers the copy engine. The rules of its instructions are in mx/Target.
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/Matchers.h"
#include "mx/BlockFormats/BlockFormat.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

std::optional<target::MmaType> mxgpu::getMmaType(Type type) {
  std::optional<FloatFormat> format = getFloatFormat(type);
  return format ? target::getMmaType(*format) : std::nullopt;
}

RingType mxgpu::findRing(Value buffer) {
  if (auto acquire = buffer.getDefiningOp<ProducerAcquireOp>())
    return acquire.getRing().getType();
  if (auto wait = buffer.getDefiningOp<ConsumerWaitOp>())
    return wait.getRing().getType();
  return {};
}

LogicalResult mxgpu::verifyStaged(Operation *op, Value buffer) {
  RingType ring = findRing(buffer);
  if (!ring || ring.getConsumer() == AsyncKind::BulkStore)
    return success();
  // shared C3
  return op->emitOpError("expected a ring with consumer bulk_store, found ")
         << stringifyAsyncKind(ring.getConsumer());
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

int64_t TmaLoadOp::getNumBoxes() {
  return getBuffer().getType().getSizeInBytes() /
         getMap().getType().getSizeInBytes();
}

LogicalResult mxgpu::verifyLoad(Operation *op, TensorMapType map, size_t coords,
                                BufferType buffer, Value box, bool multicast) {
  if (buffer.getSpace() != Space::Smem) // tma_load C1
    return op->emitOpError("expected a buffer in shared memory, found ")
           << buffer;
  if (coords > map.getBox().size()) // tma_load C3
    return op->emitOpError("expected at most ")
           << map.getBox().size() << " coordinates, found " << coords;
  if (map.getSwizzle() != buffer.getSwizzle()) // tma_load C5
    return op->emitOpError("expected a map with swizzle ")
           << stringifySwizzle(buffer.getSwizzle()) << ", found "
           << stringifySwizzle(map.getSwizzle());
  // The byte count of a stage is computed from the element types of the ring.
  // tma_load C6
  if (map.getElementType() != buffer.getElementType() ||
      map.getPadded() != buffer.getPadded())
    return op->emitOpError("expected a map with the element type of ")
           << buffer << ", found " << map;
  int64_t found = map.getSizeInBytes(), expected = buffer.getSizeInBytes();
  if (!box && found != expected) // tma_load C7
    return op->emitOpError("expected a box of ")
           << expected << " bytes, found " << found;
  if (box && expected % found) // tma_load C8
    return op->emitOpError("expected a box size that divides ")
           << expected << " bytes, found " << found;
  int64_t boxes = expected / found;
  if (multicast && (!box || boxes != 2)) // tma_load C9
    return op->emitOpError("'multicast' requires a CTA pair, 2 boxes, and "
                           "mxgpu.cta_rank as the box");
  IntegerAttr number;
  if (box && matchPattern(box, m_Constant(&number)) &&
      (number.getInt() < 0 || number.getInt() >= boxes)) // tma_load C10
    return op->emitOpError("expected a box index from 0 to ")
           << boxes - 1 << ", found " << number.getInt();
  return success();
}

LogicalResult TmaLoadOp::verify() {
  BufferType buffer = getBuffer().getType();
  if (failed(verifyBufferOf<ProducerAcquireOp>(*this, getBuffer())) ||
      failed(verifyLoad(*this, getMap().getType(), getCoords().size(), buffer,
                        getBox(), getMulticast())))
    return failure();
  auto acquire = getBuffer().getDefiningOp<ProducerAcquireOp>();
  if (!acquire || acquire.getStage() != getStage()) // tma_load C2
    return emitOpError("expected a buffer of the 'stage' operand");
  RingType ring = getStage().getType().getRing();
  if (ring.getProducer() != AsyncKind::BulkCopy) // tma_load C4
    return emitOpError("expected a ring with producer bulk_copy, found ")
           << stringifyAsyncKind(ring.getProducer());
  if (getMulticast() &&
      (!isInPair(*this) || !getBox().getDefiningOp<CtaRankOp>()))
    return emitOpError("'multicast' requires a CTA pair, 2 boxes, and "
                       "mxgpu.cta_rank as the box");
  return success();
}

LogicalResult EncodeTensorMapOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  // encode_tensor_map C1
  if (failed(source.getStridesAndOffset(strides, offset)) ||
      (!strides.empty() && strides.back() != 1) || source.getMemorySpace())
    return emitOpError("expected a memref with adjacent elements in the "
                       "default memory space, found ")
           << source;
  // encode_tensor_map C2
  if (source.getRank() != static_cast<int64_t>(getType().getBox().size()))
    return emitOpError("expected a box of rank ")
           << source.getRank() << ", found rank " << getType().getBox().size();
  Type element = getType().getElementType();
  bool isPacked = element.getIntOrFloatBitWidth() < 8 &&
                  source.getElementType().isInteger(8);
  if (source.getElementType() != element && !isPacked) // encode_tensor_map C3
    return emitOpError("expected a map with element type ")
           << source.getElementType() << ", found " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

LogicalResult mxgpu::verifyScales(Operation *op, BufferType buffer,
                                  ScalesType scales) {
  int64_t bytes = scales.getRows() * 4 * scales.getTiles();
  // copy_scales C1
  if (buffer.getSpace() != Space::Smem || buffer.getSizeInBytes() != bytes)
    return op->emitOpError("expected ")
           << bytes << " bytes of scales in shared memory, found "
           << buffer.getSizeInBytes() << " in "
           << stringifySpace(buffer.getSpace());
  if (isMatrixScale(buffer.getElementType()) &&
      buffer.getElementType() != scales.getElementType()) // copy_scales C2
    return op->emitOpError("expected scales of type ")
           << buffer.getElementType() << ", found " << scales.getElementType();
  return success();
}

LogicalResult CopyScalesOp::verify() {
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getBuffer())) ||
      failed(verifyScales(*this, getBuffer().getType(), getType())))
    return failure();
  RingType ring = findRing(getBuffer());
  int64_t stages = ring ? ring.getStages() : kMaxStages;
  // copy_scales C3
  if (int64_t slots = getStages(); slots < 1 || slots > stages)
    return emitOpError("expected 1 to ")
           << stages << " stages, at most the stage count of the ring, found "
           << slots;
  return success();
}
