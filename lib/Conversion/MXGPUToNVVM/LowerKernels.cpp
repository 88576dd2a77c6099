//===- LowerKernels.cpp - Lowering of kernels to functions ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds the set-up and tear-down of a CTA. The set-up initializes and fences
// barriers. A warp allocates tensor memory and frees the memory after all uses.
//
// Roles become a chain of branches. ptxas follows all paths, so each path runs
// at most one role, and setmaxnreg in a role does not affect other roles.
//===----------------------------------------------------------------------===//

#include "Common/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Target/TargetInfo.h"
#include "mx/Target/TensorMap.h"

using namespace mlir;
using namespace mx::mxgpu;
using namespace mx::mxbar;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPULOWERKERNELS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Sets the register limit of this warp for the rest of the kernel.
static void setRegisters(NVVMBuilder &builder, RoleOp role, int64_t launched) {
  int64_t registers = *role.getRegisters();
  if (registers != launched)
    builder.setRegisters(registers, /*more=*/registers > launched);
}

static void enterIf(NVVMBuilder &builder, Value condition) {
  auto ifOp = scf::IfOp::create(builder, condition, /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
}

/// Computes thread numbers within a role from thread numbers within the CTA.
static void lowerThreadIds(RoleOp role) {
  Value ofWarp;
  role.walk([&](ThreadIdOp id) {
    Value number = id.getOfWarp() ? ofWarp : Value();
    if (!number) {
      NVVMBuilder builder(id.getLoc(), id.getContext());
      builder.setInsertionPoint(id);
      // A shuffle does not move, and must not be repeated in loops.
      if (id.getOfWarp())
        builder.setInsertionPointToStart(&role.getBody().front());
      number = arith::SubIOp::create(
          builder, builder.threadId(),
          builder.i32(role.getFirstWarp() * mx::target::kWarpSize));
      if (id.getOfWarp())
        number = builder.shuffleFrom(number, builder.i32(0));
      number =
          arith::IndexCastUIOp::create(builder, builder.getIndexType(), number);
      if (id.getOfWarp())
        ofWarp = number;
    }
    id.replaceAllUsesWith(number);
    id.erase();
  });
}

/// Restricts reductions over all threads to the threads of a role.
static void restrictReductions(RoleOp role) {
  role.walk([&](gpu::AllReduceOp op) {
    std::array<int32_t, 3> threads = {int32_t(role.getNamedBarrier()),
                                      int32_t(role.getFirstWarp()),
                                      int32_t(role.getWarps())};
    op->setAttr(kReducingRoleAttrName,
                DenseI32ArrayAttr::get(op.getContext(), threads));
  });
}

/// Inlines the body of a role, for an elected thread if the role requires it.
/// The warp then reconverges, as the next instruction may need all threads.
static void inlineRole(NVVMBuilder &builder, RoleOp role,
                       std::optional<int64_t> launchedRegisters) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setLoc(role.getLoc());
  // All warps of a warpgroup must set the limit, whatever their roles.
  if (launchedRegisters)
    setRegisters(builder, role, *launchedRegisters);
  if (role.getOnLeader())
    enterIf(builder, builder.isLeader());
  if (role.getElected()) {
    auto elected =
        scf::IfOp::create(builder, builder.electOne(), /*withElse=*/false);
    builder.syncWarp();
    builder.setInsertionPointToStart(elected.thenBlock());
  }
  Block *block = builder.getInsertionBlock();
  block->getOperations().splice(builder.getInsertionPoint(),
                                role.getBody().front().getOperations());
}

/// Moves adjacent roles into branches on the warp number.
static void lowerRoles(KernelOp kernel) {
  SmallVector<RoleOp> roles = *getRolesByWarp(kernel);
  std::optional<int64_t> registers = kernel.getLaunchRegisters();
  NVVMBuilder builder(kernel.getLoc(), kernel.getContext());
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  Value warp = builder.warpInCta();
  for (RoleOp role : roles) {
    lowerThreadIds(role);
    if (roles.size() > 1)
      restrictReductions(role);
    bool isLast = role == roles.back() && !registers;
    Value relative =
        arith::SubIOp::create(builder, warp, builder.i32(role.getFirstWarp()));
    Value isRole = builder.isBelow(relative, builder.i32(role.getWarps()));
    auto ifOp = scf::IfOp::create(builder, isRole, /*withElse=*/!isLast);
    OpBuilder::InsertPoint next = builder.saveInsertionPoint();
    if (!isLast)
      next =
          OpBuilder::InsertPoint(ifOp.elseBlock(), ifOp.elseBlock()->begin());
    builder.setInsertionPointToStart(ifOp.thenBlock());
    inlineRole(builder, role, registers);
    builder.restoreInsertionPoint(next);
  }
  // Warps without a role must also set the limit of their warpgroup.
  if (registers)
    setRegisters(builder, roles.back(), *registers);
  for (RoleOp role : roles) {
    role.getAssignment().erase();
    role.erase();
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void declareSharedMemory(gpu::GPUModuleOp module) {
  if (module.lookupSymbol(kDynamicSharedName))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, kDynamicSharedName,
                         /*value=*/Attribute(), /*alignment=*/1024,
                         /*addrSpace=*/3);
}

/// Replaces the arguments of the kernel body, now in `function`.
static void mapArguments(NVVMBuilder &builder, KernelOp kernel,
                         LLVM::LLVMFuncOp function) {
  unsigned next = 0;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    size_t count = getKernelParameters(argument.getType()).size();
    SmallVector<Value> parameters(function.getArguments().slice(next, count));
    Value value = parameters[0];
    if (auto memref = dyn_cast<MemRefType>(argument.getType())) {
      SmallVector<Value> numbers;
      for (Value number : ArrayRef(parameters).drop_front())
        numbers.push_back(arith::IndexCastOp::create(
            builder, builder.getIndexType(), number));
      value = buildMemRef(builder, memref, parameters[0], numbers);
    } else if (isa<TensorMapType>(argument.getType())) {
      auto map = LLVM::LLVMArrayType::get(builder.getI8Type(),
                                          mx::target::kTensorMapBytes);
      function.setArgAttr(next, LLVM::LLVMDialect::getByValAttrName(),
                          TypeAttr::get(map));
      function.setArgAttr(
          next, LLVM::LLVMDialect::getAlignAttrName(),
          builder.getI64IntegerAttr(mx::target::kTensorMapAlignment));
      function.setArgAttr(next, NVVM::NVVMDialect::getGridConstantAttrName(),
                          builder.getUnitAttr());
      value = UnrealizedConversionCastOp::create(
                  builder, TypeRange(argument.getType()), parameters)
                  .getResult(0);
    } else if (argument.getType().isIndex()) {
      value =
          arith::IndexCastOp::create(builder, builder.getIndexType(), value);
    }
    argument.replaceAllUsesWith(value);
    next += count;
  }
}

/// Returns the rings with barriers.
static SmallVector<PlacedRingOp> getRings(Block &block) {
  return llvm::to_vector(llvm::make_filter_range(
      block.getOps<PlacedRingOp>(),
      [](PlacedRingOp ring) { return ring.getBarriers().has_value(); }));
}

/// Returns the bytes of the full barriers of a ring, which the empty barriers
/// follow.
static SmallVector<int64_t> getBarriers(PlacedRingOp ring) {
  int64_t step = ring.getStride();
  if (hasBarriersBehind(ring.getType()))
    step >>= getBarrierShift(step);
  SmallVector<int64_t> full;
  for (int64_t i = 0; i < ring.getType().getStages(); ++i)
    full.push_back(*ring.getBarriers() + i * step);
  return full;
}

static scf::IfOp ifFirstThread(NVVMBuilder &builder) {
  Value isFirstThread = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::eq, builder.threadId(), builder.i32(0));
  return scf::IfOp::create(builder, isFirstThread, /*withElse=*/false);
}

/// Lets a thread initialize all barriers and make them visible to the copy
/// engine and the tensor core.
static void initBarriers(NVVMBuilder &builder, KernelOp kernel,
                         ArrayRef<Value> maps) {
  scf::IfOp ifOp = ifFirstThread(builder);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  for (Value map : maps)
    builder.prefetchTensorMap(map);
  for (PlacedRingOp ring : getRings(kernel.getBody().front())) {
    Value empty = builder.i32(*ring.getEmpty());
    if (std::optional<int64_t> other = ring.getOtherEmpty())
      empty = arith::SelectOp::create(builder, builder.isLeader(), empty,
                                      builder.i32(*other));
    for (int64_t full : getBarriers(ring)) {
      builder.initBarrier(builder.shared(full), builder.i32(*ring.getFull()));
      builder.initBarrier(builder.shared(full + mx::target::kMBarrierBytes),
                          empty);
    }
  }
  builder.fenceBarrierInit();
}

/// Lets a thread end the lives of all barriers, which no role uses any more.
static void invalidateBarriers(NVVMBuilder &builder, Block &block) {
  scf::IfOp ifOp = ifFirstThread(builder);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  for (PlacedRingOp ring : getRings(block))
    for (int64_t full : getBarriers(ring)) {
      builder.invalidateBarrier(builder.shared(full));
      builder.invalidateBarrier(
          builder.shared(full + mx::target::kMBarrierBytes));
    }
}

static scf::IfOp ifWarp(NVVMBuilder &builder, int64_t warp) {
  Value current = builder.warpInCta();
  Value isWarp = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                       current, builder.i32(warp));
  return scf::IfOp::create(builder, isWarp, /*withElse=*/false);
}

/// Limits the registers per thread at launch. A role may change its limit with
/// setmaxnreg, which ptxas honors only in code that no other role executes.
static void boundRegisters(NVVMBuilder &builder, KernelOp kernel,
                           LLVM::LLVMFuncOp function) {
  std::optional<int64_t> registers = kernel.getLaunchRegisters();
  if (registers)
    function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                      builder.getI32IntegerAttr(*registers));
  // An SM runs few CTAs with tensor memory. Without this bound ptxas
  // assumes more CTAs, assigns too few registers and spills.
  std::optional<int64_t> ctas = kernel.getMinCtas();
  if (!ctas && !registers && getTensorMemory(kernel))
    ctas = 1;
  if (ctas)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(*ctas));
}

static LLVM::LLVMFuncOp createFunction(NVVMBuilder &builder, KernelOp kernel) {
  SmallVector<Type> parameters;
  for (Type type : kernel.getArgumentTypes())
    llvm::append_range(parameters, getKernelParameterTypes(type));
  auto function = LLVM::LLVMFuncOp::create(
      builder, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  parameters));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  int32_t threads = kernel.getNumThreads();
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr({threads, 1, 1}));
  if (int32_t ctas = kernel.getClusterSize(); ctas > 1)
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      builder.getDenseI32ArrayAttr({ctas, 1, 1}));
  boundRegisters(builder, kernel, function);
  SymbolTable::setSymbolVisibility(function,
                                   SymbolTable::getSymbolVisibility(kernel));
  return function;
}

static SmallVector<Value> getMaps(LLVM::LLVMFuncOp function) {
  SmallVector<Value> maps;
  for (BlockArgument parameter : function.getArguments())
    if (function.getArgAttr(parameter.getArgNumber(),
                            LLVM::LLVMDialect::getByValAttrName()))
      maps.push_back(parameter);
  return maps;
}

/// Builds the set-up before all roles. Returns the first column of the tensor
/// memory, or null if `memory` is null.
static Value setUp(NVVMBuilder &builder, KernelOp kernel, TensorMemoryOp memory,
                   ArrayRef<Value> maps) {
  bool hasRings = !kernel.getBody().getOps<PlacedRingOp>().empty();
  if (hasRings) {
    initBarriers(builder, kernel, maps);
    builder.syncWarp();
  }
  // Both CTAs of a pair must have started before either uses the other's
  // barriers or allocates for both.
  if (kernel.isPair())
    builder.syncCluster();
  if (memory) {
    auto ifOp = ifWarp(builder, memory.getWarp());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.allocTensorMemory(builder.shared(memory.getSlot()),
                              memory.getColumns(), kernel.isPair());
  }
  if (hasRings) {
    if (memory)
      builder.fenceBeforeSync();
    builder.syncCta();
  }
  if (!memory)
    return {};
  builder.fenceAfterSync();
  return LLVM::LoadOp::create(builder, builder.getI32Type(),
                              builder.shared(memory.getSlot()));
}

/// Builds the tear-down after all roles.
static void tearDown(NVVMBuilder &builder, KernelOp kernel,
                     TensorMemoryOp memory, Value firstColumn) {
  if (memory)
    builder.fenceBeforeSync();
  // A CTA of a pair must not end while the other CTA may access its memory.
  if (kernel.isPair())
    builder.syncCluster();
  else if (memory)
    builder.syncCta();
  if (memory) {
    builder.fenceAfterSync();
    auto ifOp = ifWarp(builder, memory.getWarp());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.freeTensorMemory(firstColumn, memory.getColumns(), kernel.isPair());
  }
  LLVM::ReturnOp::create(builder, ValueRange());
}

/// Returns the last operation of a kernel that may run again, or null.
static mx::mxgpu::YieldOp getYield(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  return body.empty() ? nullptr : dyn_cast<mx::mxgpu::YieldOp>(body.back());
}

/// Creates a loop over the CTAs that this CTA stands for, and inserts into its
/// body from here on.
static scf::WhileOp beginLoop(NVVMBuilder &builder) {
  auto loop = scf::WhileOp::create(
      builder, TypeRange(builder.getI32Type()), ValueRange(builder.ctaId()),
      [](OpBuilder &, Location, ValueRange) {},
      [](OpBuilder &nested, Location loc, ValueRange next) {
        scf::YieldOp::create(nested, loc, next);
      });
  builder.setInsertionPointToStart(loop.getBeforeBody());
  return loop;
}

/// Ends the body of a loop, which goes on if `repeats` is true.
static void endLoop(NVVMBuilder &builder, scf::WhileOp loop, Value repeats) {
  Block *body = loop.getBeforeBody();
  Value cta = body->getArgument(0);
  body->walk([&](NVVM::BlockIdXOp id) { id.replaceAllUsesWith(cta); });
  builder.syncCta();
  invalidateBarriers(builder, *body);
  scf::ConditionOp::create(builder, repeats,
                           ValueRange(builder.add(cta, builder.ctaCount())));
  // Only the first pass depends on other kernels.
  for (Operation &op : llvm::make_early_inc_range(*body))
    if (isa<WaitDependenciesOp, LaunchDependentsOp, PlacedRingOp>(op))
      op.moveBefore(loop);
  builder.setInsertionPointAfter(loop);
}

static void lower(KernelOp kernel) {
  declareSharedMemory(kernel->getParentOfType<gpu::GPUModuleOp>());
  NVVMBuilder builder(kernel.getLoc(), kernel.getContext());
  builder.setInsertionPoint(kernel);
  LLVM::LLVMFuncOp function = createFunction(builder, kernel);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  mapArguments(builder, kernel, function);
  TensorMemoryOp memory = getTensorMemory(kernel);
  scf::WhileOp loop;
  Value repeats;
  if (mx::mxgpu::YieldOp yield = getYield(kernel)) {
    repeats = yield.getOperand(0);
    yield.erase();
    loop = beginLoop(builder);
  }
  Block *block = builder.getInsertionBlock();
  Value firstColumn = setUp(builder, kernel, memory, getMaps(function));
  if (memory)
    memory.replaceAllUsesWith(firstColumn);
  lowerRoles(kernel);
  block->getOperations().splice(block->end(),
                                kernel.getBody().front().getOperations());
  builder.setInsertionPointToEnd(block);
  if (loop)
    endLoop(builder, loop, repeats);
  tearDown(builder, kernel, memory, firstColumn);
  if (memory)
    memory.erase();
  kernel.erase();
}

namespace {
struct LowerKernelsPass final
    : mx::mxgpu::impl::MXGPULowerKernelsBase<LowerKernelsPass> {
  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      if (kernel.getJoinedAttr())
        continue;
      if (failed(verify(kernel)))
        return signalPassFailure();
      lower(kernel);
    }
  }

  static LogicalResult verify(KernelOp kernel) {
    if (failed(verifyLowered<RingOp, ForEachWorkTileOp, ForEachKOp,
                             TileSchedulerOp, AddPartialsOp>(
            kernel,
            "kernels are: run mxgpu-lower-work and mxgpu-lower-rings first")))
      return failure();
    if (auto yield = getYield(kernel); yield && getTensorMemory(kernel))
      return yield.emitOpError("expected a kernel without tensor memory");
    return getRolesByWarp(kernel);
  }
};
} // namespace
