//===- Operands.cpp - Operands of measured matmuls ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "mx/Arrays/Arrays.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mx;
using namespace mx::tuning;

size_t Signature::getBytes() const {
  size_t bytes = 0;
  for (const std::vector<Slot> *slots : {&arguments, &results})
    for (const Slot &slot : *slots)
      bytes += slot.bytes;
  return bytes;
}

static Slot getSlot(Type type, Role role) {
  ArrayType array = llvm::cantFail(getArrayType(type));
  Slot slot;
  slot.type = type;
  slot.role = role;
  slot.isNumber = array.isScalar;
  slot.shape.assign(array.shape.begin(), array.shape.end());
  slot.bytes = array.itemBytes();
  for (int64_t extent : slot.shape)
    slot.bytes *= extent;
  return slot;
}

Signature mx::tuning::getSignature(const MatmulModule &matmul) {
  ModuleOp module = matmul.module.get();
  auto function = module.lookupSymbol<func::FuncOp>(MatmulModule::kEntry);
  Signature signature;
  for (auto [type, role] :
       llvm::zip_equal(function.getArgumentTypes(), matmul.roles))
    signature.arguments.push_back(getSlot(type, role));
  for (Type type : function.getResultTypes())
    signature.results.push_back(getSlot(type, Role::Other));
  return signature;
}

namespace {

/// Random generator, independent of the C++ library.
class Bits {
public:
  explicit Bits(uint64_t seed) : state(seed * 2 + 0x9E3779B97F4A7C15u) {}
  uint64_t next() { // xorshift64, G. Marsaglia, 2003
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }

private:
  uint64_t state;
};

/// Encodes numbers in an element type.
class Coder {
public:
  explicit Coder(Type type) : type(type), format(getFloatFormat(type)) {}

  /// Returns the code of a number that is exact in the type.
  uint64_t encode(double value) const {
    if (format)
      return mx::encode(*format, value);
    if (type.isF32())
      return bitsOf(float(value));
    if (type.isF64())
      return bitsOf(value);
    return type.isInteger(8) ? uint8_t(encodeInt8(value)) : 0;
  }

  /// Returns all finite codes of a narrow type.
  std::vector<uint64_t> getFiniteCodes() const {
    std::vector<uint64_t> codes;
    unsigned bits = format ? getInfo(*format).bits : 8;
    for (uint64_t code = 0; code < uint64_t(1) << bits; ++code)
      if (!format || std::isfinite(decode(*format, code)))
        codes.push_back(code);
    return codes;
  }
  bool isNarrow() const {
    return format ? getInfo(*format).bits <= 8 : type.isInteger(8);
  }

private:
  Type type;
  std::optional<FloatFormat> format;
};

} // namespace

static constexpr double kExactElements[] = {-1.5, -1, -0.5, 0.5, 1, 1.5};
static constexpr double kExactScales[] = {0.5, 1, 2};
static constexpr double kRandomScales[] = {0.25, 0.5, 1, 2, 4};

/// Returns the codes from which the values of a slot are drawn uniformly.
static std::vector<uint64_t> getCodes(const Slot &slot, Values values) {
  Coder coder(getElementTypeOrSelf(slot.type));
  std::vector<uint64_t> codes;
  auto add = [&](ArrayRef<double> numbers) {
    for (double number : numbers)
      codes.push_back(coder.encode(number));
  };
  if (slot.role == Role::Scales)
    add(values == Values::Exact ? ArrayRef(kExactScales)
                                : ArrayRef(kRandomScales));
  else if (slot.isNumber || slot.role == Role::Alpha)
    add(1.0);
  else if (values == Values::Exact)
    add(kExactElements);
  else if (coder.isNarrow())
    codes = coder.getFiniteCodes();
  else {
    // Draw 256 codes from a normal distribution, which resembles activations.
    std::mt19937 random(1);
    for (int i = 0; i < 256; ++i) {
      double u = (random() + 0.5) / 4294967296.0;
      double v = (random() + 0.5) / 4294967296.0;
      add(std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v));
    }
  }
  return codes;
}

static std::vector<uint8_t> draw(const Slot &slot, Values values,
                                 uint64_t seed) {
  std::vector<uint64_t> codes = getCodes(slot, values);
  Type element = getElementTypeOrSelf(slot.type);
  size_t width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  size_t itemBytes = llvm::cantFail(getArrayType(slot.type)).itemBytes();
  bool isPacked = width == 4;
  std::vector<uint8_t> bytes(slot.bytes);
  Bits bits(seed);
  for (size_t i = 0; i + itemBytes <= bytes.size(); i += itemBytes) {
    uint64_t number = bits.next() >> 8;
    uint64_t code = codes[number % codes.size()];
    if (isPacked)
      code |= codes[number / 65536 % codes.size()] << 4;
    memcpy(bytes.data() + i, &code, itemBytes);
  }
  return bytes;
}

/// Returns the end of an expert group, or its number of rows for counts. All
/// groups have the same size. Ragged reduction segments are aligned to 128.
static int64_t getExpertEnd(int64_t group, Role role,
                            const mxgpu::MatmulProblem &sizes) {
  constexpr int64_t kSegment = 128;
  int64_t groups = std::max<int64_t>(sizes.groups, 1);
  if (role == Role::Counts)
    return sizes.m / groups;
  if (sizes.ragged == RaggedKind::Reduction)
    return (group + 1) * (sizes.k / groups / kSegment * kSegment);
  return (group + 1) * sizes.m / groups;
}

std::vector<uint8_t> mx::tuning::makeValues(const Slot &slot, Values values,
                                            const mxgpu::MatmulProblem &sizes,
                                            uint64_t seed) {
  bool isPlaces = slot.role == Role::Offsets || slot.role == Role::Counts ||
                  slot.role == Role::Rows;
  Type element = getElementTypeOrSelf(slot.type);
  // Other integer arguments are indices used by a region; 0 is always valid.
  if (!isPlaces)
    return element.isIntOrIndex() && slot.role != Role::Elements
               ? std::vector<uint8_t>(slot.bytes)
               : draw(slot, values, seed);
  size_t itemBytes = element.getIntOrFloatBitWidth() / 8;
  std::vector<uint8_t> bytes(slot.bytes);
  for (size_t i = 0; i < bytes.size() / itemBytes; ++i) {
    int64_t value = slot.role == Role::Rows ? int64_t(i)
                                            : getExpertEnd(i, slot.role, sizes);
    memcpy(bytes.data() + i * itemBytes, &value, itemBytes);
  }
  return bytes;
}
