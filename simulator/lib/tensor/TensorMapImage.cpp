//===- TensorMapImage.cpp - The 128-byte image of a tensor map ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulator uses the hardware format, so that any encoder can produce maps
// and kernels can edit them. NVIDIA does not document the format, so the fields
// were derived from cuTensorMapEncodeTiled and tensormap.replace on an H200.
// Hardware reads the first 64 bytes and ignores bits outside of the fields
// below, such as bits 65 and 85 of maps made by CuTe DSL. The driver stores two
// words in the other 64 bytes.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <iterator>

using namespace mx::sim;

namespace {

/// Little-endian field of `bits` bits at bit `at` of the image. The field
/// stores the value minus `bias`.
struct BitField {
  unsigned at, bits, bias = 0;
};

constexpr BitField addressField = {0, 64};
constexpr BitField im2colField = {64, 1};
constexpr BitField rankField = {68, 3, 1};
constexpr BitField typeField = {71, 4};
constexpr BitField interleaveField = {75, 2};
/// The third bit of the mode is separate from the other two.
constexpr BitField swizzleField = {77, 2}, swizzleHighField = {86, 1};
constexpr BitField fillField = {79, 1};
/// Rounds f32 to tf32.
constexpr BitField tf32Field = {80, 1};
constexpr BitField l2Field = {81, 2};
/// Encoding of CuTe DSL for sm_100; earlier chips lack this field.
constexpr BitField atomicityField = {83, 2};
/// Fields of the driver: the bytes of a box, and the period of the swizzle
/// pattern in bytes.
constexpr BitField boxBytesField = {512, 64}, patternField = {576, 64};

constexpr BitField dimField(unsigned i) { return {256 + 32 * i, 32, 1}; }
/// Strides in units of 16 bytes, split into the low 32 and the high 4 bits.
constexpr BitField strideField(unsigned i) { return {96 + 32 * i, 32}; }
constexpr BitField strideHighField(unsigned i) { return {224 + 4 * i, 4}; }
constexpr BitField elementStrideField(unsigned i) {
  return {416 + 3 * i, 3, 1};
}
constexpr BitField boxField(unsigned i) { return {440 + 8 * i, 8, 1}; }

uint64_t get(const uint8_t *image, BitField f) {
  uint64_t value = 0;
  for (unsigned i = 0; i < f.bits; ++i) {
    unsigned at = f.at + i;
    value |= uint64_t{image[at / 8]} >> at % 8 & 1 ? uint64_t{1} << i : 0;
  }
  return value + f.bias;
}

/// Stores a field as the hardware does, dropping excess bits.
void put(uint8_t *image, BitField f, uint64_t value) {
  value -= f.bias;
  for (unsigned i = 0; i < f.bits; ++i) {
    unsigned at = f.at + i;
    uint8_t bit = uint8_t(1u << at % 8);
    image[at / 8] = value >> i & 1 ? image[at / 8] | bit : image[at / 8] & ~bit;
  }
}

constexpr unsigned strideUnit = 16;

uint64_t getStride(const uint8_t *image, unsigned i) {
  return (get(image, strideField(i)) | get(image, strideHighField(i)) << 32) *
         strideUnit;
}

void putStride(uint8_t *image, unsigned i, uint64_t bytes) {
  put(image, strideField(i), bytes / strideUnit);
  put(image, strideHighField(i), bytes / strideUnit >> 32);
}

/// Code of a type in the image (split into two fields) and in the .elemtype
/// field of tensormap.replace. Codes of packed types follow CuTe DSL because an
/// H200 lacks these types. The table is in the order of TmapType.
struct TypeCode {
  uint8_t code;
  bool isTf32;
  uint8_t elemtype;
};
constexpr TypeCode typeCodes[] = {
    {0, false, 0}, {1, false, 1},   {2, false, 2},   {3, false, 3},
    {4, false, 4}, {5, false, 5},   {6, false, 6},   {7, false, 7},
    {9, false, 9}, {10, false, 10}, {8, false, 8},   {7, true, 11},
    {8, true, 12}, {11, false, 13}, {12, false, 14}, {13, false, 15},
};

/// Codes of a swizzle, the same in tensormap.replace and in the image, and the
/// period of the pattern in bytes. The table is in the order of TmapSwizzle.
struct SwizzleCode {
  uint8_t mode, atomicity;
  uint16_t pattern;
};
constexpr SwizzleCode swizzleCodes[] = {
    {0, 0, 16},   {1, 0, 256},  {2, 0, 512},  {3, 0, 1024},
    {3, 1, 1024}, {3, 2, 1024}, {3, 3, 1024},
};

template <typename Row, unsigned N, typename Fn>
int indexOf(const Row (&rows)[N], Fn matches) {
  const Row *found = std::find_if(rows, rows + N, matches);
  return found == rows + N ? -1 : int(found - rows);
}

struct FieldInfo {
  std::string_view name;
  /// Number of ordinals, or 0 for a field without an ordinal.
  uint8_t ordinals;
  /// Range of legal values. Hardware does not check the range.
  uint64_t first, last;
  uint8_t multiple;
};
// In the order of TensorMapField. A global_dim of 0 means 2^32.
constexpr FieldInfo fields[] = {
    {"global_address", 0, 0, ~uint64_t{0}, 1},
    {"rank", 0, 0, maxTensorRank - 1, 1},
    {"box_dim", 5, 1, 256, 1},
    {"global_dim", 5, 0, 0xFFFFFFFFu, 1},
    {"global_stride", 4, 0, (uint64_t{1} << 40) - strideUnit, strideUnit},
    {"element_stride", 5, 1, 8, 1},
    {"elemtype", 0, 0, std::size(typeCodes) - 1, 1},
    {"interleave_layout", 0, 0, 2, 1},
    {"swizzle_mode", 0, 0, 3, 1},
    {"fill_mode", 0, 0, 1, 1},
    {"swizzle_atomicity", 0, 0, 3, 1},
};

std::string str(uint64_t value) { return std::to_string(value); }

} // namespace

void mx::sim::encodeTensorMap(const TensorMapDesc &map, uint8_t *image) {
  const SwizzleCode &swizzle = swizzleCodes[static_cast<unsigned>(map.swizzle)];
  const TypeCode &type = typeCodes[static_cast<unsigned>(map.type)];
  std::memset(image, 0, tensorMapBytes);
  put(image, addressField, map.globalAddress);
  put(image, rankField, map.rank);
  put(image, typeField, type.code);
  put(image, tf32Field, type.isTf32);
  put(image, interleaveField, static_cast<unsigned>(map.interleave));
  put(image, swizzleField, swizzle.mode);
  put(image, atomicityField, swizzle.atomicity);
  put(image, l2Field, static_cast<unsigned>(map.l2));
  put(image, fillField, static_cast<unsigned>(map.oob));
  for (unsigned i = 0; i < map.rank && i < maxTensorRank; ++i) {
    put(image, boxField(i), map.box[i]);
    put(image, elementStrideField(i), map.elementStrides[i]);
    put(image, dimField(i), map.dims[i]);
    if (i + 1 < map.rank)
      putStride(image, i, map.strides[i]);
  }
  put(image, boxBytesField, boxBytes(map));
  put(image, patternField, swizzle.pattern);
}

std::string mx::sim::decodeTensorMap(const uint8_t *image, TensorMapDesc &map) {
  auto bad = [](std::string what) {
    return "the 128 bytes are not a tensor map for tiled copies: " + what;
  };
  if (std::all_of(image, image + 64, [](uint8_t byte) { return !byte; }))
    return bad("all bytes are zero");
  if (get(image, im2colField))
    return bad("bit 64, which marks im2col maps, is 1");
  map.rank = get(image, rankField);
  if (map.rank > maxTensorRank)
    return bad("rank " + str(map.rank));
  uint64_t code = get(image, typeField);
  bool isTf32 = get(image, tf32Field);
  int type = indexOf(typeCodes, [&](const TypeCode &row) {
    return row.code == code && row.isTf32 == isTf32;
  });
  if (type < 0)
    return bad("type " + str(code) + (isTf32 ? " rounded to tf32" : ""));
  uint64_t interleave = get(image, interleaveField);
  if (interleave > unsigned(TmapInterleave::B32))
    return bad("interleave " + str(interleave));
  uint64_t mode = get(image, swizzleField) | get(image, swizzleHighField) << 2;
  uint64_t atomicity = get(image, atomicityField);
  int swizzle = indexOf(swizzleCodes, [&](const SwizzleCode &row) {
    return row.mode == mode && row.atomicity == atomicity;
  });
  if (swizzle < 0)
    return bad("swizzle mode " + str(mode) + " with atomicity " +
               str(atomicity));
  map.type = static_cast<TmapType>(type);
  map.interleave = static_cast<TmapInterleave>(interleave);
  map.swizzle = static_cast<TmapSwizzle>(swizzle);
  map.l2 = static_cast<TmapL2>(get(image, l2Field));
  map.oob = static_cast<TmapOob>(get(image, fillField));
  map.globalAddress = get(image, addressField);
  for (unsigned i = 0; i < maxTensorRank; ++i) {
    bool isUsed = i < map.rank;
    map.box[i] = isUsed ? get(image, boxField(i)) : 0;
    map.elementStrides[i] = isUsed ? get(image, elementStrideField(i)) : 1;
    map.dims[i] = isUsed ? get(image, dimField(i)) : 0;
    if (i + 1 < maxTensorRank)
      map.strides[i] = i + 1 < map.rank ? getStride(image, i) : 0;
  }
  return {};
}

bool mx::sim::parseTensorMapField(std::string_view name,
                                  TensorMapField &field) {
  int found =
      indexOf(fields, [&](const FieldInfo &row) { return row.name == name; });
  if (found >= 0)
    field = static_cast<TensorMapField>(found);
  return found >= 0;
}

std::string mx::sim::replaceTensorMapField(uint8_t *image, TensorMapField field,
                                           unsigned ordinal, uint64_t value) {
  const FieldInfo &info = fields[static_cast<unsigned>(field)];
  std::string what = "tensormap.replace ." + std::string(info.name);
  if (info.ordinals && ordinal >= info.ordinals)
    return what + " ordinal must be below " + str(info.ordinals) + ", got " +
           str(ordinal);
  if (field == TensorMapField::SwizzleMode && value == 4)
    return what + " 4 (96-byte swizzle) exists on sm_103a only, and is not "
                  "simulated";
  if (value < info.first || value > info.last || value % info.multiple)
    return what + " must be " +
           (info.multiple > 1 ? "a multiple of " + str(info.multiple) + " from "
                              : std::string()) +
           str(info.first) + " to " + str(info.last) + ", got " + str(value);
  switch (field) {
  case TensorMapField::GlobalAddress:
    put(image, addressField, value);
    break;
  case TensorMapField::Rank:
    put(image, rankField, value + 1);
    break;
  case TensorMapField::BoxDim:
    put(image, boxField(ordinal), value);
    break;
  case TensorMapField::GlobalDim:
    put(image, dimField(ordinal), value);
    break;
  case TensorMapField::GlobalStride:
    putStride(image, ordinal, value);
    break;
  case TensorMapField::ElementStride:
    put(image, elementStrideField(ordinal), value);
    break;
  case TensorMapField::ElemType: {
    int type = indexOf(
        typeCodes, [&](const TypeCode &row) { return row.elemtype == value; });
    put(image, typeField, typeCodes[type].code);
    // Hardware never clears this bit, so a copy never treats tf32 as f16.
    if (typeCodes[type].isTf32)
      put(image, tf32Field, 1);
    break;
  }
  case TensorMapField::InterleaveLayout:
    put(image, interleaveField, value);
    break;
  case TensorMapField::SwizzleMode:
    put(image, swizzleField, value);
    put(image, swizzleHighField, value >> 2);
    break;
  case TensorMapField::FillMode:
    put(image, fillField, value);
    break;
  case TensorMapField::SwizzleAtomicity:
    put(image, atomicityField, value);
    break;
  }
  return {};
}
