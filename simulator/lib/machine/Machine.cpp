//===- Machine.cpp - Memories, findings and barriers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine services for handlers, apart from scheduling: shared memory accesses,
// findings with their source location, and the barriers of CTAs and clusters.
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "Limits.h"
#include "Workers.h"
#include "WorldState.h"

#include "../ptx/OpcodeClass.h"

#include "mxsim/Report.h"
#include "mxsim/tensor/Mbarrier.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

void SharedTracker::markWritten(uint32_t offset, uint32_t size) {
  if (offset <= written.size() && size <= written.size() - offset)
    std::memset(written.data() + offset, 1, size);
}

void SharedTracker::read(uint32_t offset, uint32_t size) {
  for (auto &o : cta.cluster->observers)
    o->engineShared(cta, offset, size, false);
}

void SharedTracker::write(uint32_t offset, uint32_t size) {
  markWritten(offset, size);
  for (auto &o : cta.cluster->observers)
    o->engineShared(cta, offset, size, true);
}

void TensorTracker::access(unsigned lane, unsigned lanes, unsigned column,
                           unsigned columns, bool isWrite) {
  for (auto &o : cta.cluster->observers)
    o->engineTensor(cta, lane, lanes, column, columns, isWrite);
}

uint8_t *EngineGlobal::translate(uint64_t address, uint64_t size, bool write) {
  uint8_t *p = cluster.global.translate(address, size, write);
  if (!p)
    return nullptr;
  for (auto &o : cluster.observers)
    o->engineGlobal(address, size, write);
  const Machine &machine = *cluster.machine;
  if (!machine.device || !machine.device->late ||
      !machine.memory.isOfPeer(address))
    return p;
  if (!write || !isStore) {
    machine.device->late->settle(address, size);
    return p;
  }
  LateStore &store = stores.emplace_back();
  store.address = address;
  store.bytes.assign(p, p + size);
  store.cluster = machine.firstCluster + cluster.index;
  for (auto &o : cluster.observers)
    if (Epoch epoch = o->engineEpoch())
      store.epoch = epoch;
  return store.bytes.data();
}

void EngineGlobal::endStore() {
  isStore = false;
  for (LateStore &store : stores)
    cluster.putLate(std::move(store));
  stores.clear();
}

void Cluster::putLate(LateStore store) {
  WorldDevice &device = *machine->device;
  device.late->put(std::move(store),
                   {device.world.passes, index, ++lateStores});
}

uint8_t *GlobalView::slow(Hit &hit, uint64_t address, uint64_t size) {
  auto *p = static_cast<uint8_t *>(memory.translate(address, size));
  if (!p)
    return nullptr;
  if (const DeviceMemory::Allocation *a = memory.find(address)) {
    hit = {a->address, a->bytes, p - (address - a->address)};
  }
  return p;
}

Machine::Machine(const Program &program, DeviceMemory &memory,
                 const LaunchConfig &config, const ptx::Module &module,
                 LaunchReport &report, WorldDevice *device)
    : program(program), memory(memory), config(config), module(module),
      report(report), params(config.parameters), device(device),
      random(config.seed) {
  bindScopes();
}

Machine::~Machine() = default;

/// Merges each scope that no instruction names with the next wider scope.
void Machine::bindScopes() {
  for (unsigned k = 0; k < kMemoryScopes; ++k) {
    MemoryScope scope = MemoryScope(k);
    bool isUsed = scope == MemoryScope::Device ? true
                  : scope == MemoryScope::System
                      ? device != nullptr
                      : program.memoryScopes >> k & 1;
    if (isUsed)
      scopes.push_back(scope);
  }
  for (unsigned k = 0; k < kMemoryScopes; ++k)
    for (MemoryScope scope : scopes)
      if (++numScopesUpTo[k]; unsigned(scope) >= k)
        break;
}

GlobalShadow &Machine::shadow() {
  return device ? device->world.shadow : ownShadow;
}

TensorMemory &Machine::tensorOf(uint32_t sm) {
  if (tensors.size() <= sm)
    tensors.resize(sm + 1);
  if (!tensors[sm])
    tensors[sm] = std::make_unique<TensorMemory>();
  return *tensors[sm];
}

void Machine::add(Cluster &c, Finding finding, LaunchStatus status) {
  if (finding.module.empty())
    finding.module = module.name;
  for (auto &o : c.observers)
    o->finding(finding);
  c.findings.emplace_back(std::move(finding), status);
}

bool Machine::count(Cta &cta, const FindingKey &key) {
  Tally &tally = cta.cluster->tallies[key];
  bool isNew = !tally.occurrences && !reported.count(key);
  ++tally.occurrences;
  tally.ranks |= 1ull << cta.rank;
  return isNew;
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
    std::string s = "'" + shortVariableName(std::string(v->name)) + "'";
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
           " bytes of shared memory, including " +
           std::to_string(kReservedShared) + " reserved and " +
           std::to_string(config.dynamicSharedBytes) + " dynamic bytes" +
           (config.dynamicSharedBytes ? "" : ": the launch passes none");
  s += ", " + describeSharedOffset(offset);
  if (rank != own.rank)
    s += " of CTA rank " + std::to_string(rank);
  return s;
}

std::string mx::sim::describeAddress(Warp &w, ptx::Space space,
                                     uint64_t address, uint64_t bytes) {
  if (space == ptx::Space::Generic) {
    if (address - kSharedWindow < kWindowBytes)
      return w.machine->describeShared(*w.cta, address - kSharedWindow, bytes);
    if (address - kLocalWindow < kWindowBytes) {
      space = ptx::Space::Local;
      address -= kLocalWindow;
    } else if (address - kParamWindow < kWindowBytes) {
      space = ptx::Space::Param;
      address -= kParamWindow;
    }
  }
  if (space == ptx::Space::Shared)
    return w.machine->describeShared(*w.cta, address, bytes);
  if (space == ptx::Space::Local || space == ptx::Space::Param) {
    bool isLocal = space == ptx::Space::Local;
    return std::to_string(bytes) + " bytes at offset " +
           std::to_string(address) +
           (isLocal ? " of local memory, but the thread has "
                    : " of parameter space, but the kernel has ") +
           std::to_string(isLocal ? w.machine->program.localBytes
                                  : w.machine->params.size()) +
           " bytes";
  }
  return w.machine->memory.describe(address, bytes);
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

/// Returns the name of an inlined function in .loc, or an empty string.
static std::string nameOf(const ptx::SourceLocation &loc,
                          const ptx::Module &m) {
  auto label = m.debugLabels.find(loc.nameLabel);
  if (label == m.debugLabels.end())
    return {};
  uint64_t begin = uint64_t(label->second) + loc.nameOffset;
  if (begin >= m.debugText.size())
    return {};
  return m.debugText.c_str() + begin;
}

SourceChain mx::sim::sourceOf(const InstrInfo &info) {
  if (!info.function)
    return {};
  const ptx::Function &f = *info.function;
  SourceChain chain;
  int32_t at = info.loc;
  for (; at >= 0 && chain.size() < kMostCallers; at = f.locs[at].caller) {
    const ptx::SourceLocation &loc = f.locs[at];
    auto file = f.home->files.find(loc.file);
    if (file == f.home->files.end() || !loc.line)
      break;
    // Without inlining, the code belongs to the enclosing function.
    chain.push_back(
        {file->second, loc.line, loc.column,
         loc.caller < 0 ? std::string(f.name) : nameOf(loc, *f.home)});
    auto shared =
        f.home->sharedLines.find({f.name, file->second, loc.line, loc.column});
    if (shared != f.home->sharedLines.end())
      chain.back().also = shared->second;
  }
  if (chain.empty() && !f.isEntry)
    chain.push_back({"", 0, 0, std::string(f.name)});
  return chain;
}

/// Returns the situation of a fault by the class of its instruction.
static Situation situationOf(FindingKind kind, const InstrInfo &info) {
  using K = FindingKind;
  using S = Situation;
  static constexpr std::tuple<K, std::string_view, S> rows[] = {
      {K::OutOfBounds, "bulk copy", S::CopyBounds},
      {K::OutOfBounds, "mma", S::MatrixBounds},
      {K::OutOfBounds, "tensor load", S::TensorLanes},
      {K::OutOfBounds, "tensor store", S::TensorLanes},
      {K::Misaligned, "bulk copy", S::CopyAlignment},
      {K::IllegalInstruction, "bulk copy", S::CopyOperands},
      {K::IllegalInstruction, "tensor map", S::CopyOperands},
      {K::IllegalInstruction, "tensor allocation", S::WrongAllocation},
      {K::IllegalInstruction, "tensor load", S::WrongAllocation},
      {K::IllegalInstruction, "tensor store", S::WrongAllocation},
  };
  std::string_view name = info.source ? classOf(*info.source) : "";
  for (auto &[ofKind, ofClass, situation] : rows)
    if (ofKind == kind && ofClass == name)
      return situation;
  return S::None;
}

static Finding place(Warp &w, const Instr *i, Verdict verdict,
                     std::string message, uint32_t lanes) {
  Finding f;
  f.kind = verdict.kind;
  f.situation = verdict.situation;
  f.message = std::move(message);
  const InstrInfo &info = w.machine->program.infoOf(i);
  if (f.situation == Situation::None)
    f.situation = situationOf(f.kind, info);
  f.ptxLine = info.line;
  if (info.function)
    f.module = info.function->home->name;
  f.source = sourceOf(info);
  f.hasCta = true;
  f.cta = w.cta->id;
  f.warp = w.index;
  f.lanes = lanes;
  return f;
}

const Instr *Warp::fail(const Instr *i, Verdict verdict, std::string message,
                        uint32_t lanes) {
  machine->count(*cta, {verdict.kind, machine->program.infoOf(i).line, false});
  machine->add(*cta->cluster,
               place(*this, i, verdict, std::move(message), lanes),
               verdict.kind == FindingKind::Unsupported ? LaunchStatus::BadInput
                                                        : LaunchStatus::Failed);
  cta->cluster->stopped = true;
  if (!groups.empty())
    group().pc = i;
  return nullptr;
}

/// Returns the check that reports findings of `kind`, or kCheckAll.
static uint32_t checkOf(FindingKind kind) {
  for (const CheckName &check : kCheckNames)
    if (check.name == toString(kind))
      return check.bit;
  return kCheckAll;
}

bool Warp::note(const Instr *i, Verdict verdict, std::string message,
                uint32_t lanes, bool isWarning) {
  return machine->config.checks & checkOf(verdict.kind) &&
         noteAlways(i, verdict, std::move(message), lanes, isWarning);
}

bool Warp::noteAlways(const Instr *i, Verdict verdict, std::string message,
                      uint32_t lanes, bool isWarning) {
  if (!machine->count(
          *cta, {verdict.kind, machine->program.infoOf(i).line, isWarning}))
    return false;
  Finding f = place(*this, i, verdict, std::move(message), lanes);
  f.isWarning = isWarning;
  machine->add(*cta->cluster, std::move(f),
               isWarning ? LaunchStatus::Clean : LaunchStatus::Failed);
  return true;
}

const Instr *Warp::fault(const Instr *i, const Fault &f, uint32_t lanes) {
  // Operations of a CTA pair use the tensor memory of both CTAs.
  if (machine->program.usesTensorMemory)
    for (auto &one : cta->cluster->ctas)
      if (Fault late = one->tensor->takeLateUse())
        fault(i, late, lanes);
  switch (f.kind) {
  case FaultKind::None:
    return i + 1;
  case FaultKind::Uninitialized:
    note(i, FindingKind::UninitTensorMemory, f.message, lanes);
    return i + 1;
  case FaultKind::Metadata:
    note(i, FindingKind::SparseMetadata, f.message, lanes, /*isWarning=*/true);
    return i + 1;
  case FaultKind::AllocationDone:
    noteAlways(i, FindingKind::IllegalInstruction, f.message, lanes);
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

bool Machine::ready(Warp &w, Group &g) {
  switch (g.wait) {
  case Wait::None:
    return true;
  case Wait::Mbarrier: {
    if (g.isWoken)
      return true;
    if (w.cta->cluster->timeout)
      return w.cta->cluster->round != g.index;
    uint64_t word = g.cta->mbarrier(g.address).word;
    return mbarrierState(word).parity != g.ticket;
  }
  case Wait::NamedBarrier:
    return w.cta->barriers[g.index].generation != g.ticket;
  case Wait::ClusterBarrier:
    return w.cta->cluster->generation != g.ticket;
  case Wait::PairAlloc:
    return w.cta->cluster->pairs[w.cta->rank / 2].generation != g.ticket;
  case Wait::TensorAlloc:
  case Wait::Warpgroup:
  case Wait::Poll:
    return w.cta->cluster->round != g.index;
  case Wait::Word: {
    PollLog &log = (*w.polls)[g.mask];
    bool isWoken = log.hasChanged() || !parksPolls();
    if (isWoken)
      ++w.cta->cluster->effects;
    if (!isWoken &&
        (!w.cta->cluster->timeout || w.cta->cluster->round == g.index))
      return false;
    log.reads.clear();
    return true;
  }
  case Wait::BulkGroup:
    return w.bulkGroups.atMost(g.index);
  case Wait::CopyGroup:
    return w.copyGroups.atMost(g.index);
  case Wait::Registers:
    return w.cta->freeRegisters >= g.ticket - w.registers;
  case Wait::Turn:
    return w.cta->cluster->hasTurn && !w.watch;
  case Wait::Answer:
    return false;
  case Wait::Collective: {
    uint32_t here = 0, needed = g.needed & w.live;
    for (const Group &o : w.groups)
      if (o.wait == Wait::Collective && o.pc == g.pc &&
          (o.needed & w.live) == needed)
        here |= o.ticket;
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
  for (auto &o : cta.cluster->observers)
    o->completeBarrier(cta, uint32_t(&b - cta.barriers.data()));
  ++b.generation;
  ++cta.cluster->effects;
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

/// Drops exited threads from the expected counts.
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
  for (auto &o : c.observers)
    o->completeCluster();
  ++c.generation;
  ++c.effects;
}
