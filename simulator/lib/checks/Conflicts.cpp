//===- Conflicts.cpp - Reports of unordered accesses ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes both accesses of a conflict and the missing synchronization.
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "../machine/WorldState.h"

using namespace mx::sim;

std::string Order::describeAgent(uint32_t agent) const {
  const Agent &a = agents[agent];
  static constexpr const char *verbs[] = {
      "",
      "a bulk copy that completes on the mbarrier at ",
      "a bulk copy (reading its source) of ",
      "a bulk copy of ",
      "cp.async of ",
      "wgmma of ",
      "a tcgen05 operation of ",
      "tcgen05.ld of ",
      "tcgen05.st of ",
      "",
  };
  std::string s = verbs[unsigned(a.kind)];
  s += a.kind == AgentKind::Mbarrier ? machine.describeSharedOffset(a.warp)
                                     : "warp " + std::to_string(a.warp);
  return s + ofRank(a.cta);
}

std::string Order::ofRank(uint32_t rank) const {
  return cluster.ctas.size() > 1 ? " of CTA rank " + std::to_string(rank)
                                 : std::string();
}

bool Order::hasStep(const Clock &c, uint64_t inCluster, Epoch e) const {
  if (inCluster == id)
    return c[e.agent()] >= e.step();
  if (c.ofForeign(Clock::foreignKey(inCluster, e.agent())) >= e.step())
    return true;
  if (!machine.device)
    return false;
  // All accesses of a launch precede an agent that has observed its end.
  const WorldLaunch &launch = machine.device->world.launchOf(inCluster);
  return c.ofForeign(Clock::launchesKey(launch.device)) > launch.number;
}

bool Order::areMorallyStrong(const GlobalShadow::Record &r, Epoch e) const {
  if (r.cluster == id)
    return true;
  bool isOnDevice =
      !machine.device || machine.device->world.launchOf(r.cluster).device ==
                             machine.device->number;
  MemoryScope least = isOnDevice ? MemoryScope::Device : MemoryScope::System;
  return r.epoch.scope() >= least && e.scope() >= least;
}

const Program &Order::programOf(const Conflict &c) const {
  return machine.device && c.cluster != ~0ull
             ? *machine.device->world.launchOf(c.cluster).program
             : machine.program;
}

uint32_t Order::lineOf(const Program &p, Epoch e) {
  return e.instr() < p.info.size() ? p.info[e.instr()].line : 0;
}

uint32_t Order::lineOf(Epoch e) const { return lineOf(machine.program, e); }

std::string Order::describeEarlier(const Conflict &c) const {
  std::string s = c.wasWrite ? "the write" : "the read";
  s += " at line " + std::to_string(lineOf(programOf(c), c.earlier)) + " by ";
  if (c.lane)
    return s +
           (c.lane == kSeveralLanes ? "several lanes"
                                    : "lane " + std::to_string(c.lane - 1)) +
           " of the same warp";
  if (c.cluster == ~0ull || c.cluster == id)
    return s + describeAgent(c.earlier.agent());
  if (machine.device) {
    const WorldLaunch &launch = machine.device->world.launchOf(c.cluster);
    if (launch.device != machine.device->number ||
        c.cluster < machine.firstCluster)
      return s + describeCluster(launch, c.cluster);
  }
  Dim3 cta = machine.firstCtaOf(c.cluster - machine.firstCluster);
  return s + "the cluster of CTA (" + std::to_string(cta.x) + "," +
         std::to_string(cta.y) + "," + std::to_string(cta.z) + ")";
}

void Order::nameOther(std::string who, const Program &program, uint32_t instr) {
  Finding &f = cluster.findings.back().first;
  if (instr < program.info.size()) {
    const InstrInfo &info = program.info[instr];
    f.otherLine = info.line;
    f.otherSource = sourceOf(info);
  }
  f.other = std::move(who);
}

void Order::nameOther(const Conflict &c) {
  nameOther(describeEarlier(c), programOf(c), c.earlier.instr());
}

/// Reports a race, or ordered accesses without the required proxy fence or
/// tcgen05 fence. `what` describes the memory.
void Order::report(Warp &w, const Instr *i, uint32_t lanes,
                   const Knowledge &known, bool isTensor, bool isWrite,
                   const Conflict &c, const std::string &what) {
  size_t before = cluster.findings.size();
  reportAs(w, i, lanes, known, isTensor, isWrite, c, what);
  if (cluster.findings.size() > before)
    nameOther(c);
}

/// Returns true if the instruction is a strong access (PTX ISA, "Strong
/// operations").
static bool isStrongOpcode(const InstrInfo &info) {
  if (!info.source)
    return false;
  if (info.source->opcode == "atom" || info.source->opcode == "red")
    return true;
  for (std::string_view m : info.source->modifiers)
    if (m == "relaxed" || m == "acquire" || m == "release" || m == "volatile")
      return true;
  return false;
}

/// Returns true if an atomic operation of a thread races with a weak access of
/// another thread. Making the weak access strong would fix the race.
static bool isHalfStrong(const Conflict &c, const InstrInfo &later) {
  std::string_view opcode = later.source ? later.source->opcode : "";
  bool isAtomic = opcode == "atom" || opcode == "red";
  bool isPlain = opcode == "ld" || opcode == "st";
  return !c.earlier.isAsync() && (c.earlier.isAtomic() ? isPlain : isAtomic);
}

bool Order::isIn(const Clock &clock, const Conflict &c) const {
  return hasStep(clock, c.cluster == ~0ull ? id : c.cluster, c.earlier);
}

Situation Order::situationOfRace(Warp &w, const Conflict &c,
                                 const InstrInfo &later) const {
  if (c.cluster != ~0ull && c.cluster != id)
    return machine.device && machine.device->world.launchOf(c.cluster).device !=
                                 machine.device->number
               ? Situation::RaceWithDevice
               : Situation::RaceWithCluster;
  static constexpr Situation byKind[] = {Situation::None,
                                         Situation::RaceWithCopy,
                                         Situation::RaceWithSource,
                                         Situation::RaceWithCopy,
                                         Situation::RaceWithCpAsync,
                                         Situation::RaceWithWgmma,
                                         Situation::RaceWithTensorCore,
                                         Situation::RaceWithTensorLoad,
                                         Situation::RaceWithTensorStore,
                                         Situation::None};
  const Agent &agent = agents[c.earlier.agent()];
  Situation situation = byKind[unsigned(agent.kind)];
  if (situation != Situation::None)
    return situation;
  if (agent.cta != w.cta->rank)
    return Situation::RaceWithCta;
  // The order of a run does not tell which access of two warps comes first in
  // the program, but a copy into memory that was read is a refill.
  bool isRefill = !c.wasWrite && later.source && later.source->opcode == "cp";
  return isRefill ? Situation::EarlyRefill : Situation::None;
}

std::pair<Situation, std::string>
Order::adviceOnRace(Warp &w, const Knowledge &known, const Conflict &c,
                    const InstrInfo &later, bool warns) const {
  bool isNarrow = known.rare && isIn(known.rare->narrow, c);
  if (warns && !isNarrow)
    return {Situation::SingleLane,
            "a lane has arrived or released alone and published only its own "
            "accesses: expected bar.warp.sync before the arrival or release, "
            "unless the same lane made the access"};
  std::string text = "no synchronization orders the two";
  if (isNarrow && (c.cluster == ~0ull || c.cluster == id))
    return {Situation::RaceWithCta,
            text + ": they are in different CTAs, and an arrival between them "
                   "has .cta scope: expected .release.cluster"};
  if (isNarrow)
    return {Situation::RaceWithDevice,
            text + ": they are on different devices, and a release, an "
                   "acquire, a fence or a relaxed access between them has a "
                   "narrower scope than .sys: expected .sys on both sides"};
  for (const Knowledge &read :
       warps[w.cta->rank * machine.warpsPerCta + w.index]->unfenced)
    if (isIn(read.generic, c))
      return {Situation::MissingAcquire,
              text + ": a relaxed load has read the released value, and no "
                     "fence follows that load: expected ld.acquire, or "
                     "fence.acq_rel of the same scope"};
  if (c.earlier.isAtomic() && c.cluster != ~0ull && c.cluster != id &&
      !c.earlier.isAsync() && isStrongOpcode(later))
    return {Situation::NarrowScope,
            text + ", and the scope of one does not include the other: "
                   "expected a scope that includes both"};
  if (isHalfStrong(c, later))
    return {Situation::WeakAccess,
            text + ", and one of them is weak: expected a barrier between "
                   "them or, if either order is correct, .relaxed on the weak "
                   "access, with a scope that includes both"};
  return {situationOfRace(w, c, later), text};
}

bool Order::isWarning(const Knowledge &known, bool isTensor, bool isWrite,
                      const Conflict &c) const {
  // Only a warning: the accessing lane is unknown, and may be the arriving
  // lane. A read released to another CTA with .cta scope has ended, so chips
  // return the old bytes.
  if (!isIn(known.generic, c))
    return isIn(known.ofOthers, c) ||
           (!c.wasWrite && known.rare && isIn(known.rare->narrow, c) &&
            (c.cluster == ~0ull || c.cluster == id));
  // Hardware seems to need no tcgen05 fence if both sides have waited, and
  // widely used libraries omit the fence. These libraries also omit the proxy
  // fence before tensor cores read data copied by cp.async, and hardware
  // returns the correct bytes.
  return isTensor || !c.wasWrite ||
         (!isWrite && c.cluster == ~0ull &&
          agents[c.earlier.agent()].kind == AgentKind::Copies);
}

void Order::reportAs(Warp &w, const Instr *i, uint32_t lanes,
                     const Knowledge &known, bool isTensor, bool isWrite,
                     const Conflict &c, const std::string &what) {
  bool warns = isWarning(known, isTensor, isWrite, c);
  std::string text = isWrite ? "the write of " : "the read of ";
  text += what;
  if (c.lane) {
    w.note(i, {FindingKind::Race, Situation::RaceWithLane},
           text + " races with " + describeEarlier(c) +
               ": no synchronization orders the lanes: expected bar.warp.sync "
               "between the accesses",
           lanes);
    return;
  }
  if (!isIn(known.generic, c)) {
    auto [situation, advice] =
        adviceOnRace(w, known, c, machine.program.infoOf(i), warns);
    w.note(i, {FindingKind::Race, situation},
           text + " races with " + describeEarlier(c) + ": " + advice, lanes,
           warns);
    return;
  }
  if (isTensor) {
    bool isReleased =
        of(w).tensorAcquired[c.earlier.agent()] >= c.earlier.step();
    w.note(i,
           {FindingKind::TensorFence,
            isReleased ? Situation::FenceAfter : Situation::None},
           text + " is not ordered with " + describeEarlier(c) +
               (isReleased ? ": expected tcgen05.fence::after_thread_sync here "
                             "after the synchronization"
                           : ": expected tcgen05.fence::before_thread_sync "
                             "there before the synchronization and "
                             "tcgen05.fence::after_thread_sync here after it"),
           lanes, warns);
    return;
  }
  if (!c.wasWrite) {
    w.note(i, FindingKind::ReadFence,
           text + " by the async proxy may overtake " + describeEarlier(c) +
               ", which may still be under way: expected a use of the loaded "
               "value before the synchronization, or fence.proxy.async",
           lanes, warns);
    return;
  }
  w.note(i,
         {FindingKind::ProxyFence,
          warns ? Situation::CpAsyncFence : Situation::None},
         text + " by the async proxy is not ordered with " +
             describeEarlier(c) +
             " of the generic proxy: expected fence.proxy.async between them",
         lanes, warns);
}
