//===- Progress.cpp - Progress detection in a world -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes simulated time and a hash of the state of all warps. If a state
// recurs and no warp has acted in between, the machine will never make
// progress.
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "WorldState.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace mx::sim;

/// Advances the time of the world by the activity of this pass.
void Machine::passTime(uint64_t executedBefore) {
  uint64_t rounds = 0;
  for (auto &c : active)
    rounds = std::max<uint64_t>(rounds, c->round - c->passRound);
  device->world.time += rounds * 64 + (executed - executedBefore);
}

bool Machine::parksPolls() const {
  return device ? device->world.parks : parks && !timing;
}

bool Machine::takeReadsTime() {
  bool any = false;
  for (auto &c : active)
    any |= std::exchange(c->readsTime, false);
  return any;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 29;
}

static uint64_t mixBytes(uint64_t hash, const void *from, size_t bytes) {
  for (size_t k = 0; k + 8 <= bytes; k += 8) {
    uint64_t word;
    std::memcpy(&word, static_cast<const char *>(from) + k, 8);
    hash = mix(hash, word);
  }
  return hash;
}

uint64_t Machine::stateHash() {
  uint64_t hash = 0;
  for (auto &c : active)
    for (auto &cta : c->ctas)
      for (Warp &w : cta->warps) {
        if (w.hashedAt != w.counts.instructions) {
          w.hashedAt = w.counts.instructions;
          w.stateHash = mixBytes(0, w.base[0], program.registerBytes);
          w.stateHash =
              mixBytes(w.stateHash, w.local, uint64_t(program.localBytes) * 32);
        }
        hash = mix(hash, w.stateHash);
        for (const Group &g : w.groups)
          hash = mix(mix(hash, uint64_t(g.pc - program.code.data())),
                     uint64_t(g.mask) << 8 | uint64_t(g.wait));
      }
  return hash;
}
