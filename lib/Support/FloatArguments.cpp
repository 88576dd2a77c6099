//===- FloatArguments.cpp - Conversion of float arguments -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All numbers of the source types are exact in double, so each conversion
// rounds a double once. In particular, f64 is not rounded to f32 before bf16.
//===----------------------------------------------------------------------===//

#include "mx/Support/FloatArguments.h"
#include "mx/Support/FloatFormats.h"
#include "mxsim/io/Memory.h"

#include <cmath>
#include <cstring>

using namespace mx;

namespace {

template <typename T>
T load(const uint8_t *item) {
  T value;
  std::memcpy(&value, item, sizeof value);
  return value;
}

template <typename T>
void store(uint8_t *item, T value) {
  std::memcpy(item, &value, sizeof value);
}

double readF16(const uint8_t *item) {
  uint16_t code = load<uint16_t>(item);
  return std::copysign(widenF32(decode(FloatFormat::F16, code)),
                       code & 0x8000 ? -1.0 : 1.0);
}
double readF32(const uint8_t *item) { return widenF32(load<float>(item)); }
double readF64(const uint8_t *item) { return load<double>(item); }

/// Rounds a value to an item. Returns true if the item is infinite.
bool writeBF16(uint8_t *item, double value) {
  constexpr uint16_t kInfinity = 0x7F80, kNaN = 0x7FC0, kSign = 0x8000;
  uint16_t sign = std::signbit(value) ? kSign : 0;
  uint16_t code = std::isnan(value)
                      ? uint16_t(sign | kNaN)
                      : uint16_t(encodeF64(FloatFormat::BF16, value));
  store(item, code);
  return (code & ~kSign) == kInfinity;
}
bool writeF32(uint8_t *item, double value) {
  float rounded =
      std::copysign(roundToF32(value), std::signbit(value) ? -1 : 1);
  store(item, rounded);
  return std::isinf(rounded);
}
bool writeF64(uint8_t *item, double value) {
  store(item, value);
  return std::isinf(value);
}

struct Source {
  const char *dtype;
  const char *name;
  int digits; // precision in base 2
  double (*read)(const uint8_t *);
};

constexpr Source kSources[] = {{"f2", "f16", 11, readF16},
                               {"f4", "f32", 24, readF32},
                               {"f8", "f64", 53, readF64}};

struct Target {
  const char *name;
  const char *dtype; // dtype of its arrays
  int digits;
  bool (*write)(uint8_t *, double);
  const char *takes; // accepted dtypes
};

constexpr Target kTargets[] = {{"bf16", "u2", 8, writeBF16, "f2 f4 f8"},
                               {"f32", "f4", 24, writeF32, "f2 f8"},
                               {"f64", "f8", 53, writeF64, "f2 f4"},
                               {"f16", "f2", 11, nullptr, ""}};

/// Returns the element type of a tensor, memref or number, as MLIR prints it.
std::string_view elementOf(std::string_view type) {
  size_t open = type.find('<');
  if (open == std::string_view::npos)
    return type;
  type.remove_prefix(open + 1);
  type = type.substr(0, type.find_first_of(",>"));
  return type.substr(type.rfind('x') + 1);
}

const Target *findTarget(std::string_view type) {
  for (const Target &target : kTargets)
    if (elementOf(type) == target.name)
      return &target;
  return nullptr;
}

const Source *findSource(std::string_view dtype) {
  for (const Source &source : kSources)
    if (dtype == source.dtype)
      return &source;
  return nullptr;
}

} // namespace

bool mx::convertsFloats(std::string_view type, std::string_view dtype) {
  const Target *target = findTarget(type);
  return target && findSource(dtype) &&
         std::string_view(target->takes).find(dtype) != std::string_view::npos;
}

std::string mx::adviseOnFloats(std::string_view type, std::string_view dtype) {
  const Target *target = findTarget(type);
  if (!target || dtype == target->dtype || convertsFloats(type, dtype))
    return "";
  if (findSource(dtype))
    return ": the largest f16 is 65504; if all values are below, convert the "
           "array with x.astype(numpy.float16)";
  if (dtype == "u2")
    return ": if these are the bits of bf16, convert the array with "
           "x.view(ml_dtypes.bfloat16).astype(numpy.float32)";
  return ": convert the array with x.astype(numpy.float32)";
}

std::string FloatConversions::convert(const std::string &path,
                                      std::string_view type, NpyArray &array) {
  if (!convertsFloats(type, array.dtype))
    return "";
  const Target &target = *findTarget(type);
  const Source &source = *findSource(array.dtype);
  size_t from = npyItemSize(source.dtype), to = npyItemSize(target.dtype);
  size_t count = array.data.size() / from;
  std::vector<uint8_t> items;
  if (!tryResize(items, count * to))
    return path + ": no memory for the " + std::to_string(count * to) +
           " bytes of its values as " + target.name;
  size_t beyond = 0;
  for (size_t i = 0; i < count; ++i) {
    double value = source.read(&array.data[i * from]);
    beyond += target.write(&items[i * to], value) && std::isfinite(value);
  }
  array.dtype = target.dtype;
  array.data = std::move(items);
  std::string note = path + " from " + source.name + " to " + target.name;
  if (beyond)
    note += " (" + std::to_string(beyond) +
            (beyond == 1 ? " value" : " values") +
            " beyond its range became infinite)";
  notes.push_back(note);
  isRounded |= source.digits > target.digits;
  return "";
}

std::string FloatConversions::text() const {
  std::string text;
  for (const std::string &note : notes)
    text += (text.empty() ? "converted " : ", ") + note;
  return isRounded ? text + ", rounding to nearest even" : text;
}
