//===- TargetInfo.cpp - limits and features of each chip ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The table of chips and the checks that only need a row of it. To add a chip,
// add a row: every message lists what the table holds. docs/Chips.md shows it.
//
//===----------------------------------------------------------------------===//

#include "mx/Target/TargetInfo.h"

using namespace mx::target;

namespace {

constexpr uint32_t KiB = 1024;

/// Limits of data-centre parts of compute capability 9.0 to 10.3, CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability".
constexpr TargetInfo dataCenter(const char *chip, const char *products,
                                unsigned capability, TensorCore core,
                                bool hasI8Mma, unsigned smCount) {
  bool tmem = core == TensorCore::Tcgen05;
  return {chip,
          "+ptx88",
          chip,
          products,
          capability,
          core,
          hasI8Mma,
          /*hasSetMaxNReg=*/true,
          228 * KiB,
          227 * KiB,
          1 * KiB,
          tmem ? 512u : 0u,
          tmem ? 128u : 0u,
          64 * KiB,
          255,
          1024,
          2048,
          32,
          8,
          16,
          16,
          smCount};
}

constexpr TargetInfo kTargets[] = {
    dataCenter("sm_100a", "B200, GB200", 100, TensorCore::Tcgen05, true, 148),
    // One PTX for the whole family: B200 and B300. kind::i8 is not in it (PTX
    // ISA, tcgen05.mma, target ISA notes).
    dataCenter("sm_100f", "B200, GB200, B300, GB300", 100, TensorCore::Tcgen05,
               false, 148),
    dataCenter("sm_103a", "B300, GB300", 103, TensorCore::Tcgen05, false, 148),
    dataCenter("sm_90a", "H100, H200", 90, TensorCore::Wgmma, false, 132),
    // Known so that it can be refused by name: it has no tensor memory and less
    // than half of the shared memory.
    {"sm_120a", "+ptx88",
     "sm_120a", "RTX 50 series, RTX PRO 6000",
     120,       TensorCore::MmaSync,
     false,     true,
     100 * KiB, 99 * KiB,
     1 * KiB,   0,
     0,         64 * KiB,
     255,       1024,
     1536,      24,
     8,         8,
     16,        170},
};

std::string quoted(const char *chip) { return "'" + std::string(chip) + "'"; }

/// "'sm_100a', 'sm_100f' (what)" over the rows that `pick` takes.
template <typename Pick>
std::string listRows(Pick pick, const char *what) {
  std::string list;
  for (const TargetInfo &target : kTargets)
    if (pick(target))
      list += (list.empty() ? "" : ", ") + quoted(target.chip);
  return list + " (" + what + ")";
}

std::string exceeds(const TargetInfo &target, const char *what, uint64_t limit,
                    uint64_t found) {
  return "expected " + std::string(what) + " of at most " +
         std::to_string(limit) + " on " + quoted(target.chip) + ", found " +
         std::to_string(found);
}

} // namespace

const TargetInfo *mx::target::targetsBegin() { return kTargets; }
size_t mx::target::numTargets() { return sizeof(kTargets) / sizeof(*kTargets); }

const TargetInfo *mx::target::lookupTarget(std::string_view chip) {
  for (const TargetInfo &target : kTargets)
    if (chip == target.chip)
      return &target;
  return nullptr;
}

std::string mx::target::listChips() {
  return listRows([](const TargetInfo &target) { return target.hasProducts(); },
                  "quantizers and products") +
         ", " +
         listRows(
             [](const TargetInfo &target) {
               return target.hasQuantizers() && !target.hasProducts();
             },
             "quantizers");
}

const TargetInfo *mx::target::lookupTarget(std::string_view chip,
                                           std::string &error) {
  const TargetInfo *target = lookupTarget(chip);
  if (!target)
    error = "unknown chip '" + std::string(chip) + "': expected one of " +
            listChips();
  return target;
}

std::string mx::target::checkTcgen05(const TargetInfo &target) {
  if (target.hasTcgen05())
    return {};
  return "chip " + quoted(target.chip) +
         " has no tcgen05 instructions, which products need: expected one of " +
         listChips();
}

const TargetInfo *mx::target::lookupKernelTarget(std::string_view chip,
                                                 std::string &error) {
  const TargetInfo *target = lookupTarget(chip, error);
  if (!target || target->hasQuantizers())
    return target;
  error = "chip " + quoted(target->chip) +
          " is not supported: expected one of " + listChips();
  return nullptr;
}

unsigned mx::target::tmemAllocationColumns(const TargetInfo &target,
                                           unsigned columns) {
  if (columns > target.tmemColumns)
    return 0;
  unsigned size = kTmemAllocMin;
  while (size < columns)
    size *= 2;
  return size;
}

std::string mx::target::checkLaunch(const TargetInfo &target,
                                    unsigned threadsPerCta, uint32_t smemBytes,
                                    unsigned clusterSize) {
  if (threadsPerCta == 0 || clusterSize == 0)
    return "expected at least one thread per CTA and one CTA per cluster, "
           "found " +
           std::to_string(threadsPerCta) + " and " +
           std::to_string(clusterSize);
  if (threadsPerCta > target.threadsPerCta)
    return exceeds(target, "threads per CTA", target.threadsPerCta,
                   threadsPerCta);
  if (smemBytes > target.smemPerCta)
    return exceeds(target, "bytes of shared memory per CTA", target.smemPerCta,
                   smemBytes);
  if (clusterSize > target.clusterMax)
    return exceeds(target, "CTAs per cluster", target.clusterMax, clusterSize);
  return {};
}
