//===- Model.cpp - Modelled chip of a launch ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "../ptx/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

/// Returns the clock in MHz. Kernels with MMAs have a lower clock. Sets
/// `isFixed` if the user chose the clock.
static double clockOf(const Machine &machine, const Chip &chip, bool &isFixed) {
  isFixed = false;
  for (const auto &[key, value] : machine.config.timeChanges.figures)
    isFixed |= key == infoOf(Fact::BoostMHz).key;
  if (isFixed || !chip.has(Fact::TensorMHz))
    return chip[Fact::BoostMHz];
  for (const InstrInfo &info : machine.program.info)
    if (info.source &&
        (info.source->opcode == "wgmma" || isWarpMma(*info.source)))
      return chip[Fact::TensorMHz];
  return chip[Fact::BoostMHz];
}

/// Finds the instructions through which clusters communicate: strong accesses
/// and atomics outside shared memory, and try_cancel. Their handlers also
/// request the turn at run time, but the static answer is cheaper.
static std::vector<bool> findShared(const Program &program,
                                    const std::vector<Price> &prices) {
  std::vector<bool> all(prices.size());
  for (size_t k = 0; k < all.size(); ++k) {
    const ptx::Instruction *i = program.info[k].source;
    if (!i || !prices[k].isPoint)
      continue;
    bool isAccess = i->opcode == "ld" || i->opcode == "st" ||
                    i->opcode == "atom" || i->opcode == "red";
    all[k] =
        (isAccess && !hasModifier(*i, "shared*")) ||
        (i->opcode == "clusterlaunchcontrol" && hasModifier(*i, "try_cancel"));
  }
  return all;
}

static Placement placementOf(const Machine &machine, const Chip &chip) {
  auto volume = [](const Dim3 &d) { return uint64_t(d.x) * d.y * d.z; };
  return Placement(chip, machine.config.smCount, volume(machine.config.grid),
                   unsigned(std::max<uint64_t>(1, volume(machine.cluster))));
}

Model::Model(Machine &machine, const Chip &table)
    : machine(machine), chip(changed(table, machine.config.timeChanges)),
      hasNoIssue(machine.config.timeChanges.without == infoOf(Part::Issue).key),
      mhz(clockOf(machine, chip, hasFixedClock)), registers(machine.program),
      prices(pricesOf(machine.program, chip, machine.config.machineCode,
                      machineCode)),
      hasMachineCode(!machineCode.isEmpty()),
      isShared(findShared(machine.program, prices)),
      memory(chip, placementOf(machine, chip), mhz, machine.memory.l2),
      ctaEnds(1) {
  uint64_t l1 = uint64_t(chip[Fact::L1Bytes]) << 10;
  uint64_t shared = std::min<uint64_t>(machine.sharedBytes, l1 - kLineBytes);
  sms.assign(machine.config.smCount,
             Multiprocessor(l1 - shared, machineCode.lastConstants));
  if (machine.config.timeLines)
    lines = std::make_unique<Lines>(machine, prices, hasMachineCode);
  findQuiet();
}

/// Returns the length of a window. If an override sets a latency to 0, an
/// effect inside the current window is delayed to the next window and keeps its
/// cycle.
uint64_t Model::window() const {
  constexpr uint64_t kLeast = 32;
  return std::max(kLeast, std::min({chip.cycles(Fact::L2Latency),
                                    chip.cycles(Fact::CopyLatency),
                                    chip.cycles(Fact::CtaStart)}));
}
