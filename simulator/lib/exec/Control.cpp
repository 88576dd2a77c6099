//===- Control.cpp - Branches, exits, traps -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes branches, exits and traps (PTX ISA, "Control flow instructions"),
// griddepcontrol, setmaxnreg and hints. Most handlers are in
// machine/Handlers.cpp.
//===----------------------------------------------------------------------===//

#include "../checks/Order.h"
#include "../machine/Lanes.h"
#include "../machine/Overlap.h"
#include "Instructions.h"

using namespace mx::sim;

static const Instr *sleep(Warp &w, const Instr *i, uint32_t) {
  w.cta->cluster->slept = true;
  w.group().cta = nullptr;
  return w.poll(i + 1);
}

static void decodeBra(Decoder &d) {
  d.take("uni");
  if (!d.expectOperands(1, 1))
    return;
  if (d.operand(0).kind != ptx::Operand::Label)
    return d.unsupported("expects a label");
  Slot guard = kNoSlot;
  if (d.inst->guarded) {
    ptx::Operand op;
    op.kind = ptx::Operand::Reg;
    op.reg = d.inst->guard;
    op.negated = d.inst->guardNegated;
    guard = d.usePredicate(op);
  }
  d.branch(guard, false, uint32_t(d.operand(0).value));
}

static void decodeBrx(Decoder &d) {
  d.take("idx");
  d.take("uni");
  if (!d.expectOperands(2, 2))
    return;
  if (d.inst->guarded)
    return d.unsupported("a predicated brx is not supported");
  if (d.operand(1).kind != ptx::Operand::Vector)
    return d.unsupported("expects a list of targets");
  Slot index = d.use(0, {'U', 32});
  const auto &targets = d.operand(1).parts;
  Instr &i = d.emit(branchIndexed);
  i.a = index;
  i.b = targets.size();
  i.aux = kNoSlot;
  i.imm = d.program.code.size();
  for (const ptx::Operand &t : targets)
    d.branch(kNoSlot, true, uint32_t(t.value));
}

static void decodeRet(Decoder &d) {
  d.take("uni");
  d.ret();
}
static void decodeExit(Decoder &d) { d.emit(exitThread); }
static void decodeTrap(Decoder &d) { d.emit(trapThread); }

static void decodeNanosleep(Decoder &d) {
  d.take("u32");
  d.emit(sleep);
}

/// Decodes hints that have no effect in the simulator. Accepts any modifiers.
static void decodeNothing(Decoder &d) {
  while (!d.modifiers().empty())
    d.take(d.modifiers().front());
  d.emit(nop);
}

static const Instr *launchDependents(Warp &w, const Instr *i, uint32_t) {
  w.machine->memory.overlap().noteTrigger();
  return i + 1;
}

static const Instr *waitForKernels(Warp &w, const Instr *i, uint32_t) {
  w.machine->memory.overlap().noteWait();
  if (Order *order = w.order())
    order->waitForKernels(w);
  return i + 1;
}

/// Decodes griddepcontrol. Kernels run sequentially, so the wait never blocks.
/// The order check treats later accesses as ordered after the preceding
/// kernels.
static void decodeGridDepControl(Decoder &d) {
  bool waits = d.take("wait");
  if (!waits && !d.take("launch_dependents"))
    return d.unsupported("expects .wait or .launch_dependents");
  if (d.expectOperands(0, 0))
    d.emit(waits ? waitForKernels : launchDependents);
}

/// Returns the registers of a thread at entry to a kernel with setmaxnreg, as
/// ptxas allocates them. Returns 0 if ptxas ignores setmaxnreg because neither
/// .maxnreg nor launch bounds with .minnctapersm fix the number.
static uint32_t registersAtEntry(const ptx::Function &kernel) {
  constexpr uint32_t kRegistersOfSm = 65536, kMost = 256;
  auto roundUp = [](uint32_t n, uint32_t unit) {
    return (n + unit - 1) / unit * unit;
  };
  if (kernel.maximumRegisters)
    return std::min(roundUp(kernel.maximumRegisters, 8), kMost);
  const auto &block = kernel.info.requiredBlock[0] ? kernel.info.requiredBlock
                                                   : kernel.info.maximumBlock;
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  if (!threads || threads > 1024 || !kernel.minimumCtas ||
      kernel.minimumCtas > 64)
    return 0;
  return std::min(kRegistersOfSm / (roundUp(threads, 32) * kernel.minimumCtas) /
                      8 * 8,
                  kMost);
}

/// imm: registers; aux: true for .inc.
static const Instr *setMaxRegisters(Warp &w, const Instr *i, uint32_t) {
  uint32_t count = uint32_t(i->imm);
  bool isMore = count > w.registers;
  if (isMore != bool(i->aux))
    return i + 1;
  if (isMore && w.cta->freeRegisters < count - w.registers) {
    w.group().ticket = count;
    return w.block(i, Wait::Registers);
  }
  w.cta->freeRegisters += w.registers - count;
  w.registers = count;
  ++w.cta->cluster->effects;
  return i + 1;
}

static void decodeSetMaxNReg(Decoder &d) {
  int64_t count = 0;
  int kind = d.takeAny({"dec", "inc"});
  if (kind < 0 || !d.take("sync") || !d.take("aligned") || !d.take("u32"))
    return d.unsupported("expects .inc or .dec, .sync.aligned.u32");
  if (!d.expectOperands(1, 1) || !d.immediate(0, count))
    return;
  if (count < 24 || count > 256 || count % 8)
    return d.unsupported("expects a multiple of 8 from 24 to 256, found " +
                         std::to_string(count));
  d.program.registersAtEntry = registersAtEntry(*d.program.kernel);
  Instr &i = d.emit(d.program.registersAtEntry ? setMaxRegisters : nop);
  i.imm = count;
  i.aux = kind;
}

void mx::sim::addControlInstructions(DecodeTable &t) {
  t["bra"] = decodeBra;
  t["brx"] = decodeBrx;
  t["ret"] = decodeRet;
  t["setmaxnreg"] = decodeSetMaxNReg;
  t["exit"] = decodeExit;
  t["trap"] = decodeTrap;
  t["brkpt"] = decodeTrap;
  t["nanosleep"] = decodeNanosleep;
  t["griddepcontrol"] = decodeGridDepControl;
  for (const char *name :
       {"prefetch", "prefetchu", "pmevent", "discard", "applypriority"})
    t[name] = decodeNothing;
}
