//===- BarrierOps.cpp - Rings as barriers and parities --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Verifiers, names and folding of what rings become: stages that loops carry,
// and the barriers in them.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Names in printed IR
//===----------------------------------------------------------------------===//

void GetStageOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  bool isEnd =
      static_cast<int64_t>(getNumber()) == getRing().getType().getStages();
  setName(getStage(), isEnd ? "end" : "stage");
}

void AdvanceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getNextStage(), "next");
  setName(getNextParity(), "next_parity");
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
    return emitError() << "expected a barrier of a cta or a pair, found one of "
                          "a warp";
  return success();
}

/// What a ring's stages are follows from where it was placed.
static LogicalResult verifyRing(Operation *op, Value ring) {
  if (ring.getDefiningOp<RingOp>())
    return success();
  // shared C4
  return op->emitOpError("expected a ring made in the kernel");
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
  return emitOpError("expected stages 0 and ")
         << stages << " by mxgpu.get_stage as first and end";
}

LogicalResult GetStageOp::verify() {
  if (failed(verifyRing(*this, getRing())))
    return failure();
  int64_t stages = getRing().getType().getStages();
  if (static_cast<int64_t>(getNumber()) > stages) // get_stage C1
    return emitOpError("expected a number up to ")
           << stages << ", that of the end, found " << getNumber();
  return success();
}

/// A stage of the ring that stands beside it.
static LogicalResult verifyOfRing(Operation *op, TypedValue<RingType> ring,
                                  TypedValue<StageType> stage) {
  if (failed(verifyRing(op, ring)))
    return failure();
  if (stage.getType().getRing() == ring.getType())
    return success();
  // shared C5
  return op->emitOpError("expected a stage of the ring, found ")
         << stage.getType();
}

LogicalResult StageBuffersOp::verify() {
  RingType ring = getRing().getType();
  if (failed(verifyOfRing(*this, getRing(), getStage())))
    return failure();
  bool isTmem = ring.getSpace() == Space::Tmem;
  if (static_cast<bool>(getTensorMemory()) != isTmem) // stage_buffers C1
    return emitOpError(isTmem ? "expected the first column of tensor memory"
                              : "expected no column of tensor memory");
  bool isWarp = ring.getScope() == Scope::Warp;
  if (static_cast<bool>(getWarp()) != isWarp) // stage_buffers C2
    return emitOpError(isWarp ? "expected the number of the warp"
                              : "expected no number of a warp");
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
    return emitOpError("expected a ring with barriers, found one for bulk "
                       "stores");
  return verifyOfRing(*this, getRing(), getStage());
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

LogicalResult InitBarriersOp::verify() {
  // init_barriers C1
  if (!getRing().getDefiningOp<RingOp>() || getRing().getType().isStaging())
    return emitOpError("expected a ring with barriers, made in the kernel");
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getOtherEmpty() && kernel && !kernel.isPair()) // init_barriers C2
    return emitOpError("expected a kernel with cluster(2) around counts of "
                       "another CTA");
  return success();
}

LogicalResult OtherStageOp::verify() {
  int64_t stages = getStage().getType().getRing().getStages();
  if (stages == 2)
    return success();
  // other_stage C1
  return emitOpError("expected a ring of 2 stages, found ") << stages;
}

/// Stages with barriers in shared memory are known by where they start.
LogicalResult StageNumberOp::verify() {
  RingType ring = getStage().getType().getRing();
  if (ring.getSpace() == Space::Tmem || ring.isStaging())
    return success();
  // stage_number C1
  return emitOpError("expected a stage in tensor memory or for bulk stores, "
                     "found ")
         << getStage().getType();
}

LogicalResult ArriveOp::verify() {
  if (getBytes() && getCount() != 1) // arrive C1
    return emitOpError("expected one arrival with the bytes that it expects, "
                       "found ")
           << getCount();
  return success();
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// The stage from which so many steps lead to `stage`, at most `limit`, none of
/// them before `origin`.
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

/// The stage after one that is known is known.
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

/// A region whose steps together take all stages, or several times all, ends at
/// the one with which it began. The steps themselves stay where they are: the
/// same stage by another name, between them, would keep its addresses in
/// registers.
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

/// A loop whose rounds together take all stages, or several times all, ends at
/// the one with which it began.
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
