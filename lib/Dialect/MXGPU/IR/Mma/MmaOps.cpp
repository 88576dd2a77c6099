//===- MmaOps.cpp - Verification of mxgpu.mma -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the location of operands and the rings that supply them, as required
// by the attribute of the instruction. The attribute verifies all other rules.
//===----------------------------------------------------------------------===//

#include "../OpChecks.h"
#include "Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Dialect/MXGPU/IR/TensorMaps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using target::MmaCompletion;
using target::MmaPlace;
using target::MmaPlaces;

BufferType MmaOp::getABuffer() {
  return dyn_cast<BufferType>(getA().getType());
}

BufferType MmaOp::getBBuffer() {
  return dyn_cast<BufferType>(getB().getType());
}

/// Returns the number of reduction elements of a buffer or fragment.
static int64_t getReductionOf(Value operand) {
  if (auto fragment = dyn_cast<FragmentType>(operand.getType()))
    return fragment.getColumns();
  return getOperandReduction(cast<BufferType>(operand.getType()));
}

int64_t MmaOp::getReduction() { return getReductionOf(getA()); }

/// Reads the memory of operands and writes an accumulator in tensor memory.
void MmaOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<BufferType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand,
                           SharedMemory::get());
  for (MutableOperandRange range : {getAScalesMutable(), getBScalesMutable()})
    for (OpOperand &operand : range)
      if (isa<ScalesType>(operand.get().getType()))
        effects.emplace_back(MemoryEffects::Read::get(), &operand,
                             TensorMemory::get());
  if (!isa<BufferType>(getD().getType()))
    return;
  effects.emplace_back(MemoryEffects::Read::get(), &getDMutable(),
                       TensorMemory::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getDMutable(),
                       TensorMemory::get());
}

//===----------------------------------------------------------------------===//
// Placement of operands
//===----------------------------------------------------------------------===//

static MmaPlace findPlace(Value operand) {
  if (!operand)
    return MmaPlace::None;
  if (auto buffer = dyn_cast<BufferType>(operand.getType()))
    return buffer.getSpace() == Space::Smem ? MmaPlace::SharedMemory
                                            : MmaPlace::TensorMemory;
  return isa<ScalesType>(operand.getType()) ? MmaPlace::TensorMemory
                                            : MmaPlace::Registers;
}

static LogicalResult verifyPlace(MmaOp op, Value operand, StringRef name,
                                 StringRef pronoun, MmaPlaces places) {
  if (places.contains(findPlace(operand)))
    return success();
  InFlightDiagnostic diag = op.emitOpError("expected "); // mma C1
  if (places == MmaPlace::None)
    return diag << "no " << name << ", because " << op.getKind()
                << " supports none, found " << operand.getType();
  diag << name << " in " << target::getName(places) << ", because "
       << op.getKind() << " requires " << pronoun << " there, found ";
  return operand ? diag << operand.getType() : diag << "none";
}

/// Fails unless a register operand has the layout of the instruction.
static LogicalResult verifyFragment(MmaOp op, Value operand, StringRef name,
                                    MmaOperand which) {
  auto found = operand ? dyn_cast<FragmentType>(operand.getType()) : nullptr;
  if (!found)
    return success();
  FragmentType expected = op.getKind().getOperandType(
      which, found.getElementType(), found.getColumns());
  if (!expected) // mma C9
    return op.emitOpError("expected ")
           << name << " with an element count and type that " << op.getKind()
           << " supports in registers, found " << found;
  if (found != expected) // mma C10
    return op.emitOpError("expected ")
           << name << " of type " << expected << ", found " << found;
  return success();
}

static LogicalResult verifyOperands(MmaOp op, const target::MmaRoles &roles) {
  for (auto [operand, name, pronoun, places] :
       {std::tuple(Value(op.getA()), "'a'", "it", roles.a),
        std::tuple(Value(op.getB()), "'b'", "it", roles.b),
        std::tuple(Value(op.getAScales()), "scales of 'a'", "them",
                   MmaPlaces(roles.scales)),
        std::tuple(Value(op.getBScales()), "scales of 'b'", "them",
                   MmaPlaces(roles.scales)),
        std::tuple(Value(op.getD()), "the accumulator", "it",
                   MmaPlaces(roles.accumulator))})
    if (failed(verifyPlace(op, operand, name, pronoun, places)))
      return failure();
  for (auto [operand, name, which] :
       {std::tuple(Value(op.getA()), "'a'", MmaOperand::A),
        std::tuple(Value(op.getB()), "'b'", MmaOperand::B),
        std::tuple(Value(op.getAScales()), "scales of 'a'",
                   MmaOperand::AScales),
        std::tuple(Value(op.getBScales()), "scales of 'b'",
                   MmaOperand::BScales)})
    if (failed(verifyFragment(op, operand, name, which)))
      return failure();
  Type d = op.getD().getType();
  TypeRange expected = isa<FragmentType>(d) ? TypeRange(d) : TypeRange();
  if (op->getResultTypes() != expected) // mma C3
    return op.emitOpError("expected a result of the accumulator's type if and "
                          "only if the accumulator is in registers");
  return success();
}

//===----------------------------------------------------------------------===//
// Rings of operands
//===----------------------------------------------------------------------===//

/// Returns the consumer kind of a ring read by an instruction: the instruction
/// arrives at the barrier, or threads arrive after its completion.
static AsyncKind getConsumer(MmaCompletion completion) {
  switch (completion) {
  case MmaCompletion::Commit:
    return AsyncKind::MmaCommit;
  case MmaCompletion::WaitGroup:
    return AsyncKind::AsyncThreads;
  case MmaCompletion::Synchronous:
    return AsyncKind::Threads;
  }
  llvm_unreachable("all completions are listed");
}

/// Fails unless the operand rings have this consumer kind. It determines the
/// producer's proxy fence and the release of stages.
static LogicalResult verifyRings(MmaOp op, MmaCompletion completion) {
  AsyncKind expected = getConsumer(completion);
  for (auto [operand, name] : {std::pair(Value(op.getA()), "'a'"),
                               std::pair(Value(op.getB()), "'b'")}) {
    RingType ring = findRing(operand);
    if (ring && ring.getConsumer() != expected) // mma C11
      return op.emitOpError("expected ")
             << name << " in a ring with consumer "
             << stringifyAsyncKind(expected)
             << (hasThreads(expected) ? "(n)" : "") << ", found "
             << stringifyAsyncKind(ring.getConsumer());
  }
  return success();
}

/// Fails unless scales in tensor memory are copied from the stage that contains
/// the operand. Passes if the ring of the operand is unknown.
static LogicalResult verifyCopies(MmaOp op) {
  for (auto [scales, operand, name] :
       {std::tuple(Value(op.getAScales()), Value(op.getA()), "'a'"),
        std::tuple(Value(op.getBScales()), Value(op.getB()), "'b'")}) {
    if (!scales || !isa<ScalesType>(scales.getType()) || !findRing(operand))
      continue;
    auto copy = scales.getDefiningOp<CopyScalesOp>();
    // mma C4
    if (!copy || copy.getBuffer().getDefiningOp() != operand.getDefiningOp())
      return op.emitOpError("expected scales of ")
             << name << " copied from the stage that contains " << name;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Checks the part of B that `column` selects for an A in registers.
static LogicalResult verifyColumnsOfB(MmaOp op) {
  std::optional<int64_t> column = op.getColumn();
  if (!column)
    return success();
  if (op.getABuffer() || !op.getBBuffer()) // mma C2
    return op.emitOpError("'column' requires 'a' in registers and 'b' in "
                          "shared memory, found ")
           << op.getA().getType() << " and " << op.getB().getType();
  int64_t step = op.getKind().getMmaShape().k;
  int64_t last = getReductionOf(op.getB()) - op.getReduction();
  if (*column < 0 || *column > last || *column % step) // mma C12
    return op.emitOpError("expected a column of 'b' from 0 to ")
           << last << " in steps of " << step << ", found " << *column;
  return success();
}

/// Checks that only wgmma selects rows of B.
static LogicalResult verifyRowOfB(MmaOp op) {
  if (!op.getRow() ||
      op.getKind().getRoles().completion == target::MmaCompletion::WaitGroup)
    return success();
  // mma C13
  return op.emitOpError("expected a row of 'b' only with #mxgpu.wgmma, found ")
         << op.getKind();
}

static LogicalResult verifyShapes(MmaOp op) {
  for (auto [buffer, name] :
       {std::pair(op.getABuffer(), "'a'"), std::pair(op.getBBuffer(), "'b'")}) {
    size_t rank = buffer ? buffer.getShape().size() : 2;
    if (rank != 2 && rank != 3) // mma C5
      return op.emitOpError("expected ")
             << name << " to be a matrix or the panels of a matrix, found "
             << buffer;
  }
  int64_t reduction = op.getReduction(), ofB = getReductionOf(op.getB());
  if (!op.getColumn() && reduction != ofB) // mma C6
    return op.emitOpError("expected 'a' and 'b' with the same number of "
                          "reduction elements, found ")
           << reduction << " and " << ofB;
  if (int64_t k = op.getKind().getMmaShape().k; reduction % k) // mma C7
    return op.emitOpError(
               "expected the number of reduction elements to be a multiple of ")
           << k << ", found " << reduction;
  if (failed(verifyColumnsOfB(op)) || failed(verifyRowOfB(op)))
    return failure();
  for (BufferType buffer : {op.getABuffer(), op.getBBuffer()})
    if (buffer && failed(verifyOperandRows(op, buffer)))
      return failure();
  return success();
}

LogicalResult MmaOp::verify() {
  target::MmaRoles roles = getKind().getRoles();
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getA())) ||
      failed(verifyBufferOf<ConsumerWaitOp>(*this, getB())) ||
      failed(verifyBufferOf<ProducerAcquireOp>(*this, getD())) ||
      failed(verifyOperands(*this, roles)) ||
      failed(verifyRings(*this, roles.completion)) ||
      failed(verifyCopies(*this)) || failed(verifyShapes(*this)))
    return failure();
  return getKind().verifyMma(*this);
}

LogicalResult MmaWaitOp::verify() {
  // PTX ISA, wgmma.wait_group: N.
  constexpr int64_t kMost = 7;
  // mma_wait C1
  if (int64_t pending = getPending(); pending < 0 || pending > kMost)
    return emitOpError("expected 'pending' from 0 to ")
           << kMost << ", found " << pending;
  auto mma = getOperand().getDefiningOp<MmaOp>();
  if (!mma)
    return success();
  MmaCompletion found = mma.getKind().getRoles().completion;
  if (found != MmaCompletion::WaitGroup) // mma_wait C2
    return emitOpError("expected the accumulator of an instruction whose "
                       "completion is a ")
           << target::getName(MmaCompletion::WaitGroup) << ", found "
           << target::getName(found) << " of " << mma.getKind();
  return success();
}

//===----------------------------------------------------------------------===//
// Operands in shared memory
//
// An instruction reads 32 bytes of each row. Rows are as long as the swizzle.
// Tiles with longer rows are divided into consecutive panels.
//===----------------------------------------------------------------------===//

int64_t mx::mxgpu::getOperandRows(BufferType buffer) {
  return buffer.getShape()[buffer.getShape().size() - 2];
}

static int64_t getPanels(BufferType buffer) {
  return buffer.getShape().size() == 3 ? buffer.getShape()[0] : 1;
}

int64_t mx::mxgpu::getOperandReduction(BufferType buffer) {
  return getPanels(buffer) * buffer.getShape().back();
}

static int64_t getRowBytes(BufferType buffer) {
  return buffer.getSizeInBytes() / getOperandRows(buffer) / getPanels(buffer);
}

LogicalResult mx::mxgpu::verifyOperandRows(MmaOp op, BufferType buffer) {
  if (buffer.getSwizzle() != mxgpu::Swizzle::None &&
      getRowBytes(buffer) == static_cast<int64_t>(buffer.getSwizzle()))
    return success();
  return op.emitOpError( // mma C8
             "expected operand rows to be as long as the swizzle, found ")
         << buffer;
}

DescribedOperand::DescribedOperand(
    NVVMBuilder &builder, BufferType buffer, Value view,
    uint64_t (*encode)(const target::SmemDescriptor &))
    : encoded(encode(target::kMajorDescriptor(toSwizzle(buffer.getSwizzle())))),
      low(builder.lowWordOfDescriptor(encoded, view)),
      rowBytes(getRowBytes(buffer)),
      stepsPerPanel(rowBytes / target::kMmaKBytes),
      panelBytes(buffer.getSizeInBytes() / getPanels(buffer)) {}

void DescribedOperand::addRows(NVVMBuilder &builder, Value rows) {
  low = builder.add(
      low, builder.mul(rows, builder.i32(rowBytes / target::kDescriptorUnit)));
}

Value DescribedOperand::at(NVVMBuilder &builder, int64_t step,
                           int64_t row) const {
  int64_t bytes = step / stepsPerPanel * panelBytes + row * rowBytes;
  int64_t steps = bytes / target::kDescriptorUnit +
                  step % stepsPerPanel * target::kDescriptorKStep;
  return builder.matrixDescriptor(
      encoded, steps ? builder.add(low, builder.i32(steps)) : low);
}
