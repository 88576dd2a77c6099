//===- TileOps.cpp - Tiles in shared memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Covers operations that load a thread's part of a tile, quantize its columns,
// and store results.
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getStoredBits(Type element) {
  int64_t bits = element.getIntOrFloatBitWidth();
  return bits == 6 ? 8 : bits;
}

SmallVector<int64_t, 2> mx::mxgpu::getFragmentShape(VectorType type) {
  if (type.getRank() == 1)
    return {1, type.getDimSize(0)};
  return llvm::to_vector<2>(type.getShape());
}

static int64_t getRowBytes(BufferType buffer) {
  return buffer.getShape().back() *
         buffer.getElementType().getIntOrFloatBitWidth() / 8;
}

LogicalResult mxgpu::verifySwizzledRows(Operation *op, BufferType buffer) {
  // shared C22
  if (buffer.getSwizzle() != mxgpu::Swizzle::None &&
      getRowBytes(buffer) != static_cast<int64_t>(buffer.getSwizzle()))
    return op->emitOpError("expected rows to be as long as the swizzle, found ")
           << buffer;
  return success();
}

/// Fails unless rows of the vector are 4, 8 or a multiple of 16 bytes, so that
/// no access crosses a chunk of the swizzle.
static LogicalResult verifyFragment(Operation *op, BufferType buffer,
                                    VectorType type) {
  if (failed(verifyVectorSize(op, type))) // shared C10
    return failure();
  if (type.isScalable() || type.getRank() > 2) // shared C19
    return op->emitOpError("expected a fragment with 1 or 2 dimensions, found ")
           << type;
  if (buffer.getSpace() != Space::Smem || buffer.getShape().size() < 2 ||
      buffer.getShape().size() > 3 || buffer.getPadded()) // shared C20
    return op->emitOpError("expected a matrix, or the panels of a matrix, in "
                           "shared memory, found ")
           << buffer;
  Type element = type.getElementType();
  int64_t bits = getStoredBits(element);
  bool isNarrow = element.getIntOrFloatBitWidth() < 8;
  if (isNarrow ? !buffer.getElementType().isInteger(8)
               : element != buffer.getElementType()) // shared C21
    return op->emitOpError("expected fragment elements of type ")
           << buffer.getElementType() << ", found " << element;
  if (failed(verifySwizzledRows(op, buffer)))
    return failure();
  int64_t rowBytes = getRowBytes(buffer);
  SmallVector<int64_t, 2> shape = getFragmentShape(type);
  int64_t bytes = shape[1] * bits / 8;
  // shared C23
  if (shape[1] * bits % 8 || (bytes != 4 && bytes != 8 && bytes % kChunkBytes))
    return op->emitOpError("expected a row size of 4, 8 or a multiple of ")
           << kChunkBytes << " bytes, found " << type;
  SmallVector<int64_t, 2> matrix =
      getMatrixShape(buffer, buffer.getElementType());
  if (matrix[0] % shape[0] || rowBytes % bytes) // shared C24
    return op->emitOpError("expected a fragment that divides ")
           << buffer << ", found " << type;
  return success();
}

LogicalResult LoadSharedOp::verify() {
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getBuffer())))
    return failure();
  constexpr int64_t kMostLanes = 16;
  if (int64_t lanes = getLanes(); lanes < 1 || lanes > kMostLanes ||
                                  !llvm::isPowerOf2_64(lanes)) // load_shared C1
    return emitOpError("expected 1, 2, 4, 8 or 16 lanes, found ") << lanes;
  return verifyFragment(*this, getBuffer().getType(),
                        cast<VectorType>(getType()));
}

/// Checks a store of a fragment to a ring of warp scope. Each warp stores its
/// own rows.
static LogicalResult verifyWarpRows(StoreSharedOp op, BufferType buffer,
                                    FragmentType type) {
  FragmentLayoutAttr layout = type.getLayout();
  int64_t rows = layout.getWarpRows();
  if (!rows) // store_shared C3
    return op.emitOpError(
               "expected a fragment with adjacent rows in each warp, found ")
           << type;
  if (ArrayRef(getMatrixShape(buffer, type.getElementType())) !=
          ArrayRef<int64_t>{rows, type.getColumns()} ||
      buffer.getElementType() != type.getElementType()) // store_shared C4
    return op.emitOpError("expected a buffer with the ")
           << rows << " rows per warp, the columns and the element type of "
           << type << ", found " << buffer;
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  int64_t rowBytes = getRowBytes(buffer);
  for (const FragmentRun &run : layout.getRuns()) {
    int64_t bytes = run.size * bits / 8;
    // store_shared C5
    if (bits % 8 || (bytes != 4 && bytes != 8 && bytes % kChunkBytes))
      return op.emitOpError("expected a run size of 4, 8 or a multiple of ")
             << kChunkBytes << " bytes in a thread's rows, found " << type;
  }
  // store_shared C6
  if (rowBytes % kChunkBytes || !llvm::isPowerOf2_64(rowBytes) ||
      (buffer.getSwizzle() != mxgpu::Swizzle::None &&
       rowBytes != static_cast<int64_t>(buffer.getSwizzle())))
    return op.emitOpError("expected a row size that is a power of two, at "
                          "least 16 bytes, and equal to the swizzle, found ")
           << buffer;
  return success();
}

/// Checks a store of a fragment to a buffer that all threads of a role share.
static LogicalResult verifyRoleFragment(StoreSharedOp op, BufferType buffer,
                                        FragmentType type) {
  if (failed(verifyHolders(op, type.getLayout())) ||
      failed(verifyBox(op, buffer, type)))
    return failure();
  if (ArrayRef(getMatrixShape(buffer, type.getElementType())) !=
      type.getShape()) // store_shared C7
    return op.emitOpError("expected a buffer with the ")
           << type.getRows() << "x" << type.getColumns() << " elements of "
           << type << ", found " << buffer;
  return success();
}

bool StoreSharedOp::isOfRole() {
  if (!isa<FragmentType>(getValue().getType()))
    return false;
  RingType ring = findRing(getBuffer());
  return getThread() || (ring && ring.getScope() != Scope::Warp);
}

void StoreSharedOp::build(OpBuilder &builder, OperationState &state,
                          Value value, Value buffer, ValueRange coords) {
  build(builder, state, value, buffer, coords, /*thread=*/Value());
}

LogicalResult StoreSharedOp::verify() {
  if (failed(verifyBufferOf<ProducerAcquireOp>(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  RingType ring = findRing(getBuffer());
  auto fragment = dyn_cast<FragmentType>(getValue().getType());
  if (getCoords().size() != (fragment ? 0 : 2)) // store_shared C1
    return emitOpError("expected ")
           << (fragment ? "no coordinates for a fragment"
                        : "a row and a column for a vector")
           << ", found " << getCoords().size();
  if (ring && !fragment && ring.getScope() == Scope::Warp) // store_shared C2
    return emitOpError("expected a ring with scope = cta or pair, found ")
           << ring;
  if (fragment)
    return isOfRole() ? verifyRoleFragment(*this, buffer, fragment)
                      : verifyWarpRows(*this, buffer, fragment);
  return verifyFragment(*this, buffer, cast<VectorType>(getValue().getType()));
}

LogicalResult StoreScaleOp::verify() {
  if (failed(verifyBufferOf<ProducerAcquireOp>(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  ArrayRef<int64_t> shape = buffer.getShape();
  if (buffer.getSpace() != Space::Smem || shape.back() != kScaleTileBytes ||
      (shape.size() != 1 && shape.size() != 3) ||
      buffer.getSwizzle() != mxgpu::Swizzle::None ||
      buffer.getElementType() != getScale().getType() ||
      getScale().getType().getIntOrFloatBitWidth() != 8) // store_scale C1
    return emitOpError("expected a tile of ")
           << kScaleTileBytes << " one-byte scales of type "
           << getScale().getType() << ", or a matrix of tiles, found "
           << buffer;
  return verifyStaged(*this, getBuffer());
}

LogicalResult BulkStoreOp::verify() {
  if (failed(verifyBufferOf<ProducerAcquireOp>(*this, getBuffer())) ||
      failed(verifyStaged(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  auto dest = cast<MemRefType>(getDest().getType());
  // bulk_store C1
  if (!dest.getLayout().isIdentity() || dest.getElementTypeBitWidth() % 8)
    return emitOpError("expected an array with identity layout whose elements "
                       "fill whole bytes, found ")
           << dest;
  if (getCoords().size() > static_cast<size_t>(dest.getRank())) // bulk_store C2
    return emitOpError("expected at most ")
           << dest.getRank() << " coordinates, found " << getCoords().size();
  int64_t tiles = 1;
  if (std::optional<int64_t> tile = getTile()) {
    tiles = ShapedType::getNumElements(buffer.getShape().drop_back());
    if (*tile < 0 || *tile >= tiles) // bulk_store C3
      return emitOpError("expected a tile index below ")
             << tiles << ", found " << *tile;
  }
  // PTX ISA, cp.async.bulk: sizes and addresses are multiples of 16 bytes.
  int64_t bytes = dest.getElementTypeBitWidth() / 8;
  for (int64_t size : dest.getShape().drop_front(getCoords().size()))
    bytes *= ShapedType::isDynamic(size) ? 0 : size;
  // bulk_store C4
  if (bytes != buffer.getSizeInBytes() / tiles || bytes % kChunkBytes)
    return emitOpError("expected coordinates that select as many bytes as ")
           << (tiles == 1 ? "" : "a tile of ") << buffer
           << " contains, which must be a multiple of " << kChunkBytes
           << ", found " << bytes << " in " << dest;
  return success();
}

LogicalResult StoreRowsOp::verify() {
  if (failed(verifyBufferOf<ProducerAcquireOp>(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  if (RingType ring = findRing(getBuffer());
      ring && ring.getScope() != Scope::Cta) // store_rows C1
    return emitOpError("expected a ring with scope = cta, found ") << ring;
  if (failed(verifyStaged(*this, getBuffer())))
    return failure();
  int64_t chunk =
      kChunkBytes * 8 / buffer.getElementType().getIntOrFloatBitWidth();
  if (failed(verifyFragment(*this, buffer,
                            VectorType::get(chunk, buffer.getElementType()))))
    return failure();
  auto dest = cast<MemRefType>(getDest().getType());
  if (dest.getRank() != 2 || !dest.getLayout().isIdentity() ||
      dest.getElementType() != buffer.getElementType()) // store_rows C2
    return emitOpError("expected a matrix with element type ")
           << buffer.getElementType() << " and identity layout, found " << dest;
  return success();
}

LogicalResult QuantizeColumnsOp::verify() {
  auto input = cast<VectorType>(getInput().getType());
  auto elements = cast<VectorType>(getElements().getType());
  auto scales = cast<VectorType>(getScales().getType());
  for (VectorType type : {input, elements, scales}) // shared C10
    if (failed(verifyVectorSize(*this, type)))
      return failure();
  const BlockFormat *format = findBlockFormat(scales.getElementType());
  if (!format) // quantize_columns C1
    return emitOpError("expected scales of type ")
           << listScaleTypes() << ", found " << scales;
  int64_t block = format->blockSize;
  // quantize_columns C2
  if (input.getRank() != 2 || (!getFolded() && input.getDimSize(0) != block) ||
      !isa<BFloat16Type, Float16Type, Float32Type>(input.getElementType()))
    return emitOpError("expected ")
           << block << " rows of bf16, f16 or f32 elements, found " << input;
  int64_t rows = input.getDimSize(0), columns = input.getDimSize(1);
  // QuantizeMath processes 32-bit words.
  // quantize_columns C3
  if (columns * input.getElementTypeBitWidth() != 32)
    return emitOpError("expected 32-bit rows, found ") << input;
  if (failed(verifyNarrow(*this, elements.getElementType(), *format)))
    return failure();
  // quantize_columns C4
  if (elements.getShape() != ArrayRef<int64_t>{columns, rows})
    return emitOpError("expected ")
           << columns << " rows of " << rows << " elements, found " << elements;
  if (scales.getShape() != ArrayRef<int64_t>{columns}) // quantize_columns C5
    return emitOpError("expected ") << columns << " scales, found " << scales;
  if (bool(getEncode()) != format->hasTensorFactor) // quantize_columns C6
    return emitOpError("expected 'encode' if and only if the scales are "
                       "f8E4M3FN, found ")
           << scales;
  // quantize_columns C9
  int64_t lanes = getLanes();
  if (getFolded() && (lanes < 2 || !findBlockFormat(scales.getElementType(),
                                                    BlockShape(lanes * rows))))
    return emitOpError("expected lanes that together contain a longer block, "
                       "found ")
           << lanes << " lanes with " << rows << " rows each";
  // quantize_columns C7
  if (!getFolded() && lanes != 1 && lanes * columns != block)
    return emitOpError("expected 1 lane or, for a square, ")
           << block / columns << " lanes, found " << lanes;
  if (bool(getSeed()) != bool(getFirst()) ||
      bool(getSeed()) != bool(getStride())) // quantize_columns C8
    return emitOpError("expected all of 'seed', 'first' and 'stride', or none");
  return success();
}
