//===- TargetInfo.cpp - Limits and features of chips ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first table lists the chips. To support another chip, add a row; messages
// list the rows. docs/reference/Chips.md documents the table. The second table
// lists the families of matrix instructions to which chips refer.
//===----------------------------------------------------------------------===//

#include "mx/Target/TargetInfo.h"
#include "mx/Support/EnumTable.h"
#include "mx/Target/MmaFamilies.h"
#include "mx/Target/Rates.h"
#include <algorithm>
#include <cassert>
#include <vector>

using namespace mx;
using namespace mx::target;

namespace {

constexpr uint32_t KiB = 1024;

/// Returns the properties that compute capabilities 9.0 to 12.1 share (CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability").
constexpr TargetInfo common(const char *chip, unsigned capability,
                            MmaFamily family, unsigned smCount) {
  TargetInfo target;
  target.chip = chip;
  target.features = "+ptx88";
  target.computeCapability = capability;
  target.mmaFamily = family;
  target.smemReserved = 1 * KiB;
  target.registersPerSm = 64 * KiB;
  target.registersPerThread = 255;
  target.smCount = smCount;
  return target;
}

/// Returns a data-center part of compute capability 9.0 to 10.3.
constexpr TargetInfo dataCenter(const char *chip, unsigned capability,
                                MmaFamily family, unsigned smCount,
                                const Rates &rates) {
  TargetInfo target = common(chip, capability, family, smCount);
  target.rates = &rates;
  target.quantizersMeasuredOn = "sm_90a";
  target.smemPerCta = 227 * KiB;
  target.tmemColumns = target.mmaFamily == MmaFamily::Tcgen05 ? 512 : 0;
  target.threadsPerSm = 2048;
  target.ctasPerSm = 32;
  return target;
}

/// Returns sm_100a, which supports kind::i8. PTX for the family sm_100f does
/// not support kind::i8 (PTX ISA, tcgen05.mma, target ISA notes).
constexpr TargetInfo b200() {
  TargetInfo target =
      dataCenter("sm_100a", 100, MmaFamily::Tcgen05, 148, kB200Rates);
  target.hasI8Mma = true;
  return target;
}

/// Returns a part of compute capability 12.0 or 12.1. These parts have no
/// tensor memory, and less than half of the shared memory of data-center parts.
constexpr TargetInfo rtx(const char *chip, unsigned capability,
                         unsigned smCount, const Rates &rates) {
  TargetInfo target = common(chip, capability, MmaFamily::MmaSync, smCount);
  target.rates = &rates;
  target.quantizersMeasuredOn = "sm_120a";
  target.smemPerCta = 99 * KiB;
  target.threadsPerSm = 1536;
  target.ctasPerSm = 24;
  return target;
}

constexpr TargetInfo kTargets[] = {
    b200(),
    // The same PTX runs on the whole family, B200 and B300.
    dataCenter("sm_100f", 100, MmaFamily::Tcgen05, 148, kB200Rates),
    // No rates are published for sm_103a, so it uses the rates of the B200.
    dataCenter("sm_103a", 103, MmaFamily::Tcgen05, 148, kB200Rates),
    dataCenter("sm_90a", 90, MmaFamily::Wgmma, 132, kH200Rates),
    rtx("sm_120a", 120, 170, kRTX5090Rates),
    // The same PTX runs on the whole family, 12.0 and 12.1.
    rtx("sm_120f", 120, 170, kRTX5090Rates),
    rtx("sm_121a", 121, 48, kGB10Rates),
};

std::string quoted(const char *chip) { return "'" + std::string(chip) + "'"; }

/// Lists the rows that satisfy `pick`: "'sm_100a', 'sm_100f'".
template <typename Pick>
std::string listRows(Pick pick) {
  std::string list;
  for (const TargetInfo &target : getTargets())
    if (pick(target))
      list += (list.empty() ? "" : ", ") + quoted(target.chip);
  return list;
}

/// Returns the chips of the table and the registered chips.
std::vector<TargetInfo> &getRows() {
  static std::vector<TargetInfo> rows(std::begin(kTargets), std::end(kTargets));
  return rows;
}

} // namespace

bool TargetInfo::hasTcgen05() const { return mmaFamily == MmaFamily::Tcgen05; }
bool TargetInfo::hasQuantizers() const { return rates != nullptr; }
bool TargetInfo::hasMma() const { return rates != nullptr; }

uint32_t TargetInfo::getSmemPerCta(unsigned ctas) const {
  return (smemPerCta + smemReserved) / ctas - smemReserved;
}

unsigned TargetInfo::getVectorBytes() const {
  return computeCapability >= 100 ? 32 : 16;
}

bool TargetInfo::hasNarrowConversions() const {
  return computeCapability >= 100;
}

Table<TargetInfo> mx::target::getTargets() { return getRows(); }

void mx::target::registerTarget(const TargetInfo &target) {
  assert(!lookupTarget(target.chip) &&
         "expected a chip that is not registered yet");
  getRows().push_back(target);
}

const TargetInfo *mx::target::lookupTarget(std::string_view chip) {
  for (const TargetInfo &target : getRows())
    if (chip == target.chip)
      return &target;
  return nullptr;
}

std::string mx::target::listChips() {
  return listRows([](const TargetInfo &target) { return target.hasMma(); });
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
         " has no tcgen05 instructions: expected one of " +
         listRows([](const TargetInfo &row) { return row.hasTcgen05(); });
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

unsigned mx::target::tmemAllocationColumns(unsigned columns) {
  unsigned size = kTmemAllocMin;
  while (size < columns)
    size *= 2;
  return size;
}

unsigned mx::target::tmemAllocationColumns(const TargetInfo &target,
                                           unsigned columns) {
  return columns > target.tmemColumns ? 0 : tmemAllocationColumns(columns);
}

std::string mx::target::checkResidency(const TargetInfo &target, uint64_t ctas,
                                       uint64_t threadsPerCta) {
  uint64_t most =
      std::min<uint64_t>(target.ctasPerSm, target.threadsPerSm / threadsPerCta);
  if (ctas <= most)
    return {};
  return "expected at most " + std::to_string(most) + " CTAs of " +
         std::to_string(threadsPerCta) + " threads on an SM of " +
         quoted(target.chip) + ", found " + std::to_string(ctas);
}

namespace {

constexpr MmaFamilyInfo kFamilies[] = {
    {MmaFamily::Wgmma,
     "wgmma.mma_async",
     {kWarpGroupSize, MmaPlace::SharedMemory | MmaPlace::Registers,
      MmaPlace::SharedMemory, MmaPlace::None, MmaPlace::Registers,
      MmaCompletion::WaitGroup}},
    {MmaFamily::Tcgen05,
     "tcgen05.mma.block_scale",
     {1, MmaPlace::SharedMemory, MmaPlace::SharedMemory, MmaPlace::TensorMemory,
      MmaPlace::TensorMemory, MmaCompletion::Commit}},
    {MmaFamily::MmaSync,
     "mma.sync.block_scale",
     {kWarpSize, MmaPlace::Registers, MmaPlace::Registers, MmaPlace::Registers,
      MmaPlace::Registers, MmaCompletion::Synchronous}},
};
static_assert(isEnumTable<&MmaFamilyInfo::family>(kFamilies));

constexpr EnumName<MmaPlace> kPlaces[kNumMmaPlaces] = {
    {MmaPlace::None, "none"},
    {MmaPlace::SharedMemory, "shared memory"},
    {MmaPlace::TensorMemory, "tensor memory"},
    {MmaPlace::Registers, "registers"},
};
static_assert(isEnumTable<&EnumName<MmaPlace>::value>(kPlaces));

constexpr EnumName<MmaCompletion> kCompletions[] = {
    {MmaCompletion::Commit, "commit"},
    {MmaCompletion::WaitGroup, "wait group"},
    {MmaCompletion::Synchronous, "synchronous"},
};
static_assert(isEnumTable<&EnumName<MmaCompletion>::value>(kCompletions));

} // namespace

const MmaFamilyInfo &mx::target::getInfo(MmaFamily family) {
  return kFamilies[unsigned(family)];
}

const char *mx::target::getName(MmaPlace place) {
  return kPlaces[unsigned(place)].name;
}

std::string mx::target::getName(MmaPlaces places) {
  std::string names;
  for (unsigned place = 0; place < kNumMmaPlaces; ++place)
    if (places.contains(MmaPlace(place)))
      names += std::string(names.empty() ? "" : " or ") + kPlaces[place].name;
  return names;
}

const char *mx::target::getName(MmaCompletion completion) {
  return kCompletions[unsigned(completion)].name;
}

std::string mx::target::checkMmaFamily(const TargetInfo &target,
                                       MmaFamily family) {
  if (target.mmaFamily == family)
    return {};
  return "chip '" + std::string(target.chip) + "' has no " +
         getInfo(family).name + ": it has " + getInfo(target.mmaFamily).name;
}
