//===- PeerAccess.cpp - Accesses to peer device memory --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PeerAccess.h"

#include "../machine/WorldState.h"

#include <cstring>

using namespace mx::sim;

bool mx::sim::hasLateStores(Warp &w) {
  return w.machine->device && w.machine->device->late;
}

void mx::sim::releaseToSystem(Warp &w) {
  Order *order = w.order();
  w.machine->device->late->release([&](const LateStore &s) {
    return !order || order->knows(w, s.cluster, s.epoch);
  });
}

void mx::sim::settleStores(Warp &w, uint64_t address, uint64_t bytes) {
  if (w.machine->memory.isOfPeer(address))
    w.machine->device->late->settle(address, bytes);
}

void PeerStore::begin(Warp &w, const Instr *, Slot base, bool is64,
                      int64_t offset, uint32_t bytes, uint32_t mask,
                      uint8_t *hosts[32]) {
  size = bytes;
  forLanes(mask, [&](unsigned lane) {
    addresses[lane] = laneAddress(w, base, is64, offset, lane);
    if (!w.machine->memory.isOfPeer(addresses[lane]))
      return;
    lanes |= 1u << lane;
    std::memcpy(copies[lane], hosts[lane], size);
    hosts[lane] = copies[lane];
  });
  if (Order *order = w.order(); order && lanes) {
    epoch = order->epochOf(w);
    order->late = &published;
  }
}

void PeerStore::end(Warp &w) {
  if (!lanes)
    return;
  if (Order *order = w.order())
    order->late = nullptr;
  uint64_t cluster = w.machine->firstCluster + w.cta->cluster->index;
  LateStore store;
  auto put = [&] {
    if (store.bytes.empty())
      return;
    store.cluster = cluster;
    store.epoch = epoch;
    for (auto &[address, known] : published)
      if (address == store.address)
        store.published = std::make_shared<Knowledge>(std::move(known));
    w.cta->cluster->putLate(std::move(store));
    store = LateStore();
  };
  // Merge adjacent lanes into a single store, unless each publishes knowledge.
  forLanes(lanes, [&](unsigned lane) {
    if (!published.empty() ||
        store.address + store.bytes.size() != addresses[lane]) {
      put();
      store.address = addresses[lane];
    }
    store.bytes.insert(store.bytes.end(), copies[lane], copies[lane] + size);
  });
  put();
}
