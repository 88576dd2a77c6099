//===- Order.h - what comes before what in a cluster ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the synchronisation of a running cluster and says of every access to
// shared, tensor and global memory whether it is ordered with the conflicting
// accesses before it, whatever order the simulator happened to run them in
// (PTX ISA, "Memory consistency model"; for proxies "Proxies", for tensor
// memory "tcgen05 memory consistency model").
//
// Lanes of a warp know what one of them knows. Yet what a lane that executes
// alone passes on is only what it has done alone itself, and what the lanes did
// together before they last met: at bar.warp.sync or another .sync, at a
// barrier whose completion the warp has seen, or because all have passed it on.
//
// Agents are warps, lanes that execute alone, and what works for them in the
// background:
//   - the bytes that a mbarrier's phase waits for (bulk copies into shared
//     memory): known to whoever has seen the phase complete;
//   - bulk groups of a warp, once for reading their source and once for
//     writing: known after cp.async.bulk.wait_group[.read];
//   - cp.async groups, wgmma groups;
//   - the tcgen05 pipe of a warp: known through tcgen05.commit;
//   - tcgen05.ld and .st of a warp: known after tcgen05.wait.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CHECKS_ORDER_H
#define MXSIM_LIB_CHECKS_ORDER_H

#include "../clocks/Published.h"
#include "../machine/Observer.h"

#include "../machine/Program.h"

#include "mxsim/Simulator.h"

#include <string>

namespace mx::sim {

struct Cta;
struct Cluster;
class Machine;
class Warp;

enum class AgentKind : uint8_t {
  Warp,
  Mbarrier,
  BulkRead,
  BulkWrite,
  Copies,
  Wgmma,
  Pipe,
  TensorLoads,
  TensorStores,
  Inits, ///< mbarrier.init of a warp, which a fence of its own publishes
};

/// Whose accesses an engine makes: set while an asynchronous operation takes
/// effect, and asked by the observers of memory.
struct EngineScope {
  Warp *warp = nullptr;
  const Instr *instr = nullptr;
  uint32_t lanes = 0;
  Epoch read, write;
  const Knowledge *known = nullptr;
  /// Not so for cp.async, which is of the generic proxy.
  bool isAsyncProxy = true;
  /// The CTA whose memory was noted to be in use.
  mutable const Cta *noted = nullptr;
};

/// The order as one warp sees it.
struct WarpOrder {
  uint32_t self = 0;
  /// Accesses of lanes that execute alone; 0 until used.
  uint32_t alone = 0;
  /// The steps in which several lanes last accessed memory together, and last
  /// met.
  uint32_t touched = 0, met = 0;
  /// The lanes that have done so since they met; those of them that have met
  /// others, and those that have released alone.
  uint32_t touching = 0, meeting = 0, speaking = 0;
  /// 0 until used.
  uint32_t copies = 0, bulkReads = 0, bulkWrites = 0, wgmma = 0, pipe = 0,
           loads = 0, stores = 0, inits = 0;
  Knowledge known;
  /// Acquired, but no tcgen05.fence::after_thread_sync yet.
  Clock tensorAcquired;
  /// What tcgen05.fence::before_thread_sync has passed on.
  Clock tensorReleased;
  /// Tensor maps that an acquire fence lets copies see.
  Clock maps;
  /// Read by relaxed loads of each scope; the next fence that is as wide
  /// acquires it.
  Knowledge unfenced[kMemoryScopes];
  uint32_t pipeStep = 1, loadStep = 1, storeStep = 1, copyStep = 1,
           wgmmaStep = 1, initStep = 1;
  /// copyStep at each commit_group of cp.async; wgmmaStep of wgmma.
  std::vector<uint32_t> copyCommits, wgmmaCommits;

  uint32_t step() const { return known.generic[self]; }
  void nextStep() { known.generic.raise(self, known.generic[self] + 1); }
};

/// What an mbarrier passes on.
struct BarrierOrder {
  uint32_t agent = 0;
  /// Whose mbarrier.init it was, and mbarrier.inval since.
  Epoch init, inval;
  /// The last use since then by each agent: the barrier is an object in memory,
  /// which inval and init may change only when all that is over.
  std::vector<Epoch> users;
  /// Phases completed.
  uint32_t phase = 0;
  /// Collected from arrivals; handed out by the last completed phase.
  Knowledge arriving, completed;
  /// Who has seen the last phase complete: a warp's agent, its step then.
  struct Observer {
    uint32_t warp, step, phase, instr;
  };
  std::vector<Observer> observers;
};

class Order final : public ClusterObserver {
public:
  Order(Machine &machine, Cluster &cluster);

  //===--------------------------------------------------------------------===//
  // Synchronisation
  //===--------------------------------------------------------------------===//

  void meet(Warp &w, uint32_t lanes) override;
  /// The last lanes of a warp pass on all that it knows.
  void exited(Warp &w) override;
  void completeBarrier(Cta &cta, uint32_t number) override;
  void completeCluster() override;
  /// What an operation may rely on that `w` issues: the knowledge of `w`, but
  /// for what other lanes did since they last met; null if that is all of it.
  std::shared_ptr<const Knowledge> knownAlone(Warp &w);
  /// What others learn from `w`; its next step begins.
  void release(Warp &w, Knowledge &to);
  /// A relaxed arrival: what was executed, and what fences have collected.
  void releaseRelaxed(Warp &w, Knowledge &to);
  void acquire(Warp &w, const Knowledge &from);
  /// fence.proxy.async: `w` makes good for the async proxy all it knows of
  /// shared memory, of global memory, or both.
  void proxyFence(Warp &w, bool isShared, bool isGlobal);
  /// fence.proxy.tensormap: generic.release, and generic.acquire.
  void releaseMaps(Warp &w, MemoryScope scope);
  void acquireMaps(Warp &w, MemoryScope scope);
  void fenceInits(Warp &w);
  /// griddepcontrol.wait.
  void waitForKernels(Warp &w);
  void tensorFenceBefore(Warp &w);
  void tensorFenceAfter(Warp &w);
  /// fence.acq_rel, fence.sc, membar.
  void fence(Warp &w, MemoryScope scope);
  /// Accesses to memory that synchronise (or, relaxed, do so with fences).
  void strongRead(Warp &w, bool isGlobal, uint64_t address, bool isAcquire,
                  MemoryScope scope);
  void strongWrite(Warp &w, bool isGlobal, uint64_t address, bool isRelease,
                   MemoryScope scope);

  // mbarriers, named by CTA and offset.
  BarrierOrder &barrier(Cta &cta, uint32_t offset);
  void initBarrier(Warp &w, const Instr *i, Cta &cta, uint32_t offset);
  void invalBarrier(Warp &w, const Instr *i, Cta &cta, uint32_t offset);
  /// What mbarrier.inval, or mbarrier.init after it, is not ordered with: "the
  /// use at line 7 by warp 1"; empty if there is nothing.
  std::string unorderedWithChange(Warp &w, Cta &cta, uint32_t offset);
  /// A use of a barrier: by the executing lanes in a step of `w`, by the copies
  /// of its phase, by the tensor pipe or cp.async of `w` that `known` has.
  void noteUse(Warp &w, const Instr *i, uint32_t step, Cta &cta,
               uint32_t offset);
  void noteCopyUse(const Instr *i, Cta &cta, uint32_t offset);
  void noteEngineUse(Warp &w, const Instr *i, AgentKind engine,
                     const Knowledge &known, Cta &cta, uint32_t offset);
  /// The executing lanes arrive at a named barrier, after the arrivals of its
  /// last generation. Returns one of these that nothing orders before, as "warp
  /// 1 (line 7)", or nothing: which of the two the barrier counts first is then
  /// a matter of luck.
  std::string unorderedArrival(Warp &w, const std::vector<Epoch> &last);
  Epoch arrivalEpoch(Warp &w, const Instr *i);
  /// Whoever uses a barrier must know that it has been initialised.
  void useBarrier(Warp &w, const Instr *i, uint32_t lanes,
                  const Knowledge &known, Cta &cta, uint32_t offset);
  /// An agent arrives that knows `from` only (tcgen05.commit).
  void arrive(const Knowledge &from, Cta &cta, uint32_t offset);
  /// `lanes` of `w` have made the last arrival.
  void completePhase(Warp &w, const Instr *i, uint32_t lanes, Cta &cta,
                     uint32_t offset);
  void observe(Warp &w, const Instr *i, Cta &cta, uint32_t offset);

  // Groups.
  void waitBulk(Warp &w, uint64_t completedGroups, bool isReadOnly);
  void commitCopies(Warp &w);
  void waitCopies(Warp &w, uint64_t pendingGroups);
  /// cp.async.mbarrier.arrive: what the arrival passes on.
  Knowledge copiesSoFar(Warp &w);
  void commitWgmma(Warp &w);
  void waitWgmma(Warp &w, uint64_t pendingGroups);
  void waitTensorLoads(Warp &w) override;
  void waitTensorStores(Warp &w);
  /// tcgen05.commit: all that the pipe of `w` has been given so far.
  Knowledge pipeSoFar(Warp &w);
  Epoch pipeEpoch(Warp &w, const Instr *i);

  //===--------------------------------------------------------------------===//
  // Accesses
  //===--------------------------------------------------------------------===//

  /// By the instruction `i` of `w` itself, through the generic proxy.
  /// `isAnyProxy`: no proxy fence is expected between this and what follows.
  void accessShared(Warp &w, const Instr *i, Cta &cta, uint32_t offset,
                    uint32_t bytes, uint32_t lanes, Touch touch, bool isAtomic,
                    bool isAnyProxy = false, bool isCas = false);
  void accessGlobal(Warp &w, const Instr *i, uint64_t address, uint64_t bytes,
                    uint32_t lanes, Touch touch, bool isAtomic,
                    bool isCas = false,
                    MemoryScope scope = MemoryScope::Device);

  /// A copy reads its tensor map.
  void readMap(Warp &w, const Instr *i, uint64_t address, uint32_t lanes);

  /// Something other than an access to data: an arrival on a barrier of another
  /// CTA, which must not have ended.
  void useRemote(Warp &w, const Instr *i, Cta &cta, uint32_t step);
  void noteUser(Cta &cta, Epoch e);

  // By engines: what `scope()` says.
  EngineScope loadScope(Warp &w, const Instr *i, uint32_t lanes,
                        const Knowledge &known, Cta &cta, uint32_t barrier);
  EngineScope bulkScope(Warp &w, const Instr *i, uint32_t lanes,
                        const Knowledge &known, uint64_t group, bool isAtomic);
  EngineScope copyScope(Warp &w, const Instr *i, uint32_t lanes,
                        const Knowledge &known, uint32_t step);
  EngineScope pipeScope(Warp &w, const Instr *i, uint32_t lanes,
                        const Knowledge &known, uint32_t step);
  EngineScope wgmmaScope(Warp &w, const Instr *i, uint32_t lanes);
  EngineScope transferScope(Warp &w, const Instr *i, uint32_t lanes);
  void engineShared(Cta &cta, uint32_t offset, uint32_t bytes,
                    bool isWrite) override;
  /// An answer of clusterlaunchcontrol is about to be written.
  void engineAnswer(Cta &cta, uint32_t offset, uint32_t bytes);
  void engineGlobal(uint64_t address, uint64_t bytes, bool isWrite) override;
  void engineTensor(Cta &cta, unsigned lane, unsigned lanes, unsigned column,
                    unsigned columns, bool isWrite) override;
  Epoch engineEpoch() const override { return scope ? scope->write : Epoch(); }
  const EngineScope *scope = nullptr;

  /// Where set, publications in the scope of the system wait for the store to
  /// arrive: they go there, with their address.
  std::vector<std::pair<uint64_t, Knowledge>> *late = nullptr;
  /// Of an access that the executing lanes make now.
  Epoch epochOf(Warp &w);
  /// Whether an access, of any cluster, comes before what `w` does next.
  bool knows(Warp &w, uint64_t inCluster, Epoch e);

  /// Everything that used the memory of the CTA must have come before.
  void ended(Cta &cta) override;
  /// tcgen05.dealloc: everything that used the columns must have come before.
  /// Their history is gone with them.
  void freeTensor(Warp &w, const Instr *i, uint32_t lanes, Cta &cta,
                  unsigned column, unsigned columns);

  WarpOrder &of(Warp &w);

private:
  struct Agent {
    AgentKind kind;
    uint32_t cta, warp; ///< for a mbarrier, its offset
  };
  /// No agent, or the kernels before this one: their only step is their end.
  static constexpr uint32_t kKernelsBefore = 0;
  uint32_t newAgent(AgentKind kind, uint32_t cta, uint32_t warp);
  uint32_t wgmmaAgent(Warp &w);
  bool hasSeen(const BarrierOrder &b, const BarrierOrder::Observer &o) const;
  const Program &programOf(const Conflict &c) const;
  static uint32_t lineOf(const Program &p, Epoch e);
  uint32_t lineOf(Epoch e) const;
  uint32_t agentOf(uint32_t &slot, Warp &w, AgentKind kind);
  /// Who makes an access of the executing lanes: the warp, or a lane alone.
  uint32_t accessor(Warp &w);
  /// Whether the executing lane must not pass on what its warp knows of itself.
  bool hidesOthers(Warp &w);
  /// What the executing lanes pass on of `from`, a clock of their warp's.
  void passOn(Warp &w, Clock &to, const Clock &from);
  /// All that the warp has done until `step` may be passed on by any lane.
  void setMet(WarpOrder &o, uint32_t step);
  /// The executing lanes pass on what they did: perhaps the last to do so.
  void speak(Warp &w);
  uint32_t instrNumber(const Instr *i) const;
  /// Whether `w` comes after a step, as far as its lanes speak for their warps.
  bool comesAfter(Warp &w, Epoch e);
  static void noteUse(BarrierOrder &b, Epoch e);
  std::string describeAgent(uint32_t agent) const;
  /// " of CTA rank N" where there is more than one.
  std::string ofRank(uint32_t rank) const;
  /// The table by which threads of a scope learn from each other.
  Published &published(Warp &w, MemoryScope level);
  /// Relaxed reads of scopes up to that one become acquired.
  void acquireUnfenced(Warp &w, MemoryScope scope);
  /// In a world: what a strong write would publish whatever its scope.
  void publishNarrow(Warp &w, uint64_t address, bool isRelease);
  void passOnFenced(Warp &w, Knowledge &to);
  /// What a relaxed write of `w` passes on in that scope.
  Knowledge fencedBy(Warp &w, MemoryScope level);
  /// Whether both of two strong accesses have a scope that includes the other.
  bool areMorallyStrong(const GlobalShadow::Record &r, Epoch e) const;
  /// Whether `c` has a step of an agent of any cluster.
  bool hasStep(const Clock &c, uint64_t inCluster, Epoch e) const;
  /// What is missing where nothing orders the two; empty if everything is.
  std::string adviceOnRace(Warp &w, const Knowledge &known, const Conflict &c,
                           const InstrInfo &later, bool warns) const;
  std::string describeEarlier(const Conflict &c) const;
  bool isWithinCta(Warp &w, const Cta &cta, const Knowledge &known, Epoch old,
                   Epoch now) const;
  /// Whether a strong read before has read what `old` has written.
  bool isObserved(const Knowledge &known, uint64_t cell, Epoch old, Epoch now,
                  bool wasWrite) const;
  bool isKnown(const Knowledge &known, const Clock &async, Epoch old,
               bool wasWrite, bool isAsyncProxy) const;
  /// Whether `clock` has the earlier access.
  bool isIn(const Clock &clock, const Conflict &c) const;
  /// Whether a conflict is reported as a warning.
  bool isWarning(const Knowledge &known, bool isTensor, bool isWrite,
                 const Conflict &c) const;
  void report(Warp &w, const Instr *i, uint32_t lanes, const Knowledge &known,
              bool isTensor, bool isWrite, const Conflict &c,
              const std::string &what);
  void reportAs(Warp &w, const Instr *i, uint32_t lanes, const Knowledge &known,
                bool isTensor, bool isWrite, const Conflict &c,
                const std::string &what);
  /// Says in the finding that was just made who the other party is, and at
  /// which instruction.
  void nameOther(std::string who, const Program &program, uint32_t instr);
  void nameOther(const Conflict &c);
  void noteReaderOfAnswer(const Cta &cta, uint32_t offset, Epoch e);
  void visitShared(Warp &w, const Instr *i, uint32_t lanes, Epoch e,
                   const Knowledge &known, bool isAsyncProxy, Cta &cta,
                   uint32_t offset, uint32_t bytes, Touch touch);
  void checkOverlap(Warp &w, const Instr *i, uint32_t lanes,
                    const Knowledge &known, uint64_t address, uint64_t bytes,
                    bool isWrite);
  void visitGlobal(Warp &w, const Instr *i, uint32_t lanes, Epoch e,
                   const Knowledge &known, bool isAsyncProxy, uint64_t address,
                   uint64_t bytes, Touch touch);

  Machine &machine;
  Cluster &cluster;
  GlobalShadow &shadow;
  /// Its number among the clusters of the launch, or of the world.
  uint64_t id;
  std::vector<Agent> agents;
  std::vector<std::unique_ptr<WarpOrder>> warps;
  std::unordered_map<uint64_t, Knowledge> cells; ///< in shared memory
  /// In shared memory, by CTA and granule.
  std::unordered_map<uint64_t, Observation<uint64_t, Epoch>> observed;
  /// In global memory, by operations of the scope of the cluster, and of each
  /// CTA.
  Published ofCluster;
  std::vector<std::unique_ptr<Published>> ofCtas;
  /// Warps that have read an answer of clusterlaunchcontrol, by its place.
  std::unordered_map<uint64_t, std::vector<Epoch>> answers;
  /// The last record of an access to global memory, to use it again.
  Epoch lastEpoch;
  uint32_t lastRecord = 0;
};

/// Checks the order of accesses in all clusters of a launch.
class OrderCheck final : public LaunchObserver {
public:
  explicit OrderCheck(Machine &machine) : machine(machine) {}
  void start(Cluster &c) override;

private:
  Machine &machine;
};

} // namespace mx::sim

#endif // MXSIM_LIB_CHECKS_ORDER_H
