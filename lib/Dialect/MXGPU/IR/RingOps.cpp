//===- RingOps.cpp - Rings and their stages -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Verification, result types and effects of rings and of the operations that
// acquire, commit and release their stages.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

LogicalResult RingOp::verify() {
  if (failed(verifyInKernel(*this)))
    return failure();
  size_t fields = getType().getBuffers().size();
  // ring C10
  if (getOffsets() && getOffsets()->size() != fields)
    return emitOpError("expected ")
           << fields << " offsets, found " << getOffsets()->size();
  bool placed = getOffsets().has_value();
  // ring C11
  if (getStride().has_value() != placed)
    return emitOpError("expected offsets and a stride together");
  bool hasBarriers = !getType().isStaging();
  // ring C12
  if (getBarriers().has_value() != (placed && hasBarriers))
    return emitOpError(hasBarriers
                           ? "expected offsets and barriers together"
                           : "expected no barriers for stages of bulk_store");
  // ring C13
  if (DenseI64ArrayAttr offsets = getOffsetsAttr())
    for (int64_t start : offsets.asArrayRef())
      if (start < 0)
        return emitOpError("expected offsets of at least 0, found ") << start;
  // ring C14
  if (IntegerAttr start = getBarriersAttr(); start && start.getInt() < 0)
    return emitOpError("expected barriers at 0 or above, found ")
           << start.getInt();
  // ring C15
  if (IntegerAttr stride = getStrideAttr(); stride && stride.getInt() < 1)
    return emitOpError("expected a stride of at least 1, found ")
           << stride.getInt();
  return success();
}

/// A role keeps its place in a ring that it knows by name.
static LogicalResult verifyTake(Operation *op, Value ring) {
  // shared C4
  if (!ring.getDefiningOp<RingOp>())
    return op->emitOpError("expected a ring made in the kernel");
  return verifyInRole(op);
}

LogicalResult ProducerAcquireOp::verify() {
  return verifyTake(*this, getRing());
}

LogicalResult ConsumerWaitOp::verify() { return verifyTake(*this, getRing()); }

LogicalResult ProducerCommitOp::verify() {
  return verifyTakenBy<ProducerAcquireOp>(*this, getStage());
}

LogicalResult ConsumerReleaseOp::verify() {
  return verifyTakenBy<ConsumerWaitOp>(*this, getStage());
}

LogicalResult ConsumerTailOp::verify() { return verifyTake(*this, getRing()); }

/// The token, then a view of each buffer.
static LogicalResult inferTaken(MLIRContext *context, ValueRange operands,
                                SmallVectorImpl<Type> &types) {
  auto ring = dyn_cast<RingType>(operands.front().getType());
  if (!ring)
    return failure();
  types.push_back(StageType::get(context, ring));
  llvm::append_range(types, ring.getBuffers());
  return success();
}

LogicalResult ProducerAcquireOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location>, ValueRange operands,
    DictionaryAttr, OpaqueProperties, RegionRange,
    SmallVectorImpl<Type> &types) {
  return inferTaken(context, operands, types);
}

LogicalResult ConsumerWaitOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location>,
                                               ValueRange operands,
                                               DictionaryAttr, OpaqueProperties,
                                               RegionRange,
                                               SmallVectorImpl<Type> &types) {
  return inferTaken(context, operands, types);
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// A stage changes hands: its buffers belong to another role before or after.
static void addHandover(RingType ring, Effects &effects) {
  SideEffects::Resource *memory = SharedMemory::get();
  if (ring.getSpace() == Space::Tmem)
    memory = TensorMemory::get();
  for (SideEffects::Resource *resource :
       {memory, static_cast<SideEffects::Resource *>(Barriers::get())}) {
    effects.emplace_back(MemoryEffects::Read::get(), resource);
    effects.emplace_back(MemoryEffects::Write::get(), resource);
  }
}

void ProducerAcquireOp::getEffects(Effects &effects) {
  addHandover(getRing().getType(), effects);
}

void ProducerCommitOp::getEffects(Effects &effects) {
  addHandover(getStage().getType().getRing(), effects);
}

void ConsumerWaitOp::getEffects(Effects &effects) {
  addHandover(getRing().getType(), effects);
}

void ConsumerReleaseOp::getEffects(Effects &effects) {
  addHandover(getStage().getType().getRing(), effects);
}

void ConsumerTailOp::getEffects(Effects &effects) {
  addHandover(getRing().getType(), effects);
}
