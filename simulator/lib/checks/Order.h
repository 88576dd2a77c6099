//===- Order.h - Order of accesses in a cluster -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tracks the synchronization of a running cluster, and checks that every access
// to shared, tensor and global memory is ordered after all earlier conflicting
// accesses, independently of the schedule of the simulator.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CHECKS_ORDER_H
#define MXSIM_LIB_CHECKS_ORDER_H

#include "../clocks/Published.h"
#include "../machine/Machine.h"

#include "mxsim/Simulator.h"

#include <string>

namespace mx::sim {

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
  Inits, ///< mbarrier.init of a warp, published by fence.mbarrier_init
};

/// Kind of an access by a warp.
struct AccessKind {
  Touch touch = Touch::Read;
  bool isStrong = false;
  bool isCas = false;
  bool isAnyProxy = false; ///< later accesses need no proxy fence
  MemoryScope scope = MemoryScope::Device; ///< of a strong access
};

/// Instruction and epochs to which the accesses of an asynchronous engine are
/// attributed while its operation takes effect.
struct EngineScope {
  Warp *warp = nullptr;
  const Instr *instr = nullptr;
  uint32_t lanes = 0;
  Epoch read, write;
  const Knowledge *known = nullptr;
  /// False for cp.async, which belongs to the generic proxy.
  bool isAsyncProxy = true;
  /// CTA recorded as in use by this operation.
  mutable const Cta *noted = nullptr;
};

/// Synchronization state of a warp.
struct WarpOrder {
  uint32_t self = 0;
  /// Agent for lanes executing alone; 0 until used.
  uint32_t alone = 0;
  /// Step of the last memory access by several lanes together, and step of the
  /// last meeting of all lanes (see Order).
  uint32_t touched = 0, met = 0;
  /// Lanes with joint accesses since the last meeting. Of these, `meeting`
  /// contains the lanes that have since met other lanes, and `speaking` the
  /// lanes that have released.
  uint32_t touching = 0, meeting = 0, speaking = 0;
  /// Step of the last access of a known lane, and the last step after which all
  /// lanes are ordered after all earlier accesses of the warp.
  uint32_t accessed = 0, ordered = 0;
  /// Agents of background engines; 0 until used.
  uint32_t copies = 0, bulkReads = 0, bulkWrites = 0, wgmma = 0, pipe = 0,
           loads = 0, stores = 0, inits = 0;
  Knowledge known;
  /// Knowledge about tensor memory that the next
  /// tcgen05.fence::after_thread_sync makes valid.
  Clock tensorAcquired;
  /// Knowledge released by tcgen05.fence::before_thread_sync.
  Clock tensorReleased;
  /// Last strong read in each scope: a polling loop repeats it.
  struct StrongRead {
    uint64_t address = 0, release = 0;
    bool isAcquire = false;
  } lastReads[kMemoryScopes];
  /// Knowledge read by relaxed loads of each scope, pending a fence of the same
  /// or a wider scope.
  Knowledge unfenced[kMemoryScopes];
  uint32_t pipeStep = 1, loadStep = 1, storeStep = 1, copyStep = 1,
           wgmmaStep = 1, initStep = 1;
  /// Bit n: the warp has waited for the last generation of barrier n.
  uint32_t passedBarriers = 0;
  /// Value of copyStep at each commit_group of cp.async, and of wgmmaStep for
  /// wgmma.
  std::vector<uint32_t> copyCommits, wgmmaCommits;

  uint32_t step() const { return known.generic[self]; }
  void nextStep() { known.generic.raise(self, known.generic[self] + 1); }
};

/// Synchronization state of an mbarrier.
struct BarrierOrder {
  uint32_t agent = 0;
  /// Last mbarrier.init, and the mbarrier.inval after it, if any.
  Epoch init, inval;
  /// Last use by each agent since the init. Each use must precede the next
  /// inval or init, because the barrier is an object in memory.
  std::vector<Epoch> users;
  /// Number of completed phases.
  uint32_t phase = 0;
  /// Knowledge collected from arrivals of the current phase, and knowledge
  /// published by the last completed phase.
  Knowledge arriving, completed;
  /// Agent and step of a warp that observed the last completed phase.
  struct Observer {
    uint32_t warp, step, phase, instr;
  };
  std::vector<Observer> observers;
};

/// Order of accesses in a cluster, by the rules of the PTX ISA ("Memory
/// consistency model", "Proxies" and "tcgen05 memory consistency model").
///
/// All lanes of a warp share their knowledge. However, a lane executing alone
/// only publishes its own actions, and joint actions up to the last meeting of
/// the lanes. Lanes meet at bar.warp.sync or another .sync, and at a barrier
/// completion observed by the warp. Joint actions published by every lane are
/// treated like actions before a meeting.
///
/// Agents are warps, lanes executing alone, and the following background
/// engines:
///   - bulk copies into shared memory, counted by an mbarrier: known to every
///     observer of the completed phase;
///   - bulk groups of a warp, separately for reading and writing: the warp
///     knows them after cp.async.bulk.wait_group[.read];
///   - cp.async groups and wgmma groups: known after their wait_group;
///   - the tcgen05 pipe of a warp: known through tcgen05.commit;
///   - tcgen05.ld and tcgen05.st of a warp: known after tcgen05.wait.
class Order final : public ClusterObserver {
public:
  Order(Machine &machine, Cluster &cluster);

  //===--------------------------------------------------------------------===//
  // Synchronization
  //===--------------------------------------------------------------------===//

  void meet(Warp &w, uint32_t lanes) override;
  /// Orders the accesses of all lanes of `w` before their later accesses.
  void orderLanes(Warp &w);
  /// Handles the exit of lanes. The lanes that exit last publish all knowledge
  /// of the warp.
  void exited(Warp &w) override;
  void completeBarrier(Cta &cta, uint32_t number) override;
  /// Acquires the last generation of barrier `number`.
  void passBarrier(Warp &w, uint32_t number);
  void completeCluster() override;
  /// Returns the knowledge of an operation issued by `w`, which excludes the
  /// actions of other lanes since they last met. Returns null if nothing is
  /// excluded.
  std::shared_ptr<const Knowledge> knownAlone(Warp &w);
  /// Publishes the knowledge of `w` to `to` and starts the next step of `w`.
  void release(Warp &w, Knowledge &to);
  /// Publishes a relaxed arrival: executed accesses, and knowledge collected by
  /// fences.
  void releaseRelaxed(Warp &w, Knowledge &to);
  /// Returns the knowledge that a release of .cta scope passes to other CTAs.
  static Knowledge beyondCta(const Knowledge &released);
  void acquire(Warp &w, const Knowledge &from);
  /// Executes fence.proxy.async: makes all knowledge of `w` about shared
  /// memory, global memory or both valid for the async proxy.
  void proxyFence(Warp &w, bool isShared, bool isGlobal);
  /// Execute fence.proxy.tensormap::generic.release and .acquire.
  void releaseMaps(Warp &w, MemoryScope scope);
  void acquireMaps(Warp &w, MemoryScope scope);
  void fenceInits(Warp &w);
  /// Executes griddepcontrol.wait.
  void waitForKernels(Warp &w);
  void tensorFenceBefore(Warp &w);
  void tensorFenceAfter(Warp &w);
  /// Executes fence.acq_rel, fence.sc or membar.
  void fence(Warp &w, MemoryScope scope);
  /// Handle strong accesses: synchronizing accesses, and relaxed accesses that
  /// synchronize with fences.
  void strongRead(Warp &w, bool isGlobal, uint64_t address, bool isAcquire,
                  MemoryScope scope);
  void strongWrite(Warp &w, bool isGlobal, uint64_t address, bool isRelease,
                   MemoryScope scope);
  /// Returns true if relaxed accesses to shared memory neither acquire nor
  /// publish anything: the cluster has published nothing there, and `w` has
  /// executed no fence.
  bool isQuiet(Warp &w) const;

  // Mbarriers, identified by CTA and offset.
  BarrierOrder &barrier(Cta &cta, uint32_t offset);
  void initBarrier(Warp &w, const Instr *i, Cta &cta, uint32_t offset);
  void invalBarrier(Warp &w, const Instr *i, Cta &cta, uint32_t offset);
  /// Describes a use that is not ordered before an mbarrier.inval or a repeated
  /// mbarrier.init, for example "the use at line 7 by warp 1". Returns an empty
  /// string if all uses are ordered.
  std::string unorderedWithChange(Warp &w, Cta &cta, uint32_t offset);
  /// Record a use of a barrier: by the executing lanes in a step of `w`, by
  /// bulk copies of the current phase, or by an engine of `w` (tensor pipe or
  /// cp.async) with the knowledge `known`.
  void noteUse(Warp &w, const Instr *i, uint32_t step, Cta &cta,
               uint32_t offset);
  void noteCopyUse(const Instr *i, Cta &cta, uint32_t offset);
  void noteEngineUse(Warp &w, const Instr *i, AgentKind engine,
                     const Knowledge &known, Cta &cta, uint32_t offset);
  /// Describes an arrival of the last generation of a named barrier that is not
  /// ordered before the current arrival, for example "warp 1 (line 7)". Returns
  /// an empty string if all are ordered. The barrier may count unordered
  /// arrivals in either order.
  std::string unorderedArrival(Warp &w, uint32_t number);
  Epoch arrivalEpoch(Warp &w, const Instr *i);
  /// Checks that a use of a barrier is ordered after its initialization.
  void useBarrier(Warp &w, const Instr *i, uint32_t lanes,
                  const Knowledge &known, Cta &cta, uint32_t offset);
  /// Checks that a fence orders the initialization before a copy that signals
  /// the barrier.
  void checkInitFence(Warp &w, const Instr *i, uint32_t lanes,
                      const Knowledge &known, Cta &cta, uint32_t offset);
  /// Records an arrival by an agent with the knowledge `from` only
  /// (tcgen05.commit).
  void arrive(const Knowledge &from, Cta &cta, uint32_t offset);
  /// Completes a phase with an arrival of `lanes` of `w`.
  void completePhase(Warp &w, const Instr *i, uint32_t lanes, Cta &cta,
                     uint32_t offset);
  void observe(Warp &w, const Instr *i, Cta &cta, uint32_t offset,
               bool isRelaxed);

  // Groups.
  void waitBulk(Warp &w, uint64_t completedGroups, bool isReadOnly);
  void commitCopies(Warp &w);
  void waitCopies(Warp &w, uint64_t pendingGroups);
  /// Returns the knowledge published by cp.async.mbarrier.arrive.
  Knowledge copiesSoFar(Warp &w);
  void commitWgmma(Warp &w);
  void waitWgmma(Warp &w, uint64_t pendingGroups);
  void waitTensorLoads(Warp &w) override;
  void waitTensorStores(Warp &w);
  /// Returns the knowledge published by tcgen05.commit: all operations issued
  /// to the pipe of `w` so far.
  Knowledge pipeSoFar(Warp &w);
  Epoch pipeEpoch(Warp &w, const Instr *i);

  //===--------------------------------------------------------------------===//
  // Accesses
  //===--------------------------------------------------------------------===//

  /// Check an access by instruction `i` of `w` through the generic proxy.
  void accessShared(Warp &w, const Instr *i, Cta &cta, AccessRanges ranges,
                    const AccessKind &kind);
  void accessGlobal(Warp &w, const Instr *i, AccessRanges ranges,
                    const AccessKind &kind);

  /// Checks a read of a tensor map by a copy.
  void readMap(Warp &w, const Instr *i, uint64_t address, uint32_t lanes);

  /// Records an arrival on a barrier of another CTA. That CTA must still be
  /// running.
  void useRemote(Warp &w, const Instr *i, Cta &cta, uint32_t step);
  void noteUser(Cta &cta, Epoch e);

  // Create values of `scope`.
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
  /// Checks an imminent write of a clusterlaunchcontrol response.
  void engineAnswer(Cta &cta, uint32_t offset, uint32_t bytes);
  void engineGlobal(uint64_t address, uint64_t bytes, bool isWrite) override;
  void engineTensor(Cta &cta, unsigned lane, unsigned lanes, unsigned column,
                    unsigned columns, bool isWrite) override;
  Epoch engineEpoch() const override { return scope ? scope->write : Epoch(); }
  const EngineScope *scope = nullptr;

  /// If set, collects the addresses and knowledge published at system scope
  /// until the store arrives at the peer.
  std::vector<std::pair<uint64_t, Knowledge>> *late = nullptr;
  /// Returns the epoch of an access by the executing lanes.
  Epoch epochOf(Warp &w);
  /// Returns true if an access of any cluster precedes the next action of `w`.
  bool knows(Warp &w, uint64_t inCluster, Epoch e);

  /// Checks that all uses of the CTA's memory precede its end.
  void ended(Cta &cta) override;
  /// Checks that all uses of the columns precede tcgen05.dealloc, and discards
  /// their history.
  void freeTensor(Warp &w, const Instr *i, uint32_t lanes, Cta &cta,
                  unsigned column, unsigned columns);

  static WarpOrder &of(Warp &w) { return *w.known; }

private:
  struct Agent {
    AgentKind kind;
    uint32_t cta, warp; ///< offset for an mbarrier
  };
  /// Agent 0 means no agent, or represents the preceding kernels. The only step
  /// of agent 0 is the end of these kernels.
  static constexpr uint32_t kKernelsBefore = 0;
  uint32_t newAgent(AgentKind kind, uint32_t cta, uint32_t warp);
  uint32_t wgmmaAgent(Warp &w);
  bool hasSeen(const BarrierOrder &b, const BarrierOrder::Observer &o) const;
  const Program &programOf(const Conflict &c) const;
  static uint32_t lineOf(const Program &p, Epoch e);
  uint32_t lineOf(Epoch e) const;
  uint32_t agentOf(uint32_t &slot, Warp &w, AgentKind kind);
  /// Returns the agent of an access by the executing lanes: the warp, or a lane
  /// alone.
  uint32_t accessor(Warp &w) {
    WarpOrder &o = of(w);
    if (isAlone(w))
      return accessorAlone(w);
    o.touched = o.step();
    o.touching |= w.executing;
    return o.self;
  }
  uint32_t accessorAlone(Warp &w);
  static bool isAlone(const Warp &w) {
    return !(w.executing & (w.executing - 1));
  }
  /// Returns true if the executing lane must not publish joint actions of the
  /// warp.
  bool hidesOthers(Warp &w);
  /// Joins the publishable part of `from`, a clock of the warp, into `to`.
  void passOn(Warp &w, Clock &to, const Clock &from);
  /// Allows any lane to publish all actions of the warp up to `step`.
  void setMet(WarpOrder &o, uint32_t step);
  /// Joins the lanes after an acquire: releases of the warp or of a lane alone
  /// that `from` contains order its lanes.
  void meetThrough(WarpOrder &o, const Clock &from);
  /// Records the publication of actions by the executing lanes. After a
  /// publication by every lane, any lane may publish all joint actions.
  void speak(Warp &w);
  uint32_t instrNumber(const Instr *i) const;
  /// Returns true if `e` happens before the next step of `w`. Includes
  /// knowledge from lanes that arrived without the rest of their warp.
  bool comesAfter(Warp &w, Epoch e);
  static void noteUse(BarrierOrder &b, Epoch e);
  std::string describeAgent(uint32_t agent) const;
  /// Returns " of CTA rank N" if the cluster has several CTAs.
  std::string ofRank(uint32_t rank) const;
  Published &published(Warp &w, MemoryScope level);
  /// Acquires the relaxed reads of all scopes up to `scope`.
  void acquireUnfenced(Warp &w, MemoryScope scope);
  /// Records the publication of a strong write to all devices of a world,
  /// regardless of scope. Only used for advice on narrow scopes.
  void publishNarrow(Warp &w, uint64_t address, bool isRelease);
  void passOnFenced(Warp &w, Knowledge &to);
  /// Returns true if a warp has executed a fence with something to publish.
  bool hasFenced(const WarpOrder &o) const;
  /// Returns the knowledge published by a relaxed write of `w` in a scope.
  Knowledge fencedBy(Warp &w, MemoryScope level);
  /// Returns true if the scopes of two strong accesses include each other.
  bool areMorallyStrong(const GlobalShadow::Record &r, Epoch e) const;
  /// Returns true if `c` contains the step `e` of an agent of `inCluster`.
  bool hasStep(const Clock &c, uint64_t inCluster, Epoch e) const;
  /// Describes the missing synchronization of a race.
  std::pair<Situation, std::string>
  adviceOnRace(Warp &w, const Knowledge &known, const Conflict &c,
               const InstrInfo &later, bool warns) const;
  /// Returns the situation of a race by its earlier party.
  Situation situationOfRace(Warp &w, const Conflict &c,
                            const InstrInfo &later) const;
  std::string describeEarlier(const Conflict &c) const;
  bool isWithinCta(Warp &w, const Cta &cta, const Knowledge &known, Epoch old,
                   Epoch now) const;
  /// Returns true if an earlier strong read returned the value written by
  /// `old`.
  bool isObserved(const Knowledge &known, uint64_t cell, Epoch old, Epoch now,
                  bool wasWrite) const;
  bool isKnown(const Knowledge &known, const Clock &async, Epoch old,
               bool wasWrite, bool isAsyncProxy) const;
  /// Returns true if `clock` contains the earlier access.
  bool isIn(const Clock &clock, const Conflict &c) const;
  bool isWarning(const Knowledge &known, bool isTensor, bool isWrite,
                 const Conflict &c) const;
  void report(Warp &w, const Instr *i, uint32_t lanes, const Knowledge &known,
              bool isTensor, bool isWrite, const Conflict &c,
              const std::string &what);
  void reportAs(Warp &w, const Instr *i, uint32_t lanes, const Knowledge &known,
                bool isTensor, bool isWrite, const Conflict &c,
                const std::string &what);
  /// Adds the second party and its instruction to the last finding.
  void nameOther(std::string who, const Program &program, uint32_t instr);
  void nameOther(const Conflict &c);
  void noteReaderOfAnswer(const Cta &cta, uint32_t offset, Epoch e);
  void reportShared(Warp &w, const Instr *i, const Cta &cta,
                    const AccessRange &range, const Knowledge &known,
                    bool isWrite, const Conflict &c);
  /// Engines have no lanes.
  template <bool HasLanes>
  void visitShared(Warp &w, const Instr *i, Epoch e, const Knowledge &known,
                   bool isAsyncProxy, Cta &cta, AccessRanges ranges,
                   Touch touch);
  void noteOverlap(Warp &w, const Instr *i, const Knowledge &known,
                   const AccessRange &range, bool isWrite);
  void checkOverlap(Warp &w, const Instr *i, const Knowledge &known,
                    const AccessRange &range, bool isWrite);
  template <bool HasLanes>
  void visitGlobal(Warp &w, const Instr *i, Epoch e, const Knowledge &known,
                   bool isAsyncProxy, AccessRanges ranges, Touch touch);

  Machine &machine;
  Cluster &cluster;
  GlobalShadow &shadow;
  /// Cluster index in the launch, or in the world.
  uint64_t id;
  std::vector<Agent> agents;
  std::vector<std::unique_ptr<WarpOrder>> warps;
  /// Knowledge published by strong writes to shared memory, keyed by address.
  std::unordered_map<uint64_t, Knowledge> cells;
  /// Observed writes in shared memory, keyed by CTA and granule.
  std::unordered_map<uint64_t, Observation<uint64_t, Epoch>> observed;
  /// Publications in global memory at cluster scope, and at the scope of each
  /// CTA.
  Published ofCluster;
  std::vector<std::unique_ptr<Published>> ofCtas;
  /// Readers of clusterlaunchcontrol responses, keyed by response location.
  std::unordered_map<uint64_t, std::vector<Epoch>> answers;
  SharedShadow::Numbers lanesNumbers; ///< of shared memory
  /// Last global memory access and its record, reused for equal epochs.
  Epoch lastEpoch;
  uint32_t lastRecord = 0;
  /// Pages of the last read and write that Overlap knows.
  uint64_t notedPages[2] = {~0ull, ~0ull};
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
