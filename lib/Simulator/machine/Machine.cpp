//===- Machine.cpp - CTAs, clusters and their scheduler -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As many clusters as fit are resident together; they take turns, and so do
// the warps of a cluster, each until it can go on no longer. The order depends
// on nothing but the launch, so every run gives the same result.
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "mx/Simulator/tensor/Mbarrier.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;

// Limits of an SM of the sm_90 and sm_100 families (CUDA Programming Guide,
// "Technical specifications per compute capability").
constexpr uint32_t kThreadsPerSm = 2048, kCtasPerSm = 32;
constexpr uint32_t kSharedPerSm = 228 * 1024;
/// Host memory for registers, shared and tensor memory of resident CTAs.
constexpr uint64_t kResidentBytes = 8ull << 30;

void SharedTracker::write(uint32_t offset, uint32_t size) {
  if (offset <= written.size() && size <= written.size() - offset)
    std::memset(written.data() + offset, 1, size);
}

uint8_t *GlobalView::slow(uint64_t address, uint64_t size) {
  auto *p = static_cast<uint8_t *>(memory.translate(address, size));
  if (!p)
    return nullptr;
  if (const DeviceMemory::Allocation *a = memory.find(address)) {
    hitBase = a->address;
    hitBytes = a->bytes;
    hitHost = p - (address - a->address);
  }
  return p;
}

Machine::Machine(const Program &program, DeviceMemory &memory,
                 const LaunchConfig &config, const ptx::Module &module,
                 LaunchReport &report)
    : program(program), memory(memory), config(config), module(module),
      report(report), global(memory), params(config.parameters) {}

TensorMemory &Machine::tensorOf(uint32_t sm) {
  if (tensors.size() <= sm)
    tensors.resize(sm + 1);
  if (!tensors[sm])
    tensors[sm] = std::make_unique<TensorMemory>();
  return *tensors[sm];
}

void Machine::add(Finding finding, LaunchStatus status) {
  report.status = std::min(report.status, status);
  finding.module = module.name;
  if (report.findings.size() < config.maxFindings)
    report.findings.push_back(std::move(finding));
  else
    ++report.findingsDropped;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

uint8_t *Machine::shared(Warp &w, uint64_t address, uint64_t size,
                         Cta *&owner) {
  uint64_t rank = address >> kRankShift;
  uint32_t offset = address & kOffsetMask;
  Cluster &cluster = *w.cta->cluster;
  if (rank >= cluster.ctas.size())
    return nullptr;
  owner = cluster.ctas[rank].get();
  if (offset < kReservedShared || offset > owner->shared.size() ||
      size > owner->shared.size() - offset)
    return nullptr;
  return owner->shared.data() + offset;
}

std::string Machine::describeSharedOffset(uint32_t offset) {
  char text[128];
  for (const ptx::Variable *v : program.sharedVariables) {
    if (v->isExtern || offset < v->address || offset >= v->address + v->bytes)
      continue;
    std::snprintf(text, sizeof text, "'%.*s'", int(v->name.size()),
                  v->name.data());
    std::string s = text;
    if (offset != v->address)
      s += " + " + std::to_string(offset - v->address);
    return s;
  }
  if (offset >= dynamicOffset && offset < sharedBytes)
    return "dynamic shared memory + " + std::to_string(offset - dynamicOffset);
  std::snprintf(text, sizeof text, "shared offset 0x%x", offset);
  return text;
}

std::string Machine::describeShared(const Cta &own, uint64_t address,
                                    uint64_t size) {
  char text[160];
  std::snprintf(text, sizeof text, "%llu byte%s at shared address 0x%llx",
                (unsigned long long)size, size == 1 ? "" : "s",
                (unsigned long long)address);
  std::string s = text;
  uint64_t rank = address >> kRankShift;
  uint32_t offset = address & kOffsetMask;
  uint64_t ranks = own.cluster->ctas.size();
  if (rank >= ranks)
    return s + ", CTA rank " + std::to_string(rank) + " in a cluster of " +
           std::to_string(ranks);
  if (offset < kReservedShared)
    return s + ", in the 1024 bytes reserved for the system";
  if (offset + size > sharedBytes)
    return s + ", the CTA has " + std::to_string(sharedBytes) +
           " bytes of shared memory, reserved and dynamic ones included";
  s += ", " + describeSharedOffset(offset);
  if (rank != own.rank)
    s += " of CTA rank " + std::to_string(rank);
  return s;
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

static Finding place(Warp &w, const Instr *i, FindingKind kind,
                     std::string message, uint32_t lanes) {
  Finding f;
  f.kind = kind;
  f.message = std::move(message);
  const InstrInfo &info = w.machine->program.infoOf(i);
  f.ptxLine = info.line;
  if (info.loc >= 0 && info.function) {
    const ptx::SourceLocation &loc = info.function->locs[info.loc];
    auto file = w.machine->module.files.find(loc.file);
    if (file != w.machine->module.files.end() && loc.line) {
      f.sourceFile = file->second;
      f.sourceLine = loc.line;
      f.sourceColumn = loc.column;
    }
  }
  f.hasCta = true;
  f.cta = w.cta->id;
  f.warp = w.index;
  f.lanes = lanes;
  return f;
}

const Instr *Warp::fail(const Instr *i, FindingKind kind, std::string message,
                        uint32_t lanes) {
  machine->add(place(*this, i, kind, std::move(message), lanes),
               kind == FindingKind::Unsupported ? LaunchStatus::BadInput
                                                : LaunchStatus::Failed);
  machine->stopped = true;
  group().pc = i;
  return nullptr;
}

void Warp::note(const Instr *i, FindingKind kind, std::string message,
                uint32_t lanes) {
  uint32_t check = 0;
  switch (kind) {
  case FindingKind::UninitTensorMemory:
    check = kCheckUninitTensorMemory;
    break;
  case FindingKind::LoadBeforeWait:
    check = kCheckLoadBeforeWait;
    break;
  case FindingKind::UninitShared:
    check = kCheckUninitShared;
    break;
  case FindingKind::TensorMemoryLeak:
    check = kCheckTensorMemoryLeak;
    break;
  case FindingKind::Barrier:
    check = kCheckBarrier;
    break;
  default:
    check = kCheckDescriptor;
    break;
  }
  if (!(machine->config.checks & check))
    return;
  // One report per kind and line is enough.
  unsigned line = machine->program.infoOf(i).line;
  for (const Finding &f : machine->report.findings)
    if (f.kind == kind && f.ptxLine == line)
      return;
  machine->add(place(*this, i, kind, std::move(message), lanes),
               LaunchStatus::Failed);
}

const Instr *Warp::fault(const Instr *i, const Fault &f, uint32_t lanes) {
  switch (f.kind) {
  case FaultKind::None:
    return i + 1;
  case FaultKind::Uninitialized:
    note(i, FindingKind::UninitTensorMemory, f.message, lanes);
    return i + 1;
  case FaultKind::Bounds:
    return fail(i, FindingKind::OutOfBounds, f.message, lanes);
  case FaultKind::Alignment:
    return fail(i, FindingKind::Misaligned, f.message, lanes);
  case FaultKind::Barrier:
    return fail(i, FindingKind::Barrier, f.message, lanes);
  case FaultKind::Unsupported:
    return fail(i, FindingKind::Unsupported, f.message, lanes);
  case FaultKind::Descriptor:
  case FaultKind::Shape:
  case FaultKind::Allocation:
    break;
  }
  return fail(i, FindingKind::IllegalInstruction, f.message, lanes);
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

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
  auto c = std::make_unique<Cluster>();
  uint32_t size = cluster.count();
  c->slot = slot;
  c->liveThreads = threads * size;
  c->pairs.resize((size + 1) / 2);
  Dim3 id = {uint32_t(index % clusterGrid.x),
             uint32_t(index / clusterGrid.x % clusterGrid.y),
             uint32_t(index / clusterGrid.x / clusterGrid.y)};
  for (uint32_t rank = 0; rank < size; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = c.get();
    cta->rank = rank;
    cta->id = {id.x * cluster.x + rank % cluster.x,
               id.y * cluster.y + rank / cluster.x % cluster.y,
               id.z * cluster.z + rank / cluster.x / cluster.y};
    cta->linear =
        cta->id.x + uint64_t(config.grid.x) *
                        (cta->id.y + uint64_t(config.grid.y) * cta->id.z);
    cta->owner = uint32_t(cta->linear + 1);
    cta->sm = (slot * size + rank) % config.smCount;
    cta->shared.resize(sharedBytes);
    for (uint32_t i = 0; i < sharedBytes; ++i)
      cta->shared[i] = DeviceMemory::kPoison >> (8 * (i & 1));
    if (config.checks & kCheckUninitShared) {
      cta->tracker = std::make_unique<SharedTracker>();
      cta->tracker->written.resize(sharedBytes);
    }
    // Variables with an initialiser: PTX does not have them in .shared, so
    // there is nothing to copy.
    cta->barriers.resize(16);
    for (NamedBarrier &b : cta->barriers)
      b.lanes.resize(warpsPerCta);
    if (program.usesTensorMemory)
      cta->tensor = &tensorOf(cta->sm);
    cta->registerStorage.resize(uint64_t(program.registerBytes) * warpsPerCta +
                                64);
    uintptr_t storage = (uintptr_t(cta->registerStorage.data()) + 63) & ~63ull;
    cta->localStorage.assign(uint64_t(program.localBytes) * 32 * warpsPerCta,
                             DeviceMemory::kPoison & 0xFF);
    cta->warps.resize(warpsPerCta);
    cta->liveWarps = warpsPerCta;
    for (uint32_t k = 0; k < warpsPerCta; ++k) {
      Warp &w = cta->warps[k];
      w.index = k;
      w.cta = cta.get();
      w.machine = this;
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
  return c;
}

/// Checks the launch against the kernel and the device.
bool Machine::bindShape() {
  auto bad = [&](std::string message) {
    Finding f;
    f.kind = FindingKind::BadLaunch;
    f.message = "kernel '" + std::string(program.kernel->name) +
                "': " + std::move(message);
    f.ptxLine = program.kernel->line;
    add(std::move(f), LaunchStatus::BadInput);
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
  // Every warp executes something, so this launch would never end.
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
  if (!config.smCount || config.smCount > 1024)
    return bad("expects 1 to 1024 SMs, found " +
               std::to_string(config.smCount));
  if (cluster.count() > config.smCount)
    return bad("a cluster of " + std::to_string(cluster.count()) +
               " CTAs does not fit a device of " +
               std::to_string(config.smCount) + " SMs");

  if (config.dynamicSharedBytes > config.maxDynamicSharedBytes)
    return bad(std::to_string(config.dynamicSharedBytes) +
               " bytes of dynamic shared memory, at most " +
               std::to_string(config.maxDynamicSharedBytes) + " are allowed");
  uint32_t align = program.dynamicSharedAlign;
  dynamicOffset = (program.staticSharedEnd + align - 1) / align * align;
  sharedBytes = dynamicOffset + config.dynamicSharedBytes;
  if (sharedBytes > kSharedPerSm)
    return bad("needs " + std::to_string(sharedBytes - kReservedShared) +
               " bytes of shared memory, an SM has " +
               std::to_string(kSharedPerSm - kReservedShared));
  if (config.parameters.size() != k.parameterBytes)
    return bad("expects " + std::to_string(k.parameterBytes) +
               " bytes of parameters, got " +
               std::to_string(config.parameters.size()));
  return true;
}

bool Machine::runCluster(Cluster &c, uint64_t quantum) {
  constexpr uint64_t kSlice = 4096;
  // A lane that spins this long may be waiting for lanes that wait for it.
  constexpr uint32_t kBusySlices = 16;
  uint64_t used = 0;
  bool any = false, again = true;
  while (again && used < quantum && !stopped) {
    uint64_t before = effects;
    again = false;
    ++round;
    for (auto &cta : c.ctas) {
      for (Warp &w : cta->warps) {
        if (w.groups.empty())
          continue;
        uint64_t n = w.run(kSlice);
        used += n;
        again |= n >= kSlice;
        if (n < kSlice)
          w.busySlices = 0;
        else if (++w.busySlices % kBusySlices == 0)
          w.breakConvergence();
        if (stopped)
          break;
      }
    }
    again |= effects != before;
    any |= again;
  }
  executed += used;
  return any;
}

/// A CTA ends: what it leaves behind is looked at.
void Machine::retire(Cluster &c) {
  for (auto &cta : c.ctas) {
    if (!cta->tensor)
      continue;
    std::vector<TensorMemory::Allocation> leaks =
        cta->tensor->allocations(cta->owner);
    if (!leaks.empty() && (config.checks & kCheckTensorMemoryLeak)) {
      Finding f;
      f.kind = FindingKind::TensorMemoryLeak;
      f.message = "the CTA ended without freeing " +
                  std::to_string(leaks[0].columns) +
                  " columns of tensor memory at column " +
                  std::to_string(leaks[0].column);
      f.hasCta = true;
      f.cta = cta->id;
      bool isKnown = false;
      for (const Finding &g : report.findings)
        isKnown |= g.kind == f.kind;
      if (!isKnown)
        add(std::move(f), LaunchStatus::Failed);
    }
    cta->tensor->release(cta->owner);
    ++effects;
  }
}

void Machine::run() {
  if (!bindShape())
    return;
  uint64_t total = clusterGrid.count();
  uint32_t size = cluster.count();
  uint32_t perSm = std::min({kCtasPerSm, kThreadsPerSm / (warpsPerCta * 32),
                             kSharedPerSm / std::max(sharedBytes, 1024u)});
  uint64_t slots = uint64_t(config.smCount) * std::max(perSm, 1u) / size;
  uint64_t perCluster =
      size * (uint64_t(sharedBytes) * 2 +
              uint64_t(warpsPerCta) *
                  (program.registerBytes + uint64_t(program.localBytes) * 32));
  slots = std::min(
      {slots, total, std::max<uint64_t>(kResidentBytes / perCluster, 1)});
  report.statistics.residentCtas = slots * size;

  std::vector<std::unique_ptr<Cluster>> resident;
  uint64_t next = 0;
  for (; next < slots; ++next)
    resident.push_back(startCluster(next, next));

  uint64_t idlePasses = 0, lastEffects = effects;
  size_t alive = resident.size();
  while (alive && !stopped) {
    bool any = false;
    for (auto &c : resident) {
      if (!c)
        continue;
      any |= runCluster(*c, 1u << 16);
      if (stopped)
        break;
      while (c && c->done()) {
        retire(*c);
        uint64_t slot = c->slot;
        c.reset();
        any = true;
        if (next < total) {
          c = startCluster(next++, slot);
          any |= runCluster(*c, 1u << 16);
        } else {
          --alive;
        }
        if (stopped)
          break;
      }
      if (executed > config.maxInstructions && !stopped) {
        Finding f;
        f.kind = FindingKind::InstructionLimit;
        f.message = "stopped after " + std::to_string(executed) +
                    " warp instructions, the limit is " +
                    std::to_string(config.maxInstructions);
        add(std::move(f), LaunchStatus::Failed);
        stopped = true;
      }
    }
    // Nobody can go on. A try_wait may give up after a while, so let them, a
    // number of times; when still nothing has changed, nothing ever will.
    const uint64_t patience = slept ? 100000 : 256;
    if (any || effects != lastEffects) {
      idlePasses = 0;
      slept = false;
      timeout = false;
    } else {
      timeout = true;
      bool released = false;
      for (auto &c : resident)
        if (c)
          for (auto &cta : c->ctas)
            for (Warp &w : cta->warps)
              released |= w.breakConvergence();
      if (released)
        idlePasses = 0;
      if (++idlePasses > patience && alive && !stopped) {
        reportDeadlock(resident);
        stopped = true;
      }
    }
    lastEffects = effects;
  }
  report.statistics.warpInstructions = executed;
}

bool Machine::ready(Warp &w, Group &g) {
  switch (g.wait) {
  case Wait::None:
    return true;
  case Wait::Mbarrier: {
    if (timeout)
      return round != g.index;
    uint64_t word;
    std::memcpy(&word, g.cta->shared.data() + g.address, 8);
    return mbarrierState(word).parity != g.ticket;
  }
  case Wait::NamedBarrier:
    return w.cta->barriers[g.index].generation != g.ticket;
  case Wait::ClusterBarrier:
    return w.cta->cluster->generation != g.ticket;
  case Wait::PairAlloc:
    return w.cta->cluster->pairs[w.cta->rank / 2].generation != g.ticket;
  case Wait::TensorAlloc:
  case Wait::Poll:
    return round != g.index;
  case Wait::Collective: {
    uint32_t here = 0, needed = g.needed & w.live;
    for (const Group &o : w.groups)
      if (o.wait == Wait::Collective && o.pc == g.pc)
        here |= o.mask;
    return (here & needed) == needed;
  }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Machine::completeNamedBarrier(Cta &cta, NamedBarrier &b) {
  uint32_t expected = b.expectedWarps ? b.expectedWarps : cta.liveWarps;
  if (!b.active || b.arrivedWarps < expected)
    return;
  ++b.generation;
  ++effects;
  b.active = false;
  b.arrivedWarps = 0;
  b.expectedWarps = 0;
  b.redResult = b.redPopc;
  b.resultAnd = b.redAnd;
  b.resultOr = b.redOr;
  b.redPopc = 0;
  b.redAnd = true;
  b.redOr = false;
  std::fill(b.lanes.begin(), b.lanes.end(), 0);
}

/// Threads that exit no longer count.
void Machine::checkNamedBarriers(Cta &cta) {
  for (NamedBarrier &b : cta.barriers) {
    if (!b.active)
      continue;
    uint32_t arrived = 0;
    for (uint32_t k = 0; k < warpsPerCta; ++k)
      arrived += b.lanes[k] &&
                 (b.lanes[k] & cta.warps[k].live) == cta.warps[k].live &&
                 cta.warps[k].live;
    if (!b.expectedWarps)
      b.arrivedWarps = arrived;
    completeNamedBarrier(cta, b);
  }
}

void Machine::checkClusterBarrier(Cluster &c) {
  if (!c.arrivedThreads || c.arrivedThreads < c.liveThreads)
    return;
  c.arrivedThreads = 0;
  ++c.generation;
  ++effects;
}
