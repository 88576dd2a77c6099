//===- Machine.h - State of a running launch --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warps, CTAs, clusters and their scheduler. A warp consists of groups of
// lanes, each with its own position. Groups split by a branch reconverge at its
// immediate post-dominator. While a group waits, the other groups continue, so
// a spinning lane never starves the rest of its warp. A world is a set of
// devices that are simulated together.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_MACHINE_H
#define MXSIM_LIB_MACHINE_MACHINE_H

#include "../clocks/Published.h"
#include "../clocks/Readiness.h"
#include "AsyncQueue.h"
#include "Findings.h"
#include "LateStores.h"
#include "Observer.h"
#include "Polling.h"
#include "Program.h"
#include "UndefinedRegisters.h"

#include "mxsim/Simulator.h"
#include "mxsim/tensor/Fault.h"
#include "mxsim/tensor/Memory.h"
#include "mxsim/tensor/TensorMemory.h"

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <unordered_map>

namespace mx::sim {

class Machine;
class GlobalView;
class Order;
struct WarpOrder;
class Recorder;
struct BarrierOrder;
class WorldDevice;
class Workers;
namespace time {
class LeftOut;
class Quarter;
class Stopwatch;
struct Multiprocessor;
} // namespace time
class Shard;
struct Cta;
struct Cluster;

/// Event for which a group of lanes waits.
enum class Wait : uint8_t {
  None,
  Mbarrier,       ///< completion of the phase with parity `ticket`
  NamedBarrier,   ///< new generation of barrier `index`
  ClusterBarrier, ///< new generation of the cluster barrier
  TensorAlloc,    ///< free columns of tensor memory; retries
  PairAlloc,      ///< new generation of the pair allocation
  Collective,     ///< arrival of other lanes at the same instruction
  Poll,           ///< retry of a failed test after other warps have run
  BulkGroup,      ///< at most `index` pending groups of bulk copies
  CopyGroup,      ///< like BulkGroup, for cp.async
  Turn,           ///< turn of the cluster to access shared state
  Warpgroup,      ///< arrival of the other warps of the warpgroup; polls
  Word,           ///< change of a word read by the group, in a world
  Registers,      ///< `ticket` registers per thread (setmaxnreg.inc)
  Answer,         ///< arrival time of a load, in a timed launch
};

struct Group {
  const Instr *pc = nullptr;
  uint32_t mask = 0;
  int32_t conv = -1; ///< innermost convergence point, index in Warp::convs
  Wait wait = Wait::None;
  uint32_t index = 0;   ///< barrier number, or number of columns
  uint32_t ticket = 0;  ///< generation or parity; for Collective, the lanes
  uint32_t address = 0; ///< mbarrier offset in `cta`
  uint32_t needed = 0;  ///< lanes, for Collective
  /// The awaited phase has completed. The wait then succeeds even if the next
  /// phase completes before the group runs.
  bool isWoken = false;
  Cta *cta = nullptr;
  /// Clock of the group, for timelines.
  uint64_t step = 0;
  /// Timed launches: first cycle of the current straight-line code.
  uint64_t block = 0;
  /// Scheduler slots that the start of a wgmma has won before `mmaLooked`.
  float mmaSlots = 0;
  uint64_t mmaLooked = 0;
  bool hasWaited = false; ///< a wait for the next tested mbarrier has ended
  // State of timed launches with machine code: the first cycle (`base`) and the
  // first instruction (`entered`) of the current block, the next step to issue
  // (`walked`), and the delays of results by place.
  struct Delay {
    uint32_t place;
    uint64_t cycles;
  };
  uint64_t base = 0;
  uint32_t furthest = 0; ///< furthest place reached
  const Instr *entered = nullptr;
  uint32_t enteredBlock = ~0u; ///< in time::Schedule::begins
  uint32_t walked = 0;         ///< in time::Schedule::steps
  Delay delay = {};            ///< delay of the furthest place
  std::vector<Delay> delays;   ///< delays of earlier places
  /// Counters of outstanding constant loads after a miss in every cache (one
  /// bit each), and the arrival cycles of their results.
  uint8_t openConstants = 0;
  std::array<uint64_t, 6> constants = {};
  time::Path path; ///< causes of the current clock value
  /// Timeout of the current try_wait, and whether it has expired.
  uint64_t givesUpAt = 0;
  bool hasGivenUp = false;
  uint32_t strand = 0;
};

/// Lanes of a split group that reconverge at `pc`.
struct Convergence {
  const Instr *pc = nullptr;
  uint32_t expected = 0, arrived = 0;
  int32_t parent = -1;
  uint64_t step = 0; ///< step of the last arrival
  uint32_t strand = 0;
  time::Path path = {};
  void arrive(const Group &g) {
    if (g.step >= step)
      path = g.path;
    step = std::max(step, g.step);
  }
  void letGo(Group &g) {
    g.step = g.block = step;
    g.path = std::move(path);
  }
};

/// Tracks registers used by asynchronous operations of a warp.
class RegisterTracker {
public:
  virtual ~RegisterTracker() = default;
  /// Checks an instruction before its execution. Returns false if a finding has
  /// stopped the launch.
  virtual bool check(Warp &w, const Instr *i) = 0;
};

/// State of a warp. Members used by every instruction are first: warps
/// alternate after a few instructions, and the complete state of all warps
/// exceeds host caches.
class alignas(64) Warp {
public:
  /// Register file and constant pool.
  char *base[2] = {nullptr, nullptr};
  uint32_t mask = 0;      ///< lanes of the running group
  uint32_t executing = 0; ///< lanes of `mask` with a true guard
  uint32_t live = 0;      ///< lanes that have not exited
  uint32_t index = 0;
  Cta *cta = nullptr;
  Machine *machine = nullptr;
  std::vector<Group> groups;
  size_t current = 0;
  WarpOrder *known = nullptr;       ///< null unless checks/ tracks the order
  Recorder *trace = nullptr;        ///< null unless a trace is recorded
  time::Stopwatch *watch = nullptr; ///< null unless the launch is timed
  /// Number of registers that are pending, undefined, or used by wgmma.
  uint32_t pendingCount = 0;
  static constexpr uint64_t kNotQueued = ~0ull;
  /// Location of the warp in a timed launch. The quarter of the SM stores the
  /// cycle of the warp's next event.
  time::Multiprocessor *sm = nullptr;
  time::Quarter *quarter = nullptr;
  uint64_t *queuedAt = nullptr, queueNumber = 0;
  time::Readiness ready; ///< ready times of registers
  std::unique_ptr<time::RequestPaths> requests;
  /// Number of outstanding memory requests, and the latest cycle of any
  /// request.
  uint32_t openRequests = 0;
  uint64_t lastRequest = 0;
  uint64_t busy = 0; ///< instructions since the warp last ran out of work
  /// Number of instructions after which the lanes are assumed to wait for each
  /// other.
  uint64_t patience = 1u << 16;
  WarpStatistics counts;
  std::vector<Convergence> convs;
  /// Registers (in units of 128 bytes) with an outstanding tcgen05.ld.
  std::vector<uint8_t> pending;
  UndefinedRegisters undefined;
  void forgetTensorLoads();
  uint8_t *local = nullptr; ///< 32 frames of Program::localBytes
  uint32_t registers = 0;   ///< per thread, changed by setmaxnreg
  /// Instructions at which a try_wait has returned false.
  std::vector<bool> failedWaits;
  uint32_t clusterTicket = 0;
  uint32_t clusterLanes = 0; ///< arrived in generation clusterTicket
  CompletionGroups bulkGroups, copyGroups;
  /// Registers used by wgmma, or null; see exec/WgmmaTracker.h.
  std::shared_ptr<RegisterTracker> wgmma;
  /// Completion times of all work issued to the tensor pipe, and of the loads
  /// and stores of tensor memory.
  uint64_t tensorDone = 0, tensorLoads = 0, tensorStores = 0;
  time::Path tensorPath; ///< causes of tensorDone
  uint64_t startCycle = 0, endCycle = 0;
  time::Path endPath;
  /// Null until the first strong read in a world.
  std::unique_ptr<PollLogs> polls;
  /// Hash of the registers and local memory, valid at instruction count
  /// `hashedAt`.
  uint64_t stateHash = 0, hashedAt = ~0ull;

  Group &group() { return groups[current]; }
  template <class T>
  T *at(Slot s) {
    return reinterpret_cast<T *>(base[s & 1] + (s & ~3u));
  }
  /// Returns the lanes with a true predicate.
  uint32_t predicate(Slot s) {
    uint32_t v = *at<uint32_t>(s);
    return s & kSlotNegated ? ~v : v;
  }

  /// Releases lanes from convergence points before all expected lanes arrive,
  /// because the missing lanes may depend on the waiting lanes. Hardware also
  /// releases them eventually. Returns false if no lane waited.
  bool breakConvergence();
  /// Runs until no group can continue or about `budget` instructions have
  /// executed. Returns the number of executed instructions.
  uint64_t run(uint64_t budget);

  // Interface for interpreters.
  /// Selects the next runnable group as `current`. Returns false if all groups
  /// wait.
  bool pickGroup();
  /// Executes an instruction for the lanes `m`, all with a true guard. Returns
  /// the next instruction, or null if the group waits.
  const Instr *execute(const Instr *i, uint32_t m);

  /// Executes an instruction without effects beyond registers.
  void compute(const Instr *i) {
    uint32_t m = i->guard == kNoSlot ? mask : mask & predicate(i->guard);
    if (m)
      i->fn(*this, i, m);
  }

  /// Returns a new group split off the running group. The caller sets its
  /// lanes.
  Group fork();

  // Interface for handlers. Each of these returns the result of the handler.
  const Instr *diverge(const Instr *i, uint32_t taken, const Instr *target);
  const Instr *arriveAt(const Instr *i);
  const Instr *exitLanes(const Instr *i, uint32_t lanes);
  /// Suspends the group at `pc` until the wait is over.
  const Instr *block(const Instr *pc, Wait wait);
  /// Yields to other groups, then resumes at `pc`.
  const Instr *poll(const Instr *pc) { return block(pc, Wait::Poll); }
  /// Gathers groups at a collective instruction. Blocks the group and returns
  /// false until all live `members` have arrived. Then sets `mask` to the union
  /// of their lanes, advances the other groups, and returns true.
  bool collect(const Instr *i, uint32_t &mask, uint32_t members);
  /// Records that `lanes` have synchronized.
  void meet(uint32_t lanes);

  /// Reports a finding that ends the launch.
  const Instr *fail(const Instr *i, Verdict verdict, std::string message,
                    uint32_t lanes);
  /// Reports a finding and continues the launch. Returns true if the check is
  /// enabled and the finding is new.
  bool note(const Instr *i, Verdict verdict, std::string message,
            uint32_t lanes, bool isWarning = false);
  /// Like note, but independent of the enabled checks.
  bool noteAlways(const Instr *i, Verdict verdict, std::string message,
                  uint32_t lanes, bool isWarning = false);
  /// Reports a fault of an engine. An earlier asynchronous operation may have
  /// caused the fault. Returns null, or `i + 1` if the launch can continue.
  const Instr *fault(const Instr *i, const Fault &f, uint32_t lanes);

  /// Must be called before every instruction with effects visible to other
  /// clusters. Returns false if the warp must wait for the turn of its cluster.
  bool takeTurn(const Instr *i);
  /// Returns null unless the order of accesses is checked.
  Order *order();
  GlobalView &global();
  /// Issues an asynchronous operation. The operation completes immediately with
  /// seed 0 and is queued otherwise.
  template <class F>
  const Instr *issue(const Instr *i, uint32_t lanes, uint32_t line,
                     bool needsTurn, F &&action);
  /// Issues a copy that signals an mbarrier. Such copies never complete
  /// immediately.
  template <class F>
  const Instr *issueCopy(const Instr *i, unsigned lane, F &&action);
  /// Issues an operation of a timed launch. The engine computes the time of
  /// completion.
  const Instr *completeTimed(const Instr *i, uint32_t lanes, bool needsTurn,
                             AsyncQueue::Action action);
  /// Returns true if operations complete at issue.
  bool isEager() const;
  /// Lines of operations with in-order completion.
  enum LineKind : uint32_t { kTensorLine = 1, kCopyLine = 2 };
  uint32_t line(LineKind kind) const;

private:
  void dropGroup(size_t index);
  void finishConvergence(int32_t conv);
  bool checkPending(const Instr *i);
  /// Checks an instruction whose guard is false in all lanes. The function is
  /// not inlined, to keep registers free in the instruction loop.
  __attribute__((noinline, cold)) void skipUndefined(const Instr *i);
};

struct NamedBarrier {
  uint32_t generation = 0;
  uint32_t expectedWarps = 0; ///< 0: all live warps
  uint32_t arrivedWarps = 0;
  bool active = false;
  uint32_t redPopc = 0, redResult = 0;
  bool redAnd = true, redOr = false;
  bool resultAnd = true, resultOr = false;
  std::vector<uint32_t> lanes; ///< arrived lanes, per warp
  Knowledge arriving, completed;
  /// Arrivals in the current and in the previous generation.
  std::vector<Epoch> arrivals, lastArrivals;
};

/// An mbarrier and its arrivals in the current phase.
struct Mbarrier {
  struct Entry {
    uint32_t line, warp, ctaRank, count;
    bool isComplete;
  };
  std::vector<Entry> arrivals;
  /// State of the barrier, stored outside of shared memory. On an H200, the
  /// bytes of the barrier in shared memory keep their contents, and overwriting
  /// them is harmless.
  uint64_t word = 0;
  uint64_t phases = 0;
  std::shared_ptr<BarrierOrder> order; ///< null unless checks/ tracks the order
};

/// Marks written bytes of shared memory and forwards engine accesses to the
/// observers of the cluster.
class SharedTracker : public SharedObserver {
public:
  explicit SharedTracker(Cta &cta) : cta(cta) {}
  std::vector<uint8_t> written; ///< empty if the check is disabled
  SharedShadow shadow;
  void read(uint32_t offset, uint32_t size) override;
  void write(uint32_t offset, uint32_t size) override;
  void markWritten(uint32_t offset, uint32_t size);

private:
  Cta &cta;
};

/// Forwards engine accesses to tensor memory to the observers of the cluster.
class TensorTracker : public TensorObserver {
public:
  /// Accesses are tracked in units of 16 lanes by 1 column, the smallest access
  /// to accumulators.
  static constexpr unsigned kLanes = 16;
  explicit TensorTracker(Cta &cta)
      : shadow(tmemLanes / kLanes * tmemColumns), cta(cta) {}
  std::vector<ShadowCell> shadow;
  void access(unsigned lane, unsigned lanes, unsigned column, unsigned columns,
              bool isWrite) override;

private:
  Cta &cta;
};

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0;
  Dim3 id;
  uint64_t linear = 0;
  uint32_t sm = 0;
  std::vector<uint8_t> shared;
  std::unique_ptr<SharedTracker> tracker;
  std::unique_ptr<TensorTracker> tensorTracker;
  std::vector<Warp> warps;
  std::vector<char> registerStorage;
  std::vector<uint8_t> localStorage;
  uint32_t liveWarps = 0;
  /// Registers released by setmaxnreg.dec, in registers per thread of a warp.
  uint32_t freeRegisters = 0;
  /// Timed launches: mask of warps that wait or can be released by other warps.
  uint32_t waitingWarps = 0;
  std::vector<NamedBarrier> barriers;
  std::unordered_map<uint32_t, Mbarrier> mbarriers; ///< keyed by offset
  /// Returns an mbarrier through a small cache.
  Mbarrier &mbarrier(uint32_t offset) {
    auto &[at, found] = foundMbarriers[offset / 8 % foundMbarriers.size()];
    if (!found || at != offset) {
      found = &mbarriers[offset];
      at = offset;
    }
    return *found;
  }
  std::array<std::pair<uint32_t, Mbarrier *>, 16> foundMbarriers = {};
  bool leavesOut = false; ///< copies move no bytes
  /// Uncomputed bytes of shared memory; null if there are none.
  std::shared_ptr<time::LeftOut> leftOut;
  TensorMemory *tensor = nullptr;
  uint32_t owner = 0;
  /// Last accesses to the memory of this CTA by engines and by warps of other
  /// CTAs.
  std::unordered_map<uint32_t, Epoch> users;
  Knowledge atExit; ///< knowledge of the finished warps

  SharedMemory view() {
    return {shared.data(), uint32_t(shared.size()), tracker.get(), leavesOut};
  }
};

struct PairAlloc {
  uint32_t generation = 0;
  int waitingRank = -1;
  uint32_t columns = 0;
  uint32_t waitingAddress = 0;
};

/// Global memory accessed by a cluster, with a cache of recent allocations.
class GlobalView : public GlobalAccess {
public:
  /// Cached allocation; initially empty.
  struct Hit {
    uint64_t base = 0, bytes = 0;
    uint8_t *host = nullptr;
  };

  explicit GlobalView(DeviceMemory &memory) : memory(memory) {}
  uint8_t *translate(uint64_t address, uint64_t size, bool) override {
    return find(last, address, size);
  }
  /// Returns the cache entry of an instruction. Most instructions access only a
  /// single buffer.
  Hit &hitOf(const Instr *i) {
    return hits[uintptr_t(i) / sizeof(Instr) % kHits];
  }
  uint8_t *find(Hit &hit, uint64_t address, uint64_t size) {
    uint64_t off = address - hit.base;
    if (off < hit.bytes && size <= hit.bytes - off)
      return hit.host + off;
    return slow(hit, address, size);
  }

private:
  static constexpr unsigned kHits = 16;
  uint8_t *slow(Hit &hit, uint64_t address, uint64_t size);
  DeviceMemory &memory;
  Hit last, hits[kHits];
};

/// Global memory accessed by engines; notifies the observers of each access.
class EngineGlobal : public GlobalAccess {
public:
  explicit EngineGlobal(Cluster &cluster) : cluster(cluster) {}
  uint8_t *translate(uint64_t address, uint64_t size, bool write) override;
  /// Starts to collect writes to peer devices, which arrive late.
  void beginStore() { isStore = true; }
  void endStore();

private:
  Cluster &cluster;
  bool isStore = false;
  std::vector<LateStore> stores;
};

/// Number of occurrences of a finding in a cluster, and the mask of its CTAs.
struct Tally {
  uint64_t occurrences = 0, ranks = 0;
};

struct Cluster {
  explicit Cluster(DeviceMemory &memory)
      : global(memory), engineGlobal(*this) {}

  std::vector<std::unique_ptr<Cta>> ctas;
  uint64_t index = 0; ///< index in the grid of clusters
  GlobalView global;
  EngineGlobal engineGlobal;
  AsyncQueue queue;
  Random random;
  /// Completion order of background work. The seed selects early, random or
  /// late completion. With Even, all work completes together and late, and
  /// warps alternate after each instruction. With Timed, work completes when
  /// its engine is done.
  enum class Pace : uint8_t {
    Eager,
    Early,
    Mixed,
    Late,
    Even,
    Timed
  } pace = Pace::Eager;
  std::vector<std::unique_ptr<ClusterObserver>> observers;
  /// Set by observers, or null; see Observer.h.
  Order *order = nullptr;
  Recorder *recorder = nullptr;
  Interpreter *interpreter = nullptr;
  /// Set by Timing, or null.
  time::Stopwatch *watch = nullptr;
  Shard *shard = nullptr;
  Knowledge barrierArriving, barrierCompleted;
  /// Number of effects that may wake another warp.
  uint64_t effects = 0;
  /// Number of scheduling passes. A polling group tries once per pass.
  uint32_t round = 0;
  uint64_t executed = 0, counted = 0; ///< executed instructions, and the number
                                      ///< already added to the launch
  bool timeout = false;   ///< a try_wait may return false at its time limit
  bool slept = false;     ///< a lane has slept, so allow more idle passes
  bool readsTime = false; ///< in a world: a warp has read a clock
  uint32_t passRound = 0; ///< in a world: `round` at the start of this pass
  bool hasTurn = false;
  bool progress = false; ///< the last pass made progress
  bool stopped = false;  ///< a finding has ended the launch
  std::string output;    ///< output of printf
  std::vector<std::pair<Finding, LaunchStatus>> findings;
  std::map<FindingKey, Tally> tallies;
  uint32_t generation = 0; ///< generation of barrier.cluster
  uint32_t arrivedThreads = 0;
  uint32_t liveThreads = 0;
  std::vector<PairAlloc> pairs;
  uint64_t slot = 0;
  Machine *machine = nullptr;
  uint64_t lateStores = 0;      ///< number issued so far
  uint64_t timedOperations = 0; ///< number in flight
  bool hasEnded = false;        ///< will be retired
  void putLate(LateStore store);
  bool done() const { return liveThreads == 0 && queue.empty(); }
  bool wantsTurn() const;
};

/// Returns the .loc location of an instruction. If there is no .loc, returns
/// the name of the function, unless the function is the kernel.
SourceChain sourceOf(const InstrInfo &info);

/// Describes a range of bytes relative to a buffer, a variable or a frame.
std::string describeAddress(Warp &w, ptx::Space space, uint64_t address,
                            uint64_t bytes);

class Machine {
public:
  /// Creates a machine. `device` is null unless the launch belongs to a world.
  Machine(const Program &program, DeviceMemory &memory,
          const LaunchConfig &config, const ptx::Module &module,
          LaunchReport &report, WorldDevice *device = nullptr);
  ~Machine();
  void run();

  // Steps of run(), for concurrent launches.
  /// Starts the launch. If the launch does not match the kernel and the device,
  /// reports a finding and returns false.
  bool begin();
  enum class Pass { Ended, Progress, Idle };
  /// Runs a pass, in which each cluster executes at most about `most`
  /// instructions.
  Pass pass(uint64_t most);
  /// Sets whether timed waits give up in the next pass. Returns true if a lane
  /// sleeps.
  bool setTimeouts(bool giveUp);
  bool breakConvergence();
  /// Reports a deadlock. A nonempty `note` is added to the first finding.
  void reportDeadlock(std::string note = {});
  /// Returns a hash of the positions and registers of all warps, for detecting
  /// a lack of progress.
  uint64_t stateHash();
  /// Returns true to suspend polling lanes instead of running them.
  bool parksPolls() const;
  /// Returns true if a warp has executed a strong read.
  bool isPolled() const;
  /// Returns true if a warp has read a clock since the last call.
  bool takeReadsTime();
  void finish();

  const Program &program;
  DeviceMemory &memory;
  const LaunchConfig &config;
  /// Workspace address of a cooperative launch, or 0.
  uint64_t gridWorkspace = 0;
  const ptx::Module &module;
  LaunchReport &report;
  std::vector<std::unique_ptr<TensorMemory>> tensors; ///< per SM, allocated on
                                                      ///< demand
  Dim3 cluster, clusterGrid;
  uint32_t threads = 0, warpsPerCta = 0;
  uint32_t sharedBytes = 0; ///< per CTA, including reserved and dynamic memory
  uint32_t dynamicOffset = 0;
  bool parks = true; ///< see parksPolls; a world has its own
  bool stopped = false;
  std::atomic<bool> wasInterrupted{false};
  std::vector<uint8_t> params;
  WorldDevice *const device;
  /// World-wide index of the first cluster.
  uint64_t firstCluster = 0;
  /// Knowledge published by operations of device scope.
  Published published;
  /// Distinct scopes of this launch, narrowest first.
  std::vector<MemoryScope> scopes;
  struct ScopeRange {
    const MemoryScope *first, *last;
    const MemoryScope *begin() const { return first; }
    const MemoryScope *end() const { return last; }
  };
  /// Returns the distinct scopes included in `scope`.
  ScopeRange scopesUpTo(MemoryScope scope) const {
    return {scopes.data(), scopes.data() + numScopesUpTo[int(scope)]};
  }
  GlobalShadow &shadow();
  /// The creator of the machine sets `observers` and `timing` before begin().
  std::vector<std::unique_ptr<LaunchObserver>> observers;
  /// Null unless the launch is timed.
  std::unique_ptr<Timing> timing;
  /// True to skip the arithmetic of wgmma and tcgen05.
  bool skipsMmas = false;
  /// True if copies move no bytes into or out of shared memory.
  bool leavesOutShared = false;
  /// Returns true if the host has interrupted the launch. The result stays true
  /// even if the host clears its flag, because stopped clusters stay stopped.
  bool isInterrupted() {
    if (config.interrupt && __atomic_load_n(config.interrupt, __ATOMIC_RELAXED))
      wasInterrupted.store(true, std::memory_order_relaxed);
    return wasInterrupted.load(std::memory_order_relaxed);
  }

  /// Claims a cluster that has not started (clusterlaunchcontrol.try_cancel).
  /// Returns false if there is none. The calling cluster must have the turn.
  bool cancelCluster(Cluster &asking, uint64_t &index);
  Dim3 firstCtaOf(uint64_t clusterIndex) const;
  uint64_t numClusters() const { return totalClusters; }

  TensorMemory &tensorOf(uint32_t sm);
  bool ready(Warp &w, Group &g);
  void completeNamedBarrier(Cta &cta, NamedBarrier &b);
  void checkNamedBarriers(Cta &cta);
  void checkClusterBarrier(Cluster &cluster);
  void add(Cluster &c, Finding finding, LaunchStatus status);
  /// Counts a finding of a CTA. Returns true if the finding is new and must be
  /// reported.
  bool count(Cta &cta, const FindingKey &key);
  /// Counts of reported findings in finished clusters.
  FindingCounts reported;

  /// Returns a host pointer to shared memory, or null. `address` is rank << 24
  /// | offset.
  uint8_t *shared(Warp &w, uint64_t address, uint64_t size, Cta *&owner);
  /// Returns text such as "8 bytes at shared address 0x1000408 (offset 8 of
  /// 'full' of CTA rank 1)".
  std::string describeShared(const Cta &own, uint64_t address, uint64_t size);
  std::string describeSharedOffset(uint32_t offset);

  // Interface for Timing, the replacement for the scheduler.
  std::vector<std::unique_ptr<Cluster>> active;
  /// Limit on resident clusters of the device; `active` contains only the
  /// running clusters.
  uint64_t slots = 0;
  uint64_t executed = 0; ///< warp instructions
  std::unique_ptr<Workers> workers;
  /// Clusters dispatched but not started.
  struct Waiting {
    uint64_t index, slot;
  };
  std::deque<Waiting> waiting;
  void startMore(size_t count);
  /// Collects new findings and output of a cluster.
  void collect(Cluster &c);
  void retire(Cluster &c);
  void takeStatistics(Cluster &c);
  void reportLimit();

private:
  std::unique_ptr<Cluster> startCluster(uint64_t index, uint64_t slot);
  void fillSpecials(Warp &w);
  bool bindShape();
  void bindScopes();

  // Scheduler (Scheduler.cpp).
  void runCluster(Cluster &c, uint64_t quantum);
  /// Runs the operations that wait for the turn. Returns true if another warp
  /// may have observed these operations.
  bool runTurn(Cluster &c);
  void passTime(uint64_t executedBefore);
  bool completeSome(Cluster &c, bool isStuck);
  uint64_t nextCluster();
  void takeTallies(Cluster &cluster);
  void reportPlaces(FindingKind kind, LaunchStatus status,
                    std::string note = {});
  std::string waitText(Warp &w, Group &g);

  bool sharesTensorMemory = false;
  uint64_t totalClusters = 0, dispatched = 0;
  /// Next clusters in dispatch order.
  uint64_t nextIndex = 0;
  std::deque<uint64_t> lookahead;
  Random random;
  unsigned numScopesUpTo[kMemoryScopes] = {};
  /// Shadow of a launch outside a world.
  GlobalShadow ownShadow;
  /// Clocks of other launches that finished clusters have synchronized with.
  Clock atEnd;
  size_t target = 0;        ///< number of clusters to run concurrently
  uint64_t passesAlone = 0; ///< passes since a cluster last finished
};

template <class F>
const Instr *Warp::issue(const Instr *i, uint32_t lanes, uint32_t line,
                         bool needsTurn, F &&action) {
  if (isEager())
    return fault(i, action(), lanes);
  if (watch)
    return completeTimed(i, lanes, needsTurn, std::forward<F>(action));
  cta->cluster->queue.push({this, i, lanes}, line, cta->cluster->round,
                           needsTurn, std::forward<F>(action));
  return i + 1;
}

template <class F>
const Instr *Warp::issueCopy(const Instr *i, unsigned lane, F &&action) {
  if (watch)
    return completeTimed(i, 1u << lane, false, std::forward<F>(action));
  cta->cluster->queue.push({this, i, 1u << lane}, AsyncQueue::kNoLine,
                           cta->cluster->round, false, std::forward<F>(action));
  return i + 1;
}

inline const Instr *Warp::execute(const Instr *i, uint32_t m) {
  if (!m && pendingCount)
    skipUndefined(i);
  if (!m)
    return i + 1;
  if (pendingCount && !checkPending(i))
    return nullptr;
  return i->fn(*this, i, m);
}

inline Order *Warp::order() { return cta->cluster->order; }
inline GlobalView &Warp::global() { return cta->cluster->global; }
inline bool Warp::isEager() const {
  return cta->cluster->pace == Cluster::Pace::Eager;
}
inline bool Warp::takeTurn(const Instr *i) {
  if (cta->cluster->hasTurn)
    return true;
  block(i, Wait::Turn);
  return false;
}

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_MACHINE_H
