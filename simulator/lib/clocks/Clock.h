//===- Clock.h - what is known to have happened -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks (Lamport 1978, Mattern 1988) over the agents of a cluster: its
// warps, and what works for them in the background. An agent counts its own
// steps; a clock says for each agent up to which step its accesses are known to
// come before. Agents of other clusters matter only where clusters talk through
// global memory, and are kept in a map that most clocks do not have.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_CLOCK_H
#define MXSIM_LIB_CLOCKS_CLOCK_H

#include "../ptx/MemoryScope.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mx::sim {

class Clock {
public:
  /// Agents of other clusters: cluster << 16 | agent.
  using Foreign = std::unordered_map<uint64_t, uint32_t>;
  /// Stands for the launches of a device of a world, whose steps are their
  /// ends.
  static uint64_t launchesKey(unsigned device) {
    return foreignKey((1ull << 47) + device, 0);
  }
  static uint64_t foreignKey(uint64_t cluster, uint32_t agent) {
    return cluster << 16 | agent;
  }

  uint32_t operator[](uint32_t agent) const {
    return agent < local.size() ? local[agent] : 0;
  }
  void raise(uint32_t agent, uint32_t step) {
    if (agent >= local.size())
      local.resize(agent + 1);
    local[agent] = std::max(local[agent], step);
  }
  /// Makes it forget what it knows of the agent beyond `step`.
  void lower(uint32_t agent, uint32_t step) {
    if (agent < local.size())
      local[agent] = std::min(local[agent], step);
  }
  uint32_t ofForeign(uint64_t key) const {
    if (!foreign)
      return 0;
    auto it = foreign->find(key);
    return it == foreign->end() ? 0 : it->second;
  }
  void raiseForeign(uint64_t key, uint32_t step) {
    auto map = foreign ? std::make_shared<Foreign>(*foreign)
                       : std::make_shared<Foreign>();
    uint32_t &known = (*map)[key];
    known = std::max(known, step);
    foreign = std::move(map);
  }
  void join(const Clock &other) {
    if (local.size() < other.local.size())
      local.resize(other.local.size());
    uint32_t *to = local.data();
    const uint32_t *from = other.local.data();
    for (size_t k = 0, n = other.local.size(); k < n; ++k)
      to[k] = std::max(to[k], from[k]);
    joinForeign(other.foreign);
  }
  bool empty() const { return local.empty() && !foreign; }
  void clear() {
    local.clear();
    foreign.reset();
  }

  /// As seen by another cluster: all agents become foreign ones.
  Clock exported(uint64_t cluster) const {
    auto map = foreign ? std::make_shared<Foreign>(*foreign)
                       : std::make_shared<Foreign>();
    for (uint32_t k = 0; k < local.size(); ++k)
      if (local[k])
        (*map)[foreignKey(cluster, k)] = local[k];
    Clock c;
    c.foreign = std::move(map);
    return c;
  }
  /// Without the `count` clusters from `first` on, and without local agents.
  Clock ofClustersBeyond(uint64_t first, uint64_t count) const {
    Clock c;
    if (!foreign)
      return c;
    auto map = std::make_shared<Foreign>();
    for (auto &[key, step] : *foreign)
      if ((key >> 16) - first >= count)
        map->emplace(key, step);
    c.foreign = std::move(map);
    return c;
  }
  /// Joins an exported clock; the agents of `cluster` are own ones again.
  void import(const Clock &other, uint64_t cluster) {
    if (!other.foreign)
      return;
    for (auto &[key, step] : *other.foreign)
      if (key >> 16 == cluster)
        raise(uint32_t(key & 0xffff), step);
    joinForeign(other.foreign);
  }

private:
  void joinForeign(const std::shared_ptr<const Foreign> &other) {
    if (!other || other == foreign)
      return;
    if (!foreign) {
      foreign = other;
      return;
    }
    auto map = std::make_shared<Foreign>(*foreign);
    for (auto &[key, step] : *other) {
      uint32_t &v = (*map)[key];
      v = std::max(v, step);
    }
    foreign = std::move(map);
  }

  std::vector<uint32_t> local;
  std::shared_ptr<const Foreign> foreign;
};

/// What an agent, or whoever synchronises with it, knows.
struct Knowledge {
  /// Accesses that come before (PTX ISA, "Causality order").
  Clock generic;
  /// Those of the generic proxy that a proxy fence has made good for the async
  /// proxy as well: to shared memory, and to global memory.
  Clock async, asyncGlobal;
  /// Those that a release fence has made good for the tensormap proxy.
  Clock maps;
  /// Operations on tensor memory that tcgen05 fences have ordered.
  Clock tensor;
  /// Beyond `generic`, what must have been executed before, though nothing
  /// makes its effects visible: a phase that waits for a copy completes after
  /// all that the copy's issuer has waited for, and a relaxed arrival at the
  /// barrier of the cluster comes after what was done before it. It says when
  /// memory may go away.
  Clock executed;
  /// What came before a fence of at least the scope of the device: a relaxed
  /// store publishes that much there ("Release and acquire patterns").
  Clock fenced;
  /// Beyond `generic`, what lanes that arrived alone knew of their warps.
  Clock ofOthers;
  /// What most kernels do not need.
  struct Rare {
    /// By scope, as `fenced`, which is that of the device.
    Clock fenced[kMemoryScopes];
    /// Beyond `generic`, what the other devices of a world would have passed on
    /// if each scope on the way were that of the system.
    Clock narrow;
  };
  /// Null where all of it is empty. Others may have the same one.
  std::shared_ptr<Rare> rare;

  Rare &ownRare() {
    if (!rare)
      rare = std::make_shared<Rare>();
    else if (rare.use_count() > 1)
      rare = std::make_shared<Rare>(*rare);
    return *rare;
  }
  Clock &fencedIn(MemoryScope scope) {
    return scope == MemoryScope::Device ? fenced
                                        : ownRare().fenced[unsigned(scope)];
  }
  const Clock &fencedIn(MemoryScope scope) const {
    static const Clock none;
    return scope == MemoryScope::Device ? fenced
           : rare                       ? rare->fenced[unsigned(scope)]
                                        : none;
  }

  /// Whether a step was executed before, visible or not.
  bool isDone(uint32_t agent, uint32_t step) const {
    return generic[agent] >= step || executed[agent] >= step;
  }
  void join(const Knowledge &other) {
    generic.join(other.generic);
    async.join(other.async);
    asyncGlobal.join(other.asyncGlobal);
    maps.join(other.maps);
    executed.join(other.executed);
    tensor.join(other.tensor);
    fenced.join(other.fenced);
    ofOthers.join(other.ofOthers);
    joinRare(other);
  }
  void joinRare(const Knowledge &other) {
    if (!other.rare || other.rare == rare)
      return;
    if (!rare) {
      rare = other.rare;
      return;
    }
    Rare &own = ownRare();
    for (unsigned k = 0; k < kMemoryScopes; ++k)
      own.fenced[k].join(other.rare->fenced[k]);
    own.narrow.join(other.rare->narrow);
  }
  void clear() {
    generic.clear();
    async.clear();
    asyncGlobal.clear();
    maps.clear();
    executed.clear();
    tensor.clear();
    fenced.clear();
    ofOthers.clear();
    rare.reset();
  }
};

} // namespace mx::sim

#endif // MXSIM_LIB_CLOCKS_CLOCK_H
