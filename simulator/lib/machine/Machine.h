//===- Machine.h - warps, CTAs, clusters and their scheduler ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of a running launch. A warp is a set of groups of lanes, each with
// its own position; groups that a branch has split come together again at the
// branch's immediate post-dominator, and while one group waits (for an
// mbarrier, say) the others go on, so a lone spinning lane starves no other.
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

/// Why a group of lanes does not run.
enum class Wait : uint8_t {
  None,
  Mbarrier,       ///< until the phase with `ticket` parity completes
  NamedBarrier,   ///< until barrier `index` has another generation
  ClusterBarrier, ///< until the cluster's barrier has another generation
  TensorAlloc,    ///< tries again
  PairAlloc,      ///< until the pair's allocation has another generation
  Collective,     ///< for other lanes of the warp at the same instruction
  Poll,           ///< failed a test; tries again after the others
  BulkGroup,      ///< until at most `index` groups of bulk copies are pending
  CopyGroup,      ///< the same for cp.async
  Turn,           ///< for its turn to talk to other clusters
  Warpgroup,      ///< for the other warps of its warpgroup; polls
  Word,           ///< until a word that it has read changes, in a world
  Answer,         ///< for memory to say when a load comes; is timed
};

struct Group {
  const Instr *pc = nullptr;
  uint32_t mask = 0;
  int32_t conv = -1; ///< innermost convergence point, index in Warp::convs
  Wait wait = Wait::None;
  uint32_t index = 0;   ///< barrier number, or columns
  uint32_t ticket = 0;  ///< generation or parity; of a Collective, its lanes
  uint32_t address = 0; ///< of the mbarrier: offset in `cta`
  uint32_t needed = 0;  ///< lanes, for Collective
  /// The phase that it waits for has completed: the wait succeeds, even when
  /// the next phase completes before the group runs.
  bool isWoken = false;
  Cta *cta = nullptr;
  /// For timelines: its clock, and its name among the groups of the warp.
  uint64_t step = 0;
  /// Of a launch that is timed: the cycle from which on its straight code runs.
  uint64_t block = 0;
  bool hasWaited = false; ///< for the mbarrier that it tests next
  /// With machine code: the cycle at which its block began, the instruction
  /// that has begun it, the next step to be issued, and by how much what comes
  /// from a place on is late.
  struct Delay {
    uint32_t place;
    uint64_t cycles;
  };
  uint64_t base = 0;
  uint32_t furthest = 0; ///< place that it has come to
  const Instr *entered = nullptr;
  uint32_t enteredBlock = ~0u; ///< in time::Schedule::begins
  uint32_t walked = 0;         ///< in time::Schedule::steps
  Delay delay = {};            ///< of the furthest place; those before:
  std::vector<Delay> delays;
  /// Counters of loads of constants that no cache has had, bit by bit, and when
  /// their results are there.
  uint8_t openConstants = 0;
  std::array<uint64_t, 6> constants = {};
  time::Path path; ///< of the clock
  /// When its try_wait gives up, and whether it has.
  uint64_t givesUpAt = 0;
  bool hasGivenUp = false;
  uint32_t strand = 0;
};

/// Lanes that were split and meet again at `pc`.
struct Convergence {
  const Instr *pc = nullptr;
  uint32_t expected = 0, arrived = 0;
  int32_t parent = -1;
  uint64_t step = 0; ///< of the last that arrived
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

/// Follows registers that asynchronous operations of a warp use.
class RegisterTracker {
public:
  virtual ~RegisterTracker() = default;
  /// Called before an instruction. Returns false if a finding has stopped the
  /// launch.
  virtual bool check(Warp &w, const Instr *i) = 0;
};

/// What each instruction touches comes first: warps take turns after a few
/// instructions, and no cache of the host holds all that all of them have.
class alignas(64) Warp {
public:
  /// Register file and constant pool.
  char *base[2] = {nullptr, nullptr};
  uint32_t mask = 0;      ///< lanes of the running group
  uint32_t executing = 0; ///< of them, those whose guard is true
  uint32_t live = 0;      ///< lanes that have not exited
  uint32_t index = 0;
  Cta *cta = nullptr;
  Machine *machine = nullptr;
  std::vector<Group> groups;
  size_t current = 0;
  Recorder *trace = nullptr;        ///< null: no trace is recorded
  time::Stopwatch *watch = nullptr; ///< null: the launch is not timed
  /// Registers to look at: pending ones, undefined ones and those of wgmma.
  uint32_t pendingCount = 0;
  static constexpr uint64_t kNotQueued = ~0ull;
  /// Of a launch that is timed: where it runs, and the event at which it goes
  /// on, of which the cycle lies in its quarter.
  time::Multiprocessor *sm = nullptr;
  time::Quarter *quarter = nullptr;
  uint64_t *queuedAt = nullptr, queueNumber = 0;
  time::Readiness ready; ///< of its registers
  std::unique_ptr<time::RequestPaths> requests;
  /// Its requests to memory that have no answer yet, and the latest of all.
  uint32_t openRequests = 0;
  uint64_t lastRequest = 0;
  uint64_t busy = 0; ///< instructions since the warp last ran out of work
  /// After this number of instructions, a lane may be waiting for lanes that
  /// wait for it.
  uint64_t patience = 1u << 16;
  WarpStatistics counts;
  std::vector<Convergence> convs;
  /// Registers (in units of 128 bytes) that a tcgen05.ld has not delivered.
  std::vector<uint8_t> pending;
  UndefinedRegisters undefined;
  void forgetTensorLoads();
  uint8_t *local = nullptr; ///< 32 frames of Program::localBytes
  uint32_t clusterTicket = 0;
  uint32_t clusterLanes = 0; ///< that arrived in generation clusterTicket
  CompletionGroups bulkGroups, copyGroups;
  /// Registers that wgmma uses, or null: exec/WgmmaTracker.h.
  std::shared_ptr<RegisterTracker> wgmma;
  /// When all that it has given to the tensor pipe is done, and what it has
  /// loaded from and stored to tensor memory.
  uint64_t tensorDone = 0, tensorLoads = 0, tensorStores = 0;
  time::Path tensorPath; ///< to tensorDone
  uint64_t startCycle = 0, endCycle = 0;
  time::Path endPath;
  std::unique_ptr<PollLogs> polls; ///< null until a strong read in a world
  /// A number for its registers and local memory, after `hashedAt`
  /// instructions.
  uint64_t stateHash = 0, hashedAt = ~0ull;

  Group &group() { return groups[current]; }
  template <class T>
  T *at(Slot s) {
    return reinterpret_cast<T *>(base[s & 1] + (s & ~3u));
  }
  /// The lanes for which a predicate is true.
  uint32_t predicate(Slot s) {
    uint32_t v = *at<uint32_t>(s);
    return s & kSlotNegated ? ~v : v;
  }

  /// Lets lanes that wait at convergence points go on without the others, as
  /// hardware does in the end: the others may be waiting for them.
  bool breakConvergence();
  /// Runs until nothing can go on or about `budget` instructions are done.
  /// Returns the number executed.
  uint64_t run(uint64_t budget);

  // For interpreters.
  /// Makes the next group that can go on `current`. Returns false if all wait.
  bool pickGroup();
  /// Executes an instruction for the lanes `m`, those with a true guard.
  /// Returns the next instruction, or null if the group waits.
  const Instr *execute(const Instr *i, uint32_t m);

  /// Executes an instruction of which nothing but registers knows.
  void compute(const Instr *i) {
    uint32_t m = i->guard == kNoSlot ? mask : mask & predicate(i->guard);
    if (m)
      i->fn(*this, i, m);
  }

  /// A group that leaves the running one; its lanes are to be filled in.
  Group fork();

  // For handlers. All of these return what the handler then returns.
  const Instr *diverge(const Instr *i, uint32_t taken, const Instr *target);
  const Instr *arriveAt(const Instr *i);
  const Instr *exitLanes(const Instr *i, uint32_t lanes);
  /// The group stays at `pc` until the wait is over.
  const Instr *block(const Instr *pc, Wait wait);
  /// Lets others run, then continues at `pc`.
  const Instr *poll(const Instr *pc) { return block(pc, Wait::Poll); }
  /// True when all `members` that live are here. `mask` becomes the lanes of
  /// all groups that came together; the others are moved on. False: blocked.
  bool collect(const Instr *i, uint32_t &mask, uint32_t members);
  /// `lanes` have waited for each other.
  void meet(uint32_t lanes);

  /// A finding that ends the launch.
  const Instr *fail(const Instr *i, FindingKind kind, std::string message,
                    uint32_t lanes);
  /// A finding after which the launch goes on.
  bool note(const Instr *i, FindingKind kind, std::string message,
            uint32_t lanes, bool isWarning = false);
  /// The same, whatever checks are on.
  bool noteAlways(const Instr *i, FindingKind kind, std::string message,
                  uint32_t lanes, bool isWarning = false);
  /// Reports an engine's fault, also of an operation that was issued earlier;
  /// null, or `i + 1` when the run may go on.
  const Instr *fault(const Instr *i, const Fault &f, uint32_t lanes);

  /// Before an instruction through which clusters see each other: false when
  /// the warp must wait for its cluster's turn.
  bool takeTurn(const Instr *i);
  /// Null unless the order of accesses is followed.
  Order *order();
  GlobalView &global();
  /// An asynchronous operation: done at once with seed 0, else put in line.
  template <class F>
  const Instr *issue(const Instr *i, uint32_t lanes, uint32_t line,
                     bool needsTurn, F &&action);
  /// The same for a copy that counts its bytes on an mbarrier: never done at
  /// once.
  template <class F>
  const Instr *issueCopy(const Instr *i, unsigned lane, F &&action);
  /// The same of a launch that is timed: at the time that its engine said.
  const Instr *completeTimed(const Instr *i, uint32_t lanes, bool needsTurn,
                             AsyncQueue::Action action);
  /// True when operations take effect as they are issued.
  bool isEager() const;
  /// Lines in which operations of this warp complete.
  enum LineKind : uint32_t { kTensorLine = 1, kCopyLine = 2 };
  uint32_t line(LineKind kind) const;

private:
  void dropGroup(size_t index);
  void finishConvergence(int32_t conv);
  bool checkPending(const Instr *i);
  /// The same of an instruction whose guard is false in all lanes. Out of line:
  /// it would cost the loop over instructions registers.
  __attribute__((noinline, cold)) void skipUndefined(const Instr *i);
};

struct NamedBarrier {
  uint32_t generation = 0;
  uint32_t expectedWarps = 0; ///< 0: all that live
  uint32_t arrivedWarps = 0;
  bool active = false;
  uint32_t redPopc = 0, redResult = 0;
  bool redAnd = true, redOr = false;
  bool resultAnd = true, resultOr = false;
  std::vector<uint32_t> lanes; ///< arrived, per warp
  Knowledge arriving, completed;
  /// Of this generation, and of the last one.
  std::vector<Epoch> arrivals, lastArrivals;
};

/// An mbarrier, and who acted on it in its current phase.
struct Mbarrier {
  struct Entry {
    uint32_t line, warp, ctaRank, count;
    bool isComplete;
  };
  std::vector<Entry> arrivals;
  /// The barrier's state, which is not in the bytes of shared memory: on an
  /// H200 these keep what was there, and data written over them does no harm.
  uint64_t word = 0;
  uint64_t phases = 0;
  std::shared_ptr<BarrierOrder> order; ///< null unless checks/ follows it
};

/// Marks written bytes of shared memory, and passes accesses of engines on to
/// the observers of the cluster.
class SharedTracker : public SharedObserver {
public:
  explicit SharedTracker(Cta &cta) : cta(cta) {}
  std::vector<uint8_t> written; ///< empty when that is not checked
  std::vector<ShadowCell> shadow;
  void read(uint32_t offset, uint32_t size) override;
  void write(uint32_t offset, uint32_t size) override;
  void markWritten(uint32_t offset, uint32_t size);

private:
  Cta &cta;
};

/// Passes accesses of engines to tensor memory on to the observers of the
/// cluster.
class TensorTracker : public TensorObserver {
public:
  /// 16 lanes x 1 column: no instruction touches less of the accumulators.
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
  /// Of a launch that is timed: warps that wait, or that others let go on.
  uint32_t waitingWarps = 0;
  std::vector<NamedBarrier> barriers;
  std::unordered_map<uint32_t, Mbarrier> mbarriers; ///< by offset
  /// One of them, mostly without a search.
  Mbarrier &mbarrier(uint32_t offset) {
    auto &[at, found] = foundMbarriers[offset / 8 % foundMbarriers.size()];
    if (!found || at != offset) {
      found = &mbarriers[offset];
      at = offset;
    }
    return *found;
  }
  std::array<std::pair<uint32_t, Mbarrier *>, 16> foundMbarriers = {};
  bool leavesOut = false; ///< copies move nothing
  /// Of its shared memory; null where nothing is left out.
  std::shared_ptr<time::LeftOut> leftOut;
  TensorMemory *tensor = nullptr;
  uint32_t owner = 0;
  /// Warps of other CTAs and engines that used its memory: their last access.
  std::unordered_map<uint32_t, Epoch> users;
  Knowledge atExit; ///< of its warps that have ended

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

/// Global memory as the machine sees it, with a memory of the last hits.
class GlobalView : public GlobalAccess {
public:
  /// The allocation of an access; empty at first.
  struct Hit {
    uint64_t base = 0, bytes = 0;
    uint8_t *host = nullptr;
  };

  explicit GlobalView(DeviceMemory &memory) : memory(memory) {}
  uint8_t *translate(uint64_t address, uint64_t size, bool) override {
    return find(last, address, size);
  }
  /// The same for an instruction, which mostly stays in one buffer.
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

/// Global memory of engines: observers are told of each access.
class EngineGlobal : public GlobalAccess {
public:
  explicit EngineGlobal(Cluster &cluster) : cluster(cluster) {}
  uint8_t *translate(uint64_t address, uint64_t size, bool write) override;
  /// What a copy writes to memory of other devices from now on is late.
  void beginStore() { isStore = true; }
  void endStore();

private:
  Cluster &cluster;
  bool isStore = false;
  std::vector<LateStore> stores;
};

/// How often something was found in a cluster, and in which of its CTAs.
struct Tally {
  uint64_t occurrences = 0, ranks = 0;
};

struct Cluster {
  explicit Cluster(DeviceMemory &memory)
      : global(memory), engineGlobal(*this) {}

  std::vector<std::unique_ptr<Cta>> ctas;
  uint64_t index = 0; ///< in the grid of clusters
  GlobalView global;
  EngineGlobal engineGlobal;
  AsyncQueue queue;
  Random random;
  /// How the seed wants background work to complete: early, at random, late.
  /// Even: late, all together, and warps take turns after a few instructions.
  /// Timed: when their engines have done them.
  enum class Pace : uint8_t {
    Eager,
    Early,
    Mixed,
    Late,
    Even,
    Timed
  } pace = Pace::Eager;
  std::vector<std::unique_ptr<ClusterObserver>> observers;
  /// Set by observers, or null: see Observer.h.
  Order *order = nullptr;
  Recorder *recorder = nullptr;
  Interpreter *interpreter = nullptr;
  /// Set by Timing, or null.
  time::Stopwatch *watch = nullptr;
  Shard *shard = nullptr;
  Knowledge barrierArriving, barrierCompleted;
  /// Counts everything that another warp could be waiting for.
  uint64_t effects = 0;
  /// Scheduling passes: a group that polls tries once in each.
  uint32_t round = 0;
  uint64_t executed = 0, counted = 0; ///< instructions; taken over so far
  bool timeout = false; ///< try_wait gives up, as its time limit allows
  bool slept = false;   ///< a lane sleeps: be patient
  /// In a world: it has read a clock, and when this pass began.
  bool readsTime = false;
  uint32_t passRound = 0;
  bool hasTurn = false;
  bool progress = false; ///< in the last pass
  bool stopped = false;  ///< by a finding that ends the launch
  std::string output;    ///< of printf
  std::vector<std::pair<Finding, LaunchStatus>> findings;
  std::map<FindingKey, Tally> tallies;
  uint32_t generation = 0; ///< of barrier.cluster
  uint32_t arrivedThreads = 0;
  uint32_t liveThreads = 0;
  std::vector<PairAlloc> pairs;
  uint64_t slot = 0;
  Machine *machine = nullptr;
  uint64_t lateStores = 0;      ///< so far
  uint64_t timedOperations = 0; ///< under way
  bool hasEnded = false;        ///< is to be retired
  void putLate(LateStore store);
  bool done() const { return liveThreads == 0 && queue.empty(); }
  bool wantsTurn() const;
};

/// What .loc says of an instruction; without it, the function where that is not
/// the kernel.
SourceChain sourceOf(const InstrInfo &info);

/// A range of bytes in terms of a buffer, a variable or a frame.
std::string describeAddress(Warp &w, ptx::Space space, uint64_t address,
                            uint64_t bytes);

class Machine {
public:
  /// `device`: that of a world, or null.
  Machine(const Program &program, DeviceMemory &memory,
          const LaunchConfig &config, const ptx::Module &module,
          LaunchReport &report, WorldDevice *device = nullptr);
  ~Machine();
  /// From the beginning to the end.
  void run();

  // The same in steps, for launches that are alive together.
  /// False with a finding where the launch does not fit kernel and device.
  bool begin();
  enum class Pass { Ended, Progress, Idle };
  /// Each cluster executes at most about `most` instructions.
  Pass pass(uint64_t most);
  /// Whether waits with a limit of time give up in the next pass. Returns
  /// whether a lane sleeps.
  bool setTimeouts(bool giveUp);
  bool breakConvergence();
  /// Of `note`, which may be empty, the first finding has the text.
  void reportDeadlock(std::string note = {});
  /// A number that says where all warps stand and what they hold, to tell that
  /// nothing changes.
  uint64_t stateHash();
  /// Whether a warp has read a clock since this was last asked.
  bool takeReadsTime();
  void finish();

  const Program &program;
  DeviceMemory &memory;
  const LaunchConfig &config;
  /// The address of a cooperative launch's workspace, else 0.
  uint64_t gridWorkspace = 0;
  const ptx::Module &module;
  LaunchReport &report;
  std::vector<std::unique_ptr<TensorMemory>> tensors; ///< per SM, as needed
  Dim3 cluster, clusterGrid;
  uint32_t threads = 0, warpsPerCta = 0;
  uint32_t sharedBytes = 0; ///< per CTA, reserved and dynamic included
  uint32_t dynamicOffset = 0;
  bool stopped = false;
  std::atomic<bool> wasInterrupted{false};
  std::vector<uint8_t> params;
  WorldDevice *const device;
  /// The number of its first cluster among those of the world.
  uint64_t firstCluster = 0;
  /// By operations of the scope of the device.
  Published published;
  /// The scopes that differ from wider ones here, the narrowest first.
  std::vector<MemoryScope> scopes;
  struct ScopeRange {
    const MemoryScope *first, *last;
    const MemoryScope *begin() const { return first; }
    const MemoryScope *end() const { return last; }
  };
  /// Those of them that a scope includes.
  ScopeRange scopesUpTo(MemoryScope scope) const {
    return {scopes.data(), scopes.data() + numScopesUpTo[int(scope)]};
  }
  GlobalShadow &shadow();
  /// The creator of the machine sets both before begin().
  std::vector<std::unique_ptr<LaunchObserver>> observers;
  /// Null unless the launch is timed.
  std::unique_ptr<Timing> timing;
  /// wgmma and tcgen05 compute no accumulators.
  bool skipsMmas = false;
  /// Copies move nothing into shared memory, and from it.
  bool leavesOutShared = false;
  /// Whether the host has asked for the end of the launch. The host may take
  /// its flag back; clusters that have stopped do not go on.
  bool isInterrupted() {
    if (config.interrupt && __atomic_load_n(config.interrupt, __ATOMIC_RELAXED))
      wasInterrupted.store(true, std::memory_order_relaxed);
    return wasInterrupted.load(std::memory_order_relaxed);
  }

  /// clusterlaunchcontrol.try_cancel: takes a cluster that has not started, or
  /// says that there is none. Needs the turn.
  bool cancelCluster(Cluster &asking, uint64_t &index);
  Dim3 firstCtaOf(uint64_t clusterIndex) const;
  uint64_t numClusters() const { return totalClusters; }

  TensorMemory &tensorOf(uint32_t sm);
  bool ready(Warp &w, Group &g);
  void completeNamedBarrier(Cta &cta, NamedBarrier &b);
  void checkNamedBarriers(Cta &cta);
  void checkClusterBarrier(Cluster &cluster);
  void add(Cluster &c, Finding finding, LaunchStatus status);
  /// Counts what a CTA did, and says whether it is new: one report of it is
  /// enough.
  bool count(Cta &cta, const FindingKey &key);
  /// What is in the report, and how often it was found by clusters that have
  /// ended.
  FindingCounts reported;

  /// Host pointer to shared memory, or null. `address` is rank << 24 | offset.
  uint8_t *shared(Warp &w, uint64_t address, uint64_t size, Cta *&owner);
  /// "8 bytes at shared address 0x1000408 (offset 8 of 'full' of CTA rank 1)".
  std::string describeShared(const Cta &own, uint64_t address, uint64_t size);
  std::string describeSharedOffset(uint32_t offset);

  // For Timing, which runs the launch by itself.
  std::vector<std::unique_ptr<Cluster>> active;
  /// Clusters that the device holds at once; those that run now are `active`.
  uint64_t slots = 0;
  uint64_t executed = 0; ///< instructions of warps
  std::unique_ptr<Workers> workers;
  /// Clusters that are dispatched, but not started yet.
  struct Waiting {
    uint64_t index, slot;
  };
  std::deque<Waiting> waiting;
  void startMore(size_t count);
  /// Takes over new findings and output of the cluster.
  void collect(Cluster &c);
  void retire(Cluster &c);
  void takeStatistics(Cluster &c);
  /// Ends the launch with a finding.
  void reportLimit();

private:
  std::unique_ptr<Cluster> startCluster(uint64_t index, uint64_t slot);
  void fillSpecials(Warp &w);
  bool bindShape();
  void bindScopes();

  // The scheduler (Scheduler.cpp).
  void runCluster(Cluster &c, uint64_t quantum);
  /// Whether another warp could have seen anything of it.
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
  /// The next ones in line for dispatch.
  uint64_t nextIndex = 0;
  std::deque<uint64_t> lookahead;
  Random random;
  unsigned numScopesUpTo[kMemoryScopes] = {};
  /// Of a launch without a world.
  GlobalShadow ownShadow;
  /// Other launches, as far as clusters that have ended knew them.
  Clock atEnd;
  /// Clusters that are to run side by side, and passes in which none ended.
  size_t target = 0;
  uint64_t passesAlone = 0;
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
