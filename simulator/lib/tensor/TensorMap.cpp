//===- TensorMap.cpp - Tensor maps of the simulator -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the constraints of the CUDA driver API, "Tensor Map Object
// Management", and PTX ISA, "Restriction on Tensor Copy instructions". The
// driver (13.0, H200) enforces two undocumented constraints: the inner extent
// of an interleaved box must be a multiple of 16 bytes, and a box must fit into
// shared memory. Strides may overlap and have any order.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/TensorMap.h"

using namespace mx::sim;

namespace {

struct TypeInfo {
  std::string_view name;
  uint8_t bits;
  bool isFloat;
  bool isPadded;
};
// In the order of CUtensorMapDataType.
constexpr TypeInfo types[] = {
    {"u8", 8, false, false},        {"u16", 16, false, false},
    {"u32", 32, false, false},      {"i32", 32, false, false},
    {"u64", 64, false, false},      {"i64", 64, false, false},
    {"f16", 16, true, false},       {"f32", 32, true, false},
    {"f64", 64, true, false},       {"bf16", 16, true, false},
    {"f32_ftz", 32, true, false},   {"tf32", 32, true, false},
    {"tf32_ftz", 32, true, false},  {"u4_align8", 4, false, false},
    {"u4_align16", 4, false, true}, {"u6_align16", 6, false, true},
};
constexpr unsigned numTypes = sizeof(types) / sizeof(types[0]);

/// Swizzle pattern. An address is XORed with (address >> 7 & mask) << shift.
/// With `flip`, bit 3 is also inverted on odd lines.
struct SwizzleInfo {
  std::string_view name;
  uint8_t span, mask, shift;
  bool flip;
};
constexpr SwizzleInfo swizzles[] = {
    {"none", 0, 0, 0, false},          {"32b", 32, 1, 4, false},
    {"64b", 64, 3, 4, false},          {"128b", 128, 7, 4, false},
    {"128b_atom32", 128, 3, 5, false}, {"128b_atom32_flip8", 128, 3, 5, true},
    {"128b_atom64", 128, 1, 6, false},
};
constexpr unsigned numSwizzles = sizeof(swizzles) / sizeof(swizzles[0]);

constexpr std::string_view interleaves[] = {"none", "16b", "32b"};
constexpr std::string_view l2Promotions[] = {"none", "64b", "128b", "256b"};
constexpr std::string_view oobFills[] = {"zero", "nan"};

std::string_view nameOf(std::string_view name) { return name; }
template <typename Info>
std::string_view nameOf(const Info &info) {
  return info.name;
}

/// Looks up a name in a table. Returns an empty string, or an error with the
/// valid names.
template <typename Entry, unsigned N, typename T>
std::string find(const Entry (&table)[N], std::string_view name, T &value) {
  std::string names;
  for (unsigned i = 0; i < N; ++i) {
    if (nameOf(table[i]) == name) {
      value = static_cast<T>(i);
      return {};
    }
    names.append(i ? ", " : "").append(nameOf(table[i]));
  }
  return names;
}

std::string str(uint64_t value) { return std::to_string(value); }

std::string hex(uint64_t value) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[value & 15]);
    value >>= 4;
  } while (value);
  return "0x" + text;
}

std::string dimension(std::string_view what, unsigned i) {
  return std::string(what) + "[" + str(i) + "]";
}

std::string validateDims(const TensorMapDesc &map) {
  unsigned multiple = isPaddedType(map.type)           ? 128
                      : map.type == TmapType::U4Align8 ? 2
                                                       : 1;
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.dims[i] == 0 || map.dims[i] > uint64_t{1} << 32)
      return dimension("dims", i) + " must be 1 to 2^32, got " +
             str(map.dims[i]);
  if (map.dims[0] % multiple)
    return "dims[0] of type " + std::string(name(map.type)) +
           " must be a multiple of " + str(multiple) + ", got " +
           str(map.dims[0]);
  return {};
}

std::string validateStrides(const TensorMapDesc &map, unsigned alignment) {
  for (unsigned i = 0; i + 1 < map.rank; ++i) {
    if (map.strides[i] % alignment)
      return dimension("strides", i) + " must be a multiple of " +
             str(alignment) + " bytes, got " + str(map.strides[i]);
    if (map.strides[i] >= uint64_t{1} << 40)
      return dimension("strides", i) + " must be below 2^40, got " +
             str(map.strides[i]);
  }
  return {};
}

std::string validateBox(const TensorMapDesc &map) {
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.box[i] == 0 || map.box[i] > 256)
      return dimension("box", i) + " must be 1 to 256, got " + str(map.box[i]);
  // Check the stride of dimension 0 although only interleaved maps use it.
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.elementStrides[i] == 0 || map.elementStrides[i] > 8)
      return dimension("element_strides", i) + " must be 1 to 8, got " +
             str(map.elementStrides[i]);
  if (isPaddedType(map.type) && map.box[0] != 128)
    return "box[0] of type " + std::string(name(map.type)) +
           " must be 128, got " + str(map.box[0]);
  uint64_t bits = uint64_t{map.box[0]} * elementBits(map.type);
  if (bits % 128)
    return "box[0] must be a multiple of 16 bytes, got " + str(map.box[0]) +
           " elements of " + str(elementBits(map.type)) + " bits";
  if (uint64_t bytes = boxBytes(map); bytes > maxBoxBytes)
    return "a box has at most " + str(maxBoxBytes) +
           " bytes, the shared memory of an SM, got " + str(bytes);
  return {};
}

std::string validateSwizzle(const TensorMapDesc &map) {
  using S = TmapSwizzle;
  std::string pattern(name(map.swizzle));
  if (map.interleave == TmapInterleave::B32 && map.swizzle != S::B32)
    return "interleave 32b needs swizzle 32b, got " + pattern;
  if (isPaddedType(map.type)) {
    // 128B_ATOM_64B is only legal for stores of 6-bit elements; see tmaLoad.
    bool legal =
        map.swizzle == S::None || map.swizzle == S::B128 ||
        map.swizzle == S::B128Atom32 ||
        (map.swizzle == S::B128Atom64 && map.type == TmapType::U6Align16);
    if (!legal)
      return "type " + std::string(name(map.type)) +
             " cannot be combined with swizzle " + pattern;
    return {};
  }
  unsigned span = swizzleSpan(map.swizzle);
  uint64_t bytes = uint64_t{map.box[0]} * elementBits(map.type) / 8;
  if (map.interleave == TmapInterleave::None && span && bytes > span)
    return "box[0] must be at most the " + str(span) + " bytes of swizzle " +
           pattern + ", got " + str(bytes) + " bytes";
  return {};
}

} // namespace

unsigned mx::sim::elementBits(TmapType type) {
  return types[static_cast<unsigned>(type)].bits;
}
bool mx::sim::isFloat(TmapType type) {
  return types[static_cast<unsigned>(type)].isFloat;
}
bool mx::sim::isPaddedType(TmapType type) {
  return types[static_cast<unsigned>(type)].isPadded;
}
unsigned mx::sim::swizzleSpan(TmapSwizzle swizzle) {
  return swizzles[static_cast<unsigned>(swizzle)].span;
}

uint32_t mx::sim::swizzleAddress(TmapSwizzle swizzle, uint32_t address) {
  const SwizzleInfo &info = swizzles[static_cast<unsigned>(swizzle)];
  uint32_t line = address >> 7;
  address ^= (line & info.mask) << info.shift;
  return info.flip ? address ^ (line & 1) << 3 : address;
}

uint32_t mx::sim::boxElements(const TensorMapDesc &map, unsigned dim) {
  uint32_t stride = map.elementStrides[dim];
  if (dim == 0 && map.interleave == TmapInterleave::None)
    stride = 1;
  return (map.box[dim] + stride - 1) / stride;
}

uint64_t mx::sim::boxBytes(const TensorMapDesc &map) {
  uint64_t bits = elementBits(map.type);
  for (unsigned i = 0; i < map.rank; ++i)
    bits *= map.box[i] / map.elementStrides[i];
  return bits / 8;
}

std::string mx::sim::validate(const TensorMapDesc &map) {
  if (map.rank < 1 || map.rank > maxTensorRank)
    return "rank must be 1 to 5, got " + str(map.rank);
  bool interleaved = map.interleave != TmapInterleave::None;
  if (interleaved && map.rank < 3)
    return "interleave " + std::string(name(map.interleave)) +
           " needs rank 3 or more, got " + str(map.rank);
  bool wide = map.interleave == TmapInterleave::B32 || isPaddedType(map.type);
  unsigned alignment = wide ? 32 : 16;
  if (map.globalAddress % alignment)
    return "global address must be aligned to " + str(alignment) +
           " bytes, got " + hex(map.globalAddress);
  for (const std::string &error :
       {validateDims(map), validateStrides(map, alignment), validateBox(map),
        validateSwizzle(map)})
    if (!error.empty())
      return error;
  if (map.oob == TmapOob::Nan && !isFloat(map.type))
    return "oob nan needs a floating-point type, got " +
           std::string(name(map.type));
  return {};
}

std::string mx::sim::parseTmapType(std::string_view name, TmapType &type) {
  return find(types, name, type);
}
std::string mx::sim::parseTmapSwizzle(std::string_view name,
                                      TmapSwizzle &swizzle) {
  return find(swizzles, name, swizzle);
}
std::string mx::sim::parseTmapInterleave(std::string_view name,
                                         TmapInterleave &interleave) {
  return find(interleaves, name, interleave);
}
std::string mx::sim::parseTmapL2(std::string_view name, TmapL2 &l2) {
  return find(l2Promotions, name, l2);
}
std::string mx::sim::parseTmapOob(std::string_view name, TmapOob &oob) {
  return find(oobFills, name, oob);
}
std::string_view mx::sim::name(TmapType type) {
  return types[static_cast<unsigned>(type)].name;
}
std::string_view mx::sim::name(TmapSwizzle swizzle) {
  return swizzles[static_cast<unsigned>(swizzle)].name;
}
std::string_view mx::sim::name(TmapInterleave interleave) {
  return interleaves[static_cast<unsigned>(interleave)];
}
