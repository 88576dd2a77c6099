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

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mx::target {

/// The matrix instructions of a chip.
enum class TensorCore : uint8_t {
  Wgmma,   ///< sm_90a: accumulators in registers
  Tcgen05, ///< sm_100 family: accumulators and scales in tensor memory
  MmaSync  ///< sm_120 family: warp-level mma only
};

struct TargetInfo {
  const char *chip;     ///< as given to the tools: "sm_100a"
  const char *features; ///< LLVM's feature string
  const char *ptxasArch;
  const char *products; ///< for messages and documentation
  unsigned computeCapability;
  TensorCore tensorCore;
  bool hasI8Mma; ///< tcgen05.mma.kind::i8
  bool hasSetMaxNReg;

  uint32_t smemPerSm;
  uint32_t smemPerCta;   ///< dynamic and static together, opt-in limit
  uint32_t smemReserved; ///< taken by the system in every CTA
  unsigned tmemColumns;  ///< of 32 bits, 0 without tensor memory
  unsigned tmemLanes;
  uint32_t registersPerSm; ///< of 32 bits
  unsigned registersPerThread;
  unsigned threadsPerCta;
  unsigned threadsPerSm;
  unsigned ctasPerSm;
  unsigned clusterPortable; ///< CTAs in a cluster that every such chip can run
  unsigned clusterMax;      ///< with the non-portable attribute
  unsigned namedBarriers;   ///< per CTA
  /// Typical number of SMs, for schedules made without a device at hand.
  unsigned smCount;

  bool hasTcgen05() const { return tensorCore == TensorCore::Tcgen05; }
  /// What mx makes for the chip: kernels of all operations but products, and
  /// those of products.
  bool hasQuantizers() const { return tensorCore != TensorCore::MmaSync; }
  bool hasProducts() const { return hasTcgen05(); }
  /// cvt to and from e2m1, e2m3, e3m2 and ue8m0 (PTX ISA, cvt, target notes).
  bool hasNarrowConversions() const { return computeCapability >= 100; }
};

/// Facts that hold for every chip in the table.
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWarpGroupSize = 128;
inline constexpr unsigned kWarpGroupWarps = kWarpGroupSize / kWarpSize;
/// PTX ISA, "Contents of the mbarrier object": pending and expected arrivals
/// and the magnitude of the tx-count stay below 2^20.
inline constexpr uint32_t kMBarrierMaxCount = (1u << 20) - 1;
inline constexpr uint32_t kMBarrierMaxTxBytes = (1u << 20) - 1;
inline constexpr uint32_t kMBarrierBytes = 8;
/// PTX ISA, setmaxnreg: the immediate is a multiple of 8 in this range.
inline constexpr unsigned kSetMaxNRegMin = 24;
inline constexpr unsigned kSetMaxNRegMax = 256;
inline constexpr unsigned kSetMaxNRegStep = 8;
/// Grid limits: CUDA C++ Programming Guide, technical specifications.
inline constexpr uint32_t kMaxGridX = 0x7FFFFFFFu;
inline constexpr uint32_t kMaxGridYZ = 65535;

/// All chips, in the order in which messages list them.
const TargetInfo *targetsBegin();
size_t numTargets();

/// The row of `chip`, or null.
const TargetInfo *lookupTarget(std::string_view chip);
/// The same, with a message that says what there is.
const TargetInfo *lookupTarget(std::string_view chip, std::string &error);

/// "'sm_100a', 'sm_100f', 'sm_103a' (quantizers and products), 'sm_90a'
/// (quantizers)": the one list of all messages about chips.
std::string listChips();
/// Empty if the chip has tcgen05 instructions, else a message with that list.
std::string checkTcgen05(const TargetInfo &target);
/// The row of `chip`, if mx makes kernels for it; null with a message
/// otherwise.
const TargetInfo *lookupKernelTarget(std::string_view chip, std::string &error);

/// tcgen05.alloc takes 32, 64, 128, 256 or 512 columns (PTX ISA,
/// tcgen05.alloc).
inline constexpr unsigned kTmemAllocMin = 32;
/// The smallest allocation that holds `columns`, or 0 if none does.
unsigned tmemAllocationColumns(const TargetInfo &target, unsigned columns);

/// Empty if the launch fits the chip, else the first limit it breaks.
std::string checkLaunch(const TargetInfo &target, unsigned threadsPerCta,
                        uint32_t smemBytes, unsigned clusterSize);

} // namespace mx::target

#endif // MX_TARGET_TARGETINFO_H
