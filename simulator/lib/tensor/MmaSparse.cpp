//===- MmaSparse.cpp - Metadata of sparse operands ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements "Sparse Matrices" and "Zero-Column Mask Descriptor" of the PTX
// ISA. The metadata layout is tmem_e_frg of CUTLASS, with 4 bits per chunk of a
// row. A row of 8 chunks (f16, tf32) is split into two halves of 16 bits, so 16
// rows share 16 lanes of a column. A row of 16 chunks fills two columns of a
// lane. If M leaves half of the data path idle, the metadata rows are in the
// same lanes as D.
//===----------------------------------------------------------------------===//

#include "MmaSparse.h"

using namespace mx::sim;

namespace {

std::string str(uint64_t value) { return std::to_string(value); }

uint64_t field(uint64_t bits, unsigned low, unsigned width) {
  return bits >> low & ((uint64_t{1} << width) - 1);
}

/// Returns true if the ISA defines a code of two 2-bit indices. The ISA defines
/// increasing indices, and also the code with indices 2 and 1.
bool isMeaningful(MmaKind kind, unsigned code) {
  if (kind == MmaKind::TF32)
    return code == 0b1110 || code == 0b0100;
  unsigned first = code & 3, second = code >> 2;
  return first < second || code == 0b0110;
}

bool hasHalvedRows(MmaKind kind) {
  return kind == MmaKind::F16 || kind == MmaKind::TF32;
}

/// Word and first bit of a chunk, relative to the tile.
struct ChunkPlace {
  unsigned row, column, bit;
};
ChunkPlace placeOf(MmaKind kind, unsigned row, unsigned chunk) {
  if (hasHalvedRows(kind))
    return {row / 16 * 16 + chunk / 4 * 8 + row % 8, 0,
            chunk % 4 * 4 + row / 8 % 2 * 16};
  return {row, chunk / 8, chunk % 8 * 4};
}

Granularity granularityOf(MmaKind kind) {
  switch (kind) {
  case MmaKind::TF32:
    return {1, 2};
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    return {4, 8};
  default:
    return {2, 4};
  }
}

} // namespace

void mx::sim::addChunk(Sparsity &sparsity, Granularity unit, unsigned code,
                       unsigned chunk, unsigned row) {
  // Two-bit indices select quarters of the chunk. On an H200, each stored
  // quarter multiplies the quarter of B selected by its own index, regardless
  // of the other index. The same holds for the halves of a tf32 element.
  unsigned first = code & 3, second = code >> 2;
  auto at = [&](unsigned quarter, unsigned perQuarter, unsigned i) {
    return static_cast<uint8_t>((chunk * 4 + quarter) * perQuarter + i);
  };
  auto row8 = static_cast<uint8_t>(row);
  if (unit.stored == 1) {
    uint8_t place = at(second, 1, 0) / 2;
    sparsity.kept.push_back(place);
    if (second % 2 == 0 || first + 1 != second)
      sparsity.detours.push_back(
          {row8, place, at(first, 1, 0), at(second, 1, 0)});
    return;
  }
  unsigned perQuarter = unit.length / 4;
  unsigned standing = second != first ? second : (first + 1) % 4;
  for (unsigned quarter : {first, standing})
    for (unsigned i = 0; i < perQuarter; ++i)
      sparsity.kept.push_back(at(quarter, perQuarter, i));
  for (unsigned i = 0; i < perQuarter && standing != second; ++i) {
    uint8_t source = at(second, perQuarter, i);
    sparsity.detours.push_back(
        {row8, at(standing, perQuarter, i), source, source});
  }
}

Fault mx::sim::undefinedCode(unsigned code, const std::string &where) {
  return {FaultKind::Metadata,
          "sparsity metadata: code " + str(code) + " " + where +
              " has no meaning in the PTX ISA; its indices, " + str(code & 3) +
              " and " + str(code >> 2) + ", are used unchanged"};
}

Fault mx::sim::readMetadata(const CtaView &cta, const MetadataPlace &place,
                            unsigned k, Sparsity &sparsity,
                            Fault &uninitialized, Fault &undefined) {
  unsigned columns = hasHalvedRows(place.kind) ? 1 : 2;
  unsigned last = place.laneOf(place.rows - 1);
  if (Fault fault =
          cta.tensor->checkAccess(cta.owner, place.laneBase, last + 1,
                                  place.column, columns, "sparsity metadata"))
    return fault;
  Granularity unit = granularityOf(place.kind);
  sparsity.kept.reserve(place.rows * (k / 2));
  for (unsigned row = 0; row < place.rows; ++row)
    for (unsigned chunk = 0; chunk < k / unit.length; ++chunk) {
      ChunkPlace at = placeOf(place.kind, row, chunk);
      unsigned lane = place.laneBase + place.laneOf(at.row);
      unsigned column = place.column + at.column;
      if (!uninitialized && !cta.tensor->isDefined(lane, column, 1))
        uninitialized = {FaultKind::Uninitialized,
                         "sparsity metadata: row " + str(row) +
                             " reads tensor memory at lane " + str(lane) +
                             ", column " + str(column) +
                             ", which has not been written"};
      unsigned code = cta.tensor->row(lane)[column] >> at.bit & 15;
      if (!uninitialized && !undefined && !isMeaningful(place.kind, code))
        undefined =
            undefinedCode(code, "of row " + str(row) + ", elements " +
                                    str(chunk * unit.length) + " to " +
                                    str((chunk + 1) * unit.length - 1) +
                                    " (lane " + str(lane) + ", column " +
                                    str(column) + ", bit " + str(at.bit) + ")");
      addChunk(sparsity, unit, code, chunk, row);
    }
  return {};
}

Fault mx::sim::decodeColumnMask(uint64_t bits, const InstrDesc &desc,
                                ColumnMask &mask) {
  // The text of table 45 on the two spans contradicts the examples of the ISA.
  // According to the examples, "use" is the number of columns of B that are
  // used.
  mask = ColumnMask();
  if (field(bits, 36, 3) || field(bits, 62, 2))
    return {
        FaultKind::Descriptor,
        "zero-column mask descriptor: bits 36 to 38 and 62 to 63 must be 0"};
  mask.shift = static_cast<unsigned>(field(bits, 56, 6));
  unsigned most = desc.m == 32 ? 16 : 32;
  if (mask.shift > most || mask.shift > desc.maxShift)
    return {FaultKind::Descriptor,
            "zero-column mask descriptor: a shift of " + str(mask.shift) +
                " columns exceeds " +
                str(mask.shift > most ? most : desc.maxShift) +
                (mask.shift > most
                     ? ", the maximum for M = " + str(desc.m)
                     : ", the maximum in the instruction descriptor")};
  mask.isZero.assign(desc.n, false);
  if (!field(bits, 39, 1))
    return {};
  unsigned skip = static_cast<unsigned>(field(bits, 40, 8)) + 1;
  unsigned use = static_cast<unsigned>(field(bits, 48, 8)) + 1;
  unsigned parts = 128 / desc.m, columns = desc.n / parts;
  for (unsigned part = 0; part < parts; ++part) {
    unsigned start = static_cast<unsigned>(field(bits, 8 * part, 8));
    bool zeroFirst = field(bits, 32 + part, 1);
    for (unsigned n = 0; n < columns; ++n) {
      unsigned at = (start + n) % (skip + use);
      mask.isZero[part * columns + n] = zeroFirst ? at < skip : at >= use;
    }
  }
  return {};
}
