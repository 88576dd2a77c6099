//===- TensorCoreOps.cpp - Loads, scale copies, MMAs, tensor maps ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the copy engine and the tensor core can take, as verifiers. The rules
// of instructions are those of mx/Target, so that they stand there once.
//
//===----------------------------------------------------------------------===//

#include "Mma/Operands.h"
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
      .Case([](Float16Type) { return MmaType::F16; })
      .Case([](BFloat16Type) { return MmaType::BF16; })
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
  // shared C3
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
  // tma_load C1
  if (buffer.getSpace() != Space::Smem)
    return emitOpError("expected a buffer in shared memory, found ") << buffer;
  auto acquire = getBuffer().getDefiningOp<ProducerAcquireOp>();
  // tma_load C2
  if (stage && (!acquire || acquire.getStage() != getStage()))
    return emitOpError("expected a buffer of the stage that it fills");
  TensorMapType map = getMap().getType();
  // tma_load C3
  if (getCoords().size() > map.getBox().size())
    return emitOpError("expected at most ")
           << map.getBox().size() << " coordinates, found "
           << getCoords().size();
  // tma_load C4
  if (ring && ring.getProducer() != AsyncKind::Tma)
    return emitOpError("expected a ring with producer tma, found ")
           << stringifyAsyncKind(ring.getProducer());
  // tma_load C5
  if (map.getSwizzle() != buffer.getSwizzle())
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
  // tma_load C7
  if (!getBox() && found != expected)
    return emitOpError("expected a box of ")
           << expected << " bytes, found " << found;
  // tma_load C8
  if (getBox() && expected % found)
    return emitOpError("expected a box of which a number fills ")
           << expected << " bytes, found " << found;
  // After mxgpu-lower-rings the kernel may be gone, and a barrier may be that
  // of either CTA.
  bool ofPair = isa<BarrierType>(getStage().getType()) || isInPair(*this);
  // tma_load C9
  if (getMulticast() &&
      (!ofPair || !getBox() || (ring && !getBox().getDefiningOp<CtaRankOp>()) ||
       getNumBoxes() != 2))
    return emitOpError("expected a multicast of 2 parts to a pair, this CTA's "
                       "being its mxgpu.cta_rank");
  IntegerAttr part;
  // tma_load C10
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
  // encode_tensor_map C3
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
  // copy_scales C1
  if (buffer.getSpace() != Space::Smem || buffer.getSizeInBytes() != bytes)
    return emitOpError("expected ")
           << bytes << " bytes of scales in shared memory, found "
           << buffer.getSizeInBytes() << " in "
           << stringifySpace(buffer.getSpace());
  // copy_scales C2
  if (getScaleFormat(buffer.getElementType()) &&
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

//===----------------------------------------------------------------------===//
// MMA
//===----------------------------------------------------------------------===//

BufferType MmaOp::getABuffer() {
  return dyn_cast<BufferType>(getA().getType());
}

int64_t MmaOp::getReduction() {
  if (auto fragment = dyn_cast<FragmentType>(getA().getType()))
    return fragment.getColumns();
  return getOperandReduction(getABuffer());
}

/// A and B are read, and so are scales; sums in tensor memory change.
void MmaOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<BufferType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand,
                           SharedMemory::get());
  for (MutableOperandRange range : {getAScalesMutable(), getBScalesMutable()})
    for (OpOperand &operand : range)
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           TensorMemory::get());
  if (!isa<BufferType>(getD().getType()))
    return;
  effects.emplace_back(MemoryEffects::Read::get(), &getDMutable(),
                       TensorMemory::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getDMutable(),
                       TensorMemory::get());
}

/// The places of operands, scales and sums are those that the instruction has.
static LogicalResult verifyPlaces(MmaOp op,
                                  const target::MmaFamilyInfo &family) {
  using target::MmaPlace;
  bool hasScales = static_cast<bool>(op.getAScales());
  // mma C1
  if (hasScales != (op.getKind().getScaleBlock() > 0))
    return op.emitOpError("expected ")
           << (hasScales ? "no scales" : "scales of a and b") << " for "
           << op.getKind() << ", found " << (hasScales ? "some" : "none");
  MmaPlace found = isa<FragmentType>(op.getD().getType())
                       ? MmaPlace::Registers
                       : MmaPlace::TensorMemory;
  // mma C2
  if (found != family.accumulator)
    return op.emitOpError("expected sums in ")
           << target::getName(family.accumulator) << " for " << family.name
           << ", found " << op.getD().getType();
  if (auto a = dyn_cast<FragmentType>(op.getA().getType())) {
    FragmentType expected =
        op.getKind().getOperandType(a.getElementType(), a.getColumns());
    // mma C9
    if (!expected)
      return op.emitOpError("expected a in ")
             << target::getName(family.operands) << " for " << family.name
             << ", or as many elements of a type that it takes from registers, "
                "found "
             << a;
    // mma C10
    if (a != expected)
      return op.emitOpError("expected a in registers as ")
             << expected << ", found " << a;
  }
  bool givesSums = static_cast<bool>(op.getSums());
  // mma C3
  if (givesSums != (found == MmaPlace::Registers) ||
      (givesSums && op.getSums().getType() != op.getD().getType()))
    return op.emitOpError("expected a result like the sums that it is given "
                          "where they are in registers, and only there");
  return success();
}

/// Instructions read through the async proxy: the ring says so, for the fence
/// of threads that fill it, and because no fence is needed where it is done;
/// and who gives the stage back waits for them as the ring says.
static LogicalResult verifyRings(MmaOp op) {
  AsyncKind expected =
      op.getKind().getFamily().completion == target::MmaCompletion::WaitGroup
          ? AsyncKind::Wgmma
          : AsyncKind::Mma;
  for (auto [operand, name] :
       {std::pair(Value(op.getA()), "a"), std::pair(Value(op.getB()), "b")}) {
    RingType ring = findRing(operand);
    // mma C11
    if (ring && ring.getConsumer() != expected)
      return op.emitOpError("expected ")
             << name << " in a ring with consumer "
             << stringifyAsyncKind(expected)
             << (expected == AsyncKind::Wgmma ? "(n)" : "") << ", found "
             << stringifyAsyncKind(ring.getConsumer());
  }
  return success();
}

/// An A in registers may be multiplied with part of B.
static LogicalResult verifyPartOfB(MmaOp op) {
  std::optional<int64_t> column = op.getColumn();
  if (!column)
    return success();
  // mma C13
  if (op.getABuffer())
    return op.emitOpError("expected no column of b, as a is in shared memory "
                          "and has the whole reduction");
  int64_t step = op.getKind().getMmaShape().k;
  int64_t last = getOperandReduction(op.getBBuffer()) - op.getReduction();
  // mma C14
  if (*column < 0 || *column > last || *column % step)
    return op.emitOpError("expected a column of b from 0 to ")
           << last << " in steps of " << step << ", found " << *column;
  return success();
}

LogicalResult MmaOp::verify() {
  BufferType a = getABuffer(), b = getBBuffer();
  auto d = dyn_cast<BufferType>(getD().getType());
  if ((a && failed(verifyBufferOf<ConsumerWaitOp>(*this, getA()))) ||
      failed(verifyBufferOf<ConsumerWaitOp>(*this, getB())) ||
      (d && failed(verifyBufferOf<ProducerAcquireOp>(*this, getD()))) ||
      failed(verifyPlaces(*this, getKind().getFamily())) ||
      failed(verifyRings(*this)))
    return failure();
  for (auto [scales, operand, name] :
       {std::tuple(getAScales(), Value(getA()), "a"),
        std::tuple(getBScales(), Value(getB()), "b")}) {
    auto copy = scales ? scales.getDefiningOp<CopyScalesOp>() : CopyScalesOp();
    // mma C4
    if (scales &&
        (!copy || (findRing(operand) && copy.getBuffer().getDefiningOp() !=
                                            operand.getDefiningOp())))
      return emitOpError("expected scales of ")
             << name << " copied from the stage that holds " << name;
  }
  for (auto [buffer, space, name] :
       {std::tuple(a, Space::Smem, "a"), std::tuple(b, Space::Smem, "b"),
        std::tuple(d, Space::Tmem, "d")}) {
    if (!buffer)
      continue;
    size_t rank = buffer.getShape().size();
    bool hasPanels = rank == 3 && space == Space::Smem;
    // mma C5
    if (buffer.getSpace() != space || (rank != 2 && !hasPanels))
      return emitOpError("expected ")
             << name << " to be a matrix in " << stringifySpace(space)
             << ", found " << buffer;
  }
  // mma C6
  if (!getColumn() && getReduction() != getOperandReduction(b))
    return emitOpError("expected a and b with the same reduction, found ")
           << getReduction() << " and " << getOperandReduction(b);
  // mma C7
  if (int64_t k = getKind().getMmaShape().k; getReduction() % k)
    return emitOpError("expected a reduction of a multiple of ")
           << k << " elements, found " << getReduction();
  if (failed(verifyPartOfB(*this)))
    return failure();
  for (BufferType buffer : {a, b})
    if (buffer && failed(verifyOperandRows(*this, buffer)))
      return failure();
  // mma C12
  if (IntegerAttr warp = getFirstWarpAttr();
      warp && (warp.getInt() < 0 || warp.getInt() % target::kWarpGroupWarps))
    return emitOpError("expected first_warp to be a multiple of ")
           << target::kWarpGroupWarps << ", where a warpgroup begins, found "
           << warp.getInt();
  return getKind().verifyMma(*this);
}

LogicalResult MmaWaitOp::verify() {
  // PTX ISA, wgmma.wait_group: N.
  constexpr int64_t kMost = 7;
  // mma_wait C1
  if (int64_t pending = getPending(); pending < 0 || pending > kMost)
    return emitOpError("expected 0 to ")
           << kMost << " pending, found " << pending;
  return success();
}
