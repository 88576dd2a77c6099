//===- Wgmma.cpp - Warpgroup-level MMA ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate":
// wgmma.mma_async and its groups. The four warps execute a joint operation, and
// after a wait each warp can rely on the completion of all shared memory reads.
// Therefore the last warp to arrive computes the MMA for all four at once. The
// asynchrony appears only in the checks of registers in use.
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "WgmmaTracker.h"

#include "../machine/Handlers.h"
#include "../machine/Lanes.h"
#include "../report/Recorder.h"
#include "../time/Stopwatch.h"
#include "AsyncOperands.h"
#include "WarpFragments.h"

#include <algorithm>

using namespace mx::sim;
using ptx::Operand;

namespace {

constexpr unsigned warpRows = 16, maxColumns = 256;
constexpr unsigned registersOfA = 4;

struct TypeRow {
  std::string_view name;
  ElementType type;
  unsigned k;
  /// isFloat also means that the operands can be negated.
  bool canTranspose, isFloat;
};
constexpr TypeRow types[] = {
    {"f16", ElementType::F16, 16, true, true},
    {"bf16", ElementType::BF16, 16, true, true},
    {"tf32", ElementType::TF32, 8, false, true},
    {"e4m3", ElementType::E4M3, 32, false, true},
    {"e5m2", ElementType::E5M2, 32, false, true},
    {"u8", ElementType::U8, 32, false, false},
    {"s8", ElementType::S8, 32, false, false},
    {"b1", ElementType::B1, 256, false, false},
};
const TypeRow *findType(std::string_view name) {
  for (const TypeRow &row : types)
    if (row.name == name)
      return &row;
  return nullptr;
}

bool is8BitFloat(ElementType type) {
  return type == ElementType::E4M3 || type == ElementType::E5M2;
}

/// Returns the summation model of Hopper (MMA-Sim). Products of 8-bit floats
/// keep 13 bits below the largest exponent, and f32 results have 13 fraction
/// bits.
SumModel modelOf(ElementType a) {
  SumModel model;
  if (is8BitFloat(a))
    model.fractionBits = model.resultBits = 13;
  return model;
}

// Flags of Instr::aux2.
enum : unsigned {
  kTypeA = 0,
  kTypeB = 4,
  kAccumulator = 8,
  kInRegisters = 10,
  kNegateA = 11,
  kNegateB = 12,
  kTransposeA = 13,
  kTransposeB = 14,
  kSaturate = 15,
  kColumns = 16, ///< ten bits
  kSparse = 26,
  kSelector = 27,
};

/// Reads the operands of a warp. a: descriptor of A, b: descriptor of B, c:
/// scale-d, d: metadata; aux: registers of D and then of A in extra; aux2:
/// flags; imm: number of registers of D.
Fault capture(Warp &w, const Instr *i, WgmmaOp &op) {
  auto flag = [&](unsigned at) { return bool(i->aux2 >> at & 1); };
  WarpMmaOp &mma = op.mma = WarpMmaOp();
  op.aDesc = 0;
  mma.a = ElementType(i->aux2 >> kTypeA & 15);
  mma.b = ElementType(i->aux2 >> kTypeB & 15);
  mma.d = AccumulatorType(i->aux2 >> kAccumulator & 3);
  mma.rows = warpRows;
  mma.columns = i->aux2 >> kColumns & 0x3FF;
  for (const TypeRow &row : types)
    if (row.type == mma.a)
      mma.k = flag(kSparse) ? 2 * row.k : row.k;
  mma.negateA = flag(kNegateA);
  mma.negateB = flag(kNegateB);
  mma.saturate = flag(kSaturate);
  mma.enableInputD = w.predicate(i->c) & 1;
  mma.model = modelOf(mma.a);
  op.transposeA = flag(kTransposeA);
  op.transposeB = flag(kTransposeB);
  op.firstRow = w.index % 4 * warpRows;
  op.aInRegisters = flag(kInRegisters);
  if (!op.aInRegisters)
    op.aDesc = w.at<uint64_t>(i->a)[0];
  else if (!w.machine->skipsMmas)
    gatherA(w, &w.machine->program.extra[i->aux + i->imm], registersOfA,
            warpRows, op.aRows.data());
  op.bDesc = w.at<uint64_t>(i->b)[0];
  if (flag(kSparse) && !w.machine->skipsMmas)
    return setSparsity(mma, w.at<uint32_t>(i->d), i->aux2 >> kSelector,
                       /*isOrdered=*/false);
  return {};
}

/// Computes the rows of the MMA for a warp, and updates its accumulators.
Fault execute(Warp &w, const WgmmaOp &op, const Slot *slots, unsigned count) {
  if (w.machine->skipsMmas)
    return {};
  uint32_t cells[warpRows * maxColumns];
  bool half = op.mma.d == AccumulatorType::F16;
  unsigned columns = op.mma.columns;
  gatherCells(w, slots, count, columns, half, cells);
  // mx.matmul with `promote` specifies the truncated sums of 8-bit floats.
  Numerics numerics =
      is8BitFloat(op.mma.a) ? Numerics::Truncate25 : numericsOf(w);
  if (Fault fault = wgmma(op, w.cta->view(), numerics, cells))
    return fault;
  scatterCells(w, slots, count, columns, half, cells);
  return {};
}

WgmmaTracker &useTracker(Warp &w) {
  if (!w.wgmma)
    w.wgmma = std::make_shared<WgmmaTracker>();
  return *trackerOf(w);
}

/// Records the operation of warps `first` to `end` once on the timeline, and in
/// the wgmma group of each warp.
void recordTogether(Warp &w, const Instr *i, uint32_t first, uint32_t end) {
  std::vector<Warp> &warps = w.cta->warps;
  WgmmaOp &op = trackerOf(w)->arrived;
  w.trace->together(w, i + 1, first, end);
  uint64_t done = w.trace->wgmma(warps[first], i, op.mma.columns, op.aDesc,
                                 op.aInRegisters, op.bDesc);
  time::Path path = w.watch ? w.watch->pathOfOperation() : time::Path();
  for (uint32_t k = first; k < end; ++k)
    w.trace->joinGroup(warps[k], Recorder::Groups::Wgmma, done, path);
}

/// Computes the MMA of the whole warpgroup, warp by warp. Returns null after a
/// fault.
const Instr *multiplyTogether(Warp &w, const Instr *i, uint32_t mask) {
  std::vector<Warp> &warps = w.cta->warps;
  uint32_t first = w.index / 4 * 4;
  uint32_t end = std::min<uint32_t>(first + 4, uint32_t(warps.size()));
  for (uint32_t k = first; k < end; ++k) {
    Warp &other = warps[k];
    if (!other.live)
      continue;
    WgmmaTracker &tracker = *trackerOf(other);
    if (tracker.arrivedAt != i)
      return w.fault(i,
                     {FaultKind::Shape,
                      "the warps of a warpgroup execute different "
                      "wgmma.mma_async instructions"},
                     mask);
    const Slot *slots = &w.machine->program.extra[i->aux];
    Order *order = w.order();
    ScopeGuard guard(order,
                     order ? order->wgmmaScope(other, i, ~0u) : EngineScope());
    if (Fault fault = execute(other, tracker.arrived, slots, unsigned(i->imm)))
      return w.fault(i, fault, mask);
    tracker.arrivedAt = nullptr;
    ++other.counts.mmas;
    for (Group &g : other.groups)
      if (&other != &w && g.wait == Wait::Warpgroup && g.pc == i) {
        g.wait = Wait::None;
        g.pc = i + 1;
      }
  }
  if (w.trace)
    recordTogether(w, i, first, end);
  ++w.cta->cluster->effects;
  return i + 1;
}

const Instr *multiplyAsync(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "wgmma.mma_async"))
    return nullptr;
  WgmmaTracker &tracker = useTracker(w);
  bool isChecked = w.machine->config.checks & kCheckLoadBeforeWait;
  if (!tracker.arrivedAt) {
    if (isChecked && !tracker.checkFence(w, i))
      return nullptr;
    if (Fault fault = capture(w, i, tracker.arrived))
      if (!w.fault(i, fault, mask))
        return nullptr;
    tracker.arrivedAt = i;
    ++w.cta->cluster->effects;
    if (isChecked) {
      const Slot *slots = &w.machine->program.extra[i->aux];
      unsigned count = unsigned(i->imm);
      for (unsigned r = 0; r < count; ++r)
        tracker.add(w, slots[r], true);
      for (unsigned r = 0; tracker.arrived.aInRegisters && r < registersOfA;
           ++r)
        tracker.add(w, slots[count + r], false);
    }
  }
  for (uint32_t k = w.index / 4 * 4; k < w.index / 4 * 4 + 4; ++k)
    if (k < w.cta->warps.size() && w.cta->warps[k].live &&
        !(w.cta->warps[k].wgmma && trackerOf(w.cta->warps[k])->arrivedAt))
      return w.block(i, Wait::Warpgroup);
  return multiplyTogether(w, i, mask);
}

const Instr *fence(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  useTracker(w).fence();
  return i + 1;
}

const Instr *commitGroup(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  if (WgmmaTracker *tracker = trackerOf(w))
    tracker->commit();
  if (w.trace)
    w.trace->commitGroup(w, Recorder::Groups::Wgmma);
  if (Order *order = w.order())
    order->commitWgmma(w);
  return i + 1;
}

/// imm: number of groups allowed to be pending.
const Instr *waitGroup(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  if (w.trace)
    w.trace->waitGroups(w, Recorder::Groups::Wgmma, i->imm, false);
  if (WgmmaTracker *tracker = trackerOf(w))
    tracker->wait(w, uint64_t(i->imm));
  if (Order *order = w.order())
    order->waitWgmma(w, uint64_t(i->imm));
  return i + 1;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Parses "m64n128k32" and returns N; returns 0 for any other form.
unsigned parseShape(std::string_view text, unsigned &k) {
  constexpr std::string_view prefix = "m64n";
  if (text.substr(0, prefix.size()) != prefix)
    return 0;
  text.remove_prefix(prefix.size());
  unsigned n = 0;
  k = 0;
  unsigned *value = &n;
  for (char c : text) {
    if (c == 'k' && value == &n)
      value = &k;
    else if (c >= '0' && c <= '9' && *value < 1000)
      *value = *value * 10 + unsigned(c - '0');
    else
      return 0;
  }
  return n;
}

/// Returns true if N is a multiple of 8 up to 256. For integer types, N above
/// 32 must be a multiple of 16 ("Matrix Shape").
bool isLegalN(unsigned n, bool isFloat) {
  return n >= 8 && n <= maxColumns && n % 8 == 0 &&
         (isFloat || n <= 32 || n % 16 == 0);
}

bool checkTypes(std::string_view d, const TypeRow &a, const TypeRow &b) {
  bool mixes = a.k == 32 && b.k == 32 && a.isFloat == b.isFloat;
  if (a.type != b.type && !mixes)
    return false;
  if (!a.isFloat)
    return d == "s32";
  return d == "f32" ||
         (d == "f16" && (a.type == ElementType::F16 || a.k == 32));
}

/// Reads the operands after scale-d: signs (-1 or 1) and then transpositions
/// (0 or 1).
bool takeImmediates(Decoder &d, size_t k, const TypeRow &type, bool inRegisters,
                    unsigned &flags) {
  struct {
    unsigned flag;
    int64_t off, on;
    bool exists;
  } const fields[] = {{kNegateA, 1, -1, type.isFloat},
                      {kNegateB, 1, -1, type.isFloat},
                      {kTransposeA, 0, 1, type.canTranspose && !inRegisters},
                      {kTransposeB, 0, 1, type.canTranspose}};
  for (const auto &field : fields) {
    if (!field.exists)
      continue;
    int64_t value;
    if (!d.immediate(k++, value))
      return false;
    if (value != field.off && value != field.on) {
      d.unsupported("operand " + std::to_string(k) + " must be " +
                    std::to_string(field.off) + " or " +
                    std::to_string(field.on));
      return false;
    }
    flags |= unsigned(value == field.on) << field.flag;
  }
  if (k == d.numOperands())
    return true;
  d.unsupported("expects " + std::to_string(k) + " operands, found " +
                std::to_string(d.numOperands()));
  return false;
}

void decodeMultiply(Decoder &d) {
  bool sparse = d.take("sp");
  unsigned n = 0, k = 0;
  std::vector<std::string_view> names;
  for (std::string_view m : std::vector<std::string_view>(d.modifiers())) {
    if (findType(m) || m == "f32" || m == "s32")
      names.push_back(m);
    else if (unsigned found = parseShape(m, k))
      n = found;
    else
      continue;
    d.take(m);
  }
  bool saturate = d.take("satfinite");
  bool population = d.take("popc"), conjunction = d.take("and");
  const TypeRow *a = names.size() == 3 ? findType(names[1]) : nullptr;
  const TypeRow *b = names.size() == 3 ? findType(names[2]) : nullptr;
  if (!n || !a || !b)
    return d.unsupported("expects a shape and three types");
  bool bits = a->type == ElementType::B1;
  if (!checkTypes(names[0], *a, *b) || k != (sparse ? 2 * a->k : a->k) ||
      (sparse && bits) || !isLegalN(n, a->isFloat) ||
      (saturate && (a->isFloat || bits)) || bits != population ||
      bits != conjunction)
    return d.unsupported("no such combination of shape and types");
  AccumulatorType accumulator = names[0] == "f16"   ? AccumulatorType::F16
                                : names[0] == "s32" ? AccumulatorType::S32
                                                    : AccumulatorType::F32;
  // D, A, B, {metadata, selector,} scale-d, signs, transpositions
  size_t scaleAt = sparse ? 5 : 3;
  if (!d.expectOperands(scaleAt + 1, scaleAt + 5))
    return;
  bool inRegisters = d.operand(1).kind == Operand::Vector;
  unsigned flags = unsigned(a->type) << kTypeA | unsigned(b->type) << kTypeB |
                   unsigned(accumulator) << kAccumulator |
                   unsigned(inRegisters) << kInRegisters |
                   unsigned(saturate) << kSaturate | n << kColumns |
                   unsigned(sparse) << kSparse;
  if (!takeImmediates(d, scaleAt + 1, *a, inRegisters, flags))
    return;
  int64_t selector = 0;
  if (sparse && !d.immediate(4, selector))
    return;
  if (selector < 0 || selector > 3)
    return d.unsupported("the sparsity selector must be 0 to 3");
  flags |= unsigned(selector) << kSelector;
  unsigned count = n / (accumulator == AccumulatorType::F16 ? 4 : 2);
  std::vector<Operand> parts = d.elements(d.operand(0));
  if (parts.size() != count)
    return d.unsupported("expects " + std::to_string(count) +
                         " accumulator registers, found " +
                         std::to_string(parts.size()));
  std::vector<Slot> slots;
  for (const Operand &p : parts) {
    d.use(p, 4);
    slots.push_back(d.def(p, 4));
  }
  Slot aDesc = kNoSlot;
  if (inRegisters) {
    const std::vector<Operand> &aParts = d.operand(1).parts;
    if (aParts.size() != registersOfA)
      return d.unsupported("expects 4 registers of A, found " +
                           std::to_string(aParts.size()));
    for (const Operand &p : aParts)
      slots.push_back(d.use(p, 4));
  } else {
    aDesc = d.use(1, {'B', 64});
  }
  Slot bDesc = d.use(2, {'B', 64});
  Slot scale = d.usePredicate(scaleAt);
  Slot metadata = sparse ? d.use(3, {'B', 32}) : kNoSlot;
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(multiplyAsync);
  i.a = aDesc;
  i.b = bDesc;
  i.c = scale;
  i.d = metadata;
  i.aux = first;
  i.aux2 = flags;
  i.imm = count;
}

void decodeWgmma(Decoder &d) {
  int operation =
      d.takeAny({"mma_async", "fence", "commit_group", "wait_group"});
  if (!d.take("sync") || !d.take("aligned"))
    return d.unsupported("expects .sync.aligned");
  int64_t left = 0;
  switch (operation) {
  case 0:
    return decodeMultiply(d);
  case 1:
    d.emit(fence);
    return;
  case 2:
    d.emit(commitGroup);
    return;
  case 3:
    if (!d.expectOperands(1, 1) || !d.immediate(0, left))
      return;
    if (left < 0)
      return d.unsupported("the number of groups must not be negative");
    d.emit(waitGroup).imm = left;
    return;
  }
  d.unsupported("no such operation");
}

} // namespace

WgmmaSources mx::sim::wgmmaSources(const Warp &w, const Instr *i) {
  if (i->fn != multiplyAsync)
    return {};
  return {true, &w.machine->program.extra[i->aux + i->imm],
          i->aux2 >> kInRegisters & 1 ? registersOfA : 0};
}

void mx::sim::addWgmmaInstructions(DecodeTable &t) { t["wgmma"] = decodeWgmma; }
