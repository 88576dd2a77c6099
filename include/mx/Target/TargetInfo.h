//===- TargetInfo.h - Limits and features of chips --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only table of supported chips, with memory sizes, launch limits and
// instruction families. Verifiers, schedulers, allocation and documentation
// read this table. Sources: CUDA C++ Programming Guide, "Compute Capabilities"
// (technical specifications per compute capability); PTX ISA, "Tensor Memory",
// "mbarrier", "setmaxnreg" and the target notes of tcgen05.
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_TARGETINFO_H
#define MX_TARGET_TARGETINFO_H

#include "mx/Target/Table.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace mx::target {

/// Family of matrix instructions that kernels of a chip use.
/// mx/Target/MmaFamilies.h describes each.
enum class MmaFamily : uint8_t {
  Wgmma,   ///< sm_90a: wgmma.mma_async
  Tcgen05, ///< sm_100 family: tcgen05.mma with block scales
  MmaSync  ///< sm_120 family: mma.sync with block scales
};

struct Rates;

struct TargetInfo {
  const char *chip = "";     ///< name for tools and ptxas: "sm_100a"
  const char *features = ""; ///< LLVM's feature string
  unsigned computeCapability = 0;
  MmaFamily mmaFamily = MmaFamily::MmaSync;
  bool hasI8Mma = false; ///< tcgen05.mma.kind::i8

  uint32_t smemPerCta = 0; ///< dynamic and static together, opt-in limit
  /// Shared memory of an SM that the system reserves per CTA, beyond the limit
  /// of a CTA (CUDA programming guide, technical specifications).
  uint32_t smemReserved = 0;
  unsigned tmemColumns = 0;    ///< 32-bit columns, 0 without tensor memory
  uint32_t registersPerSm = 0; ///< 32-bit registers
  unsigned registersPerThread = 0;
  unsigned threadsPerSm = 0;
  unsigned ctasPerSm = 0;
  /// Only strategies registered by a plug-in run matmuls on the chip.
  bool hasOwnStrategies = false;
  /// Typical number of SMs, for schedules without a device.
  unsigned smCount = 0;
  /// Chip on which the quantizer schedules were measured; empty if mx generates
  /// no kernels for this chip.
  const char *quantizersMeasuredOn = "";
  /// Parameters of the time model (mx/Target/Rates.h); null if mx generates no
  /// kernels for this chip.
  const Rates *rates = nullptr;

  bool hasTcgen05() const;
  /// hasQuantizers returns true if mx generates kernels for all operations
  /// except matmuls. hasMma returns true if mx generates kernels for matmuls.
  bool hasQuantizers() const;
  bool hasMma() const;
  /// Returns the shared memory of a CTA if `ctas` CTAs share an SM.
  uint32_t getSmemPerCta(unsigned ctas) const;
  /// Returns the widest global load or store of a thread in bytes (PTX ISA, ld
  /// and st, .v8 and .v4 of 64 bits).
  unsigned getVectorBytes() const;
  /// Returns true if the chip supports cvt to and from e2m1, e2m3, e3m2 and
  /// ue8m0 (PTX ISA, cvt, target notes).
  bool hasNarrowConversions() const;
};

/// Constants of all chips in the table.
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWarpGroupSize = 128;
inline constexpr unsigned kWarpGroupWarps = kWarpGroupSize / kWarpSize;
inline constexpr unsigned kMaxThreadsPerCta = 1024;
/// Number of named barriers of a CTA. Barrier 0 synchronizes all threads.
inline constexpr unsigned kNamedBarriers = 16;
/// Maximum non-portable cluster size. Clusters of 8 are portable to all chips.
inline constexpr unsigned kMaxClusterSize = 16;
inline constexpr uint32_t kMBarrierBytes = 8;
inline constexpr int64_t kTryWaitNs = 10'000'000; ///< limit, as in CUTLASS
/// PTX ISA, setmaxnreg: the immediate is a multiple of 8 in this range.
inline constexpr unsigned kSetMaxNRegMin = 24;
inline constexpr unsigned kSetMaxNRegMax = 256;
inline constexpr unsigned kSetMaxNRegStep = 8;
/// Registers per epilogue thread, and per thread of an issuing role. They
/// suffice for ptxas 13.0 to compile every matmul schedule without spilling.
/// Smaller limits suffice for some schedules.
inline constexpr unsigned kEpilogueRegisters = 152;
inline constexpr unsigned kIssueRegisters = 40;
/// Grid limits: CUDA C++ Programming Guide, technical specifications.
inline constexpr uint32_t kMaxGridX = 0x7FFFFFFFu;
inline constexpr uint32_t kMaxGridYZ = 65535;
/// Bit 24 of a shared-memory address is bit 0 of the CTA's rank in its cluster.
/// Clearing this bit yields the address in the pair's leader (measured on
/// hardware; Sm100MmaPeerBitMask in CUTLASS).
inline constexpr uint32_t kLeaderAddressMask = 0xFEFFFFFF;
/// 64-bit L2 cache policies, as returned by createpolicy.fractional for all
/// accesses (CUTLASS, cute/arch/copy_sm90_desc.hpp, TMA::CacheHintSm90).
inline constexpr uint64_t kEvictFirstPolicy = 0x12F0000000000000;
inline constexpr uint64_t kEvictLastPolicy = 0x14F0000000000000;

/// Default chip of tools and functions.
inline constexpr const char *kDefaultChip = "sm_100a";
/// Default maximum number of schedules for a matmul with dynamic sizes. Each
/// schedule needs separate kernels.
inline constexpr int64_t kMaxSchedules = 32;

/// Returns all chips, in the order in which messages list them.
Table<TargetInfo> getTargets();
/// Adds a plug-in's chip. Call this at start-up, because it invalidates
/// returned rows. Strings and rates must live as long as the process.
void registerTarget(const TargetInfo &target);

/// Returns the row of `chip`, or null.
const TargetInfo *lookupTarget(std::string_view chip);
/// Returns the row of `chip`, or null with a list of all chips in `error`.
const TargetInfo *lookupTarget(std::string_view chip, std::string &error);

/// Returns the chips with kernels for messages: "'sm_100a', 'sm_90a'".
std::string listChips();
/// Returns "" if the chip supports tcgen05, else a message with chips that do.
std::string checkTcgen05(const TargetInfo &target);
/// Returns the row of `chip`. Without kernels, returns null and sets `error`.
const TargetInfo *lookupKernelTarget(std::string_view chip, std::string &error);

/// Column counts of tcgen05.alloc: 32, 64, 128, 256 or 512 (PTX ISA).
inline constexpr unsigned kTmemAllocMin = 32;
inline constexpr unsigned kTmemAllocMax = 512;
/// Returns the smallest allocation of at least `columns` on any chip.
unsigned tmemAllocationColumns(unsigned columns);
/// Returns the smallest allocation, or 0 if the chip has fewer columns.
unsigned tmemAllocationColumns(const TargetInfo &target, unsigned columns);

/// Returns an empty string if an SM has enough threads for `ctas` CTAs, else a
/// message with the exceeded limit.
std::string checkResidency(const TargetInfo &target, uint64_t ctas,
                           uint64_t threadsPerCta);

} // namespace mx::target

#endif // MX_TARGET_TARGETINFO_H
