//===- TensorMap.cpp - Rules of tiled tensor maps -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the rules of cuTensorMapEncodeTiled in the order of its parameters, so
// that messages name the argument that the driver rejects first.
//===----------------------------------------------------------------------===//

#include "mx/Target/TensorMap.h"

using namespace mx;
using namespace mx::target;

namespace {

constexpr TensorMapTypeInfo kTypes[kNumTensorMapTypes] = {
    // type, name, bits in global memory, bits in shared memory, float
    {TensorMapType::U8, "u8", 8, 8, false},
    {TensorMapType::U16, "u16", 16, 16, false},
    {TensorMapType::U32, "u32", 32, 32, false},
    {TensorMapType::I32, "i32", 32, 32, false},
    {TensorMapType::U64, "u64", 64, 64, false},
    {TensorMapType::I64, "i64", 64, 64, false},
    {TensorMapType::F16, "f16", 16, 16, true},
    {TensorMapType::F32, "f32", 32, 32, true},
    {TensorMapType::F64, "f64", 64, 64, true},
    {TensorMapType::BF16, "bf16", 16, 16, true},
    {TensorMapType::F32FTZ, "f32_ftz", 32, 32, true},
    {TensorMapType::TF32, "tf32", 32, 32, true},
    {TensorMapType::TF32FTZ, "tf32_ftz", 32, 32, true},
    {TensorMapType::U4Align8, "u4_align8", 4, 4, false},
    {TensorMapType::U4Align16, "u4_align16", 4, 8, false},
    {TensorMapType::U6Align16, "u6_align16", 6, 8, false},
};
static_assert(isEnumTable<&TensorMapTypeInfo::type>(kTypes));

constexpr EnumName<TensorMapInterleave> kInterleaves[] = {
    {TensorMapInterleave::None, "none"},
    {TensorMapInterleave::B16, "16b"},
    {TensorMapInterleave::B32, "32b"},
};
static_assert(isEnumTable<&EnumName<TensorMapInterleave>::value>(kInterleaves));

constexpr EnumName<TensorMapL2> kL2s[] = {
    {TensorMapL2::None, "none"},
    {TensorMapL2::B64, "64b"},
    {TensorMapL2::B128, "128b"},
    {TensorMapL2::B256, "256b"},
};
static_assert(isEnumTable<&EnumName<TensorMapL2>::value>(kL2s));

constexpr EnumName<TensorMapFill> kFills[] = {
    {TensorMapFill::Zero, "zero"},
    {TensorMapFill::NaN, "nan"},
};
static_assert(isEnumTable<&EnumName<TensorMapFill>::value>(kFills));

bool isPadded(TensorMapType type) {
  return type == TensorMapType::U4Align16 || type == TensorMapType::U6Align16;
}
bool isPacked(TensorMapType type) {
  return isPadded(type) || type == TensorMapType::U4Align8;
}

/// Returns a string like "dim 2".
std::string indexed(const char *what, unsigned i) {
  return std::string(what) + " " + std::to_string(i);
}

std::string inRange(const std::string &what, uint64_t value, uint64_t from,
                    uint64_t to) {
  if (value >= from && value <= to)
    return {};
  return "expected " + what + " from " + std::to_string(from) + " to " +
         std::to_string(to) + ", found " + std::to_string(value);
}

std::string multipleOf(const std::string &what, uint64_t value, uint64_t unit) {
  if (value % unit == 0)
    return {};
  return "expected " + what + " to be a multiple of " + std::to_string(unit) +
         ", found " + std::to_string(value);
}

std::string checkRank(const TensorMapDesc &desc) {
  std::string error = inRange("rank", desc.rank, 1, kTensorMapMaxRank);
  if (error.empty() && desc.interleave != TensorMapInterleave::None &&
      desc.rank < 3)
    error = "expected rank of at least 3 with interleave " +
            std::string(getName(desc.interleave)) + ", found " +
            std::to_string(desc.rank);
  return error;
}

/// Returns the alignment of addresses and strides.
unsigned globalAlignment(const TensorMapDesc &desc) {
  bool wide =
      desc.interleave == TensorMapInterleave::B32 || isPadded(desc.type);
  return wide ? 2 * kTensorMapStrideUnit : kTensorMapStrideUnit;
}

std::string checkDims(const TensorMapDesc &desc) {
  for (unsigned i = 0; i < desc.rank; ++i)
    if (std::string error =
            inRange(indexed("dim", i), desc.dims[i], 1, kTensorMapMaxDim);
        !error.empty())
      return error;
  if (isPacked(desc.type))
    return multipleOf("dim 0 of type " + std::string(getInfo(desc.type).name),
                      desc.dims[0],
                      isPadded(desc.type) ? kTensorMapPaddedBox : 2);
  return {};
}

/// Checks the strides. The driver does not compare strides with extents, so
/// dimensions may be permuted, overlap, or repeat with stride 0.
std::string checkStrides(const TensorMapDesc &desc) {
  for (unsigned i = 0; i + 1 < desc.rank; ++i) {
    uint64_t stride = desc.strides[i];
    std::string what = indexed("stride of dim", i + 1);
    if (std::string error = multipleOf(what, stride, globalAlignment(desc));
        !error.empty())
      return error;
    if (stride >= kTensorMapStrideLimit)
      return "expected " + what + " below 2^40, found " +
             std::to_string(stride);
  }
  return {};
}

std::string checkBox(const TensorMapDesc &desc) {
  for (unsigned i = 0; i < desc.rank; ++i)
    if (std::string error =
            inRange(indexed("box", i), desc.box[i], 1, kTensorMapMaxBox);
        !error.empty())
      return error;
  const char *name = getInfo(desc.type).name;
  if (isPadded(desc.type) && desc.box[0] != kTensorMapPaddedBox)
    return "expected box 0 of type " + std::string(name) + " to be " +
           std::to_string(kTensorMapPaddedBox) + ", found " +
           std::to_string(desc.box[0]);
  uint64_t innerBits = uint64_t(desc.box[0]) * getInfo(desc.type).bits;
  if (innerBits % 128 != 0)
    return "expected box 0 to span a multiple of 16 bytes, found " +
           std::to_string(desc.box[0]) + " elements of type " + name;
  if (uint64_t bytes = boxTransactionBytes(desc); bytes > kTensorMapMaxBoxBytes)
    return "expected a box of at most " +
           std::to_string(kTensorMapMaxBoxBytes) + " bytes, found " +
           std::to_string(bytes);
  return {};
}

std::string checkElementStrides(const TensorMapDesc &desc) {
  // Without interleave, TMA ignores element stride 0, but the driver checks it.
  for (unsigned i = 0; i < desc.rank; ++i)
    if (std::string error =
            inRange(indexed("element stride", i), desc.elementStrides[i], 1, 8);
        !error.empty())
      return error;
  return {};
}

std::string checkSwizzle(const TensorMapDesc &desc) {
  const SwizzleInfo &swizzle = getInfo(desc.swizzle);
  const TensorMapTypeInfo &type = getInfo(desc.type);
  std::string name = swizzle.name;
  if (desc.interleave == TensorMapInterleave::B32 &&
      desc.swizzle != Swizzle::B32)
    return "expected swizzle 32b with interleave 32b, found " + name;
  if (desc.type == TensorMapType::U6Align16 &&
      desc.interleave != TensorMapInterleave::None)
    return "expected interleave none with type u6_align16, found " +
           std::string(getName(desc.interleave));
  if (isPadded(desc.type)) {
    // Only these support padded types, besides 128b_atom64 for u6 in stores.
    bool legal = desc.swizzle == Swizzle::None ||
                 desc.swizzle == Swizzle::B128 ||
                 desc.swizzle == Swizzle::B128Atom32 ||
                 (desc.swizzle == Swizzle::B128Atom64 &&
                  desc.type == TensorMapType::U6Align16);
    if (!legal)
      return "expected a swizzle that type " + std::string(type.name) +
             " supports, found " + name;
  }
  uint64_t innerBytes = uint64_t(desc.box[0]) * type.smemBits / 8;
  if (desc.interleave == TensorMapInterleave::None && swizzle.span != 0 &&
      innerBytes > swizzle.span)
    return "expected box 0 of at most " + std::to_string(swizzle.span) +
           " bytes with swizzle " + name + ", found " +
           std::to_string(innerBytes);
  return {};
}

std::string checkFill(const TensorMapDesc &desc) {
  if (desc.fill == TensorMapFill::NaN && !getInfo(desc.type).isFloat)
    return "expected a floating-point type with out-of-bounds fill nan, found "
           "type " +
           std::string(getInfo(desc.type).name);
  return {};
}

} // namespace

const TensorMapTypeInfo &mx::target::getInfo(TensorMapType type) {
  return kTypes[unsigned(type)];
}

const char *mx::target::getName(TensorMapInterleave interleave) {
  return kInterleaves[unsigned(interleave)].name;
}

const char *mx::target::getName(TensorMapL2 l2) {
  return kL2s[unsigned(l2)].name;
}

const char *mx::target::getName(TensorMapFill fill) {
  return kFills[unsigned(fill)].name;
}

std::string mx::target::check(const TensorMapDesc &desc) {
  std::string error = checkRank(desc);
  if (error.empty())
    error =
        multipleOf("global address", desc.globalAddress, globalAlignment(desc));
  for (auto *rule : {checkDims, checkStrides, checkElementStrides, checkBox,
                     checkSwizzle, checkFill}) {
    if (!error.empty())
      break;
    error = rule(desc);
  }
  return error;
}

uint32_t mx::target::boxElements(const TensorMapDesc &desc, unsigned dim) {
  bool ignored = dim == 0 && desc.interleave == TensorMapInterleave::None;
  uint32_t step = ignored ? 1 : desc.elementStrides[dim];
  return (desc.box[dim] + step - 1) / step;
}

uint64_t mx::target::boxTransactionBytes(const TensorMapDesc &desc) {
  uint64_t bits = getInfo(desc.type).bits;
  for (unsigned i = 0; i < desc.rank; ++i)
    bits *= boxElements(desc, i);
  return bits / 8;
}
