//===- MXBarDialect.cpp - The mxbar dialect -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comments such as "arrive C1" cite constraints of
// docs/reference/KernelOperations.md.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXBar/IR/MXBar.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using namespace mx::mxbar;

#include "mx/Dialect/MXBar/IR/MXBarDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "mx/Dialect/MXBar/IR/MXBarTypes.cpp.inc"

void MXBarDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mx/Dialect/MXBar/IR/MXBarTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mx/Dialect/MXBar/IR/MXBarOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Names in printed IR
//===----------------------------------------------------------------------===//

void PlacedRingOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

void GetStageOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  bool isEnd =
      static_cast<int64_t>(getNumber()) == getRing().getType().getStages();
  setName(getStage(), isEnd ? "end" : "stage");
}

void AdvanceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getNextStage(), "next");
  setName(getNextParity(), "next_parity");
}

void PreviousStageOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getPrevious(), "previous");
  setName(getPreviousParity(), "previous_parity");
}

void StageBuffersOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  for (auto [buffer, name] :
       llvm::zip_equal(getBuffers(), getRing().getType().getNames()))
    setName(buffer, name);
}

void StageBarriersOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getFull(), "full");
  setName(getEmpty(), "empty");
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult
BarrierType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    Scope scope) {
  if (scope == Scope::Warp) // barrier C1
    return emitError() << "expected a barrier with scope cta or pair, found "
                          "scope warp";
  return success();
}

LogicalResult PlacedRingOp::verify() {
  size_t fields = getType().getBuffers().size();
  if (getOffsets().size() != fields) // placed_ring C1
    return emitOpError("expected ")
           << fields << " offsets, found " << getOffsets().size();
  bool hasBarriers = !getType().isStaging();
  if (getBarriers().has_value() != hasBarriers) // placed_ring C2
    return emitOpError(hasBarriers
                           ? "expected barriers"
                           : "expected no barriers for stages of bulk_store");
  // placed_ring C3
  if (getFull().has_value() != hasBarriers ||
      getEmpty().has_value() != hasBarriers)
    return emitOpError("expected 'full', 'empty' and 'barriers' together");
  auto kernel = (*this)->getParentOfType<KernelOp>();
  // placed_ring C4
  if (getOtherEmpty() && (!hasBarriers || (kernel && !kernel.isPair())))
    return emitOpError("expected 'barriers' and a kernel with cluster(2) for "
                       "'other_empty'");
  return success();
}

LogicalResult TensorMemoryOp::verify() {
  int64_t columns = getColumns();
  if (columns >= target::kTmemAllocMin && columns <= target::kTmemAllocMax &&
      llvm::isPowerOf2_64(columns))
    return success();
  // tensor_memory C1
  return emitOpError("expected a power of two from ")
         << target::kTmemAllocMin << " to " << target::kTmemAllocMax
         << " columns, found " << columns;
}

LogicalResult BufferAddressOp::verify() {
  if (getBuffer().getType().getSpace() != Space::Smem) // buffer_address C1
    return emitOpError("expected a buffer in shared memory, found ")
           << getBuffer().getType();
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(getPointer().getType());
  if (!pointer || pointer.getAddressSpace() != 3) // buffer_address C2
    return emitOpError("expected an address of type '!llvm.ptr<3>', found ")
           << getPointer().getType();
  return success();
}

/// Checks that the ring is placed, because its stages need addresses.
static LogicalResult verifyRing(Operation *op, Value ring) {
  if (ring.getDefiningOp<PlacedRingOp>())
    return success();
  // placed C1
  return op->emitOpError("expected a ring that mxbar.placed_ring creates");
}

LogicalResult GetStageOp::verify() {
  if (failed(verifyRing(*this, getRing())))
    return failure();
  int64_t stages = getRing().getType().getStages();
  if (static_cast<int64_t>(getNumber()) > stages) // get_stage C1
    return emitOpError("expected a stage number of at most ")
           << stages << ", the end of the ring, found " << getNumber();
  return success();
}

LogicalResult AdvanceOp::verify() {
  auto isStage = [](Value stage, int64_t number) {
    auto known = stage.getDefiningOp<GetStageOp>();
    return known && static_cast<int64_t>(known.getNumber()) == number;
  };
  int64_t stages = getStage().getType().getRing().getStages();
  if (isStage(getFirst(), 0) && isStage(getEnd(), stages))
    return success();
  // advance C1
  return emitOpError("expected first and end to be stages 0 and ")
         << stages << " from mxbar.get_stage";
}

/// The lowering uses the stage number, which is unavailable for stages with
/// barriers in shared memory.
LogicalResult PreviousStageOp::verify() {
  RingType ring = getStage().getType().getRing();
  if (ring.getStages() == 2 && ring.getSpace() == Space::Tmem)
    return success();
  // previous_stage C1
  return emitOpError("expected a ring of 2 stages in tensor memory, found ")
         << ring;
}

/// Fails unless a stage belongs to the ring operand.
static LogicalResult verifyOfRing(Operation *op, TypedValue<RingType> ring,
                                  TypedValue<StageType> stage) {
  if (failed(verifyRing(op, ring)))
    return failure();
  if (stage.getType().getRing() == ring.getType())
    return success();
  // placed C2
  return op->emitOpError("expected a stage of the ring, found ")
         << stage.getType();
}

LogicalResult StageBuffersOp::verify() {
  RingType ring = getRing().getType();
  if (failed(verifyOfRing(*this, getRing(), getStage())))
    return failure();
  bool isTmem = ring.getSpace() == Space::Tmem;
  if (static_cast<bool>(getTensorMemory()) != isTmem) // stage_buffers C1
    return emitOpError(isTmem ? "expected the operand tensor_memory"
                              : "expected no operand tensor_memory");
  bool isWarp = ring.getScope() == Scope::Warp;
  if (static_cast<bool>(getWarp()) != isWarp) // stage_buffers C2
    return emitOpError(isWarp ? "expected the operand warp"
                              : "expected no operand warp");
  return success();
}

LogicalResult StageBuffersOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location>,
                                               ValueRange operands,
                                               DictionaryAttr, OpaqueProperties,
                                               RegionRange,
                                               SmallVectorImpl<Type> &types) {
  auto ring = dyn_cast<RingType>(operands.front().getType());
  if (!ring)
    return failure();
  llvm::append_range(types, ring.getBuffers());
  return success();
}

LogicalResult StageBarriersOp::verify() {
  if (getRing().getType().isStaging()) // stage_barriers C1
    return emitOpError("expected a ring with barriers, found a ring for bulk "
                       "stores");
  return verifyOfRing(*this, getRing(), getStage());
}

LogicalResult ArriveOp::verify() {
  if (getBytes() && getCount() != 1) // arrive C1
    return emitOpError("expected a count of 1 if the arrival expects bytes, "
                       "found ")
           << getCount();
  // arrive C2
  if (getBoth() && (getBytes() || getCount() != 1 ||
                    getBarrier().getType().getScope() != Scope::Cta))
    return emitOpError("expected a count of 1, no bytes and a barrier of this "
                       "CTA with 'both'");
  if (getOfAsync() && !getBoth()) // arrive C3
    return emitOpError("expected 'of_async' only with 'both'");
  return success();
}

LogicalResult LoadBoxOp::verify() {
  return verifyLoad(*this, getMap().getType(), getCoords().size(),
                    getBuffer().getType(), getBox(), getMulticast());
}

LogicalResult CopyToColumnsOp::verify() {
  if (getColumn() % target::kScaleColumnsPerGroup) // copy_to_columns C1
    return emitOpError("expected a column that is a multiple of ")
           << target::kScaleColumnsPerGroup << ", found " << getColumn();
  return verifyScales(*this, getBuffer().getType(), getType());
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// Walks back from `stage` by at most `limit` steps, and stops at `origin`.
/// Returns the stage where the walk ends and the number of steps.
static std::pair<Value, int64_t> stepBack(Value stage, int64_t limit,
                                          Value origin = {}) {
  int64_t steps = 0;
  while (steps < limit && stage != origin) {
    auto next = stage.getDefiningOp<NextStageOp>();
    if (!next)
      break;
    stage = next.getStage();
    ++steps;
  }
  return {stage, steps};
}

OpFoldResult NextStageOp::fold(FoldAdaptor) {
  return getStage().getType().getRing().getStages() == 1 ? getStage() : Value();
}

/// Folds the successor of a constant stage.
static LogicalResult stepFromConstant(NextStageOp op,
                                      PatternRewriter &rewriter) {
  auto known = op.getStage().getDefiningOp<GetStageOp>();
  if (!known)
    return failure();
  int64_t stages = known.getRing().getType().getStages();
  rewriter.replaceOpWithNewOp<GetStageOp>(op, op.getType(), known.getRing(),
                                          (known.getNumber() + 1) % stages);
  return success();
}

/// Folds the last stage of a region to the first stage, if the steps from the
/// first to the last cycle through all stages. Other stages are not replaced,
/// because their addresses would then stay in registers.
static LogicalResult stepsOverAllStages(NextStageOp op,
                                        PatternRewriter &rewriter) {
  auto [start, steps] =
      stepBack(op.getNext(), std::numeric_limits<int64_t>::max());
  auto isAtEnd = [](OpOperand &use) {
    return use.getOwner()->hasTrait<OpTrait::IsTerminator>();
  };
  if (steps % op.getType().getRing().getStages() ||
      llvm::none_of(op.getNext().getUses(), isAtEnd))
    return failure();
  rewriter.replaceUsesWithIf(op.getNext(), start, isAtEnd);
  return success();
}

/// Folds the final stage of a loop to its initial stage, if its iterations
/// cycle through all stages.
static LogicalResult loopOverAllStages(NextStageOp op,
                                       PatternRewriter &rewriter) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop)
    return failure();
  std::optional<APInt> rounds = loop.getStaticTripCount();
  int64_t stages = op.getType().getRing().getStages();
  for (auto [argument, yielded, result, init] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues(),
                       loop.getResults(), loop.getInitArgs())) {
    if (yielded != op.getNext() || result.use_empty() || !rounds)
      continue;
    auto [start, steps] = stepBack(yielded, stages, argument);
    if (start != argument || (rounds->getZExtValue() % stages) * steps % stages)
      continue;
    rewriter.replaceAllUsesWith(result, init);
    return success();
  }
  return failure();
}

void NextStageOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add(stepFromConstant);
  patterns.add(stepsOverAllStages);
  patterns.add(loopOverAllStages);
}

#define GET_OP_CLASSES
#include "mx/Dialect/MXBar/IR/MXBarOps.cpp.inc"
