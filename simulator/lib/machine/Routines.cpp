//===- Routines.cpp - Frames, arguments and stack of routines -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers of calls that are not inlined (PTX ISA, "call"). The stack grows
// upward in local memory.
//===----------------------------------------------------------------------===//

#include "Routines.h"
#include "Lanes.h"

using namespace mx::sim;
using ptx::Type;

namespace {

/// Returns the local memory of a lane, or null if the range is out of bounds.
uint8_t *localAt(Warp &w, unsigned lane, uint64_t offset, uint64_t bytes) {
  uint32_t all = w.machine->program.localBytes;
  if (offset > all || bytes > all - offset)
    return nullptr;
  return w.local + uint64_t(lane) * all + offset;
}

uint32_t frameAbove(uint32_t stack) { return (stack + 15) & ~15u; }

/// Propagates undefined values when a register is copied to or from local
/// memory.
void followRegister(Warp &w, Slot slot, unsigned lane, uint64_t offset,
                    uint32_t bytes, bool toLocal) {
  if (toLocal)
    w.undefined.storeLocal(w, slot, lane, offset, bytes);
  else
    w.undefined.loadLocal(w, slot, lane, offset, bytes);
}

/// Copies a list of arguments or results between a frame and the operands. An
/// operand is a register, or the parameter-space address of a variable.
bool transfer(Warp &w, const Slot *list, unsigned lane, uint32_t frame,
              bool toFrame) {
  for (uint32_t k = 0, n = *list++; k < n; ++k, list += 4) {
    uint32_t bytes = list[2];
    uint8_t *inFrame = localAt(w, lane, uint64_t(frame) + list[1], bytes);
    uint8_t *other;
    uint64_t offset = uint64_t(frame) + list[1], at = 0;
    if (list[0]) {
      at = w.at<uint64_t>(list[3])[lane] - kLocalParams;
      other = localAt(w, lane, at, bytes);
    } else {
      other = w.at<uint8_t>(list[3]) + uint64_t(lane) * bytes;
    }
    if (!inFrame || !other)
      return false;
    std::memcpy(toFrame ? inFrame : other, toFrame ? other : inFrame, bytes);
    if (__builtin_expect(!w.pendingCount, 1))
      continue;
    if (list[0])
      w.undefined.copyLocal(w, lane, toFrame ? at : offset,
                            toFrame ? offset : at, bytes);
    else
      followRegister(w, list[3], lane, offset, bytes, toFrame);
  }
  return true;
}

/// Adds a convergence point for the lanes of a group after the call.
void expectAt(Warp &w, const Instr *meet) {
  Group &g = w.group();
  size_t k = 0;
  while (k < w.convs.size() && w.convs[k].pc)
    ++k;
  if (k == w.convs.size())
    w.convs.emplace_back();
  w.convs[k] = {meet, g.mask, 0, g.conv, 0, g.strand};
  g.conv = int32_t(k);
}

} // namespace

const Instr *mx::sim::reportOverflow(Warp &w, const Instr *i, unsigned lane) {
  return w.fail(i, FindingKind::OutOfBounds,
                "stack overflow: the thread has " +
                    std::to_string(w.machine->program.localBytes) +
                    " bytes of local memory",
                1u << lane);
}

const Instr *mx::sim::setStack(Warp &w, const Instr *i, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    w.at<uint32_t>(i->d)[lane] = uint32_t(i->imm);
    w.at<uint32_t>(i->b)[lane] = uint32_t(i->imm);
  });
  return i + 1;
}

template <class T>
const Instr *mx::sim::frameAddress(Warp &w, const Instr *i, uint32_t mask) {
  T *d = w.at<T>(i->d);
  const uint32_t *frame = w.at<uint32_t>(i->a);
  forLanes(mask, [&](unsigned lane) { d[lane] = T(frame[lane] + i->imm); });
  return i + 1;
}
template const Instr *mx::sim::frameAddress<uint32_t>(Warp &, const Instr *,
                                                      uint32_t);
template const Instr *mx::sim::frameAddress<uint64_t>(Warp &, const Instr *,
                                                      uint32_t);

static const Instr *moveFrame(Warp &w, const Instr *i, uint32_t mask,
                              bool isLoad) {
  const Instr *next = i + 1;
  forLanes(mask, [&](unsigned lane) {
    uint64_t at = w.at<uint32_t>(i->b)[lane] + uint64_t(i->imm);
    uint8_t *memory = localAt(w, lane, at, i->aux);
    uint8_t *reg = w.at<uint8_t>(i->a) + uint64_t(lane) * i->aux;
    if (!memory)
      next = reportOverflow(w, i, lane);
    else
      std::memcpy(isLoad ? reg : memory, isLoad ? memory : reg, i->aux);
    if (__builtin_expect(w.pendingCount, 0) && memory)
      followRegister(w, i->a, lane, at, i->aux, !isLoad);
  });
  return next;
}
const Instr *mx::sim::loadFrame(Warp &w, const Instr *i, uint32_t mask) {
  return moveFrame(w, i, mask, true);
}
const Instr *mx::sim::storeFrame(Warp &w, const Instr *i, uint32_t mask) {
  return moveFrame(w, i, mask, false);
}

/// Returns the program index of the function at address `pointer`, or kNoSlot.
static uint32_t entryAt(const Program &program, const Slot *header,
                        uint64_t pointer) {
  uint64_t index = (pointer - kFunctionWindow) / 16;
  if (pointer < kFunctionWindow || pointer % 16 || index >= header[3])
    return kNoSlot;
  return program.extra[header[2] + index];
}

const Instr *mx::sim::callRoutine(Warp &w, const Instr *i, uint32_t mask) {
  const Program &program = w.machine->program;
  const Slot *header = &program.extra[i->aux];
  const Instr *code = program.code.data();
  // If the innermost waiting lanes use one of the two convergence points, use
  // the other.
  int32_t outer = w.group().conv;
  const Instr *meet = code + header[0];
  if (outer >= 0 && w.convs[outer].pc == meet)
    meet = code + header[1];
  uint32_t *frame = w.at<uint32_t>(i->a), *stack = w.at<uint32_t>(i->b);
  uint32_t entries[32] = {}, left = mask;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = firstLane(m);
    entries[lane] = uint32_t(i->imm);
    if (i->c != kNoSlot) {
      uint64_t pointer = w.at<uint64_t>(i->c)[lane];
      entries[lane] = entryAt(program, header, pointer);
      if (entries[lane] == kNoSlot) {
        char text[96];
        std::snprintf(text, sizeof text,
                      "call of 0x%llx, which is not the address of a function",
                      (unsigned long long)pointer);
        return w.fail(i, FindingKind::IllegalInstruction, text, 1u << lane);
      }
    }
    uint32_t fresh = frameAbove(stack[lane]);
    uint8_t *p = localAt(w, lane, fresh, kFrameHeader);
    if (!p || !transfer(w, header + 4, lane, fresh, true))
      return reportOverflow(w, i, lane);
    uint32_t words[3] = {uint32_t(meet - code), frame[lane], stack[lane]};
    std::memcpy(p, words, sizeof words);
    frame[lane] = fresh;
  }
  expectAt(w, meet);
  // Fork a group for each distinct callee except the last. The current group
  // calls the last callee.
  while (true) {
    uint32_t entry = entries[firstLane(left)], same = 0;
    forLanes(left, [&](unsigned lane) {
      same |= uint32_t(entries[lane] == entry) << lane;
    });
    left &= ~same;
    Group &g = w.group();
    if (!left) {
      g.mask = w.mask = same;
      return code + entry;
    }
    Group other = w.fork();
    other.pc = code + entry;
    other.mask = same;
    other.conv = g.conv;
    w.groups.push_back(other);
  }
}

const Instr *mx::sim::takeResults(Warp &w, const Instr *i, uint32_t mask) {
  const Slot *list = &w.machine->program.extra[i->aux];
  const uint32_t *stack = w.at<uint32_t>(i->b);
  const Instr *next = i + 1;
  forLanes(mask, [&](unsigned lane) {
    if (next && !transfer(w, list, lane, frameAbove(stack[lane]), false))
      next = reportOverflow(w, i, lane);
  });
  return next;
}

/// Copies between the registers of a routine and its frame. A predicate
/// register contains 32 predicates, each with a bit per lane.
static void moveRegisters(Warp &w, const Instr *i, unsigned lane,
                          uint8_t *memory, bool isSave) {
  const Slot *list = &w.machine->program.extra[i->aux];
  for (uint32_t k = 0; k < i->aux2; ++k, list += 2) {
    uint32_t bytes = list[1];
    if (bytes == kPredicateBlock) {
      uint32_t *words = w.at<uint32_t>(list[0]), all = 0;
      std::memcpy(&all, memory, 4);
      for (unsigned p = 0; p < 32; ++p) {
        if (isSave)
          all = (all & ~(1u << p)) | ((words[p] >> lane) & 1) << p;
        else
          words[p] = (words[p] & ~(1u << lane)) | ((all >> p) & 1) << lane;
      }
      if (isSave)
        std::memcpy(memory, &all, 4);
      memory += 4;
      continue;
    }
    uint8_t *reg = w.at<uint8_t>(list[0]) + uint64_t(lane) * bytes;
    std::memcpy(isSave ? memory : reg, isSave ? reg : memory, bytes);
    if (__builtin_expect(w.pendingCount, 0))
      followRegister(w, list[0], lane,
                     uint64_t(memory - localAt(w, lane, 0, 0)), bytes, isSave);
    memory += bytes;
  }
}

const Instr *mx::sim::enterRoutine(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t size = uint32_t(i->imm), saved = uint32_t(i->imm >> 32);
  const uint32_t *frame = w.at<uint32_t>(i->a);
  uint32_t *stack = w.at<uint32_t>(i->b);
  const Instr *next = i + 1;
  forLanes(mask, [&](unsigned lane) {
    if (!next)
      return;
    uint8_t *p = localAt(w, lane, frame[lane], size);
    if (!p) {
      next = reportOverflow(w, i, lane);
      return;
    }
    moveRegisters(w, i, lane, p + saved, true);
    stack[lane] = frame[lane] + size;
  });
  return next;
}

const Instr *mx::sim::leaveRoutine(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t size = uint32_t(i->imm), saved = uint32_t(i->imm >> 32);
  uint32_t *frame = w.at<uint32_t>(i->a), *stack = w.at<uint32_t>(i->b);
  uint32_t target = ~0u;
  bool isGood = true;
  forLanes(mask, [&](unsigned lane) {
    uint8_t *p = localAt(w, lane, frame[lane], size);
    uint32_t words[3];
    if (!p || !isGood) {
      isGood = false;
      return;
    }
    std::memcpy(words, p, sizeof words);
    moveRegisters(w, i, lane, p + saved, false);
    // Converged lanes have the same caller.
    if (target == ~0u)
      target = words[0];
    isGood &= target == words[0] && target < w.machine->program.code.size();
    frame[lane] = words[1];
    stack[lane] = words[2];
  });
  if (!isGood)
    return w.fail(i, FindingKind::IllegalInstruction,
                  "the frame to return to has been overwritten", mask);
  return w.machine->program.code.data() + target;
}

template <unsigned Bytes>
const Instr *mx::sim::copyRegister(Warp &w, const Instr *i, uint32_t mask) {
  uint8_t *d = w.at<uint8_t>(i->d);
  const uint8_t *a = w.at<uint8_t>(i->a);
  forLanes(mask, [&](unsigned lane) {
    std::memcpy(d + lane * Bytes, a + lane * Bytes, Bytes);
  });
  if (__builtin_expect(w.pendingCount, 0))
    w.undefined.carry(w, i->a, i->d, w.undefined.lanes(i->a), mask);
  return i + 1;
}
template const Instr *mx::sim::copyRegister<4>(Warp &, const Instr *, uint32_t);
template const Instr *mx::sim::copyRegister<8>(Warp &, const Instr *, uint32_t);
template const Instr *mx::sim::copyRegister<16>(Warp &, const Instr *,
                                                uint32_t);
