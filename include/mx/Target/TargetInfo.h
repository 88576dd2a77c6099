//===- TargetInfo.h - limits and features of each chip ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One table of the chips that mx knows: memory sizes, launch limits and which
// instruction families exist. Verifiers, schedulers, allocation and the
// documentation read it; no limit is written anywhere else.
//
// Sources: CUDA C++ Programming Guide, "Compute Capabilities" (technical
// specifications per compute capability); PTX ISA, "Tensor Memory", "mbarrier",
// "setmaxnreg" and the target notes of tcgen05.
//
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_TARGETINFO_H
#define MX_TARGET_TARGETINFO_H

#include "mx/Target/Table.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace mx::target {

/// The matrix instructions that kernels are built around, as chips have them;
/// mx/Target/MmaFamilies.h says what each takes and gives.
enum class MmaFamily : uint8_t {
  Wgmma,   ///< sm_90a: wgmma.mma_async
  Tcgen05, ///< sm_100 family: tcgen05.mma with block scales
  MmaSync  ///< sm_120 family: mma.sync with block scales
};

struct Rates;

struct TargetInfo {
  const char *chip = "";     ///< as given to the tools and to ptxas: "sm_100a"
  const char *features = ""; ///< LLVM's feature string
  unsigned computeCapability = 0;
  MmaFamily mmaFamily = MmaFamily::MmaSync;
  bool hasI8Mma = false; ///< tcgen05.mma.kind::i8

  uint32_t smemPerCta = 0; ///< dynamic and static together, opt-in limit
  /// What the chip takes for each CTA besides: an SM has as much more than a
  /// CTA may have (CUDA programming guide, technical specifications).
  uint32_t smemReserved = 0;
  unsigned tmemColumns = 0;    ///< of 32 bits, 0 without tensor memory
  uint32_t registersPerSm = 0; ///< of 32 bits
  unsigned registersPerThread = 0;
  unsigned threadsPerSm = 0;
  unsigned ctasPerSm = 0;
  /// Whether only strategies that a plug-in registers multiply on it.
  bool hasOwnStrategies = false;
  /// Typical number of SMs, for schedules made without a device at hand.
  unsigned smCount = 0;
  /// The chip on which its schedules of quantizers were measured; empty where
  /// mx makes no kernels.
  const char *quantizersMeasuredOn = "";
  /// How fast its parts are (mx/Target/Rates.h); null where mx makes no
  /// kernels.
  const Rates *rates = nullptr;

  bool hasTcgen05() const;
  /// What mx makes for the chip: kernels of all operations but matmuls, and
  /// those of matmuls.
  bool hasQuantizers() const;
  bool hasMma() const;
  /// Shared memory of a CTA where `ctas` of them share an SM.
  uint32_t getSmemPerCta(unsigned ctas) const;
  /// What a thread loads from or stores to global memory at a time (PTX ISA, ld
  /// and st, .v8 and .v4 of 64 bits).
  unsigned getVectorBytes() const;
  /// cvt to and from e2m1, e2m3, e3m2 and ue8m0 (PTX ISA, cvt, target notes).
  bool hasNarrowConversions() const;
};

/// Facts that hold for every chip in the table.
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWarpGroupSize = 128;
inline constexpr unsigned kWarpGroupWarps = kWarpGroupSize / kWarpSize;
inline constexpr unsigned kMaxThreadsPerCta = 1024;
/// Of a CTA; barrier 0 is that of all its threads.
inline constexpr unsigned kNamedBarriers = 16;
/// With the non-portable attribute; all chips can run clusters of 8.
inline constexpr unsigned kMaxClusterSize = 16;
inline constexpr uint32_t kMBarrierBytes = 8;
/// PTX ISA, setmaxnreg: the immediate is a multiple of 8 in this range.
inline constexpr unsigned kSetMaxNRegMin = 24;
inline constexpr unsigned kSetMaxNRegMax = 256;
inline constexpr unsigned kSetMaxNRegStep = 8;
/// What ptxas 13.0 needs of setmaxnreg for any schedule of a matmul without
/// spilling: threads of the epilogue and of the roles that issue. With fewer it
/// depends on the schedule.
inline constexpr unsigned kEpilogueRegisters = 152;
inline constexpr unsigned kIssueRegisters = 40;
/// Grid limits: CUDA C++ Programming Guide, technical specifications.
inline constexpr uint32_t kMaxGridX = 0x7FFFFFFFu;
inline constexpr uint32_t kMaxGridYZ = 65535;
/// Bit 24 of a shared-memory address is bit 0 of the CTA's rank in its cluster:
/// with this mask an address is that of a pair's leader (measured on hardware;
/// CUTLASS calls it Sm100MmaPeerBitMask).
inline constexpr uint32_t kLeaderAddressMask = 0xFEFFFFFF;
/// 64-bit L2 cache policies, the words that createpolicy.fractional gives for
/// all of the accesses (CUTLASS, cute/arch/copy_sm90_desc.hpp,
/// TMA::CacheHintSm90).
inline constexpr uint64_t kEvictFirstPolicy = 0x12F0000000000000;
inline constexpr uint64_t kEvictLastPolicy = 0x14F0000000000000;

/// What tools and functions compile for if they are not told.
inline constexpr const char *kDefaultChip = "sm_100a";
/// Most schedules of a matmul of unknown sizes where nothing is said: each is
/// kernels of its own.
inline constexpr int64_t kMaxSchedules = 32;

/// All chips, in the order in which messages list them.
Table<TargetInfo> getTargets();
/// Adds a chip of a plug-in, whose strings and rates live as long as the
/// process. At start-up: rows that were looked up before move.
void registerTarget(const TargetInfo &target);

/// The row of `chip`, or null.
const TargetInfo *lookupTarget(std::string_view chip);
/// The same, with a message that says what there is.
const TargetInfo *lookupTarget(std::string_view chip, std::string &error);

/// "'sm_100a', 'sm_100f', 'sm_103a', 'sm_90a'": the chips that mx makes kernels
/// for, the one list of all messages about chips.
std::string listChips();
/// Empty if the chip has tcgen05 instructions, else a message with those that
/// have.
std::string checkTcgen05(const TargetInfo &target);
/// The row of `chip`, if mx makes kernels for it; null with a message
/// otherwise.
const TargetInfo *lookupKernelTarget(std::string_view chip, std::string &error);

/// tcgen05.alloc takes 32, 64, 128, 256 or 512 columns (PTX ISA,
/// tcgen05.alloc).
inline constexpr unsigned kTmemAllocMin = 32;
inline constexpr unsigned kTmemAllocMax = 512;
/// Returns the smallest allocation that holds `columns`, whatever a chip has.
unsigned tmemAllocationColumns(unsigned columns);
/// Returns the same, or 0 if the chip has fewer columns.
unsigned tmemAllocationColumns(const TargetInfo &target, unsigned columns);

/// Empty if an SM has the threads of so many CTAs at a time, else the limit
/// that they break.
std::string checkResidency(const TargetInfo &target, uint64_t ctas,
                           uint64_t threadsPerCta);

} // namespace mx::target

#endif // MX_TARGET_TARGETINFO_H
