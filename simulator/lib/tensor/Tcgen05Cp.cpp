//===- Tcgen05Cp.cpp - The tcgen05 cp and shift instructions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tcgen05.cp copies rows of 16 or 32 bytes from shared memory, in the K-major
// layout of the matrix descriptor, to lanes of tensor memory (PTX ISA,
// tcgen05.cp).
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/Tcgen05.h"

#include <cstring>

using namespace mx::sim;

namespace {

constexpr unsigned chunkBytes = 16;
constexpr unsigned chunkColumns = chunkBytes / 4;
constexpr uint32_t descAddressMask = 0x3FFFF;

std::string str(uint64_t value) { return std::to_string(value); }

struct ShapeInfo {
  std::string_view name;
  unsigned rows;
  /// 16-byte chunks per row.
  unsigned chunks;
};
constexpr ShapeInfo shapes[] = {{"128x256b", 128, 2},
                                {"128x128b", 128, 1},
                                {"64x128b", 64, 1},
                                {"32x128b", 32, 1},
                                {"4x256b", 4, 2}};
constexpr std::string_view multicasts[] = {"none", "warpx2::02_13",
                                           "warpx2::01_23", "warpx4"};
constexpr std::string_view decompressions[] = {"none", "b4x16_p64",
                                               "b6x16_p32"};

const ShapeInfo &info(CpShape shape) {
  return shapes[static_cast<unsigned>(shape)];
}

template <typename T, unsigned N>
bool find(const std::string_view (&names)[N], std::string_view name, T &value) {
  for (unsigned i = 1; i < N; ++i)
    if (names[i] == name) {
      value = static_cast<T>(i);
      return true;
    }
  return false;
}

/// Destination lanes of a row: `copies` lanes, `step` apart.
struct Lanes {
  unsigned first, copies, step;
};

Lanes lanesOf(const CpOp &op, unsigned row) {
  switch (op.shape) {
  case CpShape::L128x256b:
  case CpShape::L128x128b:
    return {row, 1, 0};
  case CpShape::L64x128b:
    // With warpx2::02_13, warps 0 and 2 receive the same rows, and warps 1 and
    // 3 receive the same rows. Otherwise, the pairs are 0, 1 and 2, 3.
    if (op.multicast == CpMulticast::Warpx2_02_13)
      return {row, 2, 64};
    return {row % 32 + row / 32 * 64, 2, 32};
  case CpShape::L32x128b:
    return {row, 4, 32};
  case CpShape::L4x256b:
    return {32 * row, 1, 0};
  }
  return {0, 0, 0};
}

Fault checkForm(const CpOp &op) {
  bool pair = op.multicast == CpMulticast::Warpx2_02_13 ||
              op.multicast == CpMulticast::Warpx2_01_23;
  bool legal = op.shape == CpShape::L64x128b ? pair
               : op.shape == CpShape::L32x128b
                   ? op.multicast == CpMulticast::Warpx4
                   : op.multicast == CpMulticast::None;
  if (legal)
    return {};
  return {FaultKind::Shape,
          "tcgen05.cp of shape " + std::string(info(op.shape).name) +
              " cannot be combined with multicast " +
              std::string(multicasts[static_cast<unsigned>(op.multicast)])};
}

/// Expands sixteen 4- or 6-bit elements to one byte each, in the tensor memory
/// format of kind::f8f6f4. 4-bit elements begin at bit 2, and 6-bit elements
/// begin at bit 1.
void decompress(CpDecompress mode, const uint8_t *in, uint8_t *out) {
  if (mode == CpDecompress::None) {
    std::memcpy(out, in, chunkBytes);
    return;
  }
  unsigned bits = mode == CpDecompress::B4x16P64 ? 4 : 6;
  unsigned shift = mode == CpDecompress::B4x16P64 ? 2 : 1;
  for (unsigned i = 0; i < 16; ++i) {
    unsigned position = i * bits;
    unsigned pair = in[position / 8] | in[position / 8 + 1] << 8;
    unsigned code = pair >> (position % 8) & ((1u << bits) - 1);
    out[i] = static_cast<uint8_t>(code << shift);
  }
}

Fault copyInto(const CpOp &op, const SmemDesc &desc, const CtaView &cta) {
  const ShapeInfo &shape = info(op.shape);
  unsigned base = tmemLane(op.address), column = tmemColumn(op.address);
  unsigned columns = shape.chunks * chunkColumns;
  unsigned lanes = op.shape == CpShape::L4x256b ? 97 : tmemLanes;
  if (Fault fault = cta.tensor->checkAccess(cta.owner, base, lanes, column,
                                            columns, "tcgen05.cp", true))
    return fault;
  JoinedAccess access(cta.shared, /*isWrite=*/false);
  for (bool write : {false, true})
    for (unsigned row = 0; row < shape.rows; ++row)
      for (unsigned q = 0; q < shape.chunks; ++q) {
        uint32_t address = desc.kMajor(row, q * chunkBytes) & descAddressMask;
        // Check all addresses before moving the first byte.
        if (!write) {
          if (!cta.shared.contains(address, chunkBytes))
            return {FaultKind::Bounds, "tcgen05.cp reads shared offset " +
                                           str(address) + ", beyond the " +
                                           str(cta.shared.size) +
                                           " bytes of shared memory"};
          continue;
        }
        access.add(address, chunkBytes);
        uint8_t bytes[chunkBytes];
        decompress(op.decompress, cta.shared.data + address, bytes);
        Lanes to = lanesOf(op, row);
        for (unsigned copy = 0; copy < to.copies; ++copy) {
          unsigned lane = base + to.first + copy * to.step;
          uint32_t *cells = cta.tensor->row(lane) + column + q * chunkColumns;
          for (unsigned w = 0; w < chunkColumns; ++w)
            cells[w] = uint32_t{bytes[4 * w]} | bytes[4 * w + 1] << 8 |
                       bytes[4 * w + 2] << 16 |
                       uint32_t{bytes[4 * w + 3]} << 24;
          cta.tensor->define(lane, column + q * chunkColumns, chunkColumns);
        }
      }
  return {};
}

} // namespace

bool mx::sim::parseCpShape(std::string_view name, CpShape &shape) {
  for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i)
    if (shapes[i].name == name) {
      shape = static_cast<CpShape>(i);
      return true;
    }
  return false;
}
bool mx::sim::parseCpMulticast(std::string_view name, CpMulticast &multicast) {
  return find(multicasts, name, multicast);
}
bool mx::sim::parseCpDecompress(std::string_view name,
                                CpDecompress &decompress) {
  return find(decompressions, name, decompress);
}

Fault mx::sim::copyToTensor(const CpOp &op, const CtaView *ctas) {
  if (Fault fault = checkForm(op))
    return fault;
  SmemDesc desc;
  if (Fault fault = decodeSmemDesc(op.desc, desc))
    return fault;
  for (unsigned cta = 0; cta < op.ctaGroup; ++cta)
    if (Fault fault = copyInto(op, desc, ctas[cta]))
      return fault;
  return {};
}

Fault mx::sim::shiftDown(uint32_t address, unsigned ctaGroup,
                         const CtaView *ctas) {
  constexpr unsigned shiftLanes = 32, columns = 8;
  unsigned first = tmemLane(address), column = tmemColumn(address);
  if (first % shiftLanes)
    return {FaultKind::Alignment,
            "tcgen05.shift must begin at a multiple of 32 lanes, got lane " +
                str(first)};
  for (unsigned cta = 0; cta < ctaGroup; ++cta)
    if (Fault fault = ctas[cta].tensor->checkAccess(ctas[cta].owner, first,
                                                    shiftLanes, column, columns,
                                                    "tcgen05.shift", true))
      return fault;
  for (unsigned cta = 0; cta < ctaGroup; ++cta) {
    TensorMemory &tensor = *ctas[cta].tensor;
    // Row i receives row i + 1; tcgen05.cp.4x256b fills the last row.
    for (unsigned lane = first; lane + 1 < first + shiftLanes; ++lane)
      for (unsigned c = column; c < column + columns; ++c) {
        tensor.row(lane)[c] = tensor.row(lane + 1)[c];
        if (tensor.isDefined(lane + 1, c, 1))
          tensor.define(lane, c, 1);
        else
          tensor.undefine(lane, c, 1);
      }
  }
  return {};
}
