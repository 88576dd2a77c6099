//===- Wmma.cpp - Matrix operations with wmma -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Matrix multiply-accumulate operation using wmma instructions". PTX
// does not specify the fragment layouts, so this file implements the layouts of
// an H200. Fragment layouts do not depend on the layout in memory. As in
// mma.sync, four threads share a line of the matrix (a row, or a column of B
// and of m8n32k16 accumulators). Further registers continue along the line, 8
// lines below and 16 lines below.
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "MemoryAccess.h"
#include "WarpFragments.h"

#include "mxsim/tensor/NumberFormats.h"

#include <cfenv>
#include <cmath>

using namespace mx;
using namespace mx::sim;
using ptx::Operand;
using ptx::Space;

namespace {

enum class Matrix : uint8_t { A, B, C };

struct ElementRow {
  std::string_view name;
  uint8_t bits;
  ElementType type; ///< type of A and B elements
};
constexpr ElementRow elements[] = {
    {"f16", 16, ElementType::F16},   {"bf16", 16, ElementType::BF16},
    {"tf32", 32, ElementType::TF32}, {"f64", 64, ElementType::F16},
    {"s8", 8, ElementType::S8},      {"u8", 8, ElementType::U8},
    {"s4", 4, ElementType::S4},      {"u4", 4, ElementType::U4},
    {"b1", 1, ElementType::B1},      {"f32", 32, ElementType::F16},
    {"s32", 32, ElementType::F16},
};
constexpr unsigned maxLines = 32, maxLineBytes = 128;

struct ShapeRow {
  std::string_view name;
  uint8_t m, n, k;
};
constexpr ShapeRow shapes[] = {
    {"m16n16k16", 16, 16, 16}, {"m8n32k16", 8, 32, 16}, {"m32n8k16", 32, 8, 16},
    {"m16n16k8", 16, 16, 8},   {"m8n8k4", 8, 8, 4},     {"m8n8k32", 8, 8, 32},
    {"m8n8k128", 8, 8, 128},
};

/// Row of the PTX ISA table "Matrix Shape": the type of A and B, the types of C
/// and D, and a range of shapes. Types below 8 bits only support .row.col.
struct FormRow {
  std::string_view factor, result, otherResult;
  uint8_t firstShape, numShapes;
  bool isRowCol;
};
constexpr FormRow forms[] = {
    {"f16", "f16", "f32", 0, 3, false},  {"bf16", "f32", "f32", 0, 3, false},
    {"s8", "s32", "s32", 0, 3, false},   {"u8", "s32", "s32", 0, 3, false},
    {"tf32", "f32", "f32", 3, 1, false}, {"f64", "f64", "f64", 4, 1, false},
    {"s4", "s32", "s32", 5, 1, true},    {"u4", "s32", "s32", 5, 1, true},
    {"b1", "s32", "s32", 6, 1, true},
};

/// Fragment layout: the matrix elements of each thread and their registers.
struct Fragment {
  Matrix matrix = Matrix::A;
  unsigned rows = 0, columns = 0, bits = 0;
  /// Number of registers, and bytes per lane of each register.
  unsigned registers = 0, laneBytes = 4;

  Fragment() = default;
  Fragment(Matrix matrix, const ShapeRow &shape, const ElementRow &element)
      : matrix(matrix), rows(matrix == Matrix::B ? shape.k : shape.m),
        columns(matrix == Matrix::A ? shape.k : shape.n), bits(element.bits) {
    laneBytes = bits == 64 ? 8 : 4;
    registers = std::max(1u, rows * columns * bits / (laneBytes * 8 * 32));
    // f16 always uses eight registers; the excess registers contain copies.
    if (element.name == "f16" && matrix != Matrix::C)
      registers = 8;
  }

  unsigned perRegister() const { return laneBytes * 8 / bits; }
  bool isTransposed() const {
    return matrix == Matrix::B || (matrix == Matrix::C && columns > 16);
  }

  /// Calls fn(lane, register, index in register, row, column) for each element
  /// of each thread, or the first of every `step` elements. If `withCopies` is
  /// true, includes copies of elements.
  template <typename Fn>
  void forElements(Fn fn, bool withCopies = false, unsigned step = 1) const {
    unsigned lines = isTransposed() ? columns : rows;
    unsigned length = isTransposed() ? rows : columns;
    // In B, registers first continue along the line, unless B has 32 columns.
    bool isLengthFirst = matrix == Matrix::B && lines <= 16;
    // Number of neighbors along a line: the elements of a register, or two
    // accumulators.
    unsigned run = matrix == Matrix::C ? 2 : perRegister();
    unsigned count =
        withCopies ? registers * perRegister() : lines * length / 32;
    for (unsigned e = 0; e < count; e += step) {
      unsigned rest = e / run, at = e % run, line = 0;
      unsigned r = e / perRegister(), inRegister = e % perRegister();
      auto extend = [&](unsigned &place, unsigned more, unsigned extent) {
        if (more < extent) {
          place += rest % 2 * more;
          rest /= 2;
        }
      };
      if (isLengthFirst)
        extend(at, 4 * run, length);
      extend(line, 8, lines);
      if (!isLengthFirst)
        extend(at, 4 * run, length);
      extend(line, 16, lines);
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned x = at + lane % 4 * run, y = line + lane / 4;
        fn(lane, r, inRegister, isTransposed() ? x : y, isTransposed() ? y : x);
      }
    }
  }

  uint64_t read(Warp &w, const Slot *slots, unsigned lane, unsigned r,
                unsigned e) const {
    if (bits == 64)
      return w.at<uint64_t>(slots[r])[lane];
    uint32_t word = w.at<uint32_t>(slots[r])[lane];
    return bits == 32 ? word : word >> e * bits & ((1u << bits) - 1);
  }
  void write(Warp &w, const Slot *slots, unsigned lane, unsigned r, unsigned e,
             uint64_t value) const {
    if (bits == 64) {
      w.at<uint64_t>(slots[r])[lane] = value;
      return;
    }
    uint32_t &word = w.at<uint32_t>(slots[r])[lane];
    uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    word = (word & ~(mask << e * bits)) | uint32_t(value) << e * bits;
  }
};

/// Returns element `at` of a line. Low bits of a byte come first.
uint64_t getElement(const uint8_t *line, unsigned at, unsigned bits) {
  uint64_t value = 0;
  if (bits < 8)
    return line[at * bits / 8] >> at * bits % 8 & ((1u << bits) - 1);
  std::memcpy(&value, line + at * (bits / 8), bits / 8);
  return value;
}
void putElement(uint8_t *line, unsigned at, unsigned bits, uint64_t value) {
  if (bits >= 8) {
    std::memcpy(line + at * (bits / 8), &value, bits / 8);
    return;
  }
  unsigned shift = at * bits % 8, mask = ((1u << bits) - 1) << shift;
  uint8_t &byte = line[at * bits / 8];
  byte = uint8_t((byte & ~mask) | value << shift);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// a and imm: address, b: stride in elements; aux: registers in extra; aux2:
/// matrix | element type << 2 | shape << 6 | is row-major << 9 | is64 << 10 |
/// space << 11.
struct Move {
  Fragment fragment;
  bool isRowMajor, is64;
  Space space;
  explicit Move(const Instr *i)
      : fragment(Matrix(i->aux2 & 3), shapes[i->aux2 >> 6 & 7],
                 elements[i->aux2 >> 2 & 15]),
        isRowMajor(i->aux2 >> 9 & 1), is64(i->aux2 >> 10 & 1),
        space(Space(i->aux2 >> 11)) {}
};

/// Bytes per access. PTX requires alignment to the size of a fragment, but
/// chips only require alignment to their smaller accesses.
constexpr unsigned pieceBytes = 16;

/// Copies the matrix between memory and `lines`, line by line. Returns false
/// after a finding.
bool copyLines(Warp &w, const Instr *i, uint32_t mask, const Move &move,
               bool isStore, uint8_t lines[][maxLineBytes]) {
  const Fragment &f = move.fragment;
  uint64_t base = laneAddress(w, i->a, move.is64, i->imm, 0);
  uint32_t stride = w.at<uint32_t>(i->b)[0];
  for (unsigned lane = 1; lane < 32; ++lane)
    if (laneAddress(w, i->a, move.is64, i->imm, lane) != base ||
        w.at<uint32_t>(i->b)[lane] != stride) {
      w.fail(i, FindingKind::IllegalInstruction,
             "wmma needs one address and one stride in all threads of the warp",
             1u << lane);
      return false;
    }
  uint64_t pitch = uint64_t(stride) * f.bits;
  unsigned count = move.isRowMajor ? f.rows : f.columns;
  unsigned bytes = (move.isRowMajor ? f.columns : f.rows) * f.bits / 8;
  unsigned piece = std::min(bytes, pieceBytes);
  if (pitch % (8 * piece)) {
    w.fail(i, FindingKind::Misaligned,
           "the stride of wmma must be a multiple of " + std::to_string(piece) +
               " bytes, got " + std::to_string(stride) + " elements of " +
               std::to_string(f.bits) + " bits",
           mask);
    return false;
  }
  for (unsigned line = 0; line < count; ++line)
    for (unsigned at = 0; at < bytes; at += piece) {
      uint64_t address = base + line * (pitch / 8) + at;
      uint8_t *p = resolveAddress(w, i, move.space, address, piece, 0, isStore);
      if (!p)
        return false;
      followOne(w, i, move.space, address, piece, ~0u,
                isStore ? Touch::Write : Touch::Read);
      if (isStore)
        std::memcpy(p, lines[line] + at, piece);
      else
        std::memcpy(lines[line] + at, p, piece);
    }
  if (move.space == Space::Shared)
    (isStore ? w.counts.sharedStoreBytes : w.counts.sharedLoadBytes) +=
        count * bytes;
  else
    (isStore ? w.counts.globalStoreBytes : w.counts.globalLoadBytes) +=
        count * bytes;
  return true;
}

const Instr *loadFragment(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "wmma"))
    return nullptr;
  Move move(i);
  uint8_t lines[maxLines][maxLineBytes];
  if (!copyLines(w, i, mask, move, false, lines))
    return nullptr;
  const Slot *slots = &w.machine->program.extra[i->aux];
  const Fragment &f = move.fragment;
  // The elements of a register are neighbors along a line of the fragment.
  bool isWhole = move.isRowMajor != f.isTransposed();
  f.forElements(
      [&](unsigned lane, unsigned r, unsigned e, unsigned row,
          unsigned column) {
        const uint8_t *line = lines[move.isRowMajor ? row : column];
        unsigned at = move.isRowMajor ? column : row;
        if (isWhole)
          std::memcpy(w.at<uint8_t>(slots[r]) + lane * f.laneBytes,
                      line + at * f.bits / 8, f.laneBytes);
        else
          f.write(w, slots, lane, r, e, getElement(line, at, f.bits));
      },
      true, isWhole ? f.perRegister() : 1);
  return i + 1;
}

const Instr *storeFragment(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "wmma"))
    return nullptr;
  Move move(i);
  ++w.cta->cluster->effects;
  uint8_t lines[maxLines][maxLineBytes];
  const Slot *slots = &w.machine->program.extra[i->aux];
  const Fragment &f = move.fragment;
  f.forElements([&](unsigned lane, unsigned r, unsigned e, unsigned row,
                    unsigned column) {
    unsigned line = move.isRowMajor ? row : column;
    putElement(lines[line], move.isRowMajor ? column : row, f.bits,
               f.read(w, slots, lane, r, e));
  });
  return copyLines(w, i, mask, move, true, lines) ? i + 1 : nullptr;
}

//===----------------------------------------------------------------------===//
// wmma.mma
//===----------------------------------------------------------------------===//

/// aux: registers of D, A, B and C in extra; aux2: shape | element type of A <<
/// 3, B << 7, C << 11, D << 15 | saturate << 19 | xor << 20 | rounding of f64
/// << 21.
struct Mma {
  Fragment a, b, c, d;
  const Slot *slotsD, *slotsA, *slotsB, *slotsC;
  explicit Mma(Warp &w, const Instr *i) {
    const ShapeRow &shape = shapes[i->aux2 & 7];
    auto element = [&](unsigned shift) -> const ElementRow & {
      return elements[i->aux2 >> shift & 15];
    };
    a = Fragment(Matrix::A, shape, element(3));
    b = Fragment(Matrix::B, shape, element(7));
    c = Fragment(Matrix::C, shape, element(11));
    d = Fragment(Matrix::C, shape, element(15));
    slotsD = &w.machine->program.extra[i->aux];
    slotsA = slotsD + d.registers;
    slotsB = slotsA + a.registers;
    slotsC = slotsB + b.registers;
  }
};

constexpr unsigned maxCells = 256;

const Instr *multiplyFragments(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "wmma"))
    return nullptr;
  Mma p(w, i);
  WarpMmaOp op;
  op.a = elements[i->aux2 >> 3 & 15].type;
  op.b = elements[i->aux2 >> 7 & 15].type;
  // If only one of C and D is f16, the accumulators are f32.
  bool halfC = p.c.bits == 16, halfD = p.d.bits == 16, half = halfC && halfD;
  op.d = elements[i->aux2 >> 15 & 15].name == "s32" ? AccumulatorType::S32
         : half                                     ? AccumulatorType::F16
                                                    : AccumulatorType::F32;
  op.rows = p.a.rows;
  op.columns = p.b.columns;
  op.saturate = i->aux2 >> 19 & 1;
  op.exclusiveOr = i->aux2 >> 20 & 1;
  // The second step of tf32 starts within a line and reads past the last line.
  uint8_t a[(maxLines + 1) * warpRowBytes] = {};
  uint8_t b[(maxLines + 1) * warpRowBytes] = {};
  uint32_t cells[maxCells];
  auto gather = [&w](const Fragment &f, const Slot *slots, uint8_t *lines) {
    f.forElements(
        [&](unsigned lane, unsigned r, unsigned, unsigned row,
            unsigned column) {
          unsigned line = f.isTransposed() ? column : row;
          unsigned at = f.isTransposed() ? row : column;
          std::memcpy(lines + line * warpRowBytes + at * f.bits / 8,
                      w.at<uint32_t>(slots[r]) + lane, 4);
        },
        false, f.perRegister());
  };
  gather(p.a, p.slotsA, a);
  gather(p.b, p.slotsB, b);
  p.c.forElements([&](unsigned lane, unsigned r, unsigned e, unsigned row,
                      unsigned column) {
    uint32_t value = uint32_t(p.c.read(w, p.slotsC, lane, r, e));
    cells[row * op.columns + column] =
        halfC && !half ? bitsOf(decode(FloatFormat::F16, value)) : value;
  });
  // An H200 computes a tf32 MMA in two steps along K. The results match bit for
  // bit.
  unsigned k = p.a.columns;
  Numerics numerics = numericsOf(w);
  op.k = op.a == ElementType::TF32 && numerics != Numerics::Exact ? k / 2 : k;
  for (unsigned first = 0; first < k; first += op.k)
    multiplyRows(op, a + first * p.a.bits / 8, b + first * p.b.bits / 8,
                 numerics, cells);
  p.d.forElements([&](unsigned lane, unsigned r, unsigned e, unsigned row,
                      unsigned column) {
    uint32_t value = cells[row * op.columns + column];
    if (halfD && !half)
      value = uint32_t(encodeF64(FloatFormat::F16, floatFromBits(value)));
    p.d.write(w, p.slotsD, lane, r, e, value);
  });
  ++w.counts.mmas;
  return i + 1;
}

const Instr *multiplyDoubles(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "wmma"))
    return nullptr;
  Mma p(w, i);
  double a[8][4], b[8][4], c[8][8];
  auto number = [&](const Fragment &f, const Slot *slots, unsigned lane,
                    unsigned r) {
    uint64_t bits = f.read(w, slots, lane, r, 0);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  p.a.forElements(
      [&](unsigned lane, unsigned r, unsigned, unsigned row, unsigned k) {
        a[row][k] = number(p.a, p.slotsA, lane, r);
      });
  p.b.forElements(
      [&](unsigned lane, unsigned r, unsigned, unsigned k, unsigned column) {
        b[column][k] = number(p.b, p.slotsB, lane, r);
      });
  p.c.forElements(
      [&](unsigned lane, unsigned r, unsigned, unsigned row, unsigned column) {
        c[row][column] = number(p.c, p.slotsC, lane, r);
      });
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 8; ++column)
      c[row][column] = chainOfProducts(a[row], b[column], 4, c[row][column],
                                       i->aux2 >> 21 & 3);
  p.d.forElements(
      [&](unsigned lane, unsigned r, unsigned, unsigned row, unsigned column) {
        uint64_t bits;
        std::memcpy(&bits, &c[row][column], sizeof bits);
        p.d.write(w, p.slotsD, lane, r, 0, bits);
      });
  ++w.counts.mmas;
  return i + 1;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

template <typename Row, unsigned N>
int indexOf(const Row (&rows)[N], std::string_view name) {
  for (unsigned k = 0; k < N; ++k)
    if (rows[k].name == name)
      return int(k);
  return -1;
}

/// Removes the modifiers that name table rows. Returns their indices in order.
template <typename Row, unsigned N>
std::vector<unsigned> takeAll(Decoder &d, const Row (&rows)[N]) {
  std::vector<unsigned> found;
  for (std::string_view m : std::vector<std::string_view>(d.modifiers()))
    if (int k = indexOf(rows, m); k >= 0) {
      d.take(m);
      found.push_back(unsigned(k));
    }
  return found;
}

std::vector<bool> takeLayouts(Decoder &d) {
  std::vector<bool> isRow;
  for (std::string_view m : std::vector<std::string_view>(d.modifiers()))
    if (m == "row" || m == "col") {
      isRow.push_back(m == "row");
      d.take(m);
    }
  return isRow;
}

/// Returns the table row for a shape and a type of A and B, or of an
/// accumulator.
const FormRow *findForm(unsigned shape, std::string_view type,
                        bool isAccumulator) {
  for (const FormRow &form : forms)
    if (shape - form.firstShape < form.numShapes &&
        (isAccumulator ? form.result == type || form.otherResult == type
                       : form.factor == type))
      return &form;
  return nullptr;
}

bool takeRegisters(Decoder &d, size_t operand, const Fragment &f, bool isUse,
                   std::vector<Slot> &slots) {
  std::vector<Operand> parts = d.elements(d.operand(operand));
  if (parts.size() != f.registers) {
    d.unsupported("operand " + std::to_string(operand + 1) + " needs " +
                  std::to_string(f.registers) + " registers, found " +
                  std::to_string(parts.size()));
    return false;
  }
  for (const Operand &p : parts)
    slots.push_back(
        isUse ? d.use(p, f.laneBytes, {'F', uint16_t(f.laneBytes * 8)})
              : d.def(p, f.laneBytes));
  return true;
}

uint32_t addSlots(Decoder &d, const std::vector<Slot> &slots) {
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  return first;
}

void decodeMove(Decoder &d, bool isStore) {
  int letter = isStore ? (d.take("d") ? 2 : -1) : d.takeAny({"a", "b", "c"});
  std::vector<bool> layouts = takeLayouts(d);
  std::vector<unsigned> shape = takeAll(d, shapes), type = takeAll(d, elements);
  Space space = d.takeSpace();
  if (letter < 0 || layouts.size() != 1 || shape.size() != 1 ||
      type.size() != 1)
    return d.unsupported("expects a matrix, a layout, a shape and a type");
  Matrix matrix = Matrix(letter);
  const FormRow *form =
      findForm(shape[0], elements[type[0]].name, matrix == Matrix::C);
  if (!form || (form->isRowCol && matrix != Matrix::C &&
                layouts[0] != (matrix == Matrix::A)))
    return d.unsupported("no such combination of matrix, layout, shape and "
                         "type");
  if (space != Space::Shared && space != Space::Global &&
      space != Space::Generic)
    return d.unsupported("the state space must be .global or .shared");
  if (!d.expectOperands(2, 3))
    return;
  Fragment f(matrix, shapes[shape[0]], elements[type[0]]);
  Address address = d.address(isStore ? 0 : 1);
  Slot stride =
      d.numOperands() == 3
          ? d.use(2, {'U', 32})
          : d.constant(layouts[0] ? f.columns : f.rows, sizeof(uint32_t));
  std::vector<Slot> slots;
  if (!takeRegisters(d, isStore ? 1 : 0, f, isStore, slots))
    return;
  uint32_t first = addSlots(d, slots);
  Instr &i = d.emit(isStore ? storeFragment : loadFragment);
  i.a = address.base;
  i.imm = address.offset;
  i.b = stride;
  i.aux = first;
  i.aux2 = unsigned(letter) | type[0] << 2 | shape[0] << 6 |
           unsigned(layouts[0]) << 9 | unsigned(address.is64) << 10 |
           unsigned(space) << 11;
}

void decodeMma(Decoder &d) {
  std::vector<bool> layouts = takeLayouts(d);
  std::vector<unsigned> shape = takeAll(d, shapes), type = takeAll(d, elements);
  bool saturate = d.take("satfinite");
  int rounding = d.takeAny({"rn", "rz", "rm", "rp"});
  int operation = d.takeAny({"and", "xor"});
  bool population = d.take("popc");
  // For f16, only the types of D and C are specified.
  if (type.size() == 2)
    type = {type[0], 0, 0, type[1]};
  if (layouts.size() != 2 || shape.size() != 1 || type.size() != 4)
    return d.unsupported("expects two layouts, a shape and the types");
  auto name = [&](unsigned k) { return elements[type[k]].name; };
  const FormRow *form = findForm(shape[0], name(1), false);
  bool bits = name(1) == "b1", integer = form && form->result == "s32";
  auto isResult = [&](std::string_view result) {
    return result == form->result || result == form->otherResult;
  };
  if (!form || type[1] != type[2] || !isResult(name(0)) || !isResult(name(3)) ||
      (form->isRowCol && !(layouts[0] && !layouts[1])) ||
      (saturate && (!integer || bits)) || (rounding >= 0 && name(0) != "f64"))
    return d.unsupported("no such combination of shape, layouts and types");
  if (bits != (operation >= 0) || bits != population)
    return d.unsupported(
        "needs .and.popc or .xor.popc for .b1, and neither for other types");
  if (!d.expectOperands(4, 4))
    return;
  const ShapeRow &s = shapes[shape[0]];
  const Fragment fragments[] = {{Matrix::C, s, elements[type[0]]},
                                {Matrix::A, s, elements[type[1]]},
                                {Matrix::B, s, elements[type[2]]},
                                {Matrix::C, s, elements[type[3]]}};
  std::vector<Slot> slots;
  for (unsigned k = 0; k < 4; ++k)
    if (!takeRegisters(d, k, fragments[k], k != 0, slots))
      return;
  uint32_t first = addSlots(d, slots);
  Instr &i = d.emit(name(0) == "f64" ? multiplyDoubles : multiplyFragments);
  i.aux = first;
  i.aux2 = shape[0] | type[1] << 3 | type[2] << 7 | type[3] << 11 |
           type[0] << 15 | unsigned(saturate) << 19 |
           unsigned(operation == 1) << 20 |
           unsigned(std::max(rounding, 0)) << 21;
}

void decodeWmma(Decoder &d) {
  int what = d.takeAny({"load", "store", "mma"});
  if (what < 0 || !d.take("sync") || !d.take("aligned"))
    return d.unsupported("expects .load, .store or .mma with .sync.aligned");
  if (what == 2)
    return decodeMma(d);
  decodeMove(d, what == 1);
}

} // namespace

void mx::sim::addWmmaInstructions(DecodeTable &t) { t["wmma"] = decodeWmma; }
