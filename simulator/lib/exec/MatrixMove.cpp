//===- MatrixMove.cpp - Matrix loads, stores and transposes ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Warp-level matrix load / store / transpose instruction": ldmatrix,
// stmatrix, movmatrix. A matrix consists of 16-byte rows, and a different
// thread supplies the address of each row. For each shape, a function maps
// register bytes to matrix positions, for both loads and stores.
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "MemoryAccess.h"
#include "WarpFragments.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;

namespace {

constexpr unsigned rowBytes = 16;
constexpr unsigned maxMatrices = 4;
constexpr unsigned matrixRows = 16;

/// Byte `column` of row `row` of a matrix.
struct Cell {
  unsigned row, column;
};
/// Maps byte `byte` of matrix register `reg` of a thread to a cell.
using Layout = Cell (*)(unsigned thread, unsigned reg, unsigned byte);

// Four threads share a row.
Cell rowMajor(unsigned thread, unsigned, unsigned byte) {
  return {thread / 4, thread % 4 * 4 + byte};
}
Cell transposed16(unsigned thread, unsigned, unsigned byte) {
  return {thread % 4 * 2 + byte / 2, thread / 4 * 2 + byte % 2};
}
// Bytes 0 and 1 are adjacent in a column, and bytes 2 and 3 are in the column
// eight further on. Matches the U8 LDSM_T and STSM_T layouts of CUTLASS.
Cell transposed8Rows16(unsigned thread, unsigned reg, unsigned byte) {
  return {thread % 4 * 4 + reg * 2 + byte % 2, thread / 4 + byte / 2 * 8};
}
Cell transposed8Rows8(unsigned thread, unsigned, unsigned byte) {
  return {thread % 4 * 2 + byte % 2, thread / 4 + byte / 2 * 8};
}

enum class Source : uint8_t { Bytes, B4x16P64, B6x16P32 };
/// Returns the number of bytes that contain elements in each row. Padding
/// follows these bytes.
unsigned usedBytes(Source source) {
  return source == Source::Bytes      ? rowBytes
         : source == Source::B4x16P64 ? 8
                                      : 12;
}

struct Form {
  std::string_view shape;
  bool isStore, trans;
  /// Element types: b16, b8, or b8x16 for decompression.
  std::string_view type;
  unsigned rows, registers, most;
  Layout layout;
};
constexpr Form forms[] = {
    {"m8n8", false, false, "b16", 8, 1, 4, rowMajor},
    {"m8n8", false, true, "b16", 8, 1, 4, transposed16},
    {"m16n16", false, true, "b8", 16, 2, 2, transposed8Rows16},
    {"m16n16", false, true, "b8x16", 16, 2, 2, transposed8Rows16},
    {"m8n16", false, false, "b8x16", 8, 1, 4, rowMajor},
    {"m8n8", true, false, "b16", 8, 1, 4, rowMajor},
    {"m8n8", true, true, "b16", 8, 1, 4, transposed16},
    {"m16n8", true, true, "b8", 8, 1, 4, transposed8Rows8},
};

/// Unpacks sixteen 4- or 6-bit elements, each into the low bits of a byte. The
/// PTX ISA only shows the layout in figures. CUTLASS confirms the layout:
/// mma.sync expects 4-bit elements two bits higher, so CUTLASS kernels shift
/// 4-bit elements after ldmatrix, but do not shift 6-bit elements.
void decompress(Source source, uint8_t *row) {
  if (source == Source::Bytes)
    return;
  unsigned bits = source == Source::B4x16P64 ? 4 : 6;
  uint8_t in[rowBytes];
  std::memcpy(in, row, sizeof in);
  for (unsigned i = 0; i < rowBytes; ++i) {
    unsigned at = i * bits;
    unsigned pair = in[at / 8] | in[at / 8 + 1] << 8;
    row[i] = uint8_t(pair >> at % 8 & ((1u << bits) - 1));
  }
}

/// aux: first register in extra; aux2: form | matrices << 4 | source << 8 |
/// is64 << 12 | space << 16; a, imm: address.
struct Move {
  const Form &form;
  unsigned matrices;
  Source source;
  bool is64;
  Space space;
  explicit Move(const Instr *i)
      : form(forms[i->aux2 & 15]), matrices(i->aux2 >> 4 & 15),
        source(Source(i->aux2 >> 8 & 15)), is64(i->aux2 >> 12 & 1),
        space(Space(i->aux2 >> 16)) {}
  const char *name() const { return form.isStore ? "stmatrix" : "ldmatrix"; }
};

/// Row of a matrix and one flag for each byte, nonzero if the byte is written.
/// The flags are null if all used bytes are written or the launch does not
/// track writes.
struct MatrixRow {
  uint8_t *bytes = nullptr, *written = nullptr;
  uint64_t address = 0;
};

/// Returns the write flags at a shared address, or null if the launch does not
/// track writes. Translates a generic address to shared memory.
uint8_t *rowWritten(Warp &w, Space space, uint64_t &address) {
  findSpace(space, address);
  SharedTracker *tracker =
      w.cta->cluster->ctas[address >> kRankShift]->tracker.get();
  return !tracker || tracker->written.empty()
             ? nullptr
             : tracker->written.data() + (address & kOffsetMask);
}

/// Resolves the rows of all matrices, in the order of the threads that supply
/// their addresses. Returns false after a finding.
bool resolveRows(Warp &w, const Instr *i, const Move &move,
                 MatrixRow rows[maxMatrices * matrixRows]) {
  unsigned used = usedBytes(move.source);
  unsigned lanes = move.matrices * move.form.rows;
  timeLanes(w, move.space, i->a, move.is64, i->imm, rowBytes,
            lanes == 32 ? ~0u : (1u << lanes) - 1, move.form.isStore);
  for (unsigned lane = 0; lane < move.matrices * move.form.rows; ++lane) {
    uint64_t address = laneAddress(w, i->a, move.is64, i->imm, lane);
    if (move.space == Space::Generic &&
        address - kSharedWindow >= kWindowBytes) {
      w.fail(i, FindingKind::OutOfBounds,
             std::string(move.name()) +
                 " needs an address in shared memory, got " +
                 describeAddress(w, move.space, address, rowBytes),
             1u << lane);
      return false;
    }
    uint32_t unwritten = 0;
    MatrixRow &row = rows[lane];
    row = {resolveAddress(w, i, move.space, address, rowBytes, lane,
                          move.form.isStore, &unwritten),
           nullptr, address};
    if (!row.bytes)
      return false;
    // Padding may be unwritten.
    if (unwritten || move.form.isStore)
      row.written = rowWritten(w, move.space, row.address);
    if (unwritten && !std::memchr(row.written, 0, used))
      row.written = nullptr;
    followOne(w, i, move.space, address, used, 1u << lane,
              move.form.isStore ? Touch::Write : Touch::Read);
  }
  (move.form.isStore ? w.counts.sharedStoreBytes : w.counts.sharedLoadBytes) +=
      move.matrices * move.form.rows * rowBytes;
  return true;
}

/// Marks register `r` of a matrix as undefined in threads that receive an
/// unwritten byte. A row of packed elements is treated as a unit.
void markMatrix(Warp &w, const Instr *i, const Move &move,
                const MatrixRow *rows, unsigned r, Slot slot) {
  uint32_t threads = 0;
  uint64_t first = 0;
  for (unsigned thread = 0; thread < 32; ++thread)
    for (unsigned byte = 0; byte < 4; ++byte) {
      Cell cell = move.form.layout(thread, r, byte);
      const MatrixRow &row = rows[cell.row];
      bool isBytes = move.source == Source::Bytes;
      if (!row.written || (isBytes && row.written[cell.column]))
        continue;
      if (!threads)
        first = row.address + (isBytes ? cell.column & ~3u : 0);
      threads |= 1u << thread;
    }
  if (threads)
    w.undefined.mark(
        w, slot, threads,
        {i, first, move.source == Source::Bytes ? 4 : usedBytes(move.source)});
}

const Instr *loadMatrices(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  Move move(i);
  MatrixRow rows[maxMatrices * matrixRows];
  if (!wholeWarp(w, i, mask, move.name()) || !resolveRows(w, i, move, rows))
    return nullptr;
  const Form &form = move.form;
  const Slot *slots = &w.machine->program.extra[i->aux];
  for (unsigned m = 0; m < move.matrices; ++m) {
    uint8_t image[matrixRows][rowBytes];
    bool isWritten = true;
    for (unsigned r = 0; r < form.rows; ++r) {
      const MatrixRow &row = rows[m * form.rows + r];
      std::memcpy(image[r], row.bytes, rowBytes);
      decompress(move.source, image[r]);
      isWritten &= !row.written;
    }
    for (unsigned r = 0; r < form.registers; ++r) {
      if (!isWritten)
        markMatrix(w, i, move, &rows[m * form.rows], r,
                   slots[m * form.registers + r]);
      uint32_t *d = w.at<uint32_t>(slots[m * form.registers + r]);
      for (unsigned thread = 0; thread < 32; ++thread) {
        uint32_t value = 0;
        for (unsigned byte = 0; byte < 4; ++byte) {
          Cell cell = form.layout(thread, r, byte);
          value |= uint32_t{image[cell.row][cell.column]} << 8 * byte;
        }
        d[thread] = value;
      }
    }
  }
  return i + 1;
}

const Instr *storeMatrices(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  Move move(i);
  MatrixRow rows[maxMatrices * matrixRows];
  ++w.cta->cluster->effects;
  if (!wholeWarp(w, i, mask, move.name()) || !resolveRows(w, i, move, rows))
    return nullptr;
  const Form &form = move.form;
  const Slot *slots = &w.machine->program.extra[i->aux];
  for (unsigned m = 0; m < move.matrices; ++m)
    for (unsigned r = 0; r < form.registers; ++r) {
      Slot slot = slots[m * form.registers + r];
      const uint32_t *s = w.at<uint32_t>(slot);
      // Like st.shared, a store of an undefined value leaves bytes unwritten.
      uint32_t undefined = w.undefined.lanes(slot);
      if (undefined && w.undefined.isOfTensor(slot)) {
        w.undefined.report(w, i, slot, ~0u);
        undefined = 0;
      }
      if (w.undefined.isOfGlobal(slot))
        undefined = 0;
      for (unsigned thread = 0; thread < 32; ++thread)
        for (unsigned byte = 0; byte < 4; ++byte) {
          Cell cell = form.layout(thread, r, byte);
          const MatrixRow &row = rows[m * form.rows + cell.row];
          row.bytes[cell.column] = uint8_t(s[thread] >> 8 * byte);
          if (undefined >> thread & 1 && row.written)
            row.written[cell.column] = 0;
        }
    }
  return i + 1;
}

/// d, a: 32-bit registers.
const Instr *transpose(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u) || !wholeWarp(w, i, mask, "movmatrix"))
    return nullptr;
  uint32_t source[32];
  std::memcpy(source, w.at<uint32_t>(i->a), sizeof source);
  uint32_t *d = w.at<uint32_t>(i->d);
  for (unsigned thread = 0; thread < 32; ++thread) {
    unsigned column = thread / 4;
    uint32_t value = 0;
    for (unsigned half = 0; half < 2; ++half) {
      unsigned row = thread % 4 * 2 + half;
      value |= (source[row * 4 + column / 2] >> 16 * (column % 2) & 0xFFFF)
               << 16 * half;
    }
    d[thread] = value;
  }
  return i + 1;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool takeAligned(Decoder &d) {
  if (d.take("sync") && d.take("aligned"))
    return true;
  d.unsupported("expects .sync.aligned");
  return false;
}

void decodeMove(Decoder &d, bool isStore) {
  if (!takeAligned(d))
    return;
  std::string_view shape = d.takePrefix("m");
  bool trans = d.take("trans");
  int count = d.takeAny({"x1", "x2", "x4"});
  Source source = Source::Bytes;
  int compressed = isStore ? -1 : d.takeAny({"b4x16_p64", "b6x16_p32"});
  if (compressed >= 0)
    source = compressed ? Source::B6x16P32 : Source::B4x16P64;
  int type = d.takeAny({"b16", "b8", "b8x16"});
  if (d.take("shared::cluster"))
    return d.unsupported("the state space must be .shared or .shared::cta");
  Space space = d.takeSpace();
  constexpr std::string_view types[] = {"b16", "b8", "b8x16"};
  if (count < 0 || type < 0)
    return d.unsupported("expects a number of matrices and a type");
  if (space != Space::Shared && space != Space::Generic)
    return d.unsupported("the state space must be .shared");
  const Form *form = nullptr;
  for (const Form &f : forms)
    if (f.isStore == isStore && f.shape == shape && f.trans == trans &&
        f.type == types[type] && (type == 2) == (source != Source::Bytes))
      form = &f;
  unsigned matrices = 1u << count;
  if (!form || matrices > form->most)
    return d.unsupported("no such combination of shape, number of matrices, "
                         "transposition and type");
  if (!d.expectOperands(2, 2))
    return;
  Address address = d.address(isStore ? 0 : 1);
  if (space == Space::Generic && address.space == Space::Shared)
    return d.unsupported("expects the state space of the variable");
  std::vector<Operand> parts = d.elements(d.operand(isStore ? 1 : 0));
  unsigned registers = matrices * form->registers;
  if (parts.size() != registers)
    return d.unsupported("expects " + std::to_string(registers) +
                         " registers, found " + std::to_string(parts.size()));
  std::vector<Slot> slots;
  for (const Operand &p : parts)
    slots.push_back(isStore ? d.use(p, 4) : d.def(p, 4));
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(isStore ? storeMatrices : loadMatrices);
  i.a = address.base;
  i.imm = address.offset;
  i.aux = first;
  i.aux2 = unsigned(form - forms) | matrices << 4 | unsigned(source) << 8 |
           unsigned(address.is64) << 12 | unsigned(space) << 16;
}

void decodeMovmatrix(Decoder &d) {
  if (!takeAligned(d))
    return;
  if (!d.take("m8n8") || !d.take("trans") || !d.take("b16"))
    return d.unsupported("expects .m8n8.trans.b16");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = d.use(1, {'B', 32});
  Slot out = d.def(0, {'B', 32});
  Instr &i = d.emit(transpose);
  i.d = out;
  i.a = a;
}

} // namespace

const Instr *mx::sim::touchMatrices(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  Move move(i);
  w.cta->cluster->effects += move.form.isStore;
  MatrixRow rows[maxMatrices * matrixRows];
  return wholeWarp(w, i, mask, move.name()) && resolveRows(w, i, move, rows)
             ? i + 1
             : nullptr;
}

void mx::sim::addMatrixMoveInstructions(DecodeTable &t) {
  t["ldmatrix"] = [](Decoder &d) { decodeMove(d, false); };
  t["stmatrix"] = [](Decoder &d) { decodeMove(d, true); };
  t["movmatrix"] = decodeMovmatrix;
}
