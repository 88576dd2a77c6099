//===- MmaKinds.cpp - Block-scaled mma.sync -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements mma.sync with a kind, for the sm_120 family only (PTX ISA, "Block
// Scaling for mma.sync", "Sparse matrix storage" and the fragments of m16n8k32,
// m16n8k64 and m16n8k128). Fragments have the layout of other 8-bit and 4-bit
// types. An unpacked 4-bit element occupies bits 2 to 5 of its byte (CUTLASS
// shifts it there), and a 6-bit element occupies bits 0 to 5. Other bits are
// ignored.
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "MmaSync.h"
#include "WarpFragments.h"

#include <algorithm>

using namespace mx;
using namespace mx::sim;
using ptx::Operand;

namespace {

constexpr unsigned kindRows = 16, kindColumns = 8;
constexpr unsigned rowBytesOfSparseB = 2 * warpRowBytes;

struct NarrowType {
  std::string_view name;
  ElementType type;
};
constexpr NarrowType narrowTypes[] = {
    {"e4m3", ElementType::E4M3}, {"e5m2", ElementType::E5M2},
    {"e3m2", ElementType::E3M2}, {"e2m3", ElementType::E2M3},
    {"e2m1", ElementType::E2M1},
};
const NarrowType *findNarrowType(std::string_view name) {
  auto it =
      std::find_if(std::begin(narrowTypes), std::end(narrowTypes),
                   [&](const NarrowType &row) { return row.name == name; });
  return it == std::end(narrowTypes) ? nullptr : it;
}

/// Kinds with their legal scales (table "Valid combinations of .scale_vec_size
/// and .kind qualifier").
struct KindForm {
  std::string_view kind, vector, scale;
  ScaleType type;
  unsigned blocks;
  bool isDefault; ///< the vector size may be omitted
  bool isPacked;  ///< two elements per byte
  unsigned version = 0;
};
constexpr KindForm kindForms[] = {
    {"f8f6f4", "", "", ScaleType::UE8M0, 0, true, false},
    {"mxf8f6f4", "1X", "ue8m0", ScaleType::UE8M0, 1, true, false},
    {"mxf4", "2X", "ue8m0", ScaleType::UE8M0, 2, true, true},
    {"mxf4nvf4", "2X", "ue8m0", ScaleType::UE8M0, 2, false, true},
    {"mxf4nvf4", "4X", "ue8m0", ScaleType::UE8M0, 4, false, true, 91},
    {"mxf4nvf4", "4X", "ue4m3", ScaleType::UE4M3, 4, false, true},
};

/// Selects scales by the byte of a register, and by the thread or thread pair
/// of each quad.
struct ScaleSelector {
  unsigned byte, thread;
};

/// aux: index in extra of the slots of D, A, B, C, the scales of A and B, and
/// their byte and thread ids; aux2: types of A and B | f16 accumulator << 8 |
/// sparse << 9 | form << 10 | registers of A << 16 | registers of B << 20 |
/// through f16 << 24; b: metadata.
struct KindMma {
  const KindForm &form;
  unsigned numD, numA, numB;
  bool isHalf, isSparse;
  const Slot *d, *a, *b, *c, *scales;

  KindMma(Warp &w, const Instr *i)
      : form(kindForms[i->aux2 >> 10 & 15]), numA(i->aux2 >> 16 & 15),
        numB(i->aux2 >> 20 & 15), isHalf(i->aux2 >> 8 & 1),
        isSparse(i->aux2 >> 9 & 1) {
    numD = isHalf ? 2 : 4;
    d = &w.machine->program.extra[i->aux];
    a = d + numD;
    b = a + numA;
    c = b + numB;
    scales = c + numD;
  }
  Slot scaleA() const { return scales[0]; }
  Slot scaleB() const { return scales[3]; }
  /// Returns the selector of a lane. All lanes must agree.
  ScaleSelector selector(Warp &w, bool ofB, unsigned lane = 0) const {
    const Slot *ids = scales + (ofB ? 4 : 1);
    return {w.at<uint32_t>(ids[0])[lane] & 0xFFFF,
            w.at<uint32_t>(ids[1])[lane] & 0xFFFF};
  }
};

/// Returns an error, or an empty string if the selector is legal ("Valid values
/// for various selector components").
std::string checkScaleSelector(const KindForm &form, ScaleSelector s,
                               bool ofB) {
  std::string operand = ofB ? "b" : "a";
  unsigned step = form.blocks == 1 ? 1 : form.blocks == 2 ? 2 : 4;
  if (s.byte > 3 || s.byte % step)
    return "byte-id-" + operand + " must be " +
           (step == 1   ? "0 to 3"
            : step == 2 ? "0 or 2"
                        : "0") +
           " with .scale_vec::" + std::string(form.vector) + ", found " +
           std::to_string(s.byte);
  if (s.thread > (ofB ? 3u : 1u))
    return "thread-id-" + operand + " must be 0 to " + (ofB ? "3" : "1") +
           ", found " + std::to_string(s.thread);
  return {};
}

/// Reads the scales of each row of A or each column of B. Returns false after a
/// finding.
bool readKindScales(Warp &w, const Instr *i, const KindMma &mma, bool ofB,
                    std::vector<std::array<uint8_t, 4>> &out) {
  ScaleSelector s = mma.selector(w, ofB);
  std::string wrong = checkScaleSelector(mma.form, s, ofB);
  for (unsigned lane = 1; lane < 32 && wrong.empty(); ++lane) {
    ScaleSelector other = mma.selector(w, ofB, lane);
    if (other.byte != s.byte || other.thread != s.thread)
      wrong = std::string("the byte and thread ids of ") + (ofB ? "B" : "A") +
              " must be the same in all lanes of the warp";
  }
  if (!wrong.empty()) {
    w.fail(i, FindingKind::IllegalInstruction, "mma.sync: " + wrong, ~0u);
    return false;
  }
  const uint32_t *words = w.at<uint32_t>(ofB ? mma.scaleB() : mma.scaleA());
  out.resize(ofB ? kindColumns : kindRows);
  for (unsigned n = 0; n < out.size(); ++n) {
    // A pair of threads supplies the scales of rows n and n + 8 of A. A single
    // thread supplies the scales of a column of B.
    unsigned lane = n % 8 * 4 + (ofB ? s.thread : 2 * s.thread + n / 8);
    for (unsigned block = 0; block < mma.form.blocks; ++block)
      out[n][block] = uint8_t(words[lane] >> 8 * (s.byte + block));
  }
  return true;
}

const Instr *multiplyKind(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "mma.sync"))
    return nullptr;
  KindMma mma(w, i);
  WarpMmaOp op;
  op.a = narrowTypes[i->aux2 & 15].type;
  op.b = narrowTypes[i->aux2 >> 4 & 15].type;
  op.d = mma.isHalf ? AccumulatorType::F16 : AccumulatorType::F32;
  op.rows = kindRows;
  op.isPacked = mma.form.isPacked;
  op.viaF16 = i->aux2 >> 24 & 1;
  op.k = mma.numB * 16 * (op.isPacked ? 2 : 1);
  op.scales.type = mma.form.type;
  op.scales.blocks = mma.form.blocks;
  if (op.scales.blocks && (!readKindScales(w, i, mma, false, op.scales.a) ||
                           !readKindScales(w, i, mma, true, op.scales.b)))
    return nullptr;
  // On RTX Blackwell, an MMA with packed 4-bit elements adds four dot products,
  // each exact over a quarter of K (MMA-Sim, arXiv 2511.10909).
  if (op.isPacked) {
    op.model.fractionBits = 35;
    op.model.groupLength = op.k / 4;
  }
  if (mma.isSparse)
    if (Fault fault = setSparsity(op, w.at<uint32_t>(i->b), 0, true))
      if (!w.fault(i, fault, mask))
        return nullptr;
  uint8_t a[kindRows * warpRowBytes] = {},
                       b[kindColumns * rowBytesOfSparseB] = {};
  gatherA(w, mma.a, mma.numA, kindRows, a);
  gatherB(w, mma.b, mma.numB, b,
          mma.isSparse ? rowBytesOfSparseB : warpRowBytes);
  uint32_t cells[kindRows * kindColumns];
  gatherCells(w, mma.c, mma.numD, kindColumns, mma.isHalf, cells);
  multiplyRows(op, a, b, numericsOf(w), cells);
  scatterCells(w, mma.d, mma.numD, kindColumns, mma.isHalf, cells);
  ++w.counts.mmas;
  return i + 1;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

struct DecodedKind {
  const KindForm *form = nullptr;
  const NarrowType *a = nullptr, *b = nullptr;
  unsigned k = 0;
  bool isHalf = false, isSparse = false;
};

const KindForm *findKindForm(Decoder &d, std::string_view kind) {
  bool isScaled = kind != "f8f6f4";
  if (d.take("block_scale") != isScaled) {
    d.unsupported("." + std::string("kind::") + std::string(kind) +
                  (isScaled ? " needs" : " has no") + " .block_scale");
    return nullptr;
  }
  std::string_view vector = d.takePrefix("scale_vec::");
  vector = vector.substr(std::min(vector.size(), sizeof "scale_vec::" - 1));
  if (isScaled &&
      (d.modifiers().empty() || d.modifiers().back().substr(0, 2) != "ue")) {
    d.unsupported("expects the scale type as the last modifier");
    return nullptr;
  }
  std::string_view scale = d.takePrefix("ue");
  for (const KindForm &form : kindForms) {
    if (form.kind != kind || form.scale != scale ||
        !(vector == form.vector || (vector.empty() && form.isDefault)))
      continue;
    if (d.module.version >= form.version)
      return &form;
    d.unsupported("these scales need .version 9.1");
    return nullptr;
  }
  d.unsupported("no such combination of kind, scale_vec and scale type");
  return nullptr;
}

bool takeKindShape(Decoder &d, const KindForm &form, DecodedKind &out) {
  unsigned m = 0, n = 0, k = 0;
  for (std::string_view name : std::vector<std::string_view>(d.modifiers()))
    if (parseMmaShape(name, m, n, k)) {
      d.take(name);
      break;
    }
  unsigned expected = (form.isPacked ? 64 : 32) * (out.isSparse ? 2 : 1);
  out.k = k;
  if (m == kindRows && n == kindColumns && k == expected)
    return true;
  d.unsupported("expects the shape m16n8k" + std::to_string(expected));
  return false;
}

bool takeKindModifiers(Decoder &d, DecodedKind &out) {
  if (d.take("sp")) {
    d.unsupported("sparse MMAs with a kind need .sp::ordered_metadata");
    return false;
  }
  out.isSparse = d.take("sp::ordered_metadata");
  if (!d.take("sync") || !d.take("aligned")) {
    d.unsupported("expects .sync.aligned");
    return false;
  }
  std::string_view kind = d.takePrefix("kind::").substr(sizeof "kind::" - 1);
  out.form = findKindForm(d, kind);
  if (!out.form || !takeKindShape(d, *out.form, out))
    return false;
  std::vector<std::string_view> layouts, names;
  auto isLayout = [](std::string_view m) { return m == "row" || m == "col"; };
  auto isType = [](std::string_view m) {
    return findNarrowType(m) || m == "f32" || m == "f16";
  };
  if (!takeInOrder(d, 2, isLayout, layouts) || layouts[0] != "row" ||
      layouts[1] != "col" || !takeInOrder(d, 4, isType, names)) {
    d.unsupported("expects .row.col and four types");
    return false;
  }
  out.a = findNarrowType(names[1]);
  out.b = findNarrowType(names[2]);
  out.isHalf = names[0] == "f16";
  bool isNarrow =
      !out.form->isPacked || (names[1] == "e2m1" && names[2] == "e2m1");
  if (out.a && out.b && isNarrow && !findNarrowType(names[0]) &&
      names[0] == names[3] && !(out.isHalf && out.form->blocks))
    return true;
  d.unsupported("no such combination of types for this kind");
  return false;
}

/// Reads {byte-id, thread-id}, each a constant or a 16-bit register.
bool useScaleSelector(Decoder &d, const KindForm &form, const Operand &operand,
                      bool ofB, std::vector<Slot> &slots) {
  std::vector<Operand> ids = d.elements(operand);
  if (ids.size() != 2) {
    d.unsupported("expects {byte-id, thread-id}");
    return false;
  }
  ScaleSelector s{0, 0};
  unsigned *values[] = {&s.byte, &s.thread};
  for (unsigned k = 0; k < 2; ++k) {
    slots.push_back(d.use(ids[k], 4, {'U', 16}));
    if (ids[k].kind == Operand::Imm)
      *values[k] = unsigned(std::min<uint64_t>(ids[k].value, 0xFFFF));
  }
  std::string wrong = checkScaleSelector(form, s, ofB);
  if (wrong.empty())
    return true;
  d.unsupported(wrong);
  return false;
}

/// Reads the registers of an operand. Returns false if the count is wrong.
bool useMmaRegisters(Decoder &d, size_t operand, unsigned count,
                     std::vector<Slot> &slots) {
  std::vector<Operand> parts = d.elements(d.operand(operand));
  if (parts.size() != count) {
    d.unsupported("operand " + std::to_string(operand + 1) + " needs " +
                  std::to_string(count) + " registers, found " +
                  std::to_string(parts.size()));
    return false;
  }
  for (const Operand &part : parts)
    slots.push_back(operand ? d.use(part, 4, {'F', 32}) : d.def(part, 4));
  return true;
}

} // namespace

bool mx::sim::parseMmaShape(std::string_view text, unsigned &m, unsigned &n,
                            unsigned &k) {
  unsigned *fields[] = {&m, &n, &k};
  constexpr char letters[] = "mnk";
  size_t at = 0;
  for (unsigned f = 0; f < 3; ++f) {
    if (at >= text.size() || text[at++] != letters[f])
      return false;
    unsigned value = 0;
    size_t digits = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && digits < 4;
         ++at, ++digits)
      value = value * 10 + (text[at] - '0');
    if (!digits)
      return false;
    *fields[f] = value;
  }
  return at == text.size();
}

void mx::sim::decodeMmaOfKind(Decoder &d) {
  DecodedKind in;
  if (!takeKindModifiers(d, in))
    return;
  const KindForm &form = *in.form;
  size_t first = in.isSparse ? 6 : 4; // index of the scales
  size_t count = first + (form.blocks ? 4 : 0);
  if (!d.expectOperands(count, count))
    return;
  unsigned numD = in.isHalf ? 2 : 4;
  unsigned numB = in.k / (form.isPacked ? 32 : 16);
  unsigned numA = 2 * numB / (in.isSparse ? 2 : 1);
  std::vector<Slot> slots;
  if (!useMmaRegisters(d, 0, numD, slots) ||
      !useMmaRegisters(d, 1, numA, slots) ||
      !useMmaRegisters(d, 2, numB, slots) ||
      !useMmaRegisters(d, 3, numD, slots))
    return;
  Slot metadata = kNoSlot;
  if (in.isSparse) {
    int64_t selector = 0;
    if (!useMmaRegisters(d, 4, 1, slots) || !d.immediate(5, selector))
      return;
    metadata = slots.back();
    slots.pop_back();
    if (selector)
      return d.unsupported("the sparsity selector must be 0, found " +
                           std::to_string(selector));
  }
  for (size_t k = first; k < count; k += 2)
    if (!useMmaRegisters(d, k, 1, slots) ||
        !useScaleSelector(d, form, d.operand(k + 1), k != first, slots))
      return;
  uint32_t firstSlot = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  // On other targets, only f8f6f4 with 8-bit types exists. Like mma without a
  // kind, it multiplies 8-bit floats as f16.
  bool viaF16 = !in.isSparse && !d.module.chip.isConsumerBlackwell();
  Instr &i = d.emit(multiplyKind);
  i.aux = firstSlot;
  i.b = metadata;
  i.aux2 = unsigned(in.a - narrowTypes) | unsigned(in.b - narrowTypes) << 4 |
           unsigned(in.isHalf) << 8 | unsigned(in.isSparse) << 9 |
           unsigned(in.form - kindForms) << 10 | numA << 16 | numB << 20 |
           unsigned(viaF16) << 24;
}

/// Returns the lanes in which the instruction reads a register. A register that
/// only contains scales is read in the lanes selected by the thread ids.
uint32_t mx::sim::lanesOfScales(Warp &w, const Instr *i, Slot slot) {
  KindMma mma(w, i);
  auto isIn = [&](const Slot *from, const Slot *to) {
    return std::find(from, to, slot) != to;
  };
  if (isIn(mma.a, mma.scales) || slot == i->b ||
      isIn(mma.scales + 1, mma.scales + 3) ||
      isIn(mma.scales + 4, mma.scales + 6))
    return ~0u;
  uint32_t lanes = 0;
  if (slot == mma.scaleA())
    lanes |= 0x33333333u << 2 * (mma.selector(w, false).thread & 1);
  if (slot == mma.scaleB())
    lanes |= 0x11111111u << (mma.selector(w, true).thread & 3);
  return lanes;
}
