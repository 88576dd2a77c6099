//===- CompareValues.cpp - Comparison of arrays by element ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Supports all result types: floats with 4 to 64 bits, integers, i1 and index.
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "mx/Check/Check.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mx;

namespace {

/// Elements of `array` in the array form of `type`.
class ElementValues {
public:
  /// `type` is a tensor or scalar type.
  ElementValues(Type type, const NpyArray &array);

  /// Returns the number of elements. A byte contains two f4E2M1FN elements.
  int64_t size() const { return count; }
  /// Returns the value of element `i`, exact except for integers beyond 2^53.
  double at(int64_t i) const;
  /// Compares the bits of element `i`. If the type is a float with at least 16
  /// bits, all NaNs are equal, because the bits of a computed NaN are
  /// unspecified (docs/reference/Math.md, Arithmetic).
  bool isEqual(const ElementValues &other, int64_t i) const;

private:
  uint64_t bitsAt(int64_t i) const;

  Type element;
  const NpyArray &array;
  /// Number of bits per element, and number of bytes per array item.
  int64_t width, itemBytes;
  int64_t count;
};

} // namespace

ElementValues::ElementValues(Type type, const NpyArray &array)
    : element(getElementTypeOrSelf(type)), array(array),
      width(element.isIndex() ? 64 : element.getIntOrFloatBitWidth()),
      itemBytes(npyItemSize(array.dtype)),
      count(array.data.size() / itemBytes *
            llvm::cantFail(getArrayType(type)).packing) {}

uint64_t ElementValues::bitsAt(int64_t i) const {
  int64_t packing = count / int64_t(array.data.size() / itemBytes);
  uint64_t bits = 0;
  std::memcpy(&bits, array.data.data() + i / packing * itemBytes, itemBytes);
  // A 6-bit float or i1 occupies a byte, whose unused bits are 0.
  return packing == 1 ? bits : bits >> i % packing * width & 0xF;
}

double ElementValues::at(int64_t i) const {
  llvm::APInt bits(width, bitsAt(i), /*isSigned=*/false,
                   /*implicitTrunc=*/true);
  auto type = dyn_cast<FloatType>(element);
  if (!type)
    return width == 1 ? double(bits.getZExtValue())
                      : double(bits.getSExtValue());
  llvm::APFloat value(type.getFloatSemantics(), bits);
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

bool ElementValues::isEqual(const ElementValues &other, int64_t i) const {
  if (bitsAt(i) == other.bitsAt(i))
    return true;
  return isa<FloatType>(element) && width >= 16 && std::isnan(at(i)) &&
         std::isnan(other.at(i));
}

ResultComparison mx::compareBits(const NpyArray &device,
                                 const NpyArray &reference) {
  ResultComparison found;
  found.isExact = true;
  found.elements = device.data.size() / npyItemSize(device.dtype);
  if (device.shape != reference.shape) {
    found.unequalBytes = std::max(device.data.size(), reference.data.size());
    return found;
  }
  for (size_t i = 0, e = device.data.size(); i < e; ++i)
    if (device.data[i] != reference.data[i] && found.unequalBytes++ == 0)
      found.worst = i / npyItemSize(device.dtype);
  return found;
}

ResultComparison mx::compareValues(Type type, const NpyArray &device,
                                   const NpyArray &reference) {
  if (device.shape != reference.shape || device.data.empty())
    return compareBits(device, reference);
  ResultComparison found;
  found.isExact = true;
  ElementValues values(type, device), expected(type, reference);
  found.elements = values.size();
  for (int64_t i = 0; i < found.elements; ++i)
    if (!values.isEqual(expected, i))
      found.violate(i);
  return found;
}

llvm::Expected<EndToEnd> mx::compareEndToEnd(unsigned index, Type type,
                                             const NpyArray &device,
                                             const NpyArray &reference,
                                             const ElementRanges &defined) {
  EndToEnd found;
  found.result = index;
  if (device.shape != reference.shape)
    return makeError("result " + llvm::Twine(index) + ": expected " +
                     npyTypeString(reference) + ", found " +
                     npyTypeString(device));
  if (device.data.empty())
    return found;
  ElementValues values(type, device), expected(type, reference);
  int64_t packing =
      values.size() / (device.data.size() / npyItemSize(device.dtype));
  double signal = 0, noise = 0;
  for (auto [begin, end] : defined)
    for (int64_t i = begin * packing; i < end * packing; ++i) {
      ++found.elements;
      double y = values.at(i), ref = expected.at(i);
      if (!values.isEqual(expected, i)) {
        ++found.unequal;
        found.notFinite += !std::isfinite(y) || !std::isfinite(ref);
      }
      if (!std::isfinite(y) || !std::isfinite(ref))
        continue;
      signal += ref * ref;
      noise += (y - ref) * (y - ref);
    }
  if (noise != 0)
    found.snr = 10 * std::log10(signal / noise);
  return found;
}
