//===- Clock.h - Vector clocks of agents ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks (Lamport 1978, Mattern 1988) over the agents of a cluster: its
// warps and asynchronous engines. An agent counts its own steps. For each
// agent, a clock stores the last step that is ordered before the current point.
// Agents of other clusters matter only after communication through global
// memory, so they are stored in a list. Most clocks have none.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_CLOCK_H
#define MXSIM_LIB_CLOCKS_CLOCK_H

#include "../ptx/MemoryScope.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mx::sim {

class Clock {
public:
  /// Steps of agents of other clusters, sorted by foreignKey.
  using Foreign = std::vector<std::pair<uint64_t, uint32_t>>;
  /// Key for the launches of a device in a world. Each step is the end of a
  /// launch.
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
  /// Limits the step of the agent to `step`.
  void lower(uint32_t agent, uint32_t step) {
    if (agent < local.size())
      local[agent] = std::min(local[agent], step);
  }
  uint32_t ofForeign(uint64_t key) const {
    if (!foreign)
      return 0;
    auto it = std::lower_bound(foreign->begin(), foreign->end(),
                               std::pair(key, uint32_t(0)));
    return it == foreign->end() || it->first != key ? 0 : it->second;
  }
  void raiseForeign(uint64_t key, uint32_t step) {
    joinForeign(std::make_shared<Foreign>(1, std::pair(key, step)));
  }
  void join(const Clock &other) {
    if (!other.empty())
      joinAll(other);
  }
  bool empty() const { return local.empty() && !foreign; }
  void clear() {
    local.clear();
    foreign.reset();
  }

  /// Converts all agents to foreign agents, for use by another cluster.
  Clock exported(uint64_t cluster) const {
    auto steps = std::make_shared<Foreign>();
    for (uint32_t k = 0; k < local.size(); ++k)
      if (local[k])
        steps->emplace_back(foreignKey(cluster, k), local[k]);
    Clock c;
    c.foreign = foreign;
    c.joinForeign(steps);
    return c;
  }
  /// Returns the foreign part of the clock without the `count` clusters
  /// starting at `first`.
  Clock ofClustersBeyond(uint64_t first, uint64_t count) const {
    Clock c;
    if (!foreign)
      return c;
    auto steps = std::make_shared<Foreign>();
    std::copy_if(
        foreign->begin(), foreign->end(), std::back_inserter(*steps),
        [&](auto &entry) { return (entry.first >> 16) - first >= count; });
    c.foreign = std::move(steps);
    return c;
  }
  /// Joins an exported clock. Agents of `cluster` also become local again.
  void import(const Clock &other, uint64_t cluster) {
    if (!other.foreign)
      return;
    for (auto &[key, step] : *other.foreign)
      if (key >> 16 == cluster)
        raise(uint32_t(key & 0xffff), step);
    if (other.foreign != foreign)
      joinForeign(other.foreign);
  }

private:
  __attribute__((noinline)) void joinAll(const Clock &other) {
    size_t n = other.local.size();
    if (local.size() < n)
      local.resize(n);
    uint32_t *to = local.data();
    const uint32_t *from = other.local.data();
    for (size_t k = 0; k < n; ++k)
      to[k] = std::max(to[k], from[k]);
    if (other.foreign && other.foreign != foreign)
      joinForeign(other.foreign);
  }
  /// Returns true if `b` contains every step of `a`.
  static bool isWithin(const Foreign &a, const Foreign &b) {
    auto at = b.begin();
    return a.size() <= b.size() &&
           std::all_of(a.begin(), a.end(), [&](auto &entry) {
             while (at != b.end() && at->first < entry.first)
               ++at;
             return at != b.end() && at->first == entry.first &&
                    at->second >= entry.second;
           });
  }
  void joinForeign(const std::shared_ptr<const Foreign> &other) {
    // Agents that meet often share a list, so that later joins cost nothing.
    if (!foreign || isWithin(*foreign, *other))
      foreign = other;
    if (foreign == other || isWithin(*other, *foreign))
      return;
    auto joined = std::make_shared<Foreign>();
    joined->reserve(foreign->size() + other->size());
    auto a = foreign->begin(), b = other->begin();
    while (a != foreign->end() && b != other->end()) {
      bool isInA = a->first <= b->first, isInB = b->first <= a->first;
      joined->emplace_back(
          isInA ? a->first : b->first,
          std::max(isInA ? a->second : 0, isInB ? b->second : 0));
      a += isInA;
      b += isInB;
    }
    joined->insert(joined->end(), a, foreign->end());
    joined->insert(joined->end(), b, other->end());
    foreign = std::move(joined);
  }

  std::vector<uint32_t> local;
  std::shared_ptr<const Foreign> foreign;
};

/// Steps that happen before the next step of an agent or a synchronization
/// object.
struct Knowledge {
  /// Accesses that precede that step in the causality order of the PTX ISA.
  Clock generic;
  /// Accesses of the generic proxy to shared and to global memory, made
  /// visible to the async proxy by a proxy fence.
  Clock async, asyncGlobal;
  /// Accesses that a release fence made visible to the tensormap proxy.
  Clock maps;
  /// Operations on tensor memory that tcgen05 fences have ordered.
  Clock tensor;
  /// Steps beyond `generic` that have been executed but are not necessarily
  /// visible. Used to check the lifetime of memory. For example, an mbarrier
  /// phase that counts a copy completes after all steps before the issue of the
  /// copy, and a relaxed arrival at the cluster barrier follows the earlier
  /// steps of its thread.
  Clock executed;
  /// Steps before a fence of device scope or wider. A later relaxed store
  /// publishes these steps to the device ("Release and acquire patterns").
  Clock fenced;
  /// Steps beyond `generic` by warps of which one lane arrived alone.
  Clock ofOthers;
  /// State used by few kernels.
  struct Rare {
    /// Like `fenced`, for each scope other than device scope.
    Clock fenced[kMemoryScopes];
    /// Steps beyond `generic` that other devices of a world would have
    /// published if every scope involved were system scope.
    Clock narrow;
    /// Part of `maps` after an acquire fence, visible to copies.
    Clock acquiredMaps;
  };
  /// Null if empty; may be shared with other clocks.
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

  /// Returns true if the step has been executed, even if it is not visible.
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
    own.acquiredMaps.join(other.rare->acquiredMaps);
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
