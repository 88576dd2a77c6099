//===- TensorCoreOps.cpp - Loads, scale copies, tensor maps ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the copy engine can take, as verifiers. The rules of instructions are
// those of mx/Target, so that they stand there once.
//
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

LogicalResult TmaLoadOp::verify() {
  if (failed(verifyBufferOf<ProducerAcquireOp>(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  auto stage = dyn_cast<StageType>(getStage().getType());
  RingType ring = stage ? stage.getRing() : RingType();
  if (buffer.getSpace() != Space::Smem) // tma_load C1
    return emitOpError("expected a buffer in shared memory, found ") << buffer;
  auto acquire = getBuffer().getDefiningOp<ProducerAcquireOp>();
  if (stage && (!acquire || acquire.getStage() != getStage())) // tma_load C2
    return emitOpError("expected a buffer of the stage that it fills");
  TensorMapType map = getMap().getType();
  if (getCoords().size() > map.getBox().size()) // tma_load C3
    return emitOpError("expected at most ")
           << map.getBox().size() << " coordinates, found "
           << getCoords().size();
  if (ring && ring.getProducer() != AsyncKind::BulkCopy) // tma_load C4
    return emitOpError("expected a ring with producer bulk_copy, found ")
           << stringifyAsyncKind(ring.getProducer());
  if (map.getSwizzle() != buffer.getSwizzle()) // tma_load C5
    return emitOpError("expected a map with swizzle ")
           << stringifySwizzle(buffer.getSwizzle()) << ", found "
           << stringifySwizzle(map.getSwizzle());
  // The bytes that a ring waits for follow from its own elements.
  // tma_load C6
  if (map.getElementType() != buffer.getElementType() ||
      map.getPadded() != buffer.getPadded())
    return emitOpError("expected a map of the elements of ")
           << buffer << ", found " << map;
  int64_t found = map.getSizeInBytes(), expected = buffer.getSizeInBytes();
  if (!getBox() && found != expected) // tma_load C7
    return emitOpError("expected a box of ")
           << expected << " bytes, found " << found;
  if (getBox() && expected % found) // tma_load C8
    return emitOpError("expected a box of which a number fills ")
           << expected << " bytes, found " << found;
  // After mxgpu-lower-rings the kernel may be gone, and a barrier may be that
  // of either CTA.
  bool ofPair = isa<BarrierType>(getStage().getType()) || isInPair(*this);
  // tma_load C9
  if (getMulticast() &&
      (!ofPair || !getBox() || (ring && !getBox().getDefiningOp<CtaRankOp>()) ||
       getNumBoxes() != 2))
    return emitOpError("expected a multicast of 2 boxes to a pair, this CTA's "
                       "being its mxgpu.cta_rank");
  IntegerAttr box;
  // tma_load C10
  if (getBox() && matchPattern(getBox(), m_Constant(&box)) &&
      (box.getInt() < 0 || box.getInt() >= getNumBoxes()))
    return emitOpError("expected a box from 0 to ")
           << getNumBoxes() - 1 << ", found " << box.getInt();
  return success();
}

LogicalResult EncodeTensorMapOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  // encode_tensor_map C1
  if (failed(source.getStridesAndOffset(strides, offset)) ||
      (!strides.empty() && strides.back() != 1) || source.getMemorySpace())
    return emitOpError("expected a memref of adjacent elements in the default "
                       "memory space, found ")
           << source;
  // encode_tensor_map C2
  if (source.getRank() != static_cast<int64_t>(getType().getBox().size()))
    return emitOpError("expected a box of rank ")
           << source.getRank() << ", found rank " << getType().getBox().size();
  Type element = getType().getElementType();
  bool isPacked = element.getIntOrFloatBitWidth() < 8 &&
                  source.getElementType().isInteger(8);
  if (source.getElementType() != element && !isPacked) // encode_tensor_map C3
    return emitOpError("expected a map of ")
           << source.getElementType() << ", found " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

LogicalResult CopyScalesOp::verify() {
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  int64_t bytes = getType().getRows() * 4 * getType().getTiles();
  // copy_scales C1
  if (buffer.getSpace() != Space::Smem || buffer.getSizeInBytes() != bytes)
    return emitOpError("expected ")
           << bytes << " bytes of scales in shared memory, found "
           << buffer.getSizeInBytes() << " in "
           << stringifySpace(buffer.getSpace());
  // copy_scales C2
  if (findBlockFormat(buffer.getElementType()) &&
      buffer.getElementType() != getType().getElementType())
    return emitOpError("expected scales of ")
           << buffer.getElementType() << ", found "
           << getType().getElementType();
  RingType ring = findRing(getBuffer());
  int64_t stages = ring ? ring.getStages() : kMaxStages;
  // copy_scales C3
  if (int64_t slots = getStages(); slots < 1 || slots > stages)
    return emitOpError("expected 1 to ")
           << stages << " stages, as many as the ring has at most, found "
           << slots;
  // copy_scales C4
  if (IntegerAttr column = getColumnAttr();
      column && (column.getInt() < 0 || column.getInt() % 4))
    return emitOpError("expected a column that is a multiple of 4, found ")
           << column.getInt();
  return success();
}
