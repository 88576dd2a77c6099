//===- Atomic.cpp - Atomic operations -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: atom and red in global and shared memory, on scalars and vectors.
// The operations of a warp take effect in ascending lane order.
//===----------------------------------------------------------------------===//

#include "AsyncOperands.h"
#include "FloatOps.h"
#include "Instructions.h"
#include "PeerAccess.h"
#include "StoreAsync.h"

#include "mxsim/tensor/IntegerReduce.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

/// The operations of ReduceOp, followed by exch and cas.
enum Op : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, Cas };
static_assert(Add == Op(ReduceOp::Add) && Xor == Op(ReduceOp::Xor));
enum Kind : uint8_t {
  U32,
  S32,
  U64,
  S64,
  B16,
  B32,
  B64,
  F32,
  F64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  B128
};
constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"u32", U32},       {"s32", S32},   {"u64", U64},     {"s64", S64},
    {"b16", B16},       {"b32", B32},   {"b64", B64},     {"f32", F32},
    {"f64", F64},       {"f16", F16},   {"f16x2", F16x2}, {"bf16", BF16},
    {"bf16x2", BF16x2}, {"b128", B128},
};
unsigned bytesOf(Kind k) {
  static const unsigned bytes[] = {4, 4, 8, 8, 2, 4, 8, 4, 8, 2, 4, 2, 4, 16};
  return bytes[k];
}

template <class T>
uint64_t integer(Op op, uint64_t old, uint64_t b) {
  using U = std::make_unsigned_t<T>;
  return U(reduceInteger<T>(ReduceOp(op), T(old), T(b)));
}

template <bool BF16>
uint16_t half(Op op, uint16_t old, uint16_t b) {
  auto widen = [](uint16_t v) { return BF16 ? bf16ToFloat(v) : f16ToFloat(v); };
  auto narrow = [](float v) { return BF16 ? floatToBf16(v) : floatToF16(v); };
  float x = widen(old), y = widen(b);
  if (op == Add)
    return narrow(canonical(x + y));
  if (x != x && y != y)
    return narrow(canonical(x));
  if (x != x || y != y)
    return x != x ? b : old;
  return (op == Min) == (y < x) ? b : old;
}

/// Compute floating-point additions with the results of an H200. The L2 cache
/// performs additions in global memory: it flushes subnormal f32 to zero, and
/// propagates f64 NaNs unchanged. In shared memory, kernel code performs the
/// additions.
uint32_t addSingles(uint32_t old, uint32_t b, bool isShared) {
  float x = asFloat(old), y = asFloat(b);
  return bitsOf(canonical(isShared ? x + y : flush(flush(x) + flush(y))));
}
uint64_t addDoubles(uint64_t old, uint64_t b, bool isShared) {
  constexpr uint64_t quiet = 0x0008000000000000,
                     fromInfinities = 0xFFF8ull << 48;
  double x = doubleFromBits(old), y = doubleFromBits(b), sum = x + y;
  if (isShared && (x != x || y != y))
    return (x != x ? old : b) | quiet;
  if (x != x || y != y)
    return y != y ? b : old;
  return sum != sum ? fromInfinities : bitsOf(sum);
}

uint64_t apply(Op op, Kind kind, uint64_t old, uint64_t b, uint64_t c,
               bool isShared) {
  if (op == Exch)
    return b;
  if (op == Cas) {
    uint64_t mask =
        bytesOf(kind) == 8 ? ~0ull : (1ull << (8 * bytesOf(kind))) - 1;
    return (old & mask) == (b & mask) ? c : old;
  }
  switch (kind) {
  case U32:
  case B32:
    return integer<uint32_t>(op, old, b);
  case S32:
    return integer<int32_t>(op, old, b);
  case U64:
  case B64:
    return integer<uint64_t>(op, old, b);
  case S64:
    return integer<int64_t>(op, old, b);
  case F32:
    return addSingles(uint32_t(old), uint32_t(b), isShared);
  case F64:
    return addDoubles(old, b, isShared);
  case F16:
    return half<false>(op, old, b);
  case BF16:
    return half<true>(op, old, b);
  case F16x2:
    return uint32_t(half<false>(op, old >> 16, b >> 16)) << 16 |
           half<false>(op, old, b);
  case BF16x2:
    return uint32_t(half<true>(op, old >> 16, b >> 16)) << 16 |
           half<true>(op, old, b);
  default:
    return old;
  }
}

/// Encoding of ordering semantics: bit 0 for acquire, bit 1 for release, and
/// the scope in the bits above.
enum : uint32_t { kAcquire = 1, kRelease = 2, kScopeShift = 2 };

/// Reports the access of a lane to the order check.
void followAtomic(Warp &w, const Instr *i, bool isShared, uint64_t address,
                  unsigned bytes, unsigned lane, bool reads, uint32_t sem,
                  bool isCas) {
  Order *order = w.order();
  if (!order)
    return;
  MemoryScope scope = MemoryScope(sem >> kScopeShift);
  AccessKind kind{Touch::Write, /*isStrong=*/true, isCas,
                  /*isAnyProxy=*/false, scope};
  AccessRange range{isShared ? address & kOffsetMask : address, bytes,
                    1u << lane, LaneRun{Lane(lane + 1)}};
  if (reads)
    order->strongRead(w, !isShared, address, sem & kAcquire, scope);
  if (isShared)
    order->accessShared(w, i, *w.cta->cluster->ctas[address >> kRankShift],
                        {&range, 1}, kind);
  else
    order->accessGlobal(w, i, {&range, 1}, kind);
  order->strongWrite(w, !isShared, address, sem & kRelease, scope);
}

/// a: address, b: semantics, aux: first extra slot (d..., b..., c); aux2: op |
/// kind << 4 | space << 8 | is64 << 12 | hasResult << 13 | count << 16.
struct Operands {
  Op op;
  Kind kind;
  Space space;
  bool is64, hasResult;
  unsigned count, bytes;
  const Slot *dst, *src;
  Operands(Warp &w, const Instr *i)
      : op(Op(i->aux2 & 15)), kind(Kind((i->aux2 >> 4) & 15)),
        space(Space((i->aux2 >> 8) & 15)), is64(i->aux2 >> 12 & 1),
        hasResult(i->aux2 >> 13 & 1), count(i->aux2 >> 16),
        bytes(bytesOf(kind)), dst(&w.machine->program.extra[i->aux]),
        src(dst + (hasResult ? count : 0)) {}

  bool isSharedAt(uint64_t address) const {
    return space == Space::Shared ||
           (space == Space::Generic && address - kSharedWindow < kWindowBytes);
  }
  uint64_t read(Warp &w, Slot s, unsigned lane) const {
    return bytes == 8 ? w.at<uint64_t>(s)[lane] : w.at<uint32_t>(s)[lane];
  }
  /// Returns the new value of element `k`, at most 64 bits.
  uint64_t result(Warp &w, unsigned k, unsigned lane, uint64_t old,
                  bool isShared) const {
    uint64_t c = op == Cas ? read(w, src[count + k], lane) : 0;
    return apply(op, kind, old, read(w, src[k], lane), c, isShared);
  }
};

/// Returns true if the operation leaves memory unchanged, as a failed attempt
/// to take a lock does. Lanes that repeat such an operation are polling.
bool changesNothing(Warp &w, const Instr *i, const Operands &o, uint32_t mask,
                    uint64_t addresses[32], uint8_t *at[32]) {
  if (o.kind == B128)
    return false;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    addresses[lane] = laneAddress(w, i->a, o.is64, i->imm, lane);
    at[lane] = resolveAddress(w, i, o.space, addresses[lane], o.bytes * o.count,
                              lane, true);
    for (unsigned k = 0; at[lane] && k < o.count; ++k) {
      uint64_t old = 0;
      std::memcpy(&old, at[lane] + k * o.bytes, o.bytes);
      uint64_t now = o.result(w, k, lane, old, o.isSharedAt(addresses[lane]));
      if (std::memcmp(&old, &now, o.bytes))
        return false;
    }
    if (!at[lane])
      return false;
  }
  return true;
}

/// Prepares atomic operations, which execute immediately even in the memory of
/// a peer: delivers late stores to the same bytes and, if the operation
/// releases at system scope, all stores before it.
void settleForAtomic(Warp &w, const Instr *i, const Operands &o,
                     uint32_t mask) {
  if (i->b & kRelease &&
      MemoryScope(i->b >> kScopeShift) == MemoryScope::System)
    releaseToSystem(w);
  forLanes(mask, [&](unsigned lane) {
    settleStores(w, laneAddress(w, i->a, o.is64, i->imm, lane),
                 o.bytes * o.count);
  });
}

const Instr *atomic(Warp &w, const Instr *i, uint32_t mask) {
  const Operands o(w, i);
  unsigned bytes = o.bytes, size = bytes * o.count;
  bool isGlobal = false; // in any lane
  for (uint32_t m = o.space == Space::Shared ? 0 : mask; m && !isGlobal;
       m &= m - 1)
    isGlobal = !o.isSharedAt(
        laneAddress(w, i->a, o.is64, i->imm, unsigned(__builtin_ctz(m))));
  if (isGlobal && !w.takeTurn(i))
    return nullptr;
  if (isGlobal && hasLateStores(w))
    settleForAtomic(w, i, o, mask);
  uint64_t addresses[32];
  uint8_t *at[32];
  bool isVain =
      w.machine->parksPolls() && changesNothing(w, i, o, mask, addresses, at);
  if (w.cta->cluster->stopped ||
      (isVain && isPolling(w, i, o.space, mask, addresses, at, size)))
    return nullptr;
  if (!isVain)
    ++w.cta->cluster->effects;
  timeLanes(w, o.space, i->a, o.is64, i->imm, size, mask, true);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t address = laneAddress(w, i->a, o.is64, i->imm, lane);
    uint8_t *p = resolveAddress(w, i, o.space, address, size, lane, true);
    if (!p)
      return nullptr;
    bool isShared = o.isSharedAt(address);
    followAtomic(w, i, isShared, isShared ? sharedAddress(address) : address,
                 size, lane, o.hasResult, i->b, o.op == Cas);
    (isShared ? w.counts.sharedStoreBytes : w.counts.globalStoreBytes) += size;
    for (unsigned k = 0; k < o.count; ++k) {
      uint8_t *e = p + k * bytes;
      if (o.kind == B128) {
        char old[16];
        std::memcpy(old, e, 16);
        const char *b = w.at<char>(o.src[k]) + 16 * lane;
        if (o.op == Exch)
          std::memcpy(e, b, 16);
        else if (!std::memcmp(old, b, 16))
          std::memcpy(e, w.at<char>(o.src[o.count + k]) + 16 * lane, 16);
        if (o.hasResult)
          std::memcpy(w.at<char>(o.dst[k]) + 16 * lane, old, 16);
        continue;
      }
      uint64_t old = 0;
      std::memcpy(&old, e, bytes);
      if (!isShared && o.op != Exch && isUnwritten(old, bytes) &&
          w.machine->config.checks & kCheckUninitGlobal)
        w.note(i, FindingKind::UninitGlobal,
               "atomic operation on " +
                   w.machine->memory.describe(address + k * bytes, bytes) +
                   ", which has not been written",
               1u << lane, /*isWarning=*/true);
      uint64_t now = o.result(w, k, lane, old, isShared);
      std::memcpy(e, &now, bytes);
      if (o.hasResult) {
        if (bytes == 8)
          w.at<uint64_t>(o.dst[k])[lane] = old;
        else
          w.at<uint32_t>(o.dst[k])[lane] = uint32_t(old);
      }
    }
  }
  if (isVain)
    notePoll(w);
  return i + 1;
}

void decodeAtomic(Decoder &d) {
  bool hasResult = d.inst->opcode == "atom";
  if (!hasResult && d.take("async"))
    return decodeRedAsync(d);
  uint32_t semantics = 0;
  for (std::string_view m : d.modifiers()) {
    if (m == "acquire" || m == "acq_rel")
      semantics |= kAcquire;
    if (m == "release" || m == "acq_rel")
      semantics |= kRelease;
  }
  MemoryScope scope = d.takeMemoryQualifiers();
  semantics |= uint32_t(scope) << kScopeShift;
  Space space = d.takeSpace();
  if (space != Space::Shared)
    d.useScope(scope);
  if (space != Space::Generic && space != Space::Global &&
      space != Space::Shared)
    return d.unsupported("no atomics in this state space");
  unsigned count = d.takeVector();
  int op = d.takeAny(
      {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  d.take("noftz");
  Kind kind = U32;
  bool isFound = false;
  for (auto &[name, k] : kKinds)
    if (!isFound && d.take(name)) {
      kind = k;
      isFound = true;
    }
  if (op < 0 || !isFound)
    return d.unsupported("expects an operation and a type");
  if ((kind == F32 || kind == F64) && op != Add && op != Exch)
    return d.unsupported("no such operation on this type");
  if (kind == B128 && op != Exch && op != Cas)
    return d.unsupported("no such operation on this type");
  size_t n = (hasResult ? 1 : 0) + 2 + (op == Cas);
  if (!d.expectOperands(n, n + 1)) // optional cache policy
    return;
  unsigned lane = bytesOf(kind) <= 4 ? 4 : bytesOf(kind);
  std::vector<Slot> slots;
  size_t k = 0;
  auto addAll = [&](bool isDef) {
    std::vector<Operand> parts = d.elements(d.operandAt(k++));
    if (parts.size() != count)
      return d.unsupported("expects " + std::to_string(count) + " elements");
    Type t{kind == F32 || kind == F64 ? 'F' : 'B', uint16_t(lane * 8)};
    for (const Operand &p : parts)
      slots.push_back(isDef ? d.def(p, lane) : d.use(p, lane, t));
  };
  if (hasResult)
    addAll(true);
  Address a = d.address(k++);
  addAll(false);
  if (op == Cas)
    addAll(false);
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(atomic);
  i.a = a.base;
  i.b = semantics;
  i.imm = a.offset;
  i.aux = first;
  i.aux2 = unsigned(op) | unsigned(kind) << 4 | unsigned(space) << 8 |
           unsigned(a.is64) << 12 | unsigned(hasResult) << 13 | count << 16;
}

} // namespace

void mx::sim::addAtomicInstructions(DecodeTable &t) {
  t["atom"] = decodeAtomic;
  t["red"] = decodeAtomic;
}
