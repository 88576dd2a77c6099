//===- MmaSync.cpp - Warp-level MMA ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Matrix multiply-accumulate operation using mma instruction". Except
// for m8n8k4 with f16, all fragments follow one rule. Four threads share a row,
// and each register contains neighbors along K. The next register continues in
// the lower eight rows, and the registers after it continue along K.
//===----------------------------------------------------------------------===//

#include "MmaSync.h"
#include "../machine/Lanes.h"
#include "FloatOps.h"
#include "Instructions.h"
#include "WarpFragments.h"

#include "mxsim/tensor/NumberFormats.h"

#include <cfenv>
#include <cmath>

using namespace mx;
using namespace mx::sim;
using ptx::Operand;

namespace {

constexpr unsigned maxRows = 16, maxColumns = 8;

struct TypeRow {
  std::string_view name;
  ElementType type;
  unsigned bits;
};
constexpr TypeRow types[] = {
    {"f16", ElementType::F16, 16},   {"bf16", ElementType::BF16, 16},
    {"tf32", ElementType::TF32, 32}, {"e4m3", ElementType::E4M3, 8},
    {"e5m2", ElementType::E5M2, 8},  {"u8", ElementType::U8, 8},
    {"s8", ElementType::S8, 8},      {"u4", ElementType::U4, 4},
    {"s4", ElementType::S4, 4},      {"b1", ElementType::B1, 1},
};
const TypeRow *findType(std::string_view name) {
  for (const TypeRow &row : types)
    if (row.name == name)
      return &row;
  return nullptr;
}

/// Shapes from the table in "Matrix Shape", by element size in bits.
struct ShapeRow {
  unsigned bits, m, k;
};
constexpr ShapeRow sparseShapes[] = {
    {16, 16, 16}, {16, 16, 32}, {32, 16, 8}, {32, 16, 16},
    {8, 16, 32},  {8, 16, 64},  {4, 16, 64}, {4, 16, 128},
};
constexpr ShapeRow shapes[] = {
    {16, 16, 8}, {16, 16, 16}, {32, 16, 4},  {32, 16, 8},
    {8, 16, 16}, {8, 16, 32},  {4, 8, 32},   {4, 16, 32},
    {4, 16, 64}, {1, 8, 128},  {1, 16, 128}, {1, 16, 256},
    {64, 8, 4},  {64, 16, 4},  {64, 16, 8},  {64, 16, 16},
};

/// aux: slots of D, A, B, C in extra; aux2: type of A | type of B << 4 |
/// accumulator << 8 | f16 C << 10 | xor << 11 | saturate << 12 | A is row-major
/// << 13 | B is row-major << 14 | sparse << 15 | sparsity selector << 16 |
/// ordered metadata << 18 | 8-bit floats are multiplied as f16 << 19; imm: one
/// byte each for the register counts of D, A, B and C, and for M and K; b:
/// metadata. For f64, aux2 is the rounding.
struct Mma {
  unsigned numD, numA, numB, numC, m, k;
  const Slot *d, *a, *b, *c;

  Mma(Warp &w, const Instr *i) {
    unsigned *fields[] = {&numD, &numA, &numB, &numC, &m, &k};
    for (unsigned n = 0; n < 6; ++n)
      *fields[n] = i->imm >> (8 * n) & 0xFF;
    // 256 does not fit in a byte and is stored as 0.
    k = k ? k : 256;
    d = &w.machine->program.extra[i->aux];
    a = d + numD;
    b = a + numA;
    c = b + numB;
  }
};

WarpMmaOp operationOf(const Instr *i, const Mma &mma) {
  WarpMmaOp op;
  op.a = ElementType(i->aux2 & 15);
  op.b = ElementType(i->aux2 >> 4 & 15);
  op.d = AccumulatorType(i->aux2 >> 8 & 3);
  op.exclusiveOr = i->aux2 >> 11 & 1;
  op.saturate = i->aux2 >> 12 & 1;
  op.rows = mma.m;
  op.k = mma.k;
  op.viaF16 = i->aux2 >> 19 & 1;
  return op;
}

const Instr *multiply(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "mma.sync"))
    return nullptr;
  Mma mma(w, i);
  WarpMmaOp op = operationOf(i, mma);
  bool sparse = i->aux2 >> 15 & 1;
  if (sparse)
    if (Fault fault = setSparsity(op, w.at<uint32_t>(i->b), i->aux2 >> 16 & 3,
                                  i->aux2 >> 18 & 1))
      if (!w.fault(i, fault, mask))
        return nullptr;
  uint8_t a[maxRows * warpRowBytes] = {}, b[maxColumns * 2 * warpRowBytes] = {};
  gatherA(w, mma.a, mma.numA, mma.m, a);
  gatherB(w, mma.b, mma.numB, b, sparse ? 2 * warpRowBytes : warpRowBytes);
  uint32_t cells[maxRows * maxColumns];
  bool half = op.d == AccumulatorType::F16;
  gatherCells(w, mma.c, mma.numC, maxColumns, half, cells);
  multiplyRows(op, a, b, numericsOf(w), cells);
  scatterCells(w, mma.d, mma.numD, maxColumns, half, cells);
  ++w.counts.mmas;
  return i + 1;
}

//===----------------------------------------------------------------------===//
// m8n8k4 with f16
//===----------------------------------------------------------------------===//

/// Position of an element: row (column for B) and K.
struct Place {
  unsigned row, k;
};
Place placeOf(unsigned lane, unsigned e, bool isKMajor) {
  unsigned high = lane / 16 * 4;
  return isKMajor ? Place{lane % 4 + high, e} : Place{e + high, lane % 4};
}

/// Emulates m8n8k4, which tensor cores have not supported since sm_80. Performs
/// f32 fused multiply-adds along K, then adds C. The results match an H200 bit
/// for bit. For f16, other orders of K also match.
void multiplyWithoutTensorCore(const uint8_t *a, const uint8_t *b, bool half,
                               uint32_t *cells) {
  auto element = [](const uint8_t *row, unsigned k) {
    uint16_t code;
    std::memcpy(&code, row + 2 * k, 2);
    return f16ToFloat(code);
  };
  for (unsigned m = 0; m < 8; ++m)
    for (unsigned n = 0; n < 8; ++n) {
      float sum = 0;
      for (unsigned i = 0; i < 4; ++i) {
        unsigned k = half ? 3 - i : i;
        sum = std::fma(element(a + m * warpRowBytes, k),
                       element(b + n * warpRowBytes, k), sum);
      }
      uint32_t &c = cells[m * 8 + n];
      if (half)
        c = floatToF16(canonical(sum + f16ToFloat(uint16_t(c))));
      else
        c = bitsOf(canonical(sum + asFloat(c)));
    }
}

/// Executes four 8 x 8 x 4 MMAs. A thread belongs to MMA (lane % 16) / 4.
const Instr *multiplyQuads(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "mma.sync"))
    return nullptr;
  Mma mma(w, i);
  WarpMmaOp op = operationOf(i, mma);
  bool rowA = i->aux2 >> 13 & 1, rowB = i->aux2 >> 14 & 1;
  bool halfC = i->aux2 >> 10 & 1, halfD = op.d == AccumulatorType::F16;
  uint8_t a[4][8 * warpRowBytes] = {}, b[4][8 * warpRowBytes] = {};
  uint32_t cells[4][8 * 8] = {};
  auto element = [&](const Slot *slots, unsigned lane, unsigned e) {
    return w.at<uint32_t>(slots[e / 2])[lane] >> e % 2 * 16 & 0xFFFF;
  };
  auto place32 = [](unsigned lane, unsigned e) {
    return Place{(lane & 1) + (e & 2) + lane / 16 * 4,
                 (e & 4) + (lane & 2) + (e & 1)};
  };
  auto cellOf = [&](unsigned lane, unsigned e, bool half) -> uint32_t & {
    Place at = half ? Place{lane % 4 + lane / 16 * 4, e} : place32(lane, e);
    return cells[lane % 16 / 4][at.row * 8 + at.k];
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned quad = lane % 16 / 4;
    for (unsigned e = 0; e < 4; ++e) {
      Place inA = placeOf(lane, e, rowA), inB = placeOf(lane, e, !rowB);
      uint16_t x = uint16_t(element(mma.a, lane, e));
      uint16_t y = uint16_t(element(mma.b, lane, e));
      std::memcpy(&a[quad][inA.row * warpRowBytes + inA.k * 2], &x, 2);
      std::memcpy(&b[quad][inB.row * warpRowBytes + inB.k * 2], &y, 2);
    }
    for (unsigned e = 0; e < 8; ++e) {
      uint32_t c =
          halfC ? element(mma.c, lane, e) : w.at<uint32_t>(mma.c[e])[lane];
      if (halfC && !halfD)
        c = bitsOf(decode(FloatFormat::F16, c));
      cellOf(lane, e, halfC) = c;
    }
  }
  for (unsigned quad = 0; quad < 4; ++quad)
    if (numericsOf(w) == Numerics::Exact)
      multiplyRows(op, a[quad], b[quad], Numerics::Exact, cells[quad]);
    else
      multiplyWithoutTensorCore(a[quad], b[quad], halfD, cells[quad]);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 8; ++e) {
      uint32_t value = cellOf(lane, e, halfD);
      if (!halfD) {
        w.at<uint32_t>(mma.d[e])[lane] = value;
        continue;
      }
      uint32_t &target = w.at<uint32_t>(mma.d[e / 2])[lane];
      target = e % 2 ? (target & 0xFFFF) | value << 16 : value;
    }
  ++w.counts.mmas;
  return i + 1;
}

//===----------------------------------------------------------------------===//
// f64
//===----------------------------------------------------------------------===//

/// Computes a chain of fused multiply-adds along K. Not inlined, to keep
/// compilers from moving it past fesetround.
__attribute__((noinline)) double chain(const double *a, const double *b,
                                       unsigned k, double c) {
  for (unsigned i = 0; i < k; ++i)
    c = std::fma(a[i], b[i], c);
  return c;
}

const Instr *multiplyDoubles(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "mma.sync"))
    return nullptr;
  Mma mma(w, i);
  double a[maxRows][16], b[maxColumns][16], d[32][4];
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane / 4, thread = lane % 4, halves = mma.m / 8;
    for (unsigned r = 0; r < mma.numA; ++r)
      a[group + r % halves * 8][thread + r / halves * 4] =
          w.at<double>(mma.a[r])[lane];
    for (unsigned r = 0; r < mma.numB; ++r)
      b[group][thread + r * 4] = w.at<double>(mma.b[r])[lane];
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < mma.numC; ++r) {
      unsigned row = lane / 4 + r / 2 * 8, column = lane % 4 * 2 + r % 2;
      d[lane][r] = chainOfProducts(a[row], b[column], mma.k,
                                   w.at<double>(mma.c[r])[lane], i->aux2 & 3);
    }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < mma.numD; ++r)
      w.at<double>(mma.d[r])[lane] = d[lane][r];
  ++w.counts.mmas;
  return i + 1;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

struct Decoded {
  unsigned m = 0, n = 0, k = 0;
  bool rowA = true, rowB = false, saturate = false, exclusiveOr = false;
  bool sparse = false, isOrdered = false;
  int rounding = -1;
  std::string_view d, a, b, c; ///< types
};

/// Reads the modifiers after mma.sync.aligned. Only the order of types and
/// layouts matters.
bool takeModifiers(Decoder &d, Decoded &out) {
  int sparse = d.takeAny({"sp", "sp::ordered_metadata"});
  out.sparse = sparse >= 0;
  out.isOrdered = sparse == 1;
  if (!d.take("sync") || !d.take("aligned")) {
    d.unsupported("expects .sync.aligned");
    return false;
  }
  bool found = false;
  for (std::string_view m : d.modifiers())
    if (parseMmaShape(m, out.m, out.n, out.k)) {
      d.take(m);
      found = true;
      break;
    }
  // The layout of A is first, as in .row.col.
  std::vector<bool> layouts;
  std::vector<std::string_view> names;
  for (std::string_view m : std::vector<std::string_view>(d.modifiers())) {
    if (m == "row" || m == "col")
      layouts.push_back(m == "row");
    else if (findType(m) || m == "f32" || m == "s32" || m == "f64")
      names.push_back(m);
    else
      continue;
    d.take(m);
  }
  out.saturate = d.take("satfinite");
  out.rounding = d.takeAny({"rn", "rz", "rm", "rp"});
  int operation = d.takeAny({"and", "xor"});
  bool population = d.take("popc");
  if (!found || layouts.size() != 2 || names.size() != 4) {
    d.unsupported("expects a shape, two layouts and four types");
    return false;
  }
  out.rowA = layouts[0];
  out.rowB = layouts[1];
  out.d = names[0];
  out.a = names[1];
  out.b = names[2];
  out.c = names[3];
  out.exclusiveOr = operation == 1;
  bool bits = out.a == "b1";
  if (bits != (operation >= 0) || bits != population) {
    d.unsupported(
        "needs .and.popc or .xor.popc for .b1, and neither for other types");
    return false;
  }
  return true;
}

/// Returns true if the types and the shape are compatible. Excludes m8n8k4 with
/// f16.
bool checkTypes(const Decoded &in, unsigned bits) {
  bool integer = bits <= 8 && in.a != "e4m3" && in.a != "e5m2";
  if (in.saturate && (!integer || bits == 1))
    return false;
  if (in.rounding >= 0 && bits != 64)
    return false;
  if (in.d != in.c || !in.rowA || in.rowB || in.n != maxColumns)
    return false;
  // Sparse MMAs of 8-bit floats exist only with k64 and f32 accumulators.
  if (in.sparse && in.a[0] == 'e' && (in.k != 64 || in.d != "f32"))
    return false;
  // A and B may be integers that differ in signedness, or different 8-bit
  // floats.
  const TypeRow *a = findType(in.a), *b = findType(in.b);
  bool floats8 = in.a[0] == 'e';
  if (bits == 64)
    return in.a == "f64" && in.b == "f64" && in.d == "f64";
  if (!b || b->bits != a->bits ||
      (in.a != in.b && !integer && !(floats8 && in.b[0] == 'e')))
    return false;
  if (integer)
    return in.d == "s32" && (in.b[0] != 'e');
  return in.d == "f32" || (in.d == "f16" && (in.a == "f16" || floats8));
}

void decodeMma(Decoder &d) {
  for (std::string_view m : d.modifiers())
    if (m.substr(0, 6) == "kind::")
      return decodeMmaOfKind(d);
  for (std::string_view m : {"e3m2", "e2m3", "e2m1"})
    if (d.take(m))
      return d.unsupported("elements of type " + std::string(m) +
                           " need a kind");
  Decoded in;
  if (!takeModifiers(d, in))
    return;
  unsigned extra = in.sparse ? 2 : 0;
  if (!d.expectOperands(4 + extra, 4 + extra))
    return;
  const TypeRow *a = findType(in.a), *b = findType(in.b);
  unsigned bits = in.a == "f64" ? 64 : a ? a->bits : 0;
  bool quads = !in.sparse && in.m == 8 && in.n == 8 && in.k == 4 &&
               in.a == "f16" && in.b == "f16" && in.rounding < 0 &&
               !in.saturate &&
               (in.d == "f32" || (in.d == "f16" && in.c == "f16")) &&
               (in.c == "f32" || in.c == "f16");
  bool known = quads;
  const ShapeRow *first = in.sparse ? sparseShapes : shapes;
  const ShapeRow *last = in.sparse ? std::end(sparseShapes) : std::end(shapes);
  for (; first != last; ++first)
    known |= first->bits == bits && first->m == in.m && first->k == in.k &&
             checkTypes(in, bits);
  // 8-bit integers also exist with eight rows.
  known |= !in.sparse && in.m == 8 && in.k == 16 && in.d == "s32" &&
           bits == 8 && checkTypes(in, bits);
  if (!known)
    return d.unsupported("no such combination of shape, layouts and types");
  unsigned width = bits == 64 ? 8 : 4;
  unsigned registerBits = bits == 64 ? 64 : 32;
  auto count = [&](unsigned rows, unsigned columns, unsigned elementBits) {
    return rows * columns * elementBits / registerBits / 32;
  };
  auto accumulatorBits = [](std::string_view type) {
    return type == "f64" ? 64u : type == "f16" ? 16u : 32u;
  };
  unsigned numA = quads ? 2 : count(in.m, in.sparse ? in.k / 2 : in.k, bits);
  unsigned numB = quads ? 2 : count(in.n, in.k, bits);
  unsigned numD = quads ? accumulatorBits(in.d) / 4
                        : count(in.m, in.n, accumulatorBits(in.d));
  unsigned numC = quads ? accumulatorBits(in.c) / 4
                        : count(in.m, in.n, accumulatorBits(in.c));
  unsigned expected[] = {numD, numA, numB, numC};
  std::vector<Slot> slots;
  // Add sources before destinations, as required by users of uses and defs.
  for (unsigned k = 0; k < 4; ++k) {
    std::vector<Operand> parts = d.elements(d.operand(k));
    if (parts.size() != expected[k])
      return d.unsupported("operand " + std::to_string(k + 1) + " needs " +
                           std::to_string(expected[k]) + " registers, found " +
                           std::to_string(parts.size()));
    for (const Operand &p : parts)
      slots.push_back(k ? d.use(p, width, {'F', uint16_t(width * 8)})
                        : d.def(p, width));
  }
  Slot metadata = kNoSlot;
  int64_t selector = 0;
  if (in.sparse) {
    std::vector<Operand> parts = d.elements(d.operand(4));
    if (parts.size() != 1)
      return d.unsupported("expects one register of metadata");
    metadata = d.use(parts[0], 4);
    if (!d.immediate(5, selector))
      return;
    if (selector < 0 || selector > 3)
      return d.unsupported("the sparsity selector must be 0 to 3");
  }
  uint32_t firstSlot = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(quads        ? multiplyQuads
                    : bits == 64 ? multiplyDoubles
                                 : multiply);
  i.aux = firstSlot;
  i.b = metadata;
  i.imm = numD | numA << 8 | numB << 16 | int64_t(numC) << 24 |
          int64_t(in.m) << 32 | int64_t(in.k & 0xFF) << 40;
  if (bits == 64) {
    i.aux2 = std::max(in.rounding, 0);
    return;
  }
  AccumulatorType accumulator = in.d == "f16"   ? AccumulatorType::F16
                                : in.d == "s32" ? AccumulatorType::S32
                                                : AccumulatorType::F32;
  // According to MMA-Sim, only sm_120 multiplies 8-bit floats directly.
  bool viaF16 =
      in.a[0] == 'e' && !in.sparse && !d.module.chip.isConsumerBlackwell();
  i.aux2 = unsigned(a->type) | unsigned(b->type) << 4 |
           unsigned(accumulator) << 8 | unsigned(in.c == "f16") << 10 |
           unsigned(in.exclusiveOr) << 11 | unsigned(in.saturate) << 12 |
           unsigned(in.rowA) << 13 | unsigned(in.rowB) << 14 |
           unsigned(in.sparse) << 15 | unsigned(selector) << 16 |
           unsigned(in.isOrdered) << 18 | unsigned(viaF16) << 19;
}

} // namespace

double mx::sim::chainOfProducts(const double *a, const double *b, unsigned k,
                                double c, unsigned rounding) {
  constexpr int roundings[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                               FE_UPWARD};
  if (!rounding)
    return chain(a, b, k, c);
  std::fesetround(roundings[rounding]);
  c = chain(a, b, k, c);
  std::fesetround(FE_TONEAREST);
  return c;
}

void mx::sim::addMmaSyncInstructions(DecodeTable &t) { t["mma"] = decodeMma; }
