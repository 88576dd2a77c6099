//===- Fence.cpp - Fences -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: membar, fence. Only one warp accesses memory at a time, so a fence
// never waits. Fences are only reported to the order check.
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "PeerAccess.h"

#include "../time/Stopwatch.h"

using namespace mx::sim;

namespace {

/// aux: scope.
const Instr *fenceMemory(Warp &w, const Instr *i, uint32_t) {
  if (MemoryScope(i->aux) == MemoryScope::System && hasLateStores(w)) {
    if (!w.takeTurn(i))
      return nullptr;
    releaseToSystem(w);
  }
  if (Order *order = w.order())
    order->fence(w, MemoryScope(i->aux));
  return i + 1;
}

/// aux: 1 for shared memory, 2 for global memory.
const Instr *fenceProxyAsync(Warp &w, const Instr *i, uint32_t) {
  if (Order *order = w.order())
    order->proxyFence(w, i->aux & 1, i->aux & 2);
  return i + 1;
}

/// aux: true for release; aux2: scope.
const Instr *fenceProxyMap(Warp &w, const Instr *i, uint32_t) {
  if (w.watch && !i->aux)
    w.watch->forgetMaps(w);
  if (Order *order = w.order()) {
    if (i->aux)
      order->releaseMaps(w, MemoryScope(i->aux2));
    else
      order->acquireMaps(w, MemoryScope(i->aux2));
  }
  return i + 1;
}

const Instr *fenceInits(Warp &w, const Instr *i, uint32_t) {
  if (Order *order = w.order())
    order->fenceInits(w);
  return i + 1;
}

void decodeMembar(Decoder &d) {
  if (d.take("proxy")) {
    d.takePrefix("a");
    d.emit(nop);
    return;
  }
  static constexpr MemoryScope scopes[] = {
      MemoryScope::Cta, MemoryScope::Device, MemoryScope::System};
  int scope = d.takeAny({"cta", "gl", "sys"});
  if (scope < 0)
    return d.unsupported("expects .cta, .gl or .sys");
  d.emit(fenceMemory).aux = unsigned(d.useScope(scopes[scope]));
}

void takeAll(Decoder &d) {
  while (!d.modifiers().empty())
    d.take(d.modifiers().front());
}

void decodeFence(Decoder &d) {
  // fence.proxy.KIND; KIND is alias, async[.SPACE], tensormap::generic, ...
  for (std::string_view m : d.modifiers()) {
    if (m != "proxy")
      continue;
    d.take("proxy");
    Handler handler = nop;
    unsigned spaces = 0;
    bool isRelease = false;
    MemoryScope scope = d.scopeNamed();
    for (std::string_view kind : d.modifiers()) {
      if (kind.substr(0, 5) == "async")
        handler = fenceProxyAsync;
      else if (kind.substr(0, 9) == "tensormap")
        handler = fenceProxyMap;
      else if (kind.substr(0, 6) == "shared")
        spaces |= 1;
      else if (kind == "global")
        spaces |= 2;
      isRelease |= kind == "release";
    }
    takeAll(d);
    Instr &i = d.emit(handler);
    i.aux = handler == fenceProxyMap ? isRelease : spaces ? spaces : 3;
    i.aux2 = unsigned(scope);
    return;
  }
  if (d.take("mbarrier_init")) {
    takeAll(d);
    d.emit(fenceInits);
    return;
  }
  d.takeAny({"sc", "acq_rel", "acquire", "release"});
  d.takePrefix("sync_restrict::");
  MemoryScope scope = d.useScope(d.scopeNamed());
  d.takeAny({"cta", "cluster", "gpu", "sys"});
  d.takeSpace();
  d.emit(fenceMemory).aux = unsigned(scope);
}

} // namespace

void mx::sim::addFenceInstructions(DecodeTable &t) {
  t["membar"] = decodeMembar;
  t["fence"] = decodeFence;
}
