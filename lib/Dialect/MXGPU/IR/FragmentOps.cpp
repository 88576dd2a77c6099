//===- FragmentOps.cpp - Verification of register fragments ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Covers operations of epilogues and quantizers: loads to registers, and stores
// to shared and global memory.
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/MXGPU/IR/IndexRange.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

LogicalResult EpilogueColumnOp::verify() {
  if (getStage().getDefiningOp<ProducerAcquireOp>()) // epilogue_column C1
    return emitOpError("expected a stage of ")
           << ConsumerWaitOp::getOperationName();
  BufferType buffer = getStage().getType().getRing().getBuffers().front();
  if (buffer.getSpace() != Space::Tmem) // epilogue_column C2
    return emitOpError("expected a stage in tensor memory, found ") << buffer;
  int64_t columns = buffer.getShape()[1], b = getB(), numB = getNumB();
  if (numB < 1 || columns % numB || b < 0 || b >= numB) // epilogue_column C3
    return emitOpError(
               "expected 'b' to be below 'num_b', and 'num_b' to divide ")
           << columns << " columns, found 'b' = " << b << " of " << numB;
  int64_t overlap = getStage().getType().getRing().getOverlap();
  if (overlap > getWidth()) // epilogue_column C4
    return emitOpError(
               "expected the shared columns to fit in a slice with width ")
           << getWidth() << ", found " << overlap;
  return success();
}

int64_t EpilogueColumnOp::getWidth() {
  RingType ring = getStage().getType().getRing();
  return ring.getBuffers().front().getShape()[1] / getNumB();
}

bool EpilogueColumnOp::isRest() {
  auto places = getIndexRange(getPlace());
  return places && places->first >= getStage().getType().getRing().getOverlap();
}

bool EpilogueColumnOp::isShared() {
  auto places = getIndexRange(getPlace());
  return places && places->last < getStage().getType().getRing().getOverlap();
}

LogicalResult mxgpu::verifyBlock(Operation *op, Type type) {
  if (failed(verifyVectorSize(op, type))) // shared C10
    return failure();
  auto vector = cast<VectorType>(type);
  Type element = vector.getElementType();
  if (vector.getRank() != 1 || vector.isScalable() || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() % 8) // shared C11
    return op->emitOpError(
               "expected a 1-D vector whose elements fill whole bytes, found ")
           << type;
  return success();
}

/// Fails unless `type` is a matrix with the elements of a register value.
static LogicalResult verifyMatrix(Operation *op, MemRefType type,
                                  Type elementType, bool mayBeSlice = false) {
  if (type.getRank() != 2 || !(mayBeSlice ? type.areTrailingDimsContiguous(1)
                                          : type.getLayout().isIdentity()))
    return op->emitOpError("expected a matrix with ") // shared C13
           << (mayBeSlice ? "contiguous rows" : "identity layout") << ", found "
           << type;
  if (type.getElementType() != elementType) // shared C14
    return op->emitOpError("expected a matrix with element type ")
           << elementType << ", found " << type.getElementType();
  return success();
}

LogicalResult LoadAccumulatorOp::verify() {
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  if (buffer.getSpace() != Space::Tmem) // load_accumulator C1
    return emitOpError("expected a buffer in tensor memory, found ") << buffer;
  FragmentType type = getType();
  if (type.getElementType() != buffer.getElementType()) // load_accumulator C2
    return emitOpError("expected elements of type ")
           << buffer.getElementType() << ", found " << type.getElementType();
  // PTX ISA, tcgen05.ld: .x1 to .x128.
  int64_t columns = type.getColumns();
  if (!llvm::isPowerOf2_64(columns) || columns > 128) // load_accumulator C3
    return emitOpError(
               "expected a power-of-two column count of at most 128, found ")
           << columns;
  if (buffer.getShape()[1] % columns) // load_accumulator C4
    return emitOpError("expected a column count that divides ")
           << buffer.getShape()[1] << " columns, found " << columns;
  auto layout = FragmentLayoutAttr::getRowPerThread(getContext(), columns);
  if (type.getLayout() != layout) // load_accumulator C5
    return emitOpError("expected the layout of tcgen05.ld.32x32b, ")
           << layout << ", found " << type.getLayout();
  return success();
}

LogicalResult StoreFragmentOp::verify() {
  auto type = cast<VectorType>(getFragment().getType());
  if (failed(verifyBlock(*this, type)) ||
      failed(verifyMatrix(*this, cast<MemRefType>(getDest().getType()),
                          type.getElementType(), /*mayBeSlice=*/true)))
    return failure();
  if (getAdd() && !type.getElementType().isF32()) // store_fragment C1
    return emitOpError("'add' requires f32 elements, found ") << type;
  std::optional<int64_t> alignment = getAlignment();
  if (!alignment)
    return success();
  // store_fragment C2
  if (*alignment < 4 || *alignment > 32 || !llvm::isPowerOf2_64(*alignment))
    return emitOpError("expected an alignment of 4, 8, 16 or 32 bytes, found ")
           << *alignment;
  int64_t bytes =
      type.getNumElements() * type.getElementType().getIntOrFloatBitWidth() / 8;
  if (bytes % *alignment) // store_fragment C3
    return emitOpError("expected a vector size that is a multiple of ")
           << *alignment << " bytes, found " << bytes;
  return success();
}

LogicalResult TmaStoreOp::verify() {
  if (failed(verifyBufferOf<ProducerAcquireOp>(*this, getBuffer())) ||
      failed(verifyStaged(*this, getBuffer())))
    return failure();
  BufferType buffer = getBuffer().getType();
  TensorMapType map = getMap().getType();
  if (getCoords().size() != map.getBox().size()) // tma_store C1
    return emitOpError("expected ")
           << map.getBox().size() << " coordinates, found "
           << getCoords().size();
  if (map.getElementType() != buffer.getElementType() ||
      map.getSwizzle() != buffer.getSwizzle()) // tma_store C2
    return emitOpError("expected a map with the type and swizzle of ")
           << buffer << ", found " << map;
  // A box consists of rows of a panel and starts at a multiple of the swizzle
  // period.
  SmallVector<int64_t> shape(buffer.getShape());
  // Leading dimensions of the box select a matrix of a batch.
  ArrayRef<int64_t> box = map.getBox();
  while (box.size() > 2 && box.front() == 1)
    box = box.drop_front();
  int64_t boxes = 1, number = getBox().value_or(0);
  if (getBox()) {
    if (shape.size() == 3) {
      boxes = shape.front();
      shape.erase(shape.begin());
    }
    int64_t rows = box.front();
    if (rows % kSwizzleRows == 0 && shape.front() % rows == 0) {
      boxes *= shape.front() / rows;
      shape.front() = rows;
    }
  }
  if (box != ArrayRef(shape)) // tma_store C3
    return emitOpError("expected a box of ")
           << ArrayRef(shape) << " or a slice of this shape, found " << map;
  if (number < 0 || number >= boxes) // tma_store C4
    return emitOpError("expected a box index from 0 to ")
           << boxes - 1 << ", found " << number;
  // Types of .add (PTX ISA, cp.reduce.async.bulk.tensor).
  if (getAdd() && !map.getElementType().isF32()) // tma_store C5
    return emitOpError("'add' requires f32 elements, found ")
           << map.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

LogicalResult mxgpu::verifyWords(Operation *op, Type type) {
  if (failed(verifyVectorSize(op, type))) // shared C10
    return failure();
  auto vector = cast<VectorType>(type);
  Type element = vector.getElementType();
  bool isPadded = isa<Float6E2M3FNType, Float6E3M2FNType>(element);
  int64_t bits = isPadded                 ? 8
                 : element.isIntOrFloat() ? element.getIntOrFloatBitWidth()
                                          : 0;
  if (vector.getRank() != 1 || vector.isScalable() || bits == 0 ||
      vector.getNumElements() * bits % 32) // shared C12
    return op->emitOpError(
               "expected a 1-D vector of whole 32-bit words, found ")
           << type;
  return success();
}

/// Returns the element type in memory, bytes for 4-bit and 6-bit elements.
static Type getStoredType(Type vector) {
  Type element = cast<VectorType>(vector).getElementType();
  return element.getIntOrFloatBitWidth() < 8
             ? IntegerType::get(element.getContext(), 8)
             : element;
}

LogicalResult LoadBlockOp::verify() {
  if (failed(verifyWords(*this, getType())))
    return failure();
  auto source = cast<MemRefType>(getSource().getType());
  if (source.getRank() != 2 || !source.isLastDimUnitStride()) // load_block C1
    return emitOpError("expected a matrix whose rows are contiguous, found ")
           << source;
  Type stored = getStoredType(getType());
  if (source.getElementType() != stored) // load_block C2
    return emitOpError("expected a matrix with element type ")
           << stored << ", found " << source.getElementType();
  return success();
}

LogicalResult ThreadAmaxOp::verify() {
  if (getValues().empty()) // thread_amax C1
    return emitOpError("expected at least one vector, found none");
  for (Value value : getValues()) {
    auto type = cast<VectorType>(value.getType());
    if (failed(verifyVectorSize(*this, type))) // shared C10
      return failure();
    // thread_amax C2
    if (!isa<BFloat16Type, Float16Type, Float32Type>(type.getElementType()) ||
        type.getElementType() != getElementTypeOrSelf(getValues()[0]))
      return emitOpError(
                 "expected vectors with bf16, f16 or f32 elements, found ")
             << type;
    // thread_amax C3
    if (type.isScalable() ||
        type.getNumElements() * type.getElementTypeBitWidth() % 32)
      return emitOpError("expected vectors of whole 32-bit words, found ")
             << type;
    // thread_amax C4
    if (int64_t columns = type.getShape().back();
        getColumn() && (*getColumn() >= static_cast<uint64_t>(columns) ||
                        columns * type.getElementTypeBitWidth() != 32))
      return emitOpError("expected a column of rows of 32 bits, found column ")
             << *getColumn() << " of " << type;
  }
  return success();
}

/// Fails unless `lanes` adjacent lanes of a warp can exchange values.
static LogicalResult verifyLanes(Operation *op, int64_t lanes) {
  if (lanes >= 1 && lanes <= target::kWarpSize && llvm::isPowerOf2_64(lanes))
    return success();
  return op->emitOpError("expected a power of two of at most ")
         << target::kWarpSize << " lanes, found " << lanes;
}

LogicalResult ReduceLanesOp::verify() {
  return verifyLanes(*this, getLanes()); // reduce_lanes C1
}

LogicalResult StoreBlockOp::verify() {
  Type type = getValue().getType();
  if (failed(verifyWords(*this, type)))
    return failure();
  return verifyMatrix(*this, cast<MemRefType>(getDest().getType()),
                      getStoredType(type));
}

LogicalResult mxgpu::verifyNarrow(Operation *op, Type element,
                                  const BlockFormat &format) {
  if (format.takes(element))
    return success();
  return op->emitOpError("expected elements of type ") // shared C15
         << format.listElements() << ", found " << element;
}

LogicalResult QuantizeBlockOp::verify() {
  if (failed(verifyWords(*this, getInput().getType())) ||
      failed(verifyWords(*this, getElements().getType())))
    return failure();
  auto input = cast<VectorType>(getInput().getType());
  auto elements = cast<VectorType>(getElements().getType());
  // quantize_block C1
  if (!isa<BFloat16Type, Float16Type, Float32Type>(input.getElementType()))
    return emitOpError("expected bf16, f16 or f32 elements, found ")
           << input.getElementType();
  const BlockFormat *format = findBlockFormat(getScale().getType());
  if (!format) // quantize_block C2
    return emitOpError("expected a scale of type ")
           << listScaleTypes() << ", found " << getScale().getType();
  int64_t lanes = getLanes(), block = format->blockSize;
  int64_t size = input.getNumElements() * lanes;
  bool isSquare = lanes == block && input.getNumElements() == block;
  if (const BlockFormat *longer =
          findBlockFormat(getScale().getType(), BlockShape(size));
      longer && !isSquare)
    format = longer;
  if (getAmax() && (lanes != 1 || block % size)) // quantize_block C8
    return emitOpError(
               "'amax' requires a single lane whose element count divides ")
           << block << " elements, found " << lanes << " lanes with "
           << input.getNumElements() << " elements each";
  // quantize_block C3
  if (!getAmax() && (lanes < 1 || lanes > target::kWarpSize ||
                     (size != format->blockSize && !isSquare)))
    return emitOpError("expected lanes that together contain a block of ")
           << block << " elements or a square of " << block << " rows, found "
           << lanes << " lanes with " << input.getNumElements()
           << " elements each";
  if (failed(verifyNarrow(*this, elements.getElementType(), *format)))
    return failure();
  if (elements.getShape() != input.getShape()) // quantize_block C4
    return emitOpError("expected ")
           << input.getNumElements() << " results, found " << elements;
  if (bool(getEncode()) != format->hasTensorFactor) // quantize_block C5
    return emitOpError("expected 'encode' if and only if the scales are "
                       "f8E4M3FN, found scales of type ")
           << getScale().getType();
  if (bool(getSeed()) != bool(getFirst())) // quantize_block C6
    return emitOpError("expected both 'seed' and 'first', or neither");
  if (format->hasTensorFactor &&
      getScaleRounding() != ScaleRounding::Ceil) // quantize_block C7
    return emitOpError("f8E4M3FN scales require scale_rounding = ceil, found ")
           << stringifyScaleRounding(getScaleRounding());
  return success();
}

/// Returns the type of a block: the whole vector, or a row of a matrix.
static VectorType getBlockType(VectorType type) {
  return type.getRank() == 2 && !type.isScalable()
             ? VectorType::get(type.getShape().back(), type.getElementType())
             : type;
}

LogicalResult DequantizeBlockOp::verify() {
  auto input = cast<VectorType>(getInput().getType());
  auto result = cast<VectorType>(getType());
  for (VectorType type : {input, result})
    if (failed(verifyVectorSize(*this, type)) || // shared C10
        failed(verifyWords(*this, getBlockType(type))))
      return failure();
  Type scale = getElementTypeOrSelf(getScale().getType());
  const BlockFormat *format = findBlockFormat(scale);
  if (!format) // dequantize_block C1
    return emitOpError("expected a scale of type ")
           << listScaleTypes() << ", found " << scale;
  if (failed(verifyNarrow(*this, input.getElementType(), *format)))
    return failure();
  int64_t elements = input.getShape().back();
  if (int64_t block = format->blockSize;
      elements > block) // dequantize_block C2
    return emitOpError("expected at most ")
           << block << " elements (one block), found " << elements;
  // dequantize_block C3
  if (result.getShape() != input.getShape() ||
      !isa<BFloat16Type, Float16Type, Float32Type, Float8E4M3FNType>(
          result.getElementType()))
    return emitOpError("expected ")
           << input.getNumElements()
           << " results of type bf16, f16, f32 or f8E4M3FN, found " << result;
  if (getDecode() && !format->hasTensorFactor) // dequantize_block C4
    return emitOpError(
               "'decode' requires f8E4M3FN scales, found scales of type ")
           << scale;
  Type scales = scale;
  if (input.getRank() == 2)
    scales = VectorType::get(input.getDimSize(0), scale);
  if (getScale().getType() != scales) // dequantize_block C5
    return emitOpError("expected one scale for each row, of type ")
           << scales << ", found " << getScale().getType();
  return success();
}

LogicalResult PermuteBlockOp::verify() {
  Type types[] = {VectorType::get(8, BFloat16Type::get(getContext())),
                  VectorType::get(8, Float32Type::get(getContext()))};
  if (!llvm::is_contained(types, getType())) // permute_block C1
    return emitOpError("expected ")
           << types[0] << " or " << types[1] << ", found " << getType();
  if (getRun() != 8 && getRun() != 16) // permute_block C2
    return emitOpError("expected run = 8 or run = 16, found ") << getRun();
  return success();
}

/// Verifies that a matrix of scales, or scale tiles, matches the type of a
/// scale in registers. A matrix that is only read may be a slice.
static LogicalResult verifyMemoryScales(Operation *op, MemRefType type,
                                        Type scale, bool mayBeSlice) {
  bool isTiles = hasScaleTiles(type) && type.getShape().drop_front(2) ==
                                            ArrayRef<int64_t>(kScaleTileShape);
  bool isWhole = type.getLayout().isIdentity(); // shared C16
  bool isMatrix = type.getRank() == 2 && (isWhole || mayBeSlice);
  if (!isMatrix && !(isTiles && isWhole))
    return op->emitOpError(
               "expected a matrix or tiles of shape ...x32x4x4, found ")
           << type;
  bool isSpread = isa<StoreScalesOp>(op) && isMatrix && scale.isInteger();
  if (!isSpread && !findBlockFormat(type.getElementType())) // shared C17
    return op->emitOpError("expected scales of type ")
           << listScaleTypes() << ", found " << type.getElementType();
  if (scale != type.getElementType()) // shared C18
    return op->emitOpError("expected a scale of type ")
           << type.getElementType() << ", found " << scale;
  return success();
}

LogicalResult LoadScaleOp::verify() {
  return verifyMemoryScales(*this, cast<MemRefType>(getSource().getType()),
                            getType(),
                            /*mayBeSlice=*/true);
}

LogicalResult StoreScalesOp::verify() {
  if (failed(verifyMemoryScales(*this, cast<MemRefType>(getDest().getType()),
                                getScale().getType(), /*mayBeSlice=*/false)))
    return failure();
  return verifyLanes(*this, getLanes()); // store_scales C1
}
