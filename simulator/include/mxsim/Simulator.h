//===- Simulator.h - Run PTX kernels without a GPU --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Public API of the simulator: device memory, modules parsed from PTX text, and
// launches. Implements the PTX ISA independently of the compiler that emitted
// the text. Bad input never throws or aborts; errors are returned as text.
// Plain C++17 without LLVM.
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

/// Global memory of a simulated device. Addresses are deterministic: they
/// depend only on the order and the sizes of the allocations. An unmapped gap
/// follows every allocation, so stray accesses are detected and reported
/// relative to the nearest buffer.
class DeviceMemory {
public:
  /// The address range lies outside the regions that Linux uses for programs
  /// and heaps (0x5500...) and for libraries and large blocks (0x7e00... to
  /// 0x7fff...), and outside sanitizer shadow memory. A device address is thus
  /// never a valid host address.
  static constexpr uint64_t kBase = 0x200000000000ull;
  static constexpr uint64_t kBytes = 1ull << 40;
  /// Each device of a process owns a range of kBytes; the ranges are
  /// contiguous, so an address identifies its device.
  static constexpr unsigned kMostDevices = 16;
  /// Allocation granularity.
  static constexpr uint64_t kPageBytes = 1ull << 16;
  /// Pattern of uninitialized memory: a signaling NaN in bf16 and f32, and an
  /// address outside every allocation.
  static constexpr uint16_t kPoison = 0x7FA1;

  struct Allocation {
    uint64_t address = 0;
    uint64_t bytes = 0;
    std::string name;
  };

  /// Returns 64 GiB, but at most three quarters of the host's memory.
  static uint64_t defaultCapacity();

  /// `device` is the index of the device in the process.
  explicit DeviceMemory(uint64_t capacity = defaultCapacity(),
                        unsigned device = 0);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Allocates poisoned memory; `name` appears in reports. `align` must be a
  /// power of two; the minimum is 256. Returns 0 if the capacity is exceeded. A
  /// zero-byte allocation has an address but no accessible byte.
  uint64_t alloc(uint64_t bytes, uint64_t align = 256,
                 std::string_view name = {});
  /// Returns false unless `address` is the start of a live allocation.
  bool free(uint64_t address);

  /// Maps host memory at its own address, so that kernels and the host share
  /// it. Returns false if the range overlaps another mapping or the device
  /// address range.
  bool mapHost(void *host, uint64_t bytes, std::string_view name = {});
  /// Removes a host mapping. Returns false if no mapping starts at `host`.
  bool unmapHost(void *host);

  /// Returns the host pointer for [address, address + bytes), or null unless
  /// one live allocation contains the range.
  void *translate(uint64_t address, uint64_t bytes) const;
  /// These return false and change nothing if the range is not allocated.
  bool copyIn(uint64_t address, const void *from, uint64_t bytes);
  bool copyOut(void *to, uint64_t address, uint64_t bytes) const;
  bool copy(uint64_t to, uint64_t from, uint64_t bytes);
  bool fill(uint64_t address, uint8_t byte, uint64_t bytes);
  bool fillPoison(uint64_t address, uint64_t bytes);

  /// Turns the allocation at `address` into a window that other devices of the
  /// world can access. Returns false if no allocation starts there.
  bool share(uint64_t address);
  /// Lets the devices access each other's windows. The devices must have unique
  /// indices, and all must stay alive as long as any of them is used.
  static void connect(const std::vector<DeviceMemory *> &devices);
  unsigned device() const { return unsigned((base - kBase) / kBytes); }
  /// Returns true if `address` is in the range of another device.
  bool isOfPeer(uint64_t address) const {
    return !peers.empty() && address - base >= kBytes &&
           address - kBase < kMostDevices * kBytes;
  }

  /// Returns the live allocation that contains `address`, or null.
  const Allocation *find(uint64_t address) const;
  /// Describes a range relative to the nearest allocation: "4 bytes at offset
  /// 4096 of buffer 'A' (4096 bytes)".
  std::string describe(uint64_t address, uint64_t bytes) const;

  /// Marks all launched kernels as finished, because the host or the next
  /// operation in the stream has waited for them. Later `programmatic` launches
  /// cannot overlap them.
  void settle();
  Overlap &overlap() { return *overlapping; }
  void beginLaunch(bool isProgrammatic);

  /// L2 contents left by timed launches; null before the first.
  std::shared_ptr<std::vector<time::Tags>> l2;
  /// Bytes left uncomputed by launches with LaunchConfig::skipsMmas; null
  /// before the first.
  std::shared_ptr<time::LeftOut> leftOut;
  /// Marks the bytes as written by the host.
  void define(uint64_t address, uint64_t bytes);

  uint64_t bytesInUse() const { return inUse; }
  uint64_t bytesCapacity() const { return capacity; }

private:
  struct Block;
  std::vector<std::unique_ptr<Block>> blocks;
  /// Block index + 1 per page; 0 if the page is unmapped.
  std::vector<uint32_t> pages;
  uint64_t capacity;
  uint64_t inUse = 0;
  const uint64_t base;
  uint64_t next;
  /// Host mappings by address.
  std::map<uint64_t, std::unique_ptr<Block>> mapped;
  std::unique_ptr<Overlap> overlapping;
  /// Devices of the world by index, including this device; empty without a
  /// world.
  std::vector<DeviceMemory *> peers;

  Block *lookup(uint64_t address) const;
  /// Looks up an address without searching peers.
  Block *lookupOwn(uint64_t address) const;
  const DeviceMemory *peerOf(uint64_t address) const;
};

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

struct Diagnostic {
  std::string message; ///< lower case, no full stop
  unsigned line = 0;   ///< PTX line, from 1; 0 if no line applies
  unsigned column = 0;
};

/// Returns true if modules for this .target can be simulated: sm_90a; sm_100,
/// 103, 120 and 121 with suffix 'a', 'f' or none; and all earlier targets
/// without a suffix.
bool isSimulated(std::string_view target);

/// Inferred use of a parameter. A heuristic, for display only.
enum class ParameterUse { Unknown, Number, Address, TensorMap };

/// Word of a parameter that the kernel loads, or a tensor map in the parameter.
struct ParameterWord {
  uint32_t offset = 0; ///< in the parameter
  uint32_t bytes = 0;
  ParameterUse use = ParameterUse::Unknown;
  std::string_view type; ///< PTX type of a Number; points into the module
  unsigned rank = 0;     ///< rank of a TensorMap if a copy reveals it, or 0
};

struct ParameterInfo {
  std::string name;
  uint32_t offset = 0; ///< offset in the kernel's parameter block
  uint32_t bytes = 0;
  uint32_t align = 1;
  std::string type; ///< as declared: "u64", "b8[128]"
  /// TensorMap if the parameter is exactly a tensor map; otherwise derived from
  /// `words`.
  ParameterUse use = ParameterUse::Unknown;
  std::vector<ParameterWord> words; ///< sorted by offset
};

struct KernelInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  uint32_t parameterBytes = 0;
  uint32_t staticSharedBytes = 0;
  /// True if the kernel, or a function of its module, refers to dynamic shared
  /// memory.
  bool usesDynamicShared = false;
  /// Limits set by .reqntid, .maxntid, .reqnctapercluster, .explicitcluster and
  /// similar directives; 0 if absent.
  std::array<uint32_t, 3> requiredBlock = {0, 0, 0};
  std::array<uint32_t, 3> maximumBlock = {0, 0, 0};
  std::array<uint32_t, 3> requiredCluster = {0, 0, 0};
  /// Instructions that the simulator does not support ("line 12: ..."). A
  /// launch fails only if it reaches such an instruction.
  std::vector<Diagnostic> unsupported;
};

struct GlobalInfo {
  std::string name;
  uint64_t bytes = 0;
  uint64_t address = 0; ///< 0 before the module is loaded
};

/// A PTX module. Parse it once, load it into one DeviceMemory, and launch it
/// any number of times.
class Module {
public:
  /// Parses PTX text. Returns null and adds diagnostics to `errors` if the text
  /// is malformed. Messages refer to the module as `name`.
  static std::unique_ptr<Module> parse(std::string_view text,
                                       std::string_view name,
                                       std::vector<Diagnostic> &errors);
  ~Module();

  const std::string &name() const { return contents.name; }
  /// Returns the target, such as "sm_100a".
  const std::string &target() const { return contents.target; }
  const std::vector<KernelInfo> &kernels() const { return contents.kernels; }
  /// Returns null if the module contains no such kernel.
  const KernelInfo *findKernel(std::string_view name) const;

  /// Resolves .extern declarations of functions and variables across `modules`.
  /// Call before any of the modules is loaded. All must be loaded before a
  /// launch and stay alive while any of them is used. Returns an error message
  /// or an empty string.
  static std::string link(const std::vector<Module *> &modules);

  /// Allocates and initializes the .global and .const variables. The first
  /// launch loads the module if needed. Returns an error message or an empty
  /// string.
  std::string load(DeviceMemory &memory);
  /// Frees the variables. A module must be unloaded before its memory is
  /// destroyed, or outlive the memory.
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
  const Contents &contents; ///< part of `self`
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// Optional checks. Faults that end a run (deadlocks, wild addresses, traps,
/// unsupported instructions) are always detected.
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
  // Both report correct published kernels, so `all` excludes them.
  kCheckReadFence = 1u << 11,
  kCheckUninitGlobal = 1u << 12,
  kCheckNone = 0,
  kCheckAll = ~(kCheckReadFence | kCheckUninitGlobal),
  /// Checks that track the order of accesses. All other checks are cheap.
  kCheckOrder = kCheckRace | kCheckProxyFence | kCheckTensorFence |
                kCheckCtaExit | kCheckPhaseOverrun | kCheckReadFence,
};

/// Names of the checks in options and reports, equal to the names of their
/// findings.
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
    {"read-fence", kCheckReadFence},
    {"uninit-global", kCheckUninitGlobal},
};

struct LaunchConfig {
  std::string kernel;
  Dim3 grid, block;
  /// 0,0,0 selects the cluster size of the kernel, or 1,1,1.
  Dim3 cluster = {0, 0, 0};
  uint32_t dynamicSharedBytes = 0;
  /// Parameter block of the kernel, with each parameter at its offset in
  /// KernelInfo. The size must match exactly.
  std::vector<uint8_t> parameters;

  uint32_t smCount = 148;
  /// Selects the order of warps, CTAs and asynchronous completions. Seed 0 is
  /// the fastest to simulate: operations complete when they are issued, or when
  /// the issuing warp next waits. Other seeds select other legal orders.
  uint64_t seed = 0;
  /// Programmatic dependent launch: the kernel may start before its
  /// predecessors end, and synchronizes with griddepcontrol.wait. The simulator
  /// still runs the kernel after its predecessors, but reports conflicting
  /// accesses before the wait as races.
  bool programmatic = false;
  /// Cooperative launch: the launch fails unless all CTAs are resident
  /// together. %envreg1 and %envreg2 contain the high and the low half of the
  /// address of a workspace for grid.sync (cooperative groups). Both are 0 in
  /// other launches.
  bool cooperative = false;
  /// Emulates behavior that sloppy programs rely on: uninitialized SM memory
  /// reads as zero and, with seed 0, the warps of a cluster run in lockstep and
  /// copies complete together once all warps wait.
  bool keepsPace = false;
  /// Host threads that simulate clusters in parallel; 0 selects one per core.
  /// The result does not depend on this value.
  unsigned threads = 0;
  uint32_t checks = kCheckAll;
  /// Truncate every term of a tensor-core sum, as the hardware does. By default
  /// sums are exact, with one rounding per step, except those of 8-bit floats
  /// with wgmma.
  bool truncatesTensorSums = false;
  /// Limit for the whole launch, in warp instructions.
  uint64_t maxInstructions = 10'000'000'000ull;
  /// Ends the launch soon after another thread sets this to a nonzero value.
  /// The report is then incomplete and contains no finding for the
  /// interruption. May be null.
  const int32_t *interrupt = nullptr;
  /// Limits that a host program sets with cuFuncSetAttribute.
  uint32_t maxDynamicSharedBytes = 232448;
  bool nonPortableCluster = true;
  /// Counts the activity of each instruction for LaunchStatistics::profiles.
  /// The launch is then slower.
  bool profile = false;
  /// The timeline records the first `timelineCtas` CTAs, rounded up to whole
  /// clusters, and at most `timelineSpans` spans. 0 disables the timeline, and
  /// kTwoClusters records two clusters.
  static constexpr uint32_t kTwoClusters = ~0u;
  uint32_t timelineCtas = 0;
  uint64_t timelineSpans = 200'000;
  /// Chip to model time for, from namesOfTimedChips(); empty disables the
  /// model. Timed launches ignore the seed.
  std::string timedChip;
  TimeChanges timeChanges;
  /// Fills LaunchTime::lines of a timed launch. The launch is then slower.
  bool timeLines = false;
  /// Output of nvdisasm for the kernel. If set, instruction costs are taken
  /// from the machine code.
  std::string machineCode;
  /// In a timed launch, wgmma and tcgen05 skip their arithmetic, so results are
  /// meaningless. If a branch or an address may depend on an accumulator,
  /// accumulators are computed anyway; see LaunchTime::computedForLine.
  bool skipsMmas = false;
  /// Findings beyond this number are counted but not stored.
  uint32_t maxFindings = 20;
};

/// Status of a launch, worst first. If several apply, the worst is reported.
enum class LaunchStatus {
  BadInput, ///< wrong launch arguments or an unsupported instruction
  Deadlock,
  Failed, ///< failed check, trap, wild address, or instruction limit
  Clean,
};

enum class FindingKind {
#define MX_FINDING(kind, name, section, about, remedy) kind,
#include "mxsim/Findings.def"
};

/// Situations in which findings of a kind need another remedy.
enum class Situation : uint8_t {
  None,
#define MX_SITUATION(kind, situation, section, remedy) situation,
#include "mxsim/Findings.def"
};

/// Properties of all findings of a kind.
struct FindingInfo {
  std::string_view name, section, about, remedy;
};
const FindingInfo &infoOf(FindingKind kind);
constexpr unsigned kNumFindingKinds = unsigned(FindingKind::LeftOut) + 1;

/// Returns a stable name for reports and tests: "deadlock", "out-of-bounds",
/// ...
std::string_view toString(FindingKind kind);
std::string_view toString(LaunchStatus status);

struct Finding {
  FindingKind kind = FindingKind::BadLaunch;
  Situation situation = Situation::None;
  /// True if the PTX ISA leaves the behavior undefined, but all known chips
  /// behave correctly. The launch still counts as clean.
  bool isWarning = false;
  std::string message;
  std::string module;
  unsigned ptxLine = 0; ///< 0: none
  SourceChain source;
  /// Device index in a world; -1 outside a world.
  int device = -1;
  bool hasCta = false;
  Dim3 cta = {0, 0, 0};
  int warp = -1;
  uint32_t lanes = 0;
  /// Second access or instruction, for findings that involve two.
  std::string other;
  unsigned otherLine = 0;
  SourceChain otherSource;
  /// PTX lines of all copies of an unrolled source line, with this line first.
  /// Empty unless the compiler made several copies.
  std::vector<unsigned> lines;
  /// Number of occurrences, and number of affected CTAs. All other members
  /// describe the first occurrence.
  uint64_t occurrences = 1, ctas = 1;

  size_t count() const { return lines.empty() ? 1 : lines.size(); }
  /// Returns the leading entries of `lines`, up to the number that reports
  /// print.
  std::vector<unsigned> firstLines() const;
  /// Returns an imperative sentence, without a full stop.
  std::string_view remedy() const;
  /// Returns the address of the section of the documentation: a URL if
  /// MX_PROJECT_URL was set when the simulator was configured, and otherwise a
  /// path in the source tree.
  std::string link() const;
  /// Returns one paragraph: kind, message, locations, copies, counts, remedy.
  std::string text() const;
};

/// Statistics of all warps with the same index, over all CTAs. Bytes are
/// counted per access, regardless of caches.
struct WarpStatistics {
  uint64_t instructions = 0;
  uint64_t mmas = 0; ///< tcgen05.mma, wgmma and mma.sync instructions
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0;
  uint64_t sharedLoadBytes = 0, sharedStoreBytes = 0;
  uint64_t tensorLoadBytes = 0, tensorStoreBytes = 0; ///< tcgen05.ld, .st
  uint64_t bulkLoadBytes = 0;   ///< bulk copies to shared memory
  uint64_t bulkReadBytes = 0;   ///< source bytes; a multicast counts once
  uint64_t bulkStoreBytes = 0;  ///< bulk copies from shared memory
  uint64_t copyBytes = 0;       ///< cp.async to shared memory
  uint64_t tensorCopyBytes = 0; ///< tcgen05.cp, from shared to tensor memory
  /// Completed waits.
  uint64_t mbarrierWaits = 0, barrierWaits = 0, clusterWaits = 0;
  /// Timed launches only: the lifetime of the warps in cycles, the issue slots
  /// used, and the cycles spent waiting for mbarriers, for CTA and cluster
  /// barriers, for copy groups, for MMAs, and for other results.
  uint64_t cycles = 0, slots = 0;
  uint64_t mbarrierCycles = 0, barrierCycles = 0, groupCycles = 0;
  uint64_t mmaCycles = 0, resultCycles = 0;

  WarpStatistics &operator+=(const WarpStatistics &o);
};

/// Detailed counts, filled in with LaunchConfig::profile.
struct WarpProfile {
  /// Instructions by class: "integer", "shared load", "tcgen05", ...
  std::map<std::string, uint64_t> classes;
  /// MMAs by opcode and shape: "tcgen05.mma kind::mxf8f6f4 128x128x32".
  std::map<std::string, uint64_t> mmas;
  std::map<uint32_t, uint64_t> lines;
  /// Failed mbarrier tests in loops that only poll, and the instructions of
  /// these iterations.
  uint64_t failedTests = 0, failedInstructions = 0;

  WarpProfile &operator+=(const WarpProfile &o);
};

struct LaunchStatistics {
  uint64_t warpInstructions = 0;
  uint64_t mmas = 0;
  uint64_t tmaBytes = 0;
  uint64_t residentCtas = 0;
  /// Indexed by the warp index in the CTA.
  std::vector<WarpStatistics> warps;
  std::vector<WarpProfile> profiles;
};

struct LaunchFacts {
  std::string kernel, module, target;
  Dim3 grid, block, cluster;
  uint32_t staticSharedBytes = 0, dynamicSharedBytes = 0;
  uint32_t smCount = 0;
  uint64_t seed = 0;
  uint32_t checks = 0;
  bool truncatesTensorSums = false;
  /// Device index in a world; -1 outside a world.
  int device = -1;
};

struct LaunchReport {
  LaunchFacts facts;
  LaunchStatus status = LaunchStatus::Clean;
  /// True if every CTA ran to its end, regardless of findings.
  bool isComplete = false;
  /// True if LaunchConfig::interrupt ended the launch; the status is Failed.
  bool isInterrupted = false;
  std::vector<Finding> findings;
  uint64_t findingsDropped = 0;
  LaunchStatistics statistics;
  /// Null unless requested by LaunchConfig::timelineCtas.
  std::shared_ptr<const Timeline> timeline;
  LaunchTime time;

  bool clean() const { return status == LaunchStatus::Clean; }
  /// Returns all findings as text, one paragraph each; empty if clean.
  std::string text() const;
  /// Returns an ExitStatus.
  int exitStatus() const;
};

/// Runs a kernel to completion. Rejects an empty grid (any extent 0), as the
/// driver does.
LaunchReport launch(Module &module, DeviceMemory &memory,
                    const LaunchConfig &config);

} // namespace mx::sim

#endif // MXSIM_SIMULATOR_H
