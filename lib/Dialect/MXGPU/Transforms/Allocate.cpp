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
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "mx/Target/TensorMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_ALLOCATEPASS
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

/// What takes how much of one memory, in the order of allocation.
class Budget {
public:
  Budget(StringRef unit, int64_t available)
      : unit(unit), available(available) {}

  /// Takes `size` after aligning to `alignment`; returns the start.
  int64_t take(std::string name, int64_t size, int64_t alignment = 1) {
    int64_t start = llvm::alignTo(used, alignment);
    used = start + size;
    rows.push_back(llvm::formatv("{0}: {1}", name, size));
    return start;
  }

  int64_t getUsed() const { return used; }

  /// Fails with the table of what was taken if it does not fit.
  LogicalResult check(Operation *op, const target::TargetInfo &target) const {
    if (used <= available)
      return success();
    InFlightDiagnostic diag = op->emitOpError("expected at most ")
                              << available << ' ' << unit << " on "
                              << target.chip << ", found " << used;
    for (const std::string &row : rows)
      diag.attachNote() << row;
    return diag;
  }

private:
  std::string unit;
  int64_t available;
  int64_t used = 0;
  SmallVector<std::string> rows;
};

/// The full and the empty barrier of a stage.
constexpr int64_t kBarrierBytes = 2 * target::kMBarrierBytes;

/// The pattern of a swizzle repeats after 8 rows (PTX ISA, shared memory
/// matrix descriptor: base offset 0); bulk tensor copies need 128 bytes.
int64_t getAlignment(BufferType buffer) {
  return std::max<int64_t>(8 * static_cast<int64_t>(buffer.getSwizzle()),
                           target::kTmaSmemAlignment);
}

struct AllocatePass final : mxgpu::impl::AllocatePassBase<AllocatePass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      const target::TargetInfo *target = getTargetInfo(kernel);
      if (!target || failed(placeBuffers(kernel, *target)) ||
          failed(placeRoles(kernel)) || failed(numberBarriers(kernel)) ||
          failed(divideRegisters(kernel, *target)) ||
          failed(bound(kernel, *target)))
        return signalPassFailure();
      if (kernel.getTmemColumns())
        kernel.setTmemWarp(getAllocatingWarp(kernel));
    }
  }

  LogicalResult placeBuffers(KernelOp kernel,
                             const target::TargetInfo &target) {
    Budget smem("bytes of shared memory", target.smemPerCta);
    Budget tmem("columns of tensor memory", target.tmemColumns);
    for (auto ring : kernel.getBody().getOps<RingOp>())
      if (ring.getType().getSpace() == Space::Smem)
        placeSlots(ring, smem);
      else
        placeColumns(ring, tmem);
    for (auto ring : kernel.getBody().getOps<RingOp>())
      if (ring.getType().getSpace() == Space::Tmem) {
        ring.setBarriers(smem.take(("barriers of " + ring.getName()).str(),
                                   ring.getType().getStages() * kBarrierBytes,
                                   target::kMBarrierBytes));
        ring.setStride(kBarrierBytes);
      }
    placeScales(kernel, tmem);
    if (std::string why = target::checkTcgen05(target);
        tmem.getUsed() && !why.empty())
      return kernel.emitOpError(why);
    if (failed(tmem.check(kernel, target)))
      return failure();
    if (tmem.getUsed()) {
      kernel.setTmemSlot(smem.take("address of tensor memory", 4, 4));
      kernel.setTmemColumns(
          target::tmemAllocationColumns(target, tmem.getUsed()));
    }
    kernel.setSmemBytes(smem.getUsed());
    return smem.check(kernel, target);
  }

  /// Slots one behind the other, each with all its fields and barriers: what a
  /// stage needs lies at constant distances from its start.
  static void placeSlots(RingOp ring, Budget &smem) {
    RingType type = ring.getType();
    auto inRing = [&](const Twine &part) {
      return (ring.getName() + "." + part).str();
    };
    int64_t alignment = target::kMBarrierBytes;
    for (BufferType buffer : type.getBuffers())
      alignment = std::max(alignment, getAlignment(buffer));
    SmallVector<int64_t> offsets;
    for (auto [name, buffer] :
         llvm::zip_equal(type.getNames(), type.getBuffers()))
      offsets.push_back(
          smem.take(inRing(name.getValue()), buffer.getSizeInBytes(),
                    offsets.empty() ? alignment : getAlignment(buffer)));
    // Who starts the stores from them knows when they are empty.
    if (!type.isStaging())
      ring.setBarriers(smem.take("barriers of " + ring.getName().str(),
                                 kBarrierBytes, target::kMBarrierBytes));
    int64_t stride = llvm::alignTo(smem.getUsed() - offsets.front(), alignment);
    int64_t others = getCopies(ring) * type.getStages() - 1;
    if (others)
      smem.take(llvm::formatv("{0} more stages of {1}", others, ring.getName()),
                others * stride, alignment);
    ring.setOffsets(offsets);
    ring.setStride(stride);
  }

  static void placeColumns(RingOp ring, Budget &tmem) {
    RingType type = ring.getType();
    int64_t stages = type.getStages();
    SmallVector<int64_t> offsets;
    for (auto [name, buffer] :
         llvm::zip_equal(type.getNames(), type.getBuffers()))
      offsets.push_back(tmem.take(
          llvm::formatv("{0} stages of {1}.{2}", stages, ring.getName(),
                        name.getValue()),
          stages * buffer.getShape()[1] - (stages - 1) * type.getOverlap()));
    ring.setOffsets(offsets);
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

  /// Copies of one field of one ring share their columns: copies and MMAs of a
  /// thread execute in order.
  void placeScales(KernelOp kernel, Budget &tmem) {
    DenseMap<std::tuple<Value, unsigned, Type, int64_t>, int64_t> columns;
    kernel.walk([&](CopyScalesOp copy) {
      auto wait = copy.getBuffer().getDefiningOp<ConsumerWaitOp>();
      StringRef name = getBufferName(copy.getBuffer());
      unsigned number = cast<OpResult>(copy.getBuffer()).getResultNumber();
      int64_t places = copy.getSlots();
      auto [it, isNew] = columns.try_emplace(
          {wait.getRing(), number, copy.getType(), places}, 0);
      if (isNew) {
        std::string row =
            places > 1 ? llvm::formatv("{0} stages of ", places) : std::string();
        it->second = tmem.take((row + "scales " + name).str(),
                               places * copy.getType().getColumns(), 4);
      }
      copy.setColumn(it->second);
    });
  }

  /// A warp reaches the tensor memory lanes of its number modulo 4 (PTX ISA,
  /// tcgen05 access restrictions), so a role that reads accumulators starts at
  /// a multiple of 4.
  LogicalResult placeRoles(KernelOp kernel) {
    int64_t next = 0;
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      bool readsTensorMemory = false;
      role.walk([&](LoadAccumulatorOp) { readsTensorMemory = true; });
      constexpr int64_t kWarps = target::kWarpGroupWarps;
      if (readsTensorMemory && (next % kWarps || role.getWarps() != kWarps))
        return role.emitOpError("expected ")
               << kWarps << " warps from a multiple of " << kWarps
               << " in a role that reads accumulators, found "
               << role.getWarps() << " from " << next;
      role.setFirstWarp(next);
      next += role.getWarps();
    }
    return success();
  }

  /// The warp that allocates tensor memory: that of the role that fills it.
  static int64_t getAllocatingWarp(KernelOp kernel) {
    int64_t warp = 0;
    kernel.walk([&](ProducerAcquireOp acquire) {
      if (acquire.getRing().getType().getProducer() == Agent::Mma)
        warp = *getRole(acquire).getFirstWarp();
    });
    return warp;
  }

  static LogicalResult numberBarriers(KernelOp kernel) {
    int64_t next = 1; // 0 is that of the CTA
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      role.removeBarrierAttr();
      if (!role.needsBarrier())
        continue;
      if (next == target::kNamedBarriers)
        return role.emitOpError("expected at most ")
               << target::kNamedBarriers - 1
               << " roles whose threads wait for each other, each by a named "
                  "barrier, found more";
      role.setBarrier(next++);
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
