//===- Allocate.cpp - Place a kernel's buffers and roles ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Lays out shared memory, tensor memory, warps, their registers and the named
// barriers by the order of the ops in the kernel. The result stands in
// attributes, so that it can be read, and the lowering has nothing left to
// decide.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUALLOCATE
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

const target::TargetInfo *mxgpu::getTargetInfo(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  if (!module || !module.getTargetsAttr() || module.getTargetsAttr().empty()) {
    op->emitOpError("expected a gpu.module with a target, found none");
    return nullptr;
  }
  auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(module.getTargetsAttr()[0]);
  if (!nvvm) {
    op->emitOpError("expected a target #nvvm.target, found ")
        << module.getTargetsAttr()[0];
    return nullptr;
  }
  std::string error;
  const target::TargetInfo *info =
      target::lookupKernelTarget(nvvm.getChip().str(), error);
  if (!info)
    op->emitOpError() << error;
  return info;
}

namespace {

/// Fails with the table of what was taken if it does not fit.
LogicalResult check(KernelOp kernel, const Memory &memory, int64_t available,
                    StringRef unitOfSize, const target::TargetInfo &target) {
  if (memory.getUsed() <= available)
    return success();
  InFlightDiagnostic diag = kernel.emitOpError("expected at most ")
                            << available << ' ' << unitOfSize << " on "
                            << target.chip << ", found " << memory.getUsed()
                            << ": take a smaller tile, fewer stages, or fewer "
                               "values at a time";
  for (const MemoryItem &item : memory.getItems())
    diag.attachNote() << item.describe() << ": " << item.getTotal();
  return diag;
}

struct AllocatePass final : mxgpu::impl::MXGPUAllocateBase<AllocatePass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      const target::TargetInfo *target = getTargetInfo(kernel);
      if (!target || failed(verifyMmas(kernel, *target)) ||
          failed(placeBuffers(kernel, *target)) || failed(placeRoles(kernel)) ||
          failed(numberBarriers(kernel)) ||
          failed(divideRegisters(kernel, *target)) ||
          failed(bound(kernel, *target)))
        return signalPassFailure();
      if (kernel.getTmemColumns())
        kernel.setTmemWarp(getAllocatingWarp(kernel));
    }
  }

  /// The chip has the kernel's matrix instructions.
  static LogicalResult verifyMmas(KernelOp kernel,
                                  const target::TargetInfo &target) {
    WalkResult result = kernel.walk([&](MmaOp mma) {
      std::string why = mma.getKind().checkTarget(target);
      if (why.empty())
        return WalkResult::advance();
      mma.emitOpError(why);
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult placeBuffers(KernelOp kernel,
                             const target::TargetInfo &target) {
    SmallVector<RingOp> rings(kernel.getBody().getOps<RingOp>());
    SmallVector<RingRequest> ringRequests;
    for (RingOp ring : rings)
      ringRequests.push_back({ring.getName(), ring.getType(), getCopies(ring)});
    SmallVector<ScalesRequest> scaleRequests;
    SmallVector<std::pair<CopyScalesOp, size_t>> copies =
        collectScales(kernel, scaleRequests);
    int64_t partialBytes = 0;
    kernel.walk([&](AddPartialsOp add) {
      partialBytes = std::max(partialBytes, add.getPartialBytes());
    });
    MemoryLayout layout(ringRequests, scaleRequests, partialBytes);
    if (std::string why = target::checkTcgen05(target);
        layout.tmemSlot && !why.empty())
      return kernel.emitOpError(why);
    if (failed(check(kernel, layout.tmem, target.tmemColumns,
                     "columns of tensor memory", target)) ||
        failed(check(kernel, layout.smem, target.smemPerCta,
                     "bytes of shared memory", target)))
      return failure();
    for (auto [ring, place] : llvm::zip_equal(rings, layout.rings)) {
      ring.setOffsets(place.offsets);
      ring.setBarriers(place.barriers);
      ring.setStride(place.stride);
    }
    kernel.walk([&](AddPartialsOp add) { add.setOffset(layout.partials); });
    for (auto [copy, index] : copies)
      copy.setColumn(layout.scales[index]);
    if (layout.tmemSlot) {
      kernel.setTmemSlot(*layout.tmemSlot);
      kernel.setTmemColumns(
          target::tmemAllocationColumns(target, layout.tmem.getUsed()));
    }
    kernel.setSmemBytes(layout.smem.getUsed());
    return success();
  }

  /// How many times a ring's stages are there: once for each warp that uses
  /// them if they are a warp's.
  static int64_t getCopies(RingOp ring) {
    if (ring.getType().getScope() == Scope::Warp)
      for (Operation *user : ring.getResult().getUsers())
        if (RoleOp role = getRole(user))
          return role.getWarps();
    return 1;
  }

  /// The copies, each with its scales. Copies of one buffer of one ring share
  /// their columns: copies and MMAs of a thread execute in order.
  static SmallVector<std::pair<CopyScalesOp, size_t>>
  collectScales(KernelOp kernel, SmallVectorImpl<ScalesRequest> &requests) {
    DenseMap<std::tuple<Value, unsigned, Type, int64_t>, size_t> known;
    SmallVector<std::pair<CopyScalesOp, size_t>> copies;
    kernel.walk([&](CopyScalesOp copy) {
      auto wait = copy.getBuffer().getDefiningOp<ConsumerWaitOp>();
      if (!wait)
        return;
      int64_t places = copy.getStages();
      unsigned number = cast<OpResult>(copy.getBuffer()).getResultNumber();
      auto [it, isNew] = known.try_emplace(
          {wait.getRing(), number, copy.getType(), places}, requests.size());
      if (isNew)
        requests.push_back(
            {getBufferName(copy.getBuffer()), copy.getType(), places});
      copies.push_back({copy, it->second});
    });
    return copies;
  }

  /// A warp reaches the tensor memory lanes of its number modulo 4 (PTX ISA,
  /// tcgen05 access restrictions), and the warps of a warpgroup begin at such a
  /// number: roles that read accumulators or multiply by warpgroups start
  /// there.
  LogicalResult placeRoles(KernelOp kernel) {
    int64_t next = 0;
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      bool readsTensorMemory = false;
      role.walk([&](LoadAccumulatorOp) { readsTensorMemory = true; });
      int64_t together = 1; // warps that issue an instruction
      role.walk([&](MmaOp mma) {
        int64_t threads = mma.getKind().getRoles().threads;
        together = std::max<int64_t>(
            together, llvm::divideCeil(threads, target::kWarpSize));
      });
      constexpr int64_t kWarps = target::kWarpGroupWarps;
      if (readsTensorMemory && (next % kWarps || role.getWarps() != kWarps))
        return role.emitOpError("expected ")
               << kWarps << " warps from a multiple of " << kWarps
               << " in a role that reads accumulators, found "
               << role.getWarps() << " from " << next;
      int64_t warps = role.getWarps();
      if (next % together || warps % together)
        return role.emitOpError("expected a multiple of ")
               << together << " warps, from a multiple of " << together
               << ", in a role of which " << together
               << " issue a matrix instruction together, found " << warps
               << " from " << next;
      role.setFirstWarp(next);
      next += role.getWarps();
    }
    return success();
  }

  /// The warp that allocates tensor memory: that of the role that fills it.
  static int64_t getAllocatingWarp(KernelOp kernel) {
    int64_t warp = 0;
    kernel.walk([&](ProducerAcquireOp acquire) {
      if (acquire.getRing().getType().getProducer() == AsyncKind::MmaCommit)
        warp = *getRole(acquire).getFirstWarp();
    });
    return warp;
  }

  /// Each role has a barrier of its own, numbered by its place; 0 is that of
  /// all threads.
  static LogicalResult numberBarriers(KernelOp kernel) {
    int64_t number = 0;
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      role.removeBarrierAttr();
      ++number;
      if (!role.needsBarrier())
        continue;
      if (number >= target::kNamedBarriers)
        return role.emitOpError("expected roles whose threads wait for each "
                                "other among the first ")
               << target::kNamedBarriers - 1
               << ", which have named barriers, found number " << number;
      role.setBarrier(number);
    }
    return success();
  }

  /// Where roles say how many registers they need, threads are launched with as
  /// many as the warpgroups have on average: these must suffice for what they
  /// ask for together.
  static LogicalResult divideRegisters(KernelOp kernel,
                                       const target::TargetInfo &target) {
    SmallVector<int64_t> groups; // registers of a thread, by warpgroup
    int64_t warps = 0, sum = 0;
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      if (!role.getRegisters())
        return success();
      warps += role.getWarps();
      groups.resize(llvm::divideCeil(warps, target::kWarpGroupWarps),
                    *role.getRegisters());
    }
    for (int64_t registers : groups)
      sum += registers;
    int64_t launched = llvm::alignTo(llvm::divideCeil(sum, groups.size()),
                                     target::kSetMaxNRegStep);
    int64_t most =
        std::min<int64_t>(target.registersPerThread,
                          target.registersPerSm / kernel.getNumThreads());
    if (launched > most)
      return kernel.emitOpError("expected roles of at most ")
             << most << " registers a thread on average, which is what "
             << target.chip << " has for " << kernel.getNumThreads()
             << " threads, found " << launched;
    kernel.setRegisters(launched);
    return success();
  }

  /// Few CTAs with tensor memory fit an SM beside each other. Told nothing,
  /// ptxas gives their threads too few registers and spills.
  static LogicalResult bound(KernelOp kernel,
                             const target::TargetInfo &target) {
    if (kernel.getTmemColumns() && !kernel.getRegisters() &&
        !kernel.getMinCtas())
      kernel.setMinCtas(1);
    if (!kernel.getMinCtas())
      return success();
    std::string error = target::checkResidency(target, *kernel.getMinCtas(),
                                               kernel.getNumThreads());
    return error.empty() ? success() : kernel.emitOpError(error);
  }
};

} // namespace
