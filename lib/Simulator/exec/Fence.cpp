//===- Fence.cpp - fences -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: membar, fence. One warp at a time touches memory, so there is
// nothing to wait for; what a fence orders is told to the check of the order.
// Scopes are not told apart.
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace mx::sim;

namespace {

const Instr *fenceMemory(Warp &w, const Instr *i, uint32_t) {
  if (Order *order = w.order())
    order->fence(w);
  return i + 1;
}

const Instr *fenceProxyAsync(Warp &w, const Instr *i, uint32_t) {
  if (Order *order = w.order())
    order->proxyFence(w);
  return i + 1;
}

void decodeMembar(Decoder &d) {
  if (d.take("proxy")) {
    d.takePrefix("a");
    d.emit(nop);
    return;
  }
  if (d.takeAny({"cta", "gl", "sys"}) < 0)
    return d.unsupported("expects .cta, .gl or .sys");
  d.emit(fenceMemory);
}

void takeAll(Decoder &d) {
  while (!d.modifiers().empty())
    d.take(d.modifiers().front());
}

void decodeFence(Decoder &d) {
  // fence.proxy.KIND, KIND one of alias, async[.SPACE], tensormap::generic...
  for (std::string_view m : d.modifiers()) {
    if (m != "proxy")
      continue;
    d.take("proxy");
    Handler handler = nop;
    for (std::string_view kind : d.modifiers())
      if (kind.substr(0, 5) == "async")
        handler = fenceProxyAsync;
    takeAll(d);
    d.emit(handler);
    return;
  }
  if (d.take("mbarrier_init")) {
    takeAll(d);
    d.emit(nop);
    return;
  }
  d.takeAny({"sc", "acq_rel", "acquire", "release"});
  d.takePrefix("sync_restrict::");
  d.takeAny({"cta", "cluster", "gpu", "sys"});
  d.takeSpace();
  d.emit(fenceMemory);
}

} // namespace

void mx::sim::addFenceInstructions(DecodeTable &t) {
  t["membar"] = decodeMembar;
  t["fence"] = decodeFence;
}
