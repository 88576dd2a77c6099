//===- TensorMaps.cpp - Tensor map instructions ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: tensormap.replace and tensormap.cp_fenceproxy, and reads of maps by
// copies.
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"

#include "AsyncOperands.h"
#include "Instructions.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

bool mx::sim::readTensorMap(Warp &w, const Instr *i, uint64_t address,
                            unsigned lane, TensorMapDesc &map) {
  if (address % tensorMapAlignment) {
    w.fail(i, FindingKind::Misaligned,
           "a tensor map must be aligned to 64 bytes: " +
               describeAddress(w, Space::Generic, address, tensorMapBytes),
           1u << lane);
    return false;
  }
  uint8_t image[tensorMapBytes];
  for (unsigned k = 0; k < tensorMapBytes; k += 64) {
    const uint8_t *p =
        resolveAddress(w, i, Space::Generic, address + k, 64, lane, false);
    if (!p)
      return false;
    std::memcpy(image + k, p, 64);
  }
  // Maps in kernel parameters are never written.
  if (Order *order = w.order(); order && w.machine->memory.find(address))
    order->readMap(w, i, address, 1u << lane);
  std::string error = decodeTensorMap(image, map);
  if (error.empty())
    return true;
  w.fail(i, FindingKind::IllegalInstruction,
         error + ": " +
             describeAddress(w, Space::Generic, address, tensorMapBytes),
         1u << lane);
  return false;
}

namespace {

/// a: address, b: new value; aux: field | ordinal << 8 | is64 << 16 | value is
/// 64-bit << 17 | space << 18.
const Instr *replaceField(Warp &w, const Instr *i, uint32_t mask) {
  Space space = Space(i->aux >> 18);
  bool is64 = i->aux >> 16 & 1;
  ++w.cta->cluster->effects;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t address = laneAddress(w, i->a, is64, i->imm, lane);
    uint8_t *p = resolveAddress(w, i, space, address, 128, lane, true);
    if (!p)
      return nullptr;
    followOne(w, i, space, address, 128, 1u << lane, Touch::Write);
    uint64_t value = i->aux >> 17 & 1 ? w.at<uint64_t>(i->b)[lane]
                                      : w.at<uint32_t>(i->b)[lane];
    std::string error = replaceTensorMapField(p, TensorMapField(i->aux & 0xff),
                                              i->aux >> 8 & 0xff, value);
    if (!error.empty())
      return w.fail(i, FindingKind::IllegalInstruction, error, 1u << lane);
  }
  return i + 1;
}

/// Performs one 128-byte copy for the warp. extra: addresses of dst and src.
const Instr *copyMap(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  const Slot *s = &w.machine->program.extra[i->aux];
  unsigned lane = firstLane(mask);
  const uint8_t *from = resolveAddress(
      w, i, Space::Shared, sharedAddress(addressOf(w, s + kPlaceSlots, lane)),
      128, lane, false);
  if (!from)
    return nullptr;
  uint8_t *to = resolveAddress(w, i, Space::Generic, addressOf(w, s, lane), 128,
                               lane, true);
  if (!to)
    return nullptr;
  std::memcpy(to, from, 128);
  followOne(w, i, Space::Shared,
            sharedAddress(addressOf(w, s + kPlaceSlots, lane)), 128, 1u << lane,
            Touch::Read);
  followOne(w, i, Space::Generic, addressOf(w, s, lane), 128, 1u << lane,
            Touch::Write);
  if (Order *order = w.order())
    order->releaseMaps(w, MemoryScope(i->aux2));
  ++w.cta->cluster->effects;
  return i + 1;
}

void decodeTensormap(Decoder &d) {
  if (d.take("cp_fenceproxy")) {
    MemoryScope scope = d.scopeNamed();
    while (!d.modifiers().empty())
      d.take(d.modifiers().front());
    if (!d.expectOperands(3, 3))
      return;
    int64_t size;
    if (!d.immediate(2, size) || size != 128)
      return d.unsupported("expects a size of 128");
    Address dst = d.address(0), src = d.address(1);
    uint32_t first = d.program.extra.size();
    addPlace(d, dst);
    addPlace(d, src);
    Instr &i = d.emit(copyMap);
    i.aux = first;
    i.aux2 = unsigned(scope);
    return;
  }
  if (!d.take("replace") || !d.take("tile"))
    return d.unsupported("expects .replace.tile or .cp_fenceproxy");
  TensorMapField field{};
  bool isFound = false;
  for (std::string_view m : d.modifiers())
    if (!isFound && parseTensorMapField(m, field)) {
      d.take(m);
      isFound = true;
      break;
    }
  if (!isFound)
    return d.unsupported("expects a field");
  Space space = d.takeSpace();
  d.take("b1024");
  Type t;
  if (!d.takeType(t) || (t.bits != 32 && t.bits != 64))
    return d.unsupported("expects .b32 or .b64");
  if (!d.expectOperands(2, 3))
    return;
  Address a = d.address(0);
  int64_t ordinal = 0;
  if (d.numOperands() == 3 && !d.immediate(1, ordinal))
    return;
  if (ordinal < 0 || ordinal > 4)
    return d.unsupported("the dimension must be 0 to 4");
  Slot value = d.use(d.numOperands() - 1, t);
  Instr &i = d.emit(replaceField);
  i.a = a.base;
  i.imm = a.offset;
  i.b = value;
  i.aux = unsigned(field) | unsigned(ordinal) << 8 | a.is64 << 16 |
          (t.bits == 64) << 17 | unsigned(space) << 18;
}

} // namespace

void mx::sim::addTensorMapInstructions(DecodeTable &t) {
  t["tensormap"] = decodeTensormap;
}
