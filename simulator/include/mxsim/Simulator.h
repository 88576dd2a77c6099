//===- Simulator.h - Run PTX kernels without a GPU --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The public face of the simulator: device memory, modules parsed from PTX
// text, and launches. It is written from the PTX ISA and knows nothing of the
// compiler that made the text. Nothing here throws or aborts on bad input: it
// comes back as text in a report. Plain C++17, no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef MXSIM_SIMULATOR_H
#define MXSIM_SIMULATOR_H

#include "mxsim/Time.h"
#include "mxsim/Trace.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mx::sim {

//===----------------------------------------------------------------------===//
// Device memory
//===----------------------------------------------------------------------===//

class Overlap;
namespace time {
class LeftOut;
class Tags;
} // namespace time

/// The global memory of a simulated device. Addresses are deterministic:
/// they depend only on the order and the sizes of the allocations. Every
/// allocation is followed by an unmapped gap, so a stray access is found and
/// can be described in terms of the buffer it missed.
class DeviceMemory {
public:
  /// Between where Linux puts programs and heaps and where it maps libraries
  /// and large blocks (0x5500..., 0x7e00... to 0x7fff...), and outside the
  /// sanitizers' shadow: a device address is never a host address as well.
  static constexpr uint64_t kBase = 0x200000000000ull;
  static constexpr uint64_t kBytes = 1ull << 40;
  /// Devices of a process have these ranges one after another, so an address
  /// tells whose it is.
  static constexpr unsigned kMostDevices = 16;
  /// Allocations start on a page of their own.
  static constexpr uint64_t kPageBytes = 1ull << 16;
  /// The pattern of memory that was never written: a signaling NaN as bf16 and
  /// f32 and an address outside every allocation.
  static constexpr uint16_t kPoison = 0x7FA1;

  struct Allocation {
    uint64_t address = 0;
    uint64_t bytes = 0;
    std::string name;
  };

  /// 64 GiB, or as much as leaves the host a quarter of its own memory.
  static uint64_t defaultCapacity();

  /// `device` is its number among those of the process.
  explicit DeviceMemory(uint64_t capacity = defaultCapacity(),
                        unsigned device = 0);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Allocates poisoned memory; the name appears in reports. `align` must be
  /// a power of two; at least 256 is given. Returns 0 when the capacity is
  /// exceeded. An allocation of zero bytes has an address but no byte.
  uint64_t alloc(uint64_t bytes, uint64_t align = 256,
                 std::string_view name = {});
  /// Returns false when `address` is not the start of a live allocation.
  bool free(uint64_t address);

  /// Makes host memory an allocation at its own address, so that kernels and
  /// the host see the same bytes. False when a byte of the range belongs to
  /// another mapping or to the addresses of the device.
  bool mapHost(void *host, uint64_t bytes, std::string_view name = {});
  /// Ends it. False when no mapping starts there.
  bool unmapHost(void *host);

  /// Host pointer to [address, address + bytes), or null unless that range
  /// lies within one live allocation.
  void *translate(uint64_t address, uint64_t bytes) const;
  /// These return false, and change nothing, when the range is not allocated.
  bool copyIn(uint64_t address, const void *from, uint64_t bytes);
  bool copyOut(void *to, uint64_t address, uint64_t bytes) const;
  bool copy(uint64_t to, uint64_t from, uint64_t bytes);
  bool fill(uint64_t address, uint8_t byte, uint64_t bytes);
  bool fillPoison(uint64_t address, uint64_t bytes);

  /// Makes the allocation that starts there a window: other devices of its
  /// world read and write it. False when none starts there.
  bool share(uint64_t address);
  /// From now on the devices, which must have different numbers and live as
  /// long, reach each other's windows.
  static void connect(const std::vector<DeviceMemory *> &devices);
  unsigned device() const { return unsigned((base - kBase) / kBytes); }
  /// Whether an address is in the range of another device.
  bool isOfPeer(uint64_t address) const {
    return !peers.empty() && address - base >= kBytes &&
           address - kBase < kMostDevices * kBytes;
  }

  /// The live allocation that holds `address`, or null.
  const Allocation *find(uint64_t address) const;
  /// The range in terms of the nearest allocation, for messages: "4 bytes at
  /// offset 4096 of buffer 'A' (4096 bytes)".
  std::string describe(uint64_t address, uint64_t bytes) const;

  /// All kernels have ended: the host has waited, or what it put after them in
  /// their stream does. Until then a launch may be `programmatic` after them.
  void settle();
  Overlap &overlap() { return *overlapping; }
  /// A launch begins.
  void beginLaunch(bool isProgrammatic);

  /// What launches that are timed have left in L2; null before the first.
  std::shared_ptr<std::vector<time::Tags>> l2;
  /// Bytes whose values launches with LaunchConfig::skipsMmas have left
  /// out; null before the first.
  std::shared_ptr<time::LeftOut> leftOut;
  /// The host has written these.
  void define(uint64_t address, uint64_t bytes);

  uint64_t bytesInUse() const { return inUse; }
  uint64_t bytesCapacity() const { return capacity; }

private:
  struct Block;
  std::vector<std::unique_ptr<Block>> blocks;
  /// Block index + 1 per page, 0 where nothing lives.
  std::vector<uint32_t> pages;
  uint64_t capacity;
  uint64_t inUse = 0;
  const uint64_t base;
  uint64_t next;
  /// Host memory, by its address.
  std::map<uint64_t, std::unique_ptr<Block>> mapped;
  std::unique_ptr<Overlap> overlapping;
  /// The devices of the world by number, this one included, or none.
  std::vector<DeviceMemory *> peers;

  Block *lookup(uint64_t address) const;
  /// What the device itself has there.
  Block *lookupOwn(uint64_t address) const;
  const DeviceMemory *peerOf(uint64_t address) const;
};

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// An error or a remark about PTX text.
struct Diagnostic {
  std::string message; ///< lower case, no full stop
  unsigned line = 0;   ///< of the PTX text, from 1; 0 when no line applies
  unsigned column = 0;
};

/// Whether modules for this .target are simulated: sm_90a, and with 'a', 'f' or
/// no suffix sm_100, 103, 120 and 121; without a suffix all before, too.
bool isSimulated(std::string_view target);

/// What the instructions of a kernel do with a parameter: a guess, for people.
enum class ParameterUse { Unknown, Number, Address, TensorMap };

/// A word of a parameter that the kernel loads, or a tensor map in it.
struct ParameterWord {
  uint32_t offset = 0; ///< in the parameter
  uint32_t bytes = 0;
  ParameterUse use = ParameterUse::Unknown;
  std::string_view type; ///< of a Number, as in PTX; points into the module
  unsigned rank = 0;     ///< of a TensorMap, if a copy tells
};

struct ParameterInfo {
  std::string name;
  uint32_t offset = 0; ///< in the parameter block of the kernel
  uint32_t bytes = 0;
  uint32_t align = 1;
  std::string type; ///< as declared: "u64", "b8[128]"
  /// TensorMap where it is one and no more, or else what `words` say.
  ParameterUse use = ParameterUse::Unknown;
  std::vector<ParameterWord> words; ///< in the order of their offsets
};

struct KernelInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  uint32_t parameterBytes = 0;
  uint32_t staticSharedBytes = 0;
  /// Whether it, or a function of its module, names shared memory whose size
  /// the launch gives.
  bool usesDynamicShared = false;
  /// From .reqntid, .maxntid, .reqnctapercluster, .explicitcluster and the
  /// like; 0 where the kernel does not say.
  std::array<uint32_t, 3> requiredBlock = {0, 0, 0};
  std::array<uint32_t, 3> maximumBlock = {0, 0, 0};
  std::array<uint32_t, 3> requiredCluster = {0, 0, 0};
  /// Instructions that the simulator does not know ("line 12: ..."); they are
  /// an error when reached by a launch of this kernel, not before.
  std::vector<Diagnostic> unsupported;
};

struct GlobalInfo {
  std::string name;
  uint64_t bytes = 0;
  uint64_t address = 0; ///< 0 before the module was loaded
};

/// One PTX module. Parse it once, load it into one DeviceMemory, launch it any
/// number of times.
class Module {
public:
  /// Parses PTX text. Returns null, with at least one entry in `errors`, when
  /// the text is not well formed. `name` stands in messages.
  static std::unique_ptr<Module> parse(std::string_view text,
                                       std::string_view name,
                                       std::vector<Diagnostic> &errors);
  ~Module();

  const std::string &name() const { return contents.name; }
  /// E.g. "sm_100a".
  const std::string &target() const { return contents.target; }
  const std::vector<KernelInfo> &kernels() const { return contents.kernels; }
  /// Null when there is no such kernel.
  const KernelInfo *findKernel(std::string_view name) const;

  /// Lets the modules use each other's functions and variables: what one
  /// declares .extern and another defines. Before any of them is loaded; they
  /// must live together from then on, and all be loaded before a launch.
  /// Returns an error message or an empty string.
  static std::string link(const std::vector<Module *> &modules);

  /// Allocates and initialises the module's .global and .const variables.
  /// Done by the first launch where it was not done before. Returns an error
  /// message or an empty string.
  std::string load(DeviceMemory &memory);
  /// Frees them again. A module must be unloaded before its memory dies, or
  /// simply outlive it.
  void unload();
  const std::vector<GlobalInfo> &globals() const { return contents.globals; }
  const GlobalInfo *findGlobal(std::string_view name) const;

  struct Impl;
  Impl &impl() { return *self; }
  const Impl &impl() const { return *self; }

private:
  struct Contents {
    std::string name, target;
    std::vector<KernelInfo> kernels;
    std::vector<GlobalInfo> globals;
  };
  explicit Module(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> self;
  const Contents &contents; ///< in `self`
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// What is looked for beyond what a run cannot go on without (deadlock, wild
/// addresses, traps, unsupported instructions).
enum Check : uint32_t {
  kCheckUninitTensorMemory = 1u << 0,
  kCheckLoadBeforeWait = 1u << 1,
  kCheckUninitShared = 1u << 2,
  kCheckTensorMemoryLeak = 1u << 3,
  kCheckBarrier = 1u << 4, ///< tx overflow, bad counts
  kCheckRace = 1u << 5,
  kCheckProxyFence = 1u << 6,
  kCheckTensorFence = 1u << 7,
  kCheckCtaExit = 1u << 8,
  kCheckPhaseOverrun = 1u << 9,
  kCheckSparseMetadata = 1u << 10,
  kCheckNone = 0,
  kCheckAll = ~0u,
  /// Those that follow the order of accesses; the others cost little.
  kCheckOrder = kCheckRace | kCheckProxyFence | kCheckTensorFence |
                kCheckCtaExit | kCheckPhaseOverrun,
};

/// The checks by name, as in options and reports. A check has the name of the
/// kind of its findings.
struct CheckName {
  std::string_view name;
  uint32_t bit;
};
inline constexpr CheckName kCheckNames[] = {
    {"uninit-tmem", kCheckUninitTensorMemory},
    {"ld-before-wait", kCheckLoadBeforeWait},
    {"uninit-smem", kCheckUninitShared},
    {"tmem-leak", kCheckTensorMemoryLeak},
    {"mbarrier", kCheckBarrier},
    {"race", kCheckRace},
    {"proxy-fence", kCheckProxyFence},
    {"tcgen05-fence", kCheckTensorFence},
    {"cta-exit", kCheckCtaExit},
    {"phase-overrun", kCheckPhaseOverrun},
    {"sparse-metadata", kCheckSparseMetadata},
};

struct LaunchConfig {
  std::string kernel;
  Dim3 grid, block;
  /// 0,0,0: as the kernel says, else 1,1,1.
  Dim3 cluster = {0, 0, 0};
  uint32_t dynamicSharedBytes = 0;
  /// The kernel's parameter block: each parameter at its offset in
  /// KernelInfo. The size must match exactly.
  std::vector<uint8_t> parameters;

  uint32_t smCount = 148;
  /// The order of warps, CTAs and asynchronous completions. 0: the fastest to
  /// simulate, where operations complete as they are issued, or when the
  /// issuing warp next waits; others are other legal orders.
  uint64_t seed = 0;
  /// Programmatic dependent launch: the kernel may begin before those before it
  /// have ended, and orders itself by griddepcontrol.wait. It runs after them
  /// all the same; what it shares with them before it has waited is a race.
  bool programmatic = false;
  /// Cooperative launch: all CTAs are resident together or the launch is
  /// refused, and %envreg1 and %envreg2 hold the high and the low half of the
  /// address of a workspace by which they synchronise (grid.sync of cooperative
  /// groups). Both are 0 in other launches.
  bool cooperative = false;
  /// What a GPU happens to do and sloppy programs rely on: memory of an SM that
  /// was never written holds zeros, and where the seed is 0 the warps of a
  /// cluster keep pace with each other and copies complete together while all
  /// wait.
  bool keepsPace = false;
  /// Host threads among which clusters are spread; 0: one per core. The result
  /// does not depend on it.
  unsigned threads = 0;
  uint32_t checks = kCheckAll;
  /// Tensor cores add as the hardware does, truncating each term, instead of
  /// exactly with one rounding per step.
  bool truncatesTensorSums = false;
  /// In warp instructions, of the whole launch.
  uint64_t maxInstructions = 10'000'000'000ull;
  /// The launch ends soon after another thread has made this anything but 0,
  /// incomplete and without a finding. Null: nothing interrupts it.
  const int32_t *interrupt = nullptr;
  /// What cuFuncSetAttribute would have allowed.
  uint32_t maxDynamicSharedBytes = 232448;
  bool nonPortableCluster = true;
  /// Counts what each instruction does, for LaunchStatistics::profiles. Costs
  /// some speed.
  bool profile = false;
  /// The first CTAs of the grid, in whole clusters, get a timeline of at most
  /// so many spans; 0: none.
  static constexpr uint32_t kTwoClusters = ~0u;
  uint32_t timelineCtas = 0;
  uint64_t timelineSpans = 200'000;
  /// The chip, of namesOfTimedChips(), whose time is modelled; empty: none. One
  /// host thread then runs all clusters, and the seed has no say.
  std::string timedChip;
  TimeChanges timeChanges;
  /// Of a launch that is timed: LaunchTime::lines. Costs some speed.
  bool timeLines = false;
  /// What nvdisasm prints of the kernel's machine code, where its instructions
  /// are to be priced by that.
  std::string machineCode;
  /// Of a launch that is timed: wgmma and tcgen05 compute no accumulators,
  /// and results of these mean nothing, unless a branch or an address may
  /// depend on them (LaunchTime::computedForLine).
  bool skipsMmas = false;
  /// Findings beyond this number are counted but not kept.
  uint32_t maxFindings = 20;
};

/// Worst first: where several apply the first one is the status of the launch.
enum class LaunchStatus {
  BadInput, ///< wrong launch arguments or an unsupported instruction
  Deadlock,
  Failed, ///< a check, a trap, a wild address, or the instruction limit
  Clean,
};

enum class FindingKind {
  BadLaunch,
  Unsupported,
  Deadlock,
  Trap,
  InstructionLimit,
  OutOfBounds,
  Misaligned,
  IllegalInstruction, ///< bad descriptor, shape, address or state
  UninitTensorMemory,
  LoadBeforeWait,
  UninitShared,
  TensorMemoryLeak,
  Barrier,
  Race,
  ProxyFence,
  TensorFence,
  CtaExit,
  PhaseOverrun,
  SparseMetadata,
  LeftOut, ///< a value that decides was not computed (--data=none)
};

/// "deadlock", "out-of-bounds", ...: stable names, used in reports and tests.
std::string_view toString(FindingKind kind);
std::string_view toString(LaunchStatus status);

struct Finding {
  FindingKind kind = FindingKind::BadLaunch;
  /// Undefined by the PTX ISA, but right on the chips that are known: the
  /// launch counts as clean.
  bool isWarning = false;
  std::string message;
  std::string module;
  unsigned ptxLine = 0; ///< 0: none
  SourceChain source;
  /// Of a world; -1: there is none.
  int device = -1;
  bool hasCta = false;
  Dim3 cta = {0, 0, 0};
  int warp = -1;
  uint32_t lanes = 0;
  /// The other party, of findings that have two: who, and where.
  std::string other;
  unsigned otherLine = 0;
  SourceChain otherSource;
  /// A finding of a source line that the compiler has unrolled stands for its
  /// copies, too: the lines of all of them, this one first. Empty: just one.
  std::vector<unsigned> lines;
  /// How often it was found, and in how many CTAs; what stands above is of the
  /// first time.
  uint64_t occurrences = 1, ctas = 1;

  size_t count() const { return lines.empty() ? 1 : lines.size(); }
  /// The first of `lines`, as many as reports name.
  std::vector<unsigned> firstLines() const;
  /// One paragraph: kind, message, places, copies, counts.
  std::string text() const;
};

/// What the warps of one index did, in all CTAs together. Bytes count once per
/// access, whatever caches would do.
struct WarpStatistics {
  uint64_t instructions = 0;
  uint64_t mmas = 0; ///< tcgen05.mma, wgmma and mma.sync instructions
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0;
  uint64_t sharedLoadBytes = 0, sharedStoreBytes = 0;
  uint64_t tensorLoadBytes = 0, tensorStoreBytes = 0; ///< tcgen05.ld, .st
  uint64_t bulkLoadBytes = 0;   ///< to shared memory by bulk copies
  uint64_t bulkReadBytes = 0;   ///< by these: a multicast reads once
  uint64_t bulkStoreBytes = 0;  ///< from shared memory
  uint64_t copyBytes = 0;       ///< to shared memory by cp.async
  uint64_t tensorCopyBytes = 0; ///< shared to tensor memory by tcgen05.cp
  /// Waits that came to an end.
  uint64_t mbarrierWaits = 0, barrierWaits = 0, clusterWaits = 0;
  /// Of a launch that is timed: cycles from a warp's start to its end, issue
  /// slots that it took, and cycles that it waited for mbarriers, barriers of
  /// CTA and cluster, groups of copies, MMAs, and other results.
  uint64_t cycles = 0, slots = 0;
  uint64_t mbarrierCycles = 0, barrierCycles = 0, groupCycles = 0;
  uint64_t mmaCycles = 0, resultCycles = 0;

  WarpStatistics &operator+=(const WarpStatistics &o);
};

/// The same counts in finer parts; where LaunchConfig::profile asks for them.
struct WarpProfile {
  /// Instructions by what they do: "integer", "shared load", "tcgen05", ...
  std::map<std::string, uint64_t> classes;
  /// MMAs by opcode and shape: "tcgen05.mma kind::mxf8f6f4 128x128x32".
  std::map<std::string, uint64_t> mmas;
  /// Instructions by line of the PTX.
  std::map<uint32_t, uint64_t> lines;
  /// Tests of an mbarrier that failed and were done again by a loop that did
  /// nothing else, and the instructions of these rounds.
  uint64_t failedTests = 0, failedInstructions = 0;

  WarpProfile &operator+=(const WarpProfile &o);
};

struct LaunchStatistics {
  uint64_t warpInstructions = 0;
  uint64_t mmas = 0;
  uint64_t tmaBytes = 0;
  uint64_t residentCtas = 0;
  /// By index of the warp in its CTA.
  std::vector<WarpStatistics> warps;
  std::vector<WarpProfile> profiles;
};

/// What was launched.
struct LaunchFacts {
  std::string kernel, module, target;
  Dim3 grid, block, cluster;
  uint32_t staticSharedBytes = 0, dynamicSharedBytes = 0;
  uint32_t smCount = 0;
  uint64_t seed = 0;
  uint32_t checks = 0;
  bool truncatesTensorSums = false;
  /// Of a world; -1: there is none.
  int device = -1;
};

struct LaunchReport {
  LaunchFacts facts;
  LaunchStatus status = LaunchStatus::Clean;
  /// Every CTA ran to its end, whatever the checks found.
  bool isComplete = false;
  /// By LaunchConfig::interrupt; the status is Failed.
  bool isInterrupted = false;
  std::vector<Finding> findings;
  uint64_t findingsDropped = 0;
  LaunchStatistics statistics;
  /// Null unless the launch asked for it.
  std::shared_ptr<const Timeline> timeline;
  LaunchTime time;

  bool clean() const { return status == LaunchStatus::Clean; }
  /// All findings as text, one paragraph each; empty when clean.
  std::string text() const;
  /// 0 clean, 1 failed, 2 bad input, 3 deadlock.
  int exitStatus() const;
};

/// Runs one kernel to its end. An empty grid (a zero in it) is refused, as by
/// the driver.
LaunchReport launch(Module &module, DeviceMemory &memory,
                    const LaunchConfig &config);

} // namespace mx::sim

#endif // MXSIM_SIMULATOR_H
