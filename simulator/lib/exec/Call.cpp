//===- Call.cpp - Stack instructions --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "call", "stacksave", "stackrestore" and "alloca".
// machine/Routines.cpp contains the handlers of calls.
//===----------------------------------------------------------------------===//

#include "../machine/Lanes.h"
#include "../machine/Routines.h"
#include "Instructions.h"

using namespace mx::sim;

namespace {

/// Copies the stack pointer `b` to d.
const Instr *saveStack(Warp &w, const Instr *i, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    w.at<uint64_t>(i->d)[lane] = w.at<uint32_t>(i->b)[lane];
  });
  return i + 1;
}
const Instr *restoreStack(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t all = w.machine->program.localBytes;
  const Instr *next = i + 1;
  forLanes(mask, [&](unsigned lane) {
    uint64_t to = w.at<uint64_t>(i->a)[lane];
    if (to > all)
      next = reportOverflow(w, i, lane);
    else
      w.at<uint32_t>(i->b)[lane] = uint32_t(to);
  });
  return next;
}
/// Allocates `a` bytes, aligned to imm, and stores the address in d; b: stack
/// pointer.
const Instr *allocate(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t all = w.machine->program.localBytes;
  const Instr *next = i + 1;
  forLanes(mask, [&](unsigned lane) {
    uint32_t &stack = w.at<uint32_t>(i->b)[lane];
    uint64_t bytes = w.at<uint64_t>(i->a)[lane];
    uint64_t at = (stack + uint64_t(i->imm) - 1) & ~uint64_t(i->imm - 1);
    if (at > all || bytes > all - at) {
      next = reportOverflow(w, i, lane);
      return;
    }
    stack = uint32_t(at + bytes);
    w.at<uint64_t>(i->d)[lane] = at;
  });
  return next;
}

void decodeStackSave(Decoder &d) {
  if (!d.take("u64"))
    return d.unsupported("expects .u64");
  if (!d.expectOperands(1, 1))
    return;
  Slot out = d.def(0, {'U', 64});
  Instr &i = d.emit(saveStack);
  i.d = out;
  i.b = d.stackPointer;
}
void decodeStackRestore(Decoder &d) {
  if (!d.take("u64"))
    return d.unsupported("expects .u64");
  if (!d.expectOperands(1, 1))
    return;
  Slot a = d.use(0, {'U', 64});
  Instr &i = d.emit(restoreStack);
  i.a = a;
  i.b = d.stackPointer;
}
void decodeAlloca(Decoder &d) {
  if (!d.take("u64"))
    return d.unsupported("expects .u64");
  if (!d.expectOperands(2, 3))
    return;
  int64_t align = 8;
  if (d.numOperands() == 3 && !d.immediate(2, align))
    return;
  if (align <= 0 || (align & (align - 1)) || align > 4096)
    return d.unsupported("expects an alignment that is a power of two");
  Slot a = d.use(1, {'U', 64}), out = d.def(0, {'U', 64});
  Instr &i = d.emit(allocate);
  i.d = out;
  i.a = a;
  i.b = d.stackPointer;
  i.imm = align;
}

} // namespace

void mx::sim::addCallInstructions(DecodeTable &t) {
  t["call"] = [](Decoder &d) { d.call(); };
  t["stacksave"] = decodeStackSave;
  t["stackrestore"] = decodeStackRestore;
  t["alloca"] = decodeAlloca;
}
