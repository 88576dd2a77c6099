//===- Start.cpp - Initialization of launches and clusters ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a launch against the kernel and the device, and sets up the registers,
// memories and special registers of each warp.
//===----------------------------------------------------------------------===//

#include "Limits.h"
#include "Machine.h"

#include "mxsim/Report.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;

void Machine::fillSpecials(Warp &w) {
  const Cta &cta = *w.cta;
  const Dim3 &grid = config.grid, &block = config.block;
  const Dim3 in = {cta.id.x % cluster.x, cta.id.y % cluster.y,
                   cta.id.z % cluster.z};
  for (const SpecialSlot &s : program.specials) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t tid = w.index * 32 + lane;
      uint64_t v = 0;
      switch (s.kind) {
      case Special::TidX:
        v = tid % block.x;
        break;
      case Special::TidY:
        v = tid / block.x % block.y;
        break;
      case Special::TidZ:
        v = tid / block.x / block.y;
        break;
      case Special::NtidX:
        v = block.x;
        break;
      case Special::NtidY:
        v = block.y;
        break;
      case Special::NtidZ:
        v = block.z;
        break;
      case Special::CtaidX:
        v = cta.id.x;
        break;
      case Special::CtaidY:
        v = cta.id.y;
        break;
      case Special::CtaidZ:
        v = cta.id.z;
        break;
      case Special::NctaidX:
        v = grid.x;
        break;
      case Special::NctaidY:
        v = grid.y;
        break;
      case Special::NctaidZ:
        v = grid.z;
        break;
      case Special::ClusterIdX:
        v = cta.id.x / cluster.x;
        break;
      case Special::ClusterIdY:
        v = cta.id.y / cluster.y;
        break;
      case Special::ClusterIdZ:
        v = cta.id.z / cluster.z;
        break;
      case Special::NclusterIdX:
        v = clusterGrid.x;
        break;
      case Special::NclusterIdY:
        v = clusterGrid.y;
        break;
      case Special::NclusterIdZ:
        v = clusterGrid.z;
        break;
      case Special::ClusterCtaidX:
        v = in.x;
        break;
      case Special::ClusterCtaidY:
        v = in.y;
        break;
      case Special::ClusterCtaidZ:
        v = in.z;
        break;
      case Special::ClusterNctaidX:
        v = cluster.x;
        break;
      case Special::ClusterNctaidY:
        v = cluster.y;
        break;
      case Special::ClusterNctaidZ:
        v = cluster.z;
        break;
      case Special::ClusterCtaRank:
        v = cta.rank;
        break;
      case Special::ClusterNctaRank:
        v = cluster.count();
        break;
      case Special::IsExplicitCluster:
        v = cluster.count() > 1;
        break;
      case Special::LaneId:
        v = lane;
        break;
      case Special::WarpId:
        v = w.index;
        break;
      case Special::NwarpId:
        v = warpsPerCta;
        break;
      case Special::SmId:
        v = cta.sm;
        break;
      case Special::NsmId:
        v = config.smCount;
        break;
      case Special::GridId:
        v = 1;
        break;
      case Special::LaneMaskEq:
        v = 1u << lane;
        break;
      case Special::LaneMaskLe:
        v = (2u << lane) - 1;
        break;
      case Special::LaneMaskLt:
        v = (1u << lane) - 1;
        break;
      case Special::LaneMaskGe:
        v = uint32_t(~0u << lane);
        break;
      case Special::LaneMaskGt:
        v = uint32_t(~1u << lane);
        break;
      case Special::TotalSmem:
      case Special::AggrSmem:
        v = sharedBytes - kReservedShared;
        break;
      case Special::DynamicSmem:
        v = config.dynamicSharedBytes;
        break;
      case Special::ReservedSmemBegin:
        v = 0;
        break;
      case Special::ReservedSmemEnd:
        v = kReservedShared;
        break;
      case Special::GridWorkspaceHigh:
        v = gridWorkspace >> 32;
        break;
      case Special::GridWorkspaceLow:
        v = uint32_t(gridWorkspace);
        break;
      case Special::SharedAddress:
        v = s.value + (uint64_t(cta.rank) << kRankShift);
        break;
      default:
        break;
      }
      if (s.laneBytes == 8)
        w.at<uint64_t>(s.slot)[lane] = v;
      else
        w.at<uint32_t>(s.slot)[lane] = v;
    }
  }
}

std::unique_ptr<Cluster> Machine::startCluster(uint64_t index, uint64_t slot) {
  auto c = std::make_unique<Cluster>(memory);
  uint32_t size = cluster.count();
  c->index = index;
  c->machine = this;
  c->slot = slot;
  c->liveThreads = threads * size;
  c->pairs.resize((size + 1) / 2);
  if (timing) {
    c->pace = Cluster::Pace::Timed;
  } else if (config.seed) {
    uint64_t number = firstCluster + index;
    c->random = Random(config.seed * 0x9e3779b97f4a7c15ull + number);
    c->pace = Cluster::Pace(1 + (config.seed + number) % 3);
  } else if (config.keepsPace) {
    c->pace = Cluster::Pace::Even;
  }
  c->hasTurn = totalClusters == 1 && !timing;
  bool followsOrder = config.checks & kCheckOrder;
  Dim3 first = firstCtaOf(index);
  for (uint32_t rank = 0; rank < size; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = c.get();
    cta->rank = rank;
    cta->id = {first.x + rank % cluster.x,
               first.y + rank / cluster.x % cluster.y,
               first.z + rank / cluster.x / cluster.y};
    cta->linear =
        cta->id.x + uint64_t(config.grid.x) *
                        (cta->id.y + uint64_t(config.grid.y) * cta->id.z);
    cta->owner = uint32_t(cta->linear + 1);
    cta->sm = (slot * size + rank) % config.smCount;
    cta->shared.resize(sharedBytes);
    const uint16_t poison = DeviceMemory::kPoison;
    uint8_t *shared = cta->shared.data();
    for (uint32_t i = 0; i + 2 <= sharedBytes && !config.keepsPace; i += 2)
      std::memcpy(shared + i, &poison, 2);
    if (followsOrder || config.checks & kCheckUninitShared) {
      cta->tracker = std::make_unique<SharedTracker>(*cta);
      if (config.checks & kCheckUninitShared)
        cta->tracker->written.resize(sharedBytes);
      if (followsOrder)
        cta->tracker->shadow.reset(sharedBytes);
    }
    cta->leavesOut = leavesOutShared;
    // PTX permits no initializers in .shared, so there is nothing to copy.
    cta->barriers.resize(16);
    for (NamedBarrier &b : cta->barriers)
      b.lanes.resize(warpsPerCta);
    if (program.usesTensorMemory) {
      cta->tensor = &tensorOf(cta->sm);
      if (followsOrder) {
        cta->tensorTracker = std::make_unique<TensorTracker>(*cta);
        cta->tensor->observe(cta->owner, cta->tensorTracker.get());
      }
    }
    cta->registerStorage.resize(uint64_t(program.registerBytes) * warpsPerCta +
                                64);
    uintptr_t storage = (uintptr_t(cta->registerStorage.data()) + 63) & ~63ull;
    cta->localStorage.assign(uint64_t(program.localBytes) * 32 * warpsPerCta,
                             config.keepsPace ? 0
                                              : DeviceMemory::kPoison & 0xFF);
    cta->warps.resize(warpsPerCta);
    cta->liveWarps = warpsPerCta;
    for (uint32_t k = 0; k < warpsPerCta; ++k) {
      Warp &w = cta->warps[k];
      w.index = k;
      w.cta = cta.get();
      w.machine = this;
      w.registers = program.registersAtEntry;
      w.base[0] = reinterpret_cast<char *>(storage) +
                  uint64_t(program.registerBytes) * k;
      w.base[1] = reinterpret_cast<char *>(
          const_cast<uint8_t *>(program.constants.data()));
      w.local =
          cta->localStorage.data() + uint64_t(program.localBytes) * 32 * k;
      w.pending.resize(program.registerBytes / 128 + 1);
      uint32_t left = threads - k * 32;
      w.live = left >= 32 ? ~0u : (1u << left) - 1;
      Group g;
      g.pc = program.code.data();
      g.mask = w.live;
      w.groups.push_back(g);
      fillSpecials(w);
    }
    c->ctas.push_back(std::move(cta));
  }
  if (timing)
    timing->start(*c);
  for (auto &o : observers)
    o->start(*c);
  return c;
}

Dim3 Machine::firstCtaOf(uint64_t index) const {
  return {uint32_t(index % clusterGrid.x) * cluster.x,
          uint32_t(index / clusterGrid.x % clusterGrid.y) * cluster.y,
          uint32_t(index / clusterGrid.x / clusterGrid.y) * cluster.z};
}

bool Machine::bindShape() {
  auto bad = [&](std::string message) {
    Finding f;
    f.kind = FindingKind::BadLaunch;
    f.message = "kernel '" + shortName(std::string(program.kernel->name)) +
                "': " + std::move(message);
    f.module = module.name;
    f.ptxLine = program.kernel->line;
    report.findings.push_back(std::move(f));
    report.status = LaunchStatus::BadInput;
    return false;
  };
  auto text = [](const Dim3 &d) {
    return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" +
           std::to_string(d.z);
  };
  const KernelInfo &k = program.kernel->info;
  const Dim3 &grid = config.grid, &block = config.block;
  if (!grid.x || !grid.y || !grid.z)
    return bad("the grid " + text(grid) + " is empty");
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return bad("the grid " + text(grid) +
               " is larger than 2147483647x65535x65535");
  if (!block.x || !block.y || !block.z || block.count() > 1024 || block.z > 64)
    return bad("expects a block of 1 to 1024 threads, found " + text(block));
  Dim3 required = {k.requiredBlock[0], k.requiredBlock[1], k.requiredBlock[2]};
  if (required.x && text(required) != text(block))
    return bad("requires a block of " + text(required) + ", launched with " +
               text(block));
  uint64_t maximum = uint64_t(k.maximumBlock[0]) *
                     std::max(1u, k.maximumBlock[1]) *
                     std::max(1u, k.maximumBlock[2]);
  if (maximum && block.count() > maximum)
    return bad("takes blocks of at most " + std::to_string(maximum) +
               " threads, launched with " + text(block));
  threads = block.count();
  warpsPerCta = (threads + 31) / 32;
  // Every warp executes at least one instruction, so the limit cannot suffice.
  double warps = double(grid.x) * grid.y * grid.z * warpsPerCta;
  if (warps > double(config.maxInstructions))
    return bad("the grid " + text(grid) + " has more warps than the limit of " +
               std::to_string(config.maxInstructions) + " instructions");

  Dim3 needs = {k.requiredCluster[0], k.requiredCluster[1],
                k.requiredCluster[2]};
  cluster = config.cluster;
  if (!cluster.x && !cluster.y && !cluster.z)
    cluster = needs.x ? needs : Dim3{1, 1, 1};
  if (needs.x && text(needs) != text(cluster))
    return bad("requires a cluster of " + text(needs) + ", launched with " +
               text(cluster));
  if (!cluster.x || !cluster.y || !cluster.z || cluster.count() > 16)
    return bad("expects a cluster of 1 to 16 CTAs, found " + text(cluster));
  if (cluster.count() > 8 && !config.nonPortableCluster)
    return bad("a cluster of " + std::to_string(cluster.count()) +
               " CTAs needs the attribute for non-portable sizes");
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    return bad("the grid " + text(grid) + " is not a multiple of the cluster " +
               text(cluster));
  clusterGrid = {grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z};
  totalClusters = clusterGrid.count();
  if (!config.smCount || config.smCount > 1024)
    return bad("expects 1 to 1024 SMs, found " +
               std::to_string(config.smCount));
  if (cluster.count() > config.smCount)
    return bad("a cluster of " + std::to_string(cluster.count()) +
               " CTAs does not fit a device of " +
               std::to_string(config.smCount) + " SMs");

  if (config.dynamicSharedBytes > config.maxDynamicSharedBytes)
    return bad(std::to_string(config.dynamicSharedBytes) +
               " bytes of dynamic shared memory exceed the limit of " +
               std::to_string(config.maxDynamicSharedBytes));
  uint32_t align = program.dynamicSharedAlign;
  dynamicOffset = (program.staticSharedEnd + align - 1) / align * align;
  sharedBytes = dynamicOffset + config.dynamicSharedBytes;
  const ptx::Module &home = *program.kernel->home;
  if (timing)
    if (std::string why = timing->explainMisfit(); !why.empty())
      return bad(std::move(why));
  ptx::SmLimits sm = ptx::limitsOf(home.chip);
  if (sharedBytes > sm.sharedBytes)
    return bad("needs " + std::to_string(sharedBytes - kReservedShared) +
               " bytes of shared memory, but an SM of " + home.target +
               " has " + std::to_string(sm.sharedBytes - kReservedShared));
  if (config.parameters.size() != k.parameterBytes)
    return bad("expects " + std::to_string(k.parameterBytes) +
               " bytes of parameters, got " +
               std::to_string(config.parameters.size()));
  uint64_t size = cluster.count();
  uint32_t perSm = std::min({sm.ctas, sm.threads / (warpsPerCta * 32),
                             sm.sharedBytes / std::max(sharedBytes, 1024u)});
  slots = uint64_t(config.smCount) * std::max(perSm, 1u) / size;
  if (config.cooperative && totalClusters > slots)
    return bad("a cooperative launch must fit on the device at once: expected "
               "at most " +
               std::to_string(slots * size) + " CTAs (" +
               std::to_string(perSm) + " on each of " +
               std::to_string(config.smCount) + " SMs), found " +
               std::to_string(totalClusters * size));
  slots = std::min(slots, totalClusters);
  report.statistics.residentCtas = slots * size;
  // CTAs on an SM share tensor memory, which is not thread-safe.
  sharesTensorMemory = program.usesTensorMemory && perSm > 1;
  return true;
}
