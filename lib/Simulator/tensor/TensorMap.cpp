//===- TensorMap.cpp - tensor maps of the simulator -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules are those of the CUDA driver API, "Tensor Map Object Management",
// and PTX ISA, "Restriction on Tensor Copy instructions". Strides may overlap
// or be in any order: the driver does not compare them with the extents.
//===----------------------------------------------------------------------===//

#include "mx/Simulator/tensor/TensorMap.h"

#include <algorithm>
#include <cstring>

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

/// A swizzle XORs (address >> 7 & mask) << shift, and with `flip` bit 3 on odd
/// lines. `mode` and `atomicity` are the codes of tensormap.replace.
struct SwizzleInfo {
  std::string_view name;
  uint8_t span, mask, shift;
  bool flip;
  uint8_t mode, atomicity;
};
constexpr SwizzleInfo swizzles[] = {
    {"none", 0, 0, 0, false, 0, 0},
    {"32b", 32, 1, 4, false, 1, 0},
    {"64b", 64, 3, 4, false, 2, 0},
    {"128b", 128, 7, 4, false, 3, 0},
    {"128b_atom32", 128, 3, 5, false, 3, 1},
    {"128b_atom32_flip8", 128, 3, 5, true, 3, 2},
    {"128b_atom64", 128, 1, 6, false, 3, 3},
};
constexpr unsigned numSwizzles = sizeof(swizzles) / sizeof(swizzles[0]);

constexpr std::string_view interleaves[] = {"none", "16b", "32b"};
constexpr std::string_view l2Promotions[] = {"none", "64b", "128b", "256b"};
constexpr std::string_view oobFills[] = {"zero", "nan"};

/// .elemtype codes of tensormap.replace, which differ from the driver's.
constexpr TmapType ptxElemTypes[] = {
    TmapType::U8,       TmapType::U16,      TmapType::U32,
    TmapType::I32,      TmapType::U64,      TmapType::I64,
    TmapType::F16,      TmapType::F32,      TmapType::F32Ftz,
    TmapType::F64,      TmapType::BF16,     TmapType::TF32,
    TmapType::TF32Ftz,  TmapType::U4Align8, TmapType::U4Align16,
    TmapType::U6Align16};

struct FieldInfo {
  std::string_view name;
  /// 0: no ordinal; else the number of ordinals.
  uint8_t ordinals;
};
constexpr FieldInfo fields[] = {
    {"global_address", 0},    {"rank", 0},
    {"box_dim", 5},           {"global_dim", 5},
    {"global_stride", 4},     {"element_stride", 5},
    {"elemtype", 0},          {"interleave_layout", 0},
    {"swizzle_mode", 0},      {"fill_mode", 0},
    {"swizzle_atomicity", 0},
};

// The image, all little endian. Its magic words stand at both ends, so that a
// partial copy is recognised.
constexpr uint32_t magicHead = 0x4D54584Du;
constexpr uint32_t magicTail = 0x314D5458u;
enum Offset : unsigned {
  HeadAt = 0,
  TypeAt = 4,
  RankAt = 5,
  InterleaveAt = 6,
  SwizzleModeAt = 7,
  AtomicityAt = 8,
  L2At = 9,
  OobAt = 10,
  BoxAt = 12,            // 5 x u16
  ElementStridesAt = 22, // 5 x u8
  AddressAt = 32,        // u64
  DimsAt = 40,           // 5 x u64
  StridesAt = 80,        // 4 x u64
  TailAt = 124,
};

void put(uint8_t *image, unsigned offset, unsigned bytes, uint64_t value) {
  for (unsigned i = 0; i < bytes; ++i)
    image[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get(const uint8_t *image, unsigned offset, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= uint64_t{image[offset + i]} << (8 * i);
  return value;
}

/// Values that do not fit their field are kept wrong, not wrapped to right.
uint64_t clampTo(uint64_t value, unsigned bytes) {
  return std::min(value, (uint64_t{1} << (8 * bytes)) - 1);
}

bool isImage(const uint8_t *image) {
  return get(image, HeadAt, 4) == magicHead &&
         get(image, TailAt, 4) == magicTail;
}

template <typename T, unsigned N>
bool find(const std::string_view (&names)[N], std::string_view name, T &value) {
  for (unsigned i = 0; i < N; ++i)
    if (names[i] == name) {
      value = static_cast<T>(i);
      return true;
    }
  return false;
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
  bool interleaved = map.interleave != TmapInterleave::None;
  // That of dimension 0 has no effect without interleave, but is checked.
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.elementStrides[i] == 0 || map.elementStrides[i] > 8)
      return dimension("element_strides", i) + " must be 1 to 8, got " +
             str(map.elementStrides[i]);
  if (isPaddedType(map.type)) {
    if (map.box[0] != 128)
      return "box[0] of type " + std::string(name(map.type)) +
             " must be 128, got " + str(map.box[0]);
    return {};
  }
  uint64_t bits = uint64_t{map.box[0]} * elementBits(map.type);
  if (!interleaved && bits % 128)
    return "box[0] must be a multiple of 16 bytes, got " + str(map.box[0]) +
           " elements of " + str(elementBits(map.type)) + " bits";
  return {};
}

std::string validateSwizzle(const TensorMapDesc &map) {
  using S = TmapSwizzle;
  std::string pattern(name(map.swizzle));
  if (map.interleave == TmapInterleave::B32 && map.swizzle != S::B32)
    return "interleave 32b needs swizzle 32b, got " + pattern;
  if (isPaddedType(map.type)) {
    // 128B_ATOM_64B only for stores of 6-bit elements; see tmaLoad.
    bool legal =
        map.swizzle == S::None || map.swizzle == S::B128 ||
        map.swizzle == S::B128Atom32 ||
        (map.swizzle == S::B128Atom64 && map.type == TmapType::U6Align16);
    if (!legal)
      return "type " + std::string(name(map.type)) +
             " does not go with swizzle " + pattern;
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

void mx::sim::encodeTensorMap(const TensorMapDesc &map, uint8_t *image) {
  const SwizzleInfo &swizzle = swizzles[static_cast<unsigned>(map.swizzle)];
  std::memset(image, 0, tensorMapBytes);
  put(image, HeadAt, 4, magicHead);
  put(image, TailAt, 4, magicTail);
  put(image, TypeAt, 1, static_cast<unsigned>(map.type));
  put(image, RankAt, 1, clampTo(map.rank, 1));
  put(image, InterleaveAt, 1, static_cast<unsigned>(map.interleave));
  put(image, SwizzleModeAt, 1, swizzle.mode);
  put(image, AtomicityAt, 1, swizzle.atomicity);
  put(image, L2At, 1, static_cast<unsigned>(map.l2));
  put(image, OobAt, 1, static_cast<unsigned>(map.oob));
  put(image, AddressAt, 8, map.globalAddress);
  for (unsigned i = 0; i < maxTensorRank; ++i) {
    put(image, BoxAt + 2 * i, 2, clampTo(map.box[i], 2));
    put(image, ElementStridesAt + i, 1, clampTo(map.elementStrides[i], 1));
    put(image, DimsAt + 8 * i, 8, map.dims[i]);
  }
  for (unsigned i = 0; i + 1 < maxTensorRank; ++i)
    put(image, StridesAt + 8 * i, 8, map.strides[i]);
}

std::string mx::sim::decodeTensorMap(const uint8_t *image, TensorMapDesc &map) {
  if (!isImage(image))
    return "the 128 bytes are no tensor map (begin with " +
           hex(get(image, HeadAt, 4)) + ", end with " +
           hex(get(image, TailAt, 4)) + ")";
  uint64_t type = get(image, TypeAt, 1);
  uint64_t interleave = get(image, InterleaveAt, 1);
  uint64_t l2 = get(image, L2At, 1), oob = get(image, OobAt, 1);
  uint64_t mode = get(image, SwizzleModeAt, 1);
  uint64_t atomicity = get(image, AtomicityAt, 1);
  const SwizzleInfo *swizzle =
      std::find_if(swizzles, swizzles + numSwizzles, [&](const auto &info) {
        return info.mode == mode && info.atomicity == atomicity;
      });
  if (type >= numTypes || interleave > 2 || l2 > 3 || oob > 1)
    return "the tensor map has a damaged field (type " + str(type) +
           ", interleave " + str(interleave) + ", l2 " + str(l2) + ", oob " +
           str(oob) + ")";
  if (swizzle == swizzles + numSwizzles)
    return "swizzle mode " + str(mode) + " does not go with atomicity " +
           str(atomicity);
  map.type = static_cast<TmapType>(type);
  map.rank = static_cast<unsigned>(get(image, RankAt, 1));
  map.interleave = static_cast<TmapInterleave>(interleave);
  map.swizzle = static_cast<TmapSwizzle>(swizzle - swizzles);
  map.l2 = static_cast<TmapL2>(l2);
  map.oob = static_cast<TmapOob>(oob);
  map.globalAddress = get(image, AddressAt, 8);
  for (unsigned i = 0; i < maxTensorRank; ++i) {
    map.box[i] = static_cast<uint32_t>(get(image, BoxAt + 2 * i, 2));
    map.elementStrides[i] =
        static_cast<uint32_t>(get(image, ElementStridesAt + i, 1));
    map.dims[i] = get(image, DimsAt + 8 * i, 8);
  }
  for (unsigned i = 0; i + 1 < maxTensorRank; ++i)
    map.strides[i] = get(image, StridesAt + 8 * i, 8);
  return {};
}

bool mx::sim::parseTensorMapField(std::string_view name,
                                  TensorMapField &field) {
  for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); ++i)
    if (fields[i].name == name) {
      field = static_cast<TensorMapField>(i);
      return true;
    }
  return false;
}

std::string mx::sim::replaceTensorMapField(uint8_t *image, TensorMapField field,
                                           unsigned ordinal, uint64_t value) {
  const FieldInfo &info = fields[static_cast<unsigned>(field)];
  std::string what = "tensormap.replace ." + std::string(info.name);
  if (!isImage(image))
    return what + " at an address that holds no tensor map";
  if (info.ordinals && ordinal >= info.ordinals)
    return what + " ordinal must be below " + str(info.ordinals) + ", got " +
           str(ordinal);
  auto code = [&](uint64_t limit, unsigned offset) -> std::string {
    if (value >= limit)
      return what + " must be 0 to " + str(limit - 1) + ", got " + str(value);
    put(image, offset, 1, value);
    return {};
  };
  switch (field) {
  case TensorMapField::GlobalAddress:
    put(image, AddressAt, 8, value);
    return {};
  case TensorMapField::Rank:
    if (value >= maxTensorRank)
      return what + " (rank minus one) must be 0 to 4, got " + str(value);
    put(image, RankAt, 1, value + 1);
    return {};
  case TensorMapField::BoxDim:
    put(image, BoxAt + 2 * ordinal, 2, clampTo(value, 2));
    return {};
  case TensorMapField::GlobalDim:
    put(image, DimsAt + 8 * ordinal, 8, value);
    return {};
  case TensorMapField::GlobalStride:
    put(image, StridesAt + 8 * ordinal, 8, value);
    return {};
  case TensorMapField::ElementStride:
    put(image, ElementStridesAt + ordinal, 1, clampTo(value, 1));
    return {};
  case TensorMapField::ElemType:
    if (value >= numTypes)
      return what + " must be 0 to 15, got " + str(value);
    put(image, TypeAt, 1, static_cast<unsigned>(ptxElemTypes[value]));
    return {};
  case TensorMapField::InterleaveLayout:
    return code(3, InterleaveAt);
  case TensorMapField::SwizzleMode:
    if (value == 4)
      return what + " 4 (96-byte swizzle) exists on sm_103a only";
    return code(4, SwizzleModeAt);
  case TensorMapField::FillMode:
    return code(2, OobAt);
  case TensorMapField::SwizzleAtomicity:
    return code(4, AtomicityAt);
  }
  return what + " is no field";
}

bool mx::sim::parseTmapType(std::string_view name, TmapType &type) {
  for (unsigned i = 0; i < numTypes; ++i)
    if (types[i].name == name) {
      type = static_cast<TmapType>(i);
      return true;
    }
  return false;
}

bool mx::sim::parseTmapSwizzle(std::string_view name, TmapSwizzle &swizzle) {
  for (unsigned i = 0; i < numSwizzles; ++i)
    if (swizzles[i].name == name) {
      swizzle = static_cast<TmapSwizzle>(i);
      return true;
    }
  return false;
}

bool mx::sim::parseTmapInterleave(std::string_view name,
                                  TmapInterleave &interleave) {
  return find(interleaves, name, interleave);
}
bool mx::sim::parseTmapL2(std::string_view name, TmapL2 &l2) {
  return find(l2Promotions, name, l2);
}
bool mx::sim::parseTmapOob(std::string_view name, TmapOob &oob) {
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
