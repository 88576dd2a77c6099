//===- MmaOperands.cpp - Operand access of MMA instructions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX ISA defines the positions of bits and scales in "Packing formats of
// elements in Tensor and Shared memory" and "Block Scaling".
//===----------------------------------------------------------------------===//

#include "MmaOperands.h"
#include "mxsim/tensor/NumberFormats.h"

#include <array>
#include <cstring>

using namespace mx;
using namespace mx::sim;

namespace {

constexpr unsigned chunkBytes = 16;
constexpr uint32_t descAddressMask = 0x3FFFF;

std::string str(uint64_t value) { return std::to_string(value); }

struct TypeInfo {
  unsigned bits;
  int minExponent;
  unsigned range;
  FloatFormat format;
};
// In the order of ElementType. The third field is the range in bits, or 0 if
// products could exceed the bits of a double (bf16, tf32).
constexpr TypeInfo typeInfos[] = {
    {16, -14, 40, FloatFormat::F16},  {16, -126, 0, FloatFormat::BF16},
    {32, -126, 0, FloatFormat::BF16}, {8, -6, 18, FloatFormat::E4M3},
    {8, -14, 32, FloatFormat::E5M2},  {6, 0, 6, FloatFormat::E2M3},
    {6, -2, 9, FloatFormat::E3M2},    {4, 0, 4, FloatFormat::E2M1},
    {8, 0, 0, FloatFormat::E4M3},     {8, 0, 0, FloatFormat::E4M3},
    {4, 0, 0, FloatFormat::E2M1},     {4, 0, 0, FloatFormat::E2M1},
    {1, 0, 0, FloatFormat::E2M1},
};
const TypeInfo &info(ElementType type) {
  return typeInfos[static_cast<unsigned>(type)];
}

using ByteTable = std::array<double, 256>;

/// Returns the values of all codes; bits above the width are ignored.
ByteTable makeTable(FloatFormat format) {
  ByteTable table;
  for (unsigned code = 0; code < 256; ++code)
    table[code] = widenF32(decode(format, code));
  return table;
}

const double *byteTable(FloatFormat format) {
  static const ByteTable tables[] = {
      makeTable(FloatFormat::E4M3), makeTable(FloatFormat::E5M2),
      makeTable(FloatFormat::E3M2), makeTable(FloatFormat::E2M3),
      makeTable(FloatFormat::E2M1)};
  // FloatFormat starts with these five formats in this order.
  static_assert(FloatFormat::E4M3 == FloatFormat(0) &&
                FloatFormat::E5M2 == FloatFormat(1) &&
                FloatFormat::E3M2 == FloatFormat(2) &&
                FloatFormat::E2M3 == FloatFormat(3) &&
                FloatFormat::E2M1 == FloatFormat(4));
  return tables[static_cast<unsigned>(format)].data();
}

const float *halfTable() {
  static const std::vector<float> table = [] {
    std::vector<float> values(1 << 16);
    for (uint32_t code = 0; code < values.size(); ++code)
      values[code] = decode(FloatFormat::F16, code);
    return values;
  }();
  return table.data();
}

uint32_t load(const uint8_t *bytes, unsigned count) {
  uint32_t value = 0;
  for (unsigned i = 0; i < count; ++i)
    value |= uint32_t{bytes[i]} << (8 * i);
  return value;
}

/// Returns element i of a row. Each 16 bytes of the row contain sixteen
/// `bits`-bit elements, followed by padding.
unsigned paddedCode(const uint8_t *bytes, unsigned i, unsigned bits) {
  const uint8_t *group = bytes + i / 16 * chunkBytes;
  unsigned position = i % 16 * bits;
  unsigned pair = group[position / 8] | group[position / 8 + 1] << 8;
  return pair >> (position % 8) & ((1u << bits) - 1);
}

} // namespace

Packing mx::sim::packingInRegisters(ElementType type, bool isPacked) {
  unsigned bits = info(type).bits;
  return bits >= 8  ? Packing::Bytes
         : isPacked ? Packing::Nibbles
                    : Packing::RegisterBytes;
}

Packing mx::sim::packingOf(MmaKind kind, ElementType type,
                           bool inTensorMemory) {
  unsigned bits = info(type).bits;
  if (bits >= 8)
    return Packing::Bytes;
  if (kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4)
    return Packing::Nibbles;
  return inTensorMemory ? Packing::Containers : Packing::Padded;
}

int mx::sim::minExponent(ElementType type) { return info(type).minExponent; }
unsigned mx::sim::staticRange(ElementType type) { return info(type).range; }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Fault mx::sim::readShared(const SharedMemory &shared, const SmemDesc &desc,
                          bool transposed, ElementType type, unsigned count,
                          std::string_view what, RawRows &rows, unsigned first,
                          unsigned origin) {
  JoinedAccess access(shared, /*isWrite=*/false);
  // Swizzles move whole 16-byte chunks, so all layouts are read in chunks.
  auto chunkAt = [&](uint32_t address, const uint8_t *&chunk) -> Fault {
    address &= descAddressMask;
    if (!shared.contains(address, chunkBytes))
      return {FaultKind::Bounds, std::string(what) + " reaches shared offset " +
                                     str(address) + ", beyond the " +
                                     str(shared.size) +
                                     " bytes of shared memory"};
    access.add(address, chunkBytes);
    chunk = shared.data + address;
    return {};
  };
  const uint8_t *chunk = nullptr;
  unsigned rowBytes = rows.rowBytes;
  if (!transposed) {
    // A swizzled layout is canonical only if a line contains the whole K step.
    unsigned span = desc.span();
    if (span && rowBytes > stepBytes && desc.start % span + rowBytes > span)
      return {FaultKind::Descriptor,
              std::string(what) + ": a K step of " + str(rowBytes) +
                  " bytes at offset " + str(desc.start % span) +
                  " does not fit in lines of " + str(span) + " bytes"};
    for (unsigned i = 0; i < count; ++i)
      for (unsigned byte = 0; byte < rowBytes; byte += chunkBytes) {
        if (Fault fault = chunkAt(desc.kMajor(origin + i, byte), chunk))
          return fault;
        std::memcpy(rows.row(first + i) + byte, chunk, chunkBytes);
      }
    return {};
  }
  unsigned size = info(type).bits / 8;
  unsigned perChunk = chunkBytes / size, k = rowBytes / size;
  for (unsigned mn = 0; mn < count; mn += perChunk)
    for (unsigned j = 0; j < k; ++j) {
      if (Fault fault = chunkAt(desc.mnMajor(origin + mn, j, size), chunk))
        return fault;
      for (unsigned i = 0; i < perChunk && mn + i < count; ++i)
        std::memcpy(rows.row(first + mn + i) + j * size, chunk + i * size,
                    size);
    }
  return {};
}

Fault mx::sim::readTensor(const CtaView &cta, uint32_t address, unsigned count,
                          unsigned (*laneOf)(unsigned), RawRows &rows,
                          unsigned first, Fault &uninitialized) {
  constexpr unsigned columns = stepBytes / 4;
  unsigned base = tmemLane(address), column = tmemColumn(address);
  if (Fault fault = cta.tensor->checkRows(cta.owner, base, laneOf, count,
                                          column, columns, "A", false))
    return fault;
  for (unsigned i = 0; i < count; ++i) {
    unsigned lane = base + laneOf(i);
    if (!uninitialized && !cta.tensor->isDefined(lane, column, columns))
      uninitialized = {FaultKind::Uninitialized,
                       "A reads tensor memory at lane " + str(lane) +
                           ", columns " + str(column) + " to " +
                           str(column + columns - 1) +
                           ", which has not been written"};
    const uint32_t *words = cta.tensor->row(lane) + column;
    uint8_t *bytes = rows.row(first + i);
    for (unsigned w = 0; w < columns; ++w)
      for (unsigned b = 0; b < 4; ++b)
        bytes[4 * w + b] = static_cast<uint8_t>(words[w] >> (8 * b));
  }
  return {};
}

void mx::sim::decodeRow(const uint8_t *bytes, ElementType type, Packing packing,
                        unsigned k, bool negate, double *values) {
  const TypeInfo &kind = info(type);
  switch (packing) {
  case Packing::Bytes:
    if (kind.bits == 8) {
      const double *table = byteTable(kind.format);
      for (unsigned i = 0; i < k; ++i)
        values[i] = table[bytes[i]];
    } else if (type == ElementType::F16) {
      const float *table = halfTable();
      for (unsigned i = 0; i < k; ++i)
        values[i] = table[load(bytes + 2 * i, 2)];
    } else if (type == ElementType::BF16) {
      for (unsigned i = 0; i < k; ++i)
        values[i] = widenF32(floatFromBits(load(bytes + 2 * i, 2) << 16));
    } else {
      // Tensor cores ignore the low 13 bits of a tf32.
      for (unsigned i = 0; i < k; ++i)
        values[i] = widenF32(floatFromBits(load(bytes + 4 * i, 4) & ~0x1FFFu));
    }
    break;
  case Packing::Nibbles: {
    const double *table = byteTable(kind.format);
    for (unsigned i = 0; i < k; ++i)
      values[i] = table[bytes[i / 2] >> (4 * (i % 2)) & 15];
    break;
  }
  case Packing::Padded: {
    const double *table = byteTable(kind.format);
    for (unsigned i = 0; i < k; ++i)
      values[i] = table[paddedCode(bytes, i, kind.bits)];
    break;
  }
  case Packing::Containers:
  case Packing::RegisterBytes: {
    const double *table = byteTable(kind.format);
    unsigned shift = kind.bits == 4                   ? 2
                     : packing == Packing::Containers ? 1
                                                      : 0;
    for (unsigned i = 0; i < k; ++i)
      values[i] = table[bytes[i] >> shift & ((1u << kind.bits) - 1)];
    break;
  }
  }
  if (negate)
    for (unsigned i = 0; i < k; ++i)
      values[i] = -values[i];
}

void mx::sim::decodeIntRow(const uint8_t *bytes, ElementType type, unsigned k,
                           int32_t *values) {
  for (unsigned i = 0; i < k; ++i)
    switch (type) {
    case ElementType::S8:
      values[i] = static_cast<int8_t>(bytes[i]);
      break;
    case ElementType::U4:
      values[i] = bytes[i / 2] >> i % 2 * 4 & 15;
      break;
    case ElementType::S4:
      // Bit 3 is the sign.
      values[i] = ((bytes[i / 2] >> i % 2 * 4 & 15) ^ 8) - 8;
      break;
    case ElementType::B1:
      values[i] = bytes[i / 8] >> i % 8 & 1;
      break;
    default:
      values[i] = bytes[i];
      break;
    }
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

double mx::sim::decodeScale(ScaleType type, uint8_t code) {
  return decode(
      type == ScaleType::UE8M0 ? FloatFormat::E8M0 : FloatFormat::UE4M3, code);
}

Fault mx::sim::readScales(const CtaView &cta, const ScalePlace &place,
                          std::string_view what, std::vector<ScaleRow> &scales,
                          unsigned first, Fault &uninitialized) {
  // Bits 30 and 31 may contain the scale id; the instruction ignores them.
  uint32_t address = place.address & 0x3FFFFFFF;
  unsigned column = tmemColumn(address);
  if (tmemLane(address) != 0)
    return {FaultKind::Alignment, std::string(what) +
                                      " must begin at lane 0, got lane " +
                                      str(tmemLane(address))};
  unsigned columns = (place.count + 31) / 32;
  if (Fault fault = cta.tensor->checkAccess(cta.owner, 0, tmemLanes, column,
                                            columns, what))
    return fault;
  for (unsigned i = 0; i < place.count; ++i) {
    unsigned at = column + i / 32;
    uint32_t mask = place.blocks == 4
                        ? ~0u
                        : ((1u << (8 * place.blocks)) - 1) << (8 * place.id);
    uint32_t word = 0;
    for (unsigned p = 0; p < place.numPartitions; ++p) {
      unsigned lane = i % 32 + 32 * (place.firstPartition + p);
      if (!uninitialized && !cta.tensor->isDefined(lane, at, 1))
        uninitialized = {FaultKind::Uninitialized,
                         std::string(what) + ": row " + str(i) +
                             " reads tensor memory at lane " + str(lane) +
                             ", column " + str(at) +
                             ", which has not been written"};
      uint32_t copy = cta.tensor->row(lane)[at];
      if (p && ((copy ^ word) & mask))
        return {FaultKind::Descriptor,
                std::string(what) + ": row " + str(i) +
                    " differs between lane partitions: lane " + str(lane) +
                    ", column " + str(at) +
                    " does not have the value of lane " +
                    str(i % 32 + 32 * place.firstPartition)};
      if (!p)
        word = copy;
    }
    for (unsigned b = 0; b < place.blocks && b < maxScaleBlocks; ++b)
      scales[first + i].bytes[b] =
          static_cast<uint8_t>(word >> (8 * (place.id + b)));
  }
  return {};
}
