//===- MXGPUOps.cpp - Operations of the mxgpu dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Verification of the mxgpu operations. Whatever the IR, what verifies can be
// lowered or refused with a message.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static ParseResult parseRaster(OpAsmParser &parser, RasterAttr &raster) {
  FailureOr<RasterAttr> parsed = RasterAttr::parseBody(parser);
  if (failed(parsed))
    return failure();
  raster = *parsed;
  return success();
}

static void printRaster(OpAsmPrinter &printer, Operation *, RasterAttr raster) {
  raster.printBody(printer);
}

/// `static`, `single`, `clc(units)`, `groups(units)` or `atomic_counter(units,
/// counter)`.
static ParseResult parseScheduler(
    OpAsmParser &parser, UnitAttr &single,
    std::optional<OpAsmParser::UnresolvedOperand> &units, Type &unitsType,
    std::optional<OpAsmParser::UnresolvedOperand> &counter, Type &counterType) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (!llvm::is_contained(
          {"static", "single", "clc", "groups", "atomic_counter"}, keyword))
    return parser.emitError(loc, "expected static, single, clc, groups or "
                                 "atomic_counter, found ")
           << keyword;
  if (keyword == "single")
    single = parser.getBuilder().getUnitAttr();
  if (keyword == "static" || keyword == "single")
    return success();
  bool counts = keyword == "atomic_counter";
  if (parser.parseLParen() || parser.parseOperand(units.emplace()))
    return failure();
  if (counts && (parser.parseComma() || parser.parseOperand(counter.emplace())))
    return failure();
  if (parser.parseColonType(unitsType) ||
      (counts && (parser.parseComma() || parser.parseType(counterType))))
    return failure();
  return parser.parseRParen();
}

static void printScheduler(OpAsmPrinter &printer, TileSchedulerOp,
                           UnitAttr single, Value units, Type unitsType,
                           Value counter, Type counterType) {
  if (!units) {
    printer << (single ? "single" : "static");
    return;
  }
  AsyncKind producer = cast<RingType>(unitsType).getProducer();
  printer << stringifyAsyncKind(producer) << '(' << units;
  if (counter)
    printer << ", " << counter;
  printer << " : " << unitsType;
  if (counter)
    printer << ", " << counterType;
  printer << ')';
}

#define GET_OP_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUOps.cpp.inc"

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

/// What a kernel can be passed: see convert-mxgpu-to-nvvm for how.
static bool isParameter(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return memref.isStrided() && !memref.getMemorySpace();
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && integer.getWidth() <= 64 &&
           llvm::isPowerOf2_32(integer.getWidth());
  return isa<TensorMapType, IndexType, Float16Type, BFloat16Type, Float32Type,
             Float64Type>(type);
}

LogicalResult KernelOp::verify() {
  // kernel C1
  if (getFunctionType().getNumResults())
    return emitOpError("expected no results, found ")
           << getFunctionType().getNumResults();
  // kernel C2
  if (getBody().getArgumentTypes() != getFunctionType().getInputs())
    return emitOpError("expected arguments of the kernel's type ")
           << getFunctionType() << ", found (" << getBody().getArgumentTypes()
           << ")";
  // kernel C3
  for (auto [index, type] : llvm::enumerate(getArgumentTypes()))
    if (!isParameter(type))
      return emitOpError("expected tensor maps, memrefs with strides in the "
                         "default memory space, indices, integers or floats, "
                         "found argument ")
             << index << " of type " << type;
  // kernel C4
  if (getCluster() != 1 && getCluster() != 2)
    return emitOpError("expected a cluster of 1 or 2 CTAs, found ")
           << getCluster();
  // kernel C5
  if (IntegerAttr bytes = getSmemBytesAttr(); bytes && bytes.getInt() < 0)
    return emitOpError("expected smem_bytes of at least 0, found ")
           << bytes.getInt();
  // kernel C6
  if (IntegerAttr ctas = getMinCtasAttr(); ctas && ctas.getInt() < 1)
    return emitOpError("expected min_ctas of at least 1, found ")
           << ctas.getInt();
  IntegerAttr columns = getTmemColumnsAttr(), slot = getTmemSlotAttr();
  // kernel C7
  if (!columns != !slot || !columns != !getTmemWarpAttr())
    return emitOpError("expected tmem_columns, tmem_slot and tmem_warp "
                       "together");
  // kernel C8
  if (slot && slot.getInt() < 0)
    return emitOpError("expected tmem_slot of at least 0, found ")
           << slot.getInt();
  // kernel C9
  if (columns && (columns.getInt() < target::kTmemAllocMin ||
                  columns.getInt() > target::kTmemAllocMax ||
                  !llvm::isPowerOf2_64(columns.getInt())))
    return emitOpError("expected a power of two from ")
           << target::kTmemAllocMin << " to " << target::kTmemAllocMax
           << " tmem_columns, found " << columns.getInt();
  return success();
}

/// What setmaxnreg can set.
static LogicalResult verifyCount(Operation *op, IntegerAttr registers) {
  if (!registers)
    return success();
  int64_t count = registers.getInt();
  if (count >= target::kSetMaxNRegMin && count <= target::kSetMaxNRegMax &&
      count % target::kSetMaxNRegStep == 0)
    return success();
  // shared C9
  return op->emitOpError("expected registers in multiples of ")
         << target::kSetMaxNRegStep << " from " << target::kSetMaxNRegMin
         << " to " << target::kSetMaxNRegMax << ", found " << count;
}

/// Registers move between warpgroups, so the roles of one have equally many;
/// all roles say how many or none does.
static LogicalResult verifyRegisters(KernelOp kernel) {
  int64_t warps = 0, ofGroup = 0; // registers, 0 where roles do not say
  bool isFirst = true, all = false;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
    bool has = role.getRegisters().has_value();
    // role C8
    if (!isFirst && has != all)
      return role.emitOpError("expected registers in every role or in none");
    all = has;
    isFirst = false;
    int64_t registers = role.getRegisters().value_or(0);
    if (warps % target::kWarpGroupWarps == 0)
      ofGroup = registers;
    // role C9
    if (registers != ofGroup)
      return role.emitOpError("expected ")
             << ofGroup << " registers, as in the other roles of its "
             << "warpgroup, found " << registers;
    warps += role.getWarps();
    if (warps % target::kWarpGroupWarps)
      ofGroup = registers;
  }
  // kernel C13
  if (kernel.getRegisters() && !all)
    return kernel.emitOpError("expected registers only where roles divide "
                              "them, found ")
           << *kernel.getRegisters();
  return verifyCount(kernel, kernel.getRegistersAttr());
}

LogicalResult KernelOp::verifyRegions() {
  // kernel C10
  if (getNumThreads() == 0)
    return emitOpError("expected at least 1 role, found none");
  // kernel C11
  if (getNumThreads() > target::kMaxThreadsPerCta)
    return emitOpError("expected at most ")
           << target::kMaxThreadsPerCta << " threads, found "
           << getNumThreads();
  llvm::SmallDenseSet<StringAttr> names;
  llvm::SmallDenseSet<int64_t> barriers;
  int64_t warps = 0;
  for (RoleOp role : getBody().getOps<RoleOp>()) {
    // role C4
    if (std::optional<int64_t> barrier = role.getBarrier();
        barrier && !barriers.insert(*barrier).second)
      return role.emitOpError("expected roles with different barriers, found ")
             << *barrier << " twice";
    // role C5
    if (!names.insert(role.getSymNameAttr()).second)
      return role.emitOpError("expected roles with different names, found ")
             << role.getSymNameAttr() << " twice";
    // role C6
    if (IntegerAttr first = role.getFirstWarpAttr();
        first && first.getInt() != warps)
      return role.emitOpError("expected first_warp ")
             << warps << ", which follows the role before, found "
             << first.getInt();
    // role C7
    if (role.getOnLeader() && !isPair())
      return role.emitOpError("expected a kernel with cluster(2) around a role "
                              "on_leader, found cluster(")
             << getCluster() << ')';
    warps += role.getWarps();
  }
  // kernel C12
  if (IntegerAttr warp = getTmemWarpAttr();
      warp && (warp.getInt() < 0 || warp.getInt() >= warps))
    return emitOpError("expected tmem_warp from 0 to ")
           << warps - 1 << ", found " << warp.getInt();
  return verifyRegisters(*this);
}

int64_t KernelOp::getNumThreads() {
  int64_t warps = 0;
  bool dividesRegisters = false;
  for (RoleOp role : getBody().getOps<RoleOp>()) {
    warps += role.getWarps();
    dividesRegisters |= role.getRegisters().has_value();
  }
  if (dividesRegisters)
    warps = llvm::alignTo(warps, target::kWarpGroupWarps);
  return warps * target::kWarpSize;
}

LogicalResult RoleOp::verify() {
  constexpr int64_t kMaxWarps = target::kMaxThreadsPerCta / target::kWarpSize;
  // role C1
  if (getWarps() > kMaxWarps)
    return emitOpError("expected at most ")
           << kMaxWarps << " warps, found " << getWarps();
  if (failed(verifyCount(*this, getRegistersAttr())))
    return failure();
  // Barrier 0 is that of all threads.
  // role C2
  if (IntegerAttr barrier = getBarrierAttr();
      barrier &&
      (barrier.getInt() < 1 || barrier.getInt() >= target::kNamedBarriers))
    return emitOpError("expected a barrier from 1 to ")
           << target::kNamedBarriers - 1 << ", found " << barrier.getInt();
  // role C3
  if (getElected() && getWarps() != 1)
    return emitOpError("expected 1 warp in an elected role, found ")
           << getWarps();
  return success();
}

bool RoleOp::needsBarrier() {
  return getBody()
      .walk([](ProducerAcquireOp acquire) {
        RingType ring = acquire.getRing().getType();
        return ring.isStaging() && ring.getScope() != Scope::Warp
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void TileSchedulerOp::build(OpBuilder &builder, OperationState &state,
                            Value rows, Value columns, Value reduction,
                            ArrayRef<int64_t> tile, RasterAttr raster,
                            Value units, int64_t splits, int64_t splitStep) {
  IntegerAttr splitsAttr, stepAttr;
  if (splits > 1) {
    splitsAttr = builder.getI64IntegerAttr(splits);
    stepAttr = builder.getI64IntegerAttr(splitStep);
  }
  build(builder, state, TileSchedulerType::get(builder.getContext()), rows,
        columns, reduction, units, /*counter=*/Value(), /*offsets=*/Value(),
        /*stride=*/Value(), /*over_reduction=*/false, /*single=*/false,
        builder.getDenseI64ArrayAttr(tile), raster, splitsAttr, stepAttr);
}

void TileSchedulerOp::build(OpBuilder &builder, OperationState &state,
                            Value rows, Value columns, ArrayRef<int64_t> tile,
                            RasterAttr raster, bool single, Value units,
                            Value counter, Value offsets) {
  Value reduction = arith::ConstantIndexOp::create(builder, state.location, 0);
  build(builder, state, TileSchedulerType::get(builder.getContext()), rows,
        columns, reduction, units, counter, offsets, /*stride=*/Value(),
        /*over_reduction=*/false, single, builder.getDenseI64ArrayAttr(tile),
        raster, /*splits=*/IntegerAttr(),
        /*split_step=*/IntegerAttr());
}

void TileSchedulerOp::build(OpBuilder &builder, OperationState &state,
                            Value rows, Value columns, Value reduction,
                            ArrayRef<int64_t> tile, RasterAttr raster,
                            Value units, Value offsets, Value stride,
                            bool overReduction) {
  build(builder, state, TileSchedulerType::get(builder.getContext()), rows,
        columns, reduction, units, /*counter=*/Value(), offsets, stride,
        overReduction,
        /*single=*/false, builder.getDenseI64ArrayAttr(tile), raster,
        /*splits=*/IntegerAttr(), /*split_step=*/IntegerAttr());
}

/// Whether a warp finds the units of groups.
static bool isByGroups(TileSchedulerOp op) {
  return op.getUnits() &&
         cast<RingType>(op.getUnits().getType()).getProducer() ==
             AsyncKind::Groups;
}

/// Where numbers are drawn from, and which groups divide the rows.
static LogicalResult verifyWorkMemory(TileSchedulerOp op) {
  if (Value counter = op.getCounter()) {
    auto type = cast<MemRefType>(counter.getType());
    // tile_scheduler C6
    if (!type.getElementType().isInteger(32) || type.getRank() != 1 ||
        type.getDimSize(0) != 1)
      return op.emitOpError("expected a counter of type memref<1xi32>, found ")
             << type;
  }
  if (Value offsets = op.getOffsets()) {
    auto type = cast<MemRefType>(offsets.getType());
    // tile_scheduler C7
    if (type.getRank() != 1 || !type.getLayout().isIdentity() ||
        !(type.getElementType().isInteger(32) ||
          type.getElementType().isInteger(64)))
      return op.emitOpError("expected offsets of rank 1 and of i32 or i64, "
                            "found ")
             << type;
    // tile_scheduler C8
    if (!isByGroups(op) && (!op.getSingle() || op.getOverReduction()))
      return op.emitOpError("expected units of groups by a ring that they "
                            "fill, or to be single with ragged rows");
    // tile_scheduler C9
    if (op.getStride() && (!isByGroups(op) || op.getOverReduction()))
      return op.emitOpError("expected a stride of groups by a ring that they "
                            "fill, with ragged rows");
    // tile_scheduler C10
    if (op.getSplits())
      return op.emitOpError("expected ragged work without split");
    return success();
  }
  // tile_scheduler C11
  if (op.getOverReduction() || op.getStride() || isByGroups(op))
    return op.emitOpError("expected offsets where there are groups");
  return success();
}

LogicalResult TileSchedulerOp::verify() {
  // tile_scheduler C1
  if (getTile().size() != 2)
    return emitOpError("expected 2 tile sizes, found ") << getTile().size();
  // tile_scheduler C2
  for (int64_t size : getTile())
    if (size < 1)
      return emitOpError("expected tile sizes of at least 1, found ") << size;
  // tile_scheduler C3
  if (getSplits().has_value() != getSplitStep().has_value())
    return emitOpError("expected splits and split_step together");
  // tile_scheduler C4
  if (getNumSplits() > kMaxStages)
    return emitOpError("expected at most ")
           << kMaxStages << " splits of the reduction, found "
           << getNumSplits();
  if (Value units = getUnits()) {
    // shared C4
    if (!units.getDefiningOp<RingOp>())
      return emitOpError("expected a ring made in the kernel");
    AsyncKind producer = cast<RingType>(units.getType()).getProducer();
    bool isExpected =
        getCounter()
            ? producer == AsyncKind::AtomicCounter
            : llvm::is_contained({AsyncKind::Clc, AsyncKind::Groups}, producer);
    // tile_scheduler C5
    if (!isExpected)
      return emitOpError("expected a ring with producer ")
             << (getCounter() ? "atomic_counter" : "clc or groups")
             << ", found " << stringifyAsyncKind(producer);
  }
  return verifyWorkMemory(*this);
}

static LogicalResult verifyBodyArguments(Operation *op, Region &body,
                                         ArrayRef<Type> types) {
  // shared C8
  if (body.getArgumentTypes() != TypeRange(types))
    return op->emitOpError("expected body arguments of types (")
           << types << "), found (" << body.getArgumentTypes() << ")";
  return success();
}

LogicalResult ForEachWorkTileOp::verify() {
  // for_each_work_tile C1
  if (!getWork().getDefiningOp<TileSchedulerOp>())
    return emitOpError("expected a work source made in the kernel");
  return verifyBodyArguments(
      *this, getBody(), SmallVector<Type>(5, IndexType::get(getContext())));
}

/// The loop over units that go by a ring asks once where to go on.
LogicalResult ForEachWorkTileOp::verifyRegions() {
  Value units = getWork().getDefiningOp<TileSchedulerOp>().getUnits();
  NextWorkTileOp found;
  for (auto next : getBody().getOps<NextWorkTileOp>()) {
    // next_work_tile C1
    if (!units)
      return next.emitOpError("expected units that come by a ring, found "
                              "a static work source");
    // next_work_tile C2
    if (found)
      return next.emitOpError(
          "expected to be once in its loop, found a second");
    found = next;
    auto wait = next.getBuffer().getDefiningOp<ConsumerWaitOp>();
    // next_work_tile C3
    if (wait.getRing() != units)
      return next.emitOpError("expected a buffer of the work source's ring");
    // next_work_tile C4
    if (wait->getBlock() != next->getBlock())
      return next.emitOpError("expected a stage that is consumed in its loop");
  }
  // for_each_work_tile C2
  if (units && !found)
    return emitOpError("expected mxgpu.next_work_tile in its body, found none");
  return success();
}

LogicalResult NextWorkTileOp::verify() {
  // next_work_tile C5
  if (!isa_and_present<ForEachWorkTileOp>((*this)->getParentOp()))
    return emitOpError(
        "expected to be in the body of mxgpu.for_each_work_tile");
  // next_work_tile C6
  if (!getBuffer().getDefiningOp<ConsumerWaitOp>())
    return emitOpError("expected a buffer of mxgpu.consumer_wait");
  return success();
}

LogicalResult ForEachKOp::verify() {
  Builder builder(getContext());
  Type index = builder.getIndexType();
  SmallVector<Type> types = {index, index, builder.getI1Type()};
  llvm::append_range(types, getInits().getTypes());
  if (failed(verifyBodyArguments(*this, getBody(), types)))
    return failure();
  // for_each_k C1
  for (Type type : getInits().getTypes())
    if (isa<StageType, BufferType>(type))
      return emitOpError("expected values that loops can carry, found ")
             << type;
  // for_each_k C2
  if (getResultTypes() != getInits().getTypes())
    return emitOpError("expected results of types (")
           << getInits().getTypes() << "), found (" << getResultTypes() << ")";
  // A body that ends with another operation is refused after this.
  auto yield = dyn_cast<mxgpu::YieldOp>(getBody().front().back());
  // yield C1
  if (yield && yield.getValues().getTypes() != getInits().getTypes())
    return yield.emitOpError("expected values of types (")
           << getInits().getTypes() << "), found ("
           << yield.getValues().getTypes() << ")";
  return success();
}

SmallVector<Region *> ForEachWorkTileOp::getLoopRegions() {
  return {&getBody()};
}

SmallVector<Region *> ForEachKOp::getLoopRegions() { return {&getBody()}; }

Block::BlockArgListType ForEachKOp::getRegionIterArgs() {
  return getBody().getArguments().drop_front(3);
}

std::optional<MutableArrayRef<OpOperand>>
ForEachKOp::getYieldedValuesMutable() {
  return getYield().getValuesMutable();
}

std::optional<ResultRange> ForEachKOp::getLoopResults() { return getResults(); }

void mxgpu::YieldOp::build(OpBuilder &, OperationState &) {}

mxgpu::YieldOp ForEachKOp::getYield() {
  return cast<mxgpu::YieldOp>(getBody().front().getTerminator());
}

bool mx::mxgpu::isInPair(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel && kernel.isPair();
}

/// Directly in a kernel, or in the function that it becomes.
static LogicalResult verifyInKernel(Operation *op) {
  if (isa_and_present<KernelOp, FunctionOpInterface>(op->getParentOp()))
    return success();
  // shared C6
  return op->emitOpError("expected to be directly inside a kernel");
}

/// Functions that kernels become have no roles.
static LogicalResult verifyInRole(Operation *op) {
  if (getRole(op) || !op->getParentOfType<KernelOp>())
    return success();
  // shared C7
  return op->emitOpError("expected to be inside a role");
}

LogicalResult CtaRankOp::verify() {
  if (isInPair(*this) || !(*this)->getParentOfType<KernelOp>())
    return success();
  // cta_rank C1
  return emitOpError("expected to be inside a kernel with cluster(2)");
}

/// What stands before is set-up; a tensor map is a parameter, and rings lie in
/// the CTA's own memory.
LogicalResult WaitDependenciesOp::verify() {
  if (failed(verifyInKernel(*this)))
    return failure();
  if (!isa<KernelOp>((*this)->getParentOp()))
    return success(); // its set-up stands before
  for (Operation &op : *(*this)->getBlock()) {
    if (&op == getOperation())
      break;
    if (isa<RingOp, InitBarriersOp>(op) || isMemoryEffectFree(&op))
      continue;
    // wait_dependencies C1
    InFlightDiagnostic error = emitOpError(
        "expected no role and no access to memory before it, found ");
    error << op.getName();
    error.attachNote(op.getLoc()) << "here";
    return error;
  }
  return success();
}

LogicalResult LaunchDependentsOp::verify() { return verifyInRole(*this); }

LogicalResult ThreadIdOp::verify() { return verifyInRole(*this); }

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

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
                           : "expected no barriers for stages of tma_store");
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

/// A stage changes hands: what its buffers hold is another's, before or after.
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

//===----------------------------------------------------------------------===//
// Host side
//===----------------------------------------------------------------------===//

/// printf reads what its format names: anything but `%lld` and `%%` would read
/// an argument that is not there.
LogicalResult RequireOp::verify() {
  StringRef rest = getMessage();
  // require C1
  if (rest.contains('\0'))
    return emitOpError("expected a message without zero bytes");
  size_t places = 0;
  for (size_t at; (at = rest.find('%')) != StringRef::npos;) {
    rest = rest.drop_front(at);
    // require C2
    if (!rest.consume_front("%%") && !rest.consume_front("%lld"))
      return emitOpError("expected only %lld and %% in the message, found \"")
             << rest.take_front(4) << '"';
    places += rest.data()[-1] == 'd';
  }
  // require C3
  if (places != getValues().size())
    return emitOpError("expected ")
           << places << " values for the message, found " << getValues().size();
  return success();
}

LogicalResult RequireOp::canonicalize(RequireOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto *callee =
      symbolTable.lookupNearestSymbolFrom(getOperation(), getKernelAttr());
  // After the kernels are lowered they are llvm.func; launches are by then too.
  auto kernel = dyn_cast_if_present<KernelOp>(callee);
  // launch C1
  if (!kernel)
    return emitOpError("expected a mxgpu.kernel, found ")
           << (callee ? callee->getName().getStringRef() : "nothing")
           << " named " << getKernelAttr();
  // launch C2
  if (kernel.getArgumentTypes().size() != getArgs().size())
    return emitOpError("expected ") << kernel.getArgumentTypes().size()
                                    << " arguments, found " << getArgs().size();
  // launch C3
  for (auto [index, expected, found] :
       llvm::enumerate(kernel.getArgumentTypes(), getArgs().getTypes()))
    if (expected != found)
      return emitOpError("expected argument ")
             << index << " of type " << expected << ", found " << found;
  return success();
}
