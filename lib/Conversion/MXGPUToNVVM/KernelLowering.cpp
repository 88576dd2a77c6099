//===- KernelLowering.cpp - Function, set-up and tear-down of a kernel ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Everything that must happen once per CTA: barriers are initialized and
// fenced before any thread uses them, tensor memory is allocated by one warp
// and freed by the same warp after all others are done with it.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;

/// Warps that setmaxnreg gives registers together, and the step of its counts.
static constexpr int64_t kWarpGroupWarps = mx::target::kWarpGroupWarps;
static constexpr int64_t kRegisterStep = mx::target::kSetMaxNRegStep;

/// The dynamic shared memory of all kernels of a module.
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

/// Gives the kernel's body, now in `function`, its arguments back.
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
      auto map = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
      function.setArgAttr(next, LLVM::LLVMDialect::getByValAttrName(),
                          TypeAttr::get(map));
      function.setArgAttr(next, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(64));
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

/// Arrivals that fill a slot: of the threads that do, or of each CTA of a pair,
/// which announces its bytes.
static int64_t getFillingArrivals(RingType type) {
  if (type.getProducer() == Agent::Threads)
    return getArrivals(type, type.getProducerThreads());
  return type.isPair() && type.getProducer() == Agent::Tma ? 2 : 1;
}

/// Arrivals that empty a slot: of the roles that do, of both CTAs of a pair
/// unless the role is the leader's. Slots of one CTA of a pair are emptied by
/// its own roles only.
static Value getEmptyingArrivals(NVVMBuilder &builder, RingOp ring) {
  RingType type = ring.getType();
  if (type.getConsumer() != Agent::Threads &&
      type.getConsumer() != Agent::Roles)
    return builder.i32(1);
  int64_t arrivals = 0, ofLeader = 0;
  for (Operation *user : ring->getUsers())
    if (isa<ConsumeOp>(user)) {
      RoleOp role = getRole(user);
      int64_t threads =
          role.getElected() ? 1 : role.getWarps() * mx::target::kWarpSize;
      int64_t ofRole = getArrivals(type, threads);
      arrivals += ofRole * (type.isPair() && !role.getOnLeader() ? 2 : 1);
      if (!type.isPair() && role.getOnLeader())
        ofLeader += ofRole;
    }
  Value all = builder.i32(arrivals);
  if (!ofLeader)
    return all;
  return arith::SelectOp::create(builder, builder.isLeader(), all,
                                 builder.i32(arrivals - ofLeader));
}

/// Initializes all barriers by one thread and makes them visible to the copy
/// engine and the tensor core.
static void initBarriers(NVVMBuilder &builder, ArrayRef<RingOp> rings,
                         ArrayRef<Value> maps) {
  Value thread = builder.threadId();
  Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                        thread, builder.i32(0));
  auto ifOp = scf::IfOp::create(builder, isFirst, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  for (Value map : maps)
    builder.prefetchTensorMap(map);
  for (RingOp ring : rings) {
    RingType type = ring.getType();
    if (type.isStaging())
      continue;
    Value filling = builder.i32(getFillingArrivals(type));
    Value emptying = getEmptyingArrivals(builder, ring);
    for (int64_t i = 0; i < type.getStages(); ++i) {
      int64_t full = *ring.getBarriers() + i * *ring.getStride();
      builder.initBarrier(builder.shared(full), filling);
      builder.initBarrier(builder.shared(full + mx::target::kMBarrierBytes),
                          emptying);
    }
  }
  builder.fenceBarrierInit();
}

/// The warp that allocates tensor memory: that of the role that fills it.
static int64_t getAllocatingWarp(KernelOp kernel) {
  int64_t warp = 0;
  kernel.walk([&](AcquireOp acquire) {
    if (acquire.getRing().getType().getProducer() == Agent::Mma)
      warp = *getRole(acquire).getFirstWarp();
  });
  return warp;
}

static scf::IfOp ifWarp(NVVMBuilder &builder, int64_t warp) {
  Value current = builder.warpInCta();
  Value isWarp = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                       current, builder.i32(warp));
  return scf::IfOp::create(builder, isWarp, /*withElse=*/false);
}

/// The next slot and parity of each ring wherever a role takes its slots.
static void createStates(NVVMBuilder &builder, KernelOp kernel,
                         KernelContext &context) {
  DenseSet<Operation *> copied; // the acquires whose slots have been
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<CopyScalesOp>(op); copy && copy.getSlots() > 1) {
      Value place = builder.variable(builder.getI32Type());
      LLVM::StoreOp::create(builder, builder.i32(0), place);
      context.places[op] = place;
    }
    if (isa<TmaStoreOp, BulkStoreOp, StoreRowsOp>(op)) {
      auto acquire = op->getOperand(0).getDefiningOp<AcquireOp>();
      if (copied.insert(acquire).second)
        context.firstCopies.insert(op);
    }
    if (!isa<AcquireOp, ConsumeOp>(op))
      return;
    auto ring = op->getOperand(0).getDefiningOp<RingOp>();
    context.rings[op->getResult(0)] = ring;
    // All places that take a warp's own slots take them in turn.
    if (ring.getType().getScope() == Scope::Warp &&
        context.states.contains({getRole(op), ring}))
      return;
    RingState state = createRingState(builder, ring, getRole(op),
                                      /*asProducer=*/isa<AcquireOp>(op));
    context.states[{op, ring}] = state;
    if (isa<AcquireOp>(op)) {
      context.produced[getRole(op)].push_back(ring);
      context.states[{getRole(op), ring}] = state;
    }
  });
}

/// Whether mxgpu-allocate has been here: what it sets is used without asking.
static bool isAllocated(KernelOp kernel) {
  bool allocated = kernel.getSmemBytes().has_value();
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<RingOp>(op)) {
      allocated &= ring.getOffsets().has_value();
      for (BufferType buffer : ring.getType().getBuffers())
        allocated &= buffer.getSpace() == Space::Smem || kernel.getTmemSlot();
    } else if (auto role = dyn_cast<RoleOp>(op)) {
      allocated &= role.getFirstWarp().has_value();
    } else if (auto copy = dyn_cast<CopyScalesOp>(op)) {
      allocated &= copy.getColumn() && kernel.getTmemSlot();
    }
  });
  return allocated;
}

/// Launches with as many registers as the warpgroups have on average. Each role
/// then takes its own: ptxas counts with them only in code behind setmaxnreg
/// that no other role runs.
static void divideRegisters(NVVMBuilder &builder, KernelOp kernel,
                            LLVM::LLVMFuncOp function, KernelContext &context) {
  SmallVector<int64_t> groups; // registers of a thread, by warpgroup
  int64_t warps = 0;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
    if (!role.getRegisters())
      return;
    warps += role.getWarps();
    groups.resize(llvm::divideCeil(warps, kWarpGroupWarps),
                  *role.getRegisters());
  }
  int64_t sum = 0;
  for (int64_t registers : groups)
    sum += registers;
  // What is launched must suffice for what they ask for together.
  int64_t launched =
      llvm::alignTo(llvm::divideCeil(sum, groups.size()), kRegisterStep);
  function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                    builder.getI32IntegerAttr(launched));
  context.launchedRegisters = launched;
}

FailureOr<LLVM::LLVMFuncOp> mx::mxgpu::lowerKernel(KernelOp kernel,
                                                   KernelContext &context) {
  if (!isAllocated(kernel))
    return kernel.emitOpError("expected an allocated kernel: run "
                              "mxgpu-allocate first");
  declareSharedMemory(kernel->getParentOfType<gpu::GPUModuleOp>());

  SmallVector<Type> parameters;
  for (Type type : kernel.getArgumentTypes())
    llvm::append_range(parameters, getKernelParameterTypes(type));
  NVVMBuilder builder(kernel.getLoc(), kernel.getContext());
  builder.setInsertionPoint(kernel);
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
  if (kernel.isPair())
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      builder.getDenseI32ArrayAttr({2, 1, 1}));
  Block *entry = function.addEntryBlock(builder);

  SmallVector<RingOp> rings(kernel.getBody().getOps<RingOp>());
  SmallVector<RoleOp> roles(kernel.getBody().getOps<RoleOp>());
  int64_t warp = getAllocatingWarp(kernel);
  builder.setInsertionPointToStart(entry);
  createStates(builder, kernel, context);
  mapArguments(builder, kernel, function);

  SmallVector<Value> maps;
  for (auto [index, type] : llvm::enumerate(parameters))
    if (function.getArgAttr(index, LLVM::LLVMDialect::getByValAttrName()))
      maps.push_back(function.getArgument(index));
  if (!rings.empty()) {
    initBarriers(builder, rings, maps);
    builder.syncWarp();
  }
  // No CTA of a pair touches the other's barriers, or allocates for both,
  // before both are there.
  bool pair = kernel.isPair();
  if (pair)
    builder.syncCluster();
  std::optional<int64_t> columns = kernel.getTmemColumns();
  if (columns) {
    auto ifOp = ifWarp(builder, warp);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.allocTensorMemory(builder.shared(*kernel.getTmemSlot()), *columns,
                              pair);
  }
  if (!rings.empty()) {
    if (columns)
      builder.fenceBeforeSync();
    builder.syncCta();
  }
  if (columns) {
    builder.fenceAfterSync();
    context.tensorMemory = LLVM::LoadOp::create(
        builder, builder.getI32Type(), builder.shared(*kernel.getTmemSlot()));
  }

  divideRegisters(builder, kernel, function, context);
  // Few such kernels fit an SM beside each other; told nothing, ptxas gives
  // threads too few registers and spills.
  if (kernel.getTmemColumns() &&
      !function->hasAttr(NVVM::NVVMDialect::getMaxnregAttrName()))
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(1));

  if (QuantizeScheduleAttr schedule = kernel.getQuantizeScheduleAttr())
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(schedule.getCtas()));

  // The body, then tear-down.
  entry->getOperations().splice(entry->end(),
                                kernel.getBody().front().getOperations());
  branchOnRoles(builder, roles, context);
  builder.setInsertionPointToEnd(entry);
  if (columns)
    builder.fenceBeforeSync();
  // Nor does one end while the other may still touch its memory.
  if (pair)
    builder.syncCluster();
  else if (columns)
    builder.syncCta();
  if (columns) {
    builder.fenceAfterSync();
    auto ifOp = ifWarp(builder, warp);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.freeTensorMemory(context.tensorMemory, *columns, pair);
  }
  LLVM::ReturnOp::create(builder, ValueRange());
  kernel.erase();
  return function;
}
