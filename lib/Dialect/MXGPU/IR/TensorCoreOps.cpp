//===- TensorCoreOps.cpp - Loads, scale copies, MMAs, tensor maps ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the copy engine and the tensor core can take, as verifiers. The rules
// of instructions are those of mx/Target, so that they stand there once.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

std::optional<target::MmaType> mxgpu::getMmaType(Type type) {
  using target::MmaType;
  return llvm::TypeSwitch<Type, std::optional<MmaType>>(type)
      .Case([](Float8E4M3FNType) { return MmaType::E4M3; })
      .Case([](Float8E5M2Type) { return MmaType::E5M2; })
      .Case([](Float6E2M3FNType) { return MmaType::E2M3; })
      .Case([](Float6E3M2FNType) { return MmaType::E3M2; })
      .Case([](Float4E2M1FNType) { return MmaType::E2M1; })
      .Default(std::optional<MmaType>());
}

std::optional<target::ScaleFormat> mxgpu::getScaleFormat(Type type) {
  if (isa<Float8E8M0FNUType>(type))
    return target::ScaleFormat::UE8M0;
  if (isa<Float8E4M3FNType>(type))
    return target::ScaleFormat::UE4M3;
  return {};
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
  if (!ring || ring.getConsumer() == AsyncKind::TmaStore)
    return success();
  return op->emitOpError("expected a ring with consumer tma_store, found ")
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
  if (buffer.getSpace() != Space::Smem)
    return emitOpError("expected a buffer in shared memory, found ") << buffer;
  auto acquire = getBuffer().getDefiningOp<ProducerAcquireOp>();
  if (stage && (!acquire || acquire.getStage() != getStage()))
    return emitOpError("expected a buffer of the stage that it fills");
  TensorMapType map = getMap().getType();
  if (getCoords().size() > map.getBox().size())
    return emitOpError("expected at most ")
           << map.getBox().size() << " coordinates, found "
           << getCoords().size();
  if (ring && ring.getProducer() != AsyncKind::Tma)
    return emitOpError("expected a ring with producer tma, found ")
           << stringifyAsyncKind(ring.getProducer());
  if (map.getSwizzle() != buffer.getSwizzle())
    return emitOpError("expected a map with swizzle ")
           << stringifySwizzle(buffer.getSwizzle()) << ", found "
           << stringifySwizzle(map.getSwizzle());
  // The bytes that a ring waits for follow from its own elements.
  if (map.getElementType() != buffer.getElementType() ||
      map.getPadded() != buffer.getPadded())
    return emitOpError("expected a map of the elements of ")
           << buffer << ", found " << map;
  int64_t found = map.getSizeInBytes(), expected = buffer.getSizeInBytes();
  if (!getBox() && found != expected)
    return emitOpError("expected a box of ")
           << expected << " bytes, found " << found;
  if (getBox() && expected % found)
    return emitOpError("expected a box of which a number fills ")
           << expected << " bytes, found " << found;
  if (getMulticast() &&
      (!isInPair(*this) || !getBox() ||
       (ring && !getBox().getDefiningOp<CtaRankOp>()) || getNumBoxes() != 2))
    return emitOpError("expected a multicast of 2 parts to a pair, this CTA's "
                       "being its mxgpu.cta_rank");
  IntegerAttr part;
  if (getBox() && matchPattern(getBox(), m_Constant(&part)) &&
      (part.getInt() < 0 || part.getInt() >= getNumBoxes()))
    return emitOpError("expected a part from 0 to ")
           << getNumBoxes() - 1 << ", found " << part.getInt();
  return success();
}

LogicalResult EncodeTensorMapOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(source.getStridesAndOffset(strides, offset)) ||
      (!strides.empty() && strides.back() != 1) || source.getMemorySpace())
    return emitOpError("expected a memref of adjacent elements in the default "
                       "memory space, found ")
           << source;
  if (source.getRank() != static_cast<int64_t>(getType().getBox().size()))
    return emitOpError("expected a box of rank ")
           << source.getRank() << ", found rank " << getType().getBox().size();
  Type element = getType().getElementType();
  bool isPacked = element.getIntOrFloatBitWidth() < 8 &&
                  source.getElementType().isInteger(8);
  if (source.getElementType() != element && !isPacked)
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
  if (buffer.getSpace() != Space::Smem || buffer.getSizeInBytes() != bytes)
    return emitOpError("expected ")
           << bytes << " bytes of scales in shared memory, found "
           << buffer.getSizeInBytes() << " in "
           << stringifySpace(buffer.getSpace());
  if (getScaleFormat(buffer.getElementType()) &&
      buffer.getElementType() != getType().getElementType())
    return emitOpError("expected scales of ")
           << buffer.getElementType() << ", found "
           << getType().getElementType();
  RingType ring = findRing(getBuffer());
  int64_t stages = ring ? ring.getStages() : kMaxStages;
  if (int64_t slots = getStages(); slots < 1 || slots > stages)
    return emitOpError("expected 1 to ")
           << stages << " stages, as many as the ring has at most, found "
           << slots;
  if (IntegerAttr column = getColumnAttr();
      column && (column.getInt() < 0 || column.getInt() % 4))
    return emitOpError("expected a column that is a multiple of 4, found ")
           << column.getInt();
  return success();
}

//===----------------------------------------------------------------------===//
// MMA
//===----------------------------------------------------------------------===//

/// Rows and reduction elements of an operand.
static int64_t getRows(BufferType buffer) {
  return buffer.getShape()[buffer.getShape().size() - 2];
}
static int64_t getReduction(BufferType buffer) {
  int64_t elements = buffer.getShape().back();
  return buffer.getShape().size() == 3 ? buffer.getShape()[0] * elements
                                       : elements;
}

FailureOr<target::InstrDescriptor> MmaOp::getInstruction(std::string &error) {
  using namespace target;
  BufferType a = getA().getType(), b = getB().getType();
  std::optional<MmaType> aType = mxgpu::getMmaType(a.getElementType());
  std::optional<MmaType> bType = mxgpu::getMmaType(b.getElementType());
  std::optional<ScaleFormat> format =
      getScaleFormat(getAScales().getType().getElementType());
  if (!aType || !bType || !format) {
    error = "expected elements that the tensor core scales";
    return failure();
  }
  // Dense elements of 4 bits are those of the kinds with K = 64; all others
  // take a byte each.
  auto isDense = [](BufferType buffer) {
    return buffer.getElementType().getIntOrFloatBitWidth() < 8 &&
           !buffer.getPadded();
  };
  if (isDense(a) != isDense(b)) {
    error = "expected a and b both padded or both dense";
    return failure();
  }
  InstrDescriptor instruction;
  if (isDense(a)) {
    std::optional<MmaKind> kind =
        selectBlockScaledKind(*aType, *bType, getBlockSize(), *format);
    instruction.kind =
        kind && *kind != MmaKind::MXF8F6F4 ? *kind : MmaKind::MXF4NVF4;
  }
  // Each CTA of a pair holds half of the rows of A and of B.
  instruction.ctaGroup = isInPair(*this) ? 2 : 1;
  instruction.m = getRows(a) * instruction.ctaGroup;
  instruction.n = getRows(b) * instruction.ctaGroup;
  instruction.a = *aType;
  instruction.b = *bType;
  instruction.blockSize = getBlockSize();
  instruction.scaleFormat = *format;
  error = check(instruction);
  if (!error.empty())
    return failure();
  return instruction;
}

LogicalResult MmaOp::verify() {
  BufferType a = getA().getType(), b = getB().getType(), d = getD().getType();
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getA())) ||
      failed(verifyBufferOf<ConsumerWaitOp>(*this, getB())) ||
      failed(verifyBufferOf<ProducerAcquireOp>(*this, getD())))
    return failure();
  for (auto [scales, operand, name] : {std::tuple(getAScales(), getA(), "a"),
                                       std::tuple(getBScales(), getB(), "b")}) {
    auto copy = scales.getDefiningOp<CopyScalesOp>();
    if (!copy || (findRing(operand) &&
                  copy.getBuffer().getDefiningOp() != operand.getDefiningOp()))
      return emitOpError("expected scales of ")
             << name << " copied from the stage that holds " << name;
  }
  for (auto [buffer, space, name] :
       {std::tuple(a, Space::Smem, "a"), std::tuple(b, Space::Smem, "b"),
        std::tuple(d, Space::Tmem, "d")}) {
    size_t rank = buffer.getShape().size();
    bool hasPanels = rank == 3 && space == Space::Smem;
    if (buffer.getSpace() != space || (rank != 2 && !hasPanels))
      return emitOpError("expected ")
             << name << " to be a matrix in " << stringifySpace(space)
             << ", found " << buffer;
  }
  int64_t reduction = getReduction(a);
  if (reduction != getReduction(b))
    return emitOpError("expected a and b with the same reduction, found ")
           << reduction << " and " << getReduction(b);
  int64_t ctas = isInPair(*this) ? 2 : 1;
  int64_t columns =
      target::accumulatorColumns(ctas, getRows(a) * ctas, getRows(b) * ctas);
  if (d.getShape()[0] != getRows(a) || d.getShape()[1] != columns)
    return emitOpError("expected an accumulator of ")
           << getRows(a) << "x" << columns << ", found " << d.getShape()[0]
           << "x" << d.getShape()[1];
  for (BufferType buffer : {a, b}) {
    // Panel after panel of whole spans: what a descriptor's swizzle means.
    int64_t rowBytes = buffer.getSizeInBytes() / getRows(buffer);
    if (buffer.getShape().size() == 3)
      rowBytes /= buffer.getShape()[0];
    if (buffer.getSwizzle() == Swizzle::None ||
        rowBytes != static_cast<int64_t>(buffer.getSwizzle()))
      return emitOpError("expected rows of operands to be as long as their "
                         "swizzle, found ")
             << buffer;
  }
  std::string error;
  FailureOr<target::InstrDescriptor> instruction = getInstruction(error);
  if (failed(instruction))
    return emitOpError() << error << " in " << a << " and " << b;
  return verifyScales(*instruction);
}

LogicalResult MmaOp::verifyScales(const target::InstrDescriptor &instruction) {
  bool hasOffset = static_cast<bool>(getBOffset());
  // A CTA of a pair has the scales of its own rows of A, and of all of B.
  unsigned ctas = instruction.ctaGroup, m = instruction.m, n = instruction.n;
  int64_t bRows = n;
  if (hasOffset && bRows % 128 != 64)
    return emitOpError("expected an offset only where rows of b fill a tile "
                       "of 128 by half, found ")
           << bRows << " rows";
  IntegerAttr offset;
  if (hasOffset && matchPattern(getBOffset(), m_Constant(&offset)) &&
      offset.getInt() != 0 && offset.getInt() != 64)
    return emitOpError("expected an offset of 0 or 64 rows, found ")
           << offset.getInt();
  for (auto [type, columns, name] :
       {std::tuple(getAScales().getType(), target::scaleAColumns(ctas, m), "a"),
        std::tuple(getBScales().getType(), target::scaleBColumns(ctas, m, n),
                   "b")}) {
    int64_t expected =
        columns / target::kScaleColumnsPerGroup * target::kScaleRowsPerGroup;
    if (type.getRows() != expected)
      return emitOpError("expected scales of ")
             << expected << " rows for " << name << ", found "
             << type.getRows();
    if (type.getElementType() != getAScales().getType().getElementType())
      return emitOpError("expected scales of a and b of one type, found ")
             << getAScales().getType().getElementType() << " and "
             << type.getElementType();
    int64_t scales = type.getTiles() * 4 * instruction.blockSize;
    if (scales != getReduction(getA().getType()))
      return emitOpError("expected scales for ")
             << getReduction(getA().getType())
             << " elements of the reduction of " << name << ", found those of "
             << scales;
  }
  return success();
}
