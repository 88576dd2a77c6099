//===- TileOps.cpp - Tiles in shared memory that threads share out --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Verification of the operations by which each thread of a role takes a
// fragment of a tile, and gives one of the results.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kBlock = 32;
/// What one access to shared memory moves at most.
static constexpr int64_t kChunkBytes = 16;

/// Rows and columns of a field, panels side by side.
static SmallVector<int64_t, 2> getMatrixShape(BufferType buffer) {
  ArrayRef<int64_t> shape = buffer.getShape();
  if (shape.size() == 2)
    return {shape[0], shape[1]};
  return {shape[1], shape[0] * shape[2]};
}

SmallVector<int64_t, 2> mx::mxgpu::getFragmentShape(VectorType type) {
  if (type.getRank() == 1)
    return {1, type.getDimSize(0)};
  return llvm::to_vector<2>(type.getShape());
}

/// A fragment's rows are moved 16 bytes at a time, or as words if they are one:
/// neither crosses a chunk of the swizzle.
static LogicalResult verifyFragment(Operation *op, BufferType buffer,
                                    VectorType type) {
  if (type.isScalable() || type.getRank() > 2)
    return op->emitOpError("expected a fragment of 1 or 2 dimensions, found ")
           << type;
  if (buffer.getSpace() != Space::Smem || buffer.getShape().size() < 2 ||
      buffer.getShape().size() > 3 || buffer.getPadded())
    return op->emitOpError("expected a matrix in shared memory, or panels of "
                           "one, found ")
           << buffer;
  if (type.getElementType() != buffer.getElementType())
    return op->emitOpError("expected a fragment of ")
           << buffer.getElementType() << ", found " << type.getElementType();
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  int64_t rowBytes = buffer.getShape().back() * bits / 8;
  if (buffer.getSwizzle() != mxgpu::Swizzle::None &&
      rowBytes != static_cast<int64_t>(buffer.getSwizzle()))
    return op->emitOpError("expected rows as long as their swizzle says, "
                           "found ")
           << buffer;
  SmallVector<int64_t, 2> shape = getFragmentShape(type);
  int64_t bytes = shape[1] * bits / 8;
  if (shape[1] * bits % 8 || (bytes != 4 && bytes % kChunkBytes))
    return op->emitOpError("expected rows of 4 bytes or a multiple of ")
           << kChunkBytes << " bytes, found " << type;
  SmallVector<int64_t, 2> matrix = getMatrixShape(buffer);
  if (matrix[0] % shape[0] || buffer.getShape().back() % shape[1])
    return op->emitOpError("expected a fragment that divides ")
           << buffer << ", found " << type;
  return success();
}

LogicalResult LoadSharedOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer || failed(verifyTakenBy<ConsumeOp>(*this, getSlot())))
    return failure();
  return verifyFragment(*this, buffer, cast<VectorType>(getType()));
}

/// A warp's rows, one of each thread.
static LogicalResult verifyWarpRows(StoreSharedOp op, BufferType buffer) {
  auto type = cast<VectorType>(op.getValue().getType());
  if (buffer.getShape() != ArrayRef<int64_t>{32, type.getNumElements()} ||
      buffer.getElementType() != type.getElementType())
    return op.emitOpError("expected a buffer of 32 rows like ")
           << type << ", found " << buffer;
  int64_t bytes = buffer.getSizeInBytes() / 32;
  if (bytes % kChunkBytes ||
      (buffer.getSwizzle() != mxgpu::Swizzle::None &&
       bytes != static_cast<int64_t>(buffer.getSwizzle())))
    return op.emitOpError("expected rows of a multiple of 16 bytes, as long as "
                          "their swizzle says, found ")
           << buffer;
  return success();
}

LogicalResult StoreSharedOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer || failed(verifyTakenBy<AcquireOp>(*this, getSlot())))
    return failure();
  RingType ring = getSlot().getType().getRing();
  auto type = cast<VectorType>(getValue().getType());
  if (!getCoords().empty()) {
    if (getCoords().size() != 2)
      return emitOpError("expected a row and a column, found ")
             << getCoords().size() << " coordinates";
    if (ring.getScope() != Scope::Cta)
      return emitOpError("expected a ring with scope = cta, found ") << ring;
    return verifyFragment(*this, buffer, type);
  }
  if (failed(verifyBlock(*this, type)))
    return failure();
  if (ring.getScope() != Scope::Warp)
    return emitOpError("expected a ring with scope = warp, found ") << ring;
  return verifyWarpRows(*this, buffer);
}

LogicalResult StoreScaleOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer || failed(verifyTakenBy<AcquireOp>(*this, getSlot())))
    return failure();
  if (buffer.getSpace() != Space::Smem ||
      buffer.getSizeInBytes() != kScaleTileBytes ||
      buffer.getSwizzle() != mxgpu::Swizzle::None ||
      buffer.getElementType() != getScale().getType() ||
      getScale().getType().getIntOrFloatBitWidth() != 8)
    return emitOpError("expected a tile of ")
           << kScaleTileBytes << " scales of " << getScale().getType()
           << " of one byte, found " << buffer;
  return success();
}

LogicalResult BulkStoreOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer || failed(verifyTakenBy<AcquireOp>(*this, getSlot())))
    return failure();
  RingType ring = getSlot().getType().getRing();
  if (ring.getConsumer() != Agent::TmaStore)
    return emitOpError("expected a ring with consumer tma_store, found ")
           << stringifyAgent(ring.getConsumer());
  auto dest = cast<MemRefType>(getDest().getType());
  if (!dest.getLayout().isIdentity() || dest.getElementTypeBitWidth() % 8)
    return emitOpError("expected an array of whole bytes with identity layout, "
                       "found ")
           << dest;
  if (getCoords().size() > static_cast<size_t>(dest.getRank()))
    return emitOpError("expected at most ")
           << dest.getRank() << " coordinates, found " << getCoords().size();
  // PTX ISA, cp.async.bulk: sizes and addresses in multiples of 16 bytes.
  int64_t bytes = dest.getElementTypeBitWidth() / 8;
  for (int64_t size : dest.getShape().drop_front(getCoords().size()))
    bytes *= ShapedType::isDynamic(size) ? 0 : size;
  if (bytes != buffer.getSizeInBytes() || bytes % kChunkBytes)
    return emitOpError("expected coordinates that leave as many bytes as ")
           << buffer << " has, a multiple of " << kChunkBytes << ", found "
           << bytes << " in " << dest;
  return success();
}

LogicalResult QuantizeColumnsOp::verify() {
  auto input = cast<VectorType>(getInput().getType());
  auto elements = cast<VectorType>(getElements().getType());
  auto scales = cast<VectorType>(getScales().getType());
  if (input.getRank() != 2 || input.getDimSize(0) != kBlock ||
      !isa<BFloat16Type, Float16Type, Float32Type>(input.getElementType()))
    return emitOpError("expected 32 rows of some columns of bf16, f16 or f32, "
                       "found ")
           << input;
  int64_t columns = input.getDimSize(1);
  if (elements.getShape() != ArrayRef<int64_t>{columns, kBlock} ||
      !isa<Float8E4M3FNType>(elements.getElementType()))
    return emitOpError("expected ")
           << columns << " rows of 32 results of f8E4M3FN, found " << elements;
  if (scales.getShape() != ArrayRef<int64_t>{columns} ||
      !isa<Float8E8M0FNUType>(scales.getElementType()))
    return emitOpError("expected ")
           << columns << " scales of f8E8M0FNU, found " << scales;
  return success();
}
