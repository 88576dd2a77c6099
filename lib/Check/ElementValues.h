//===- ElementValues.h - Elements of arrays as numbers ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Reads the elements of an array of any type that a result may have: floats of
// 4 to 64 bits, integers, bits and indices.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CHECK_ELEMENTVALUES_H
#define MX_LIB_CHECK_ELEMENTVALUES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mxsim/io/Npy.h"

namespace mx {

/// The elements of `array`, which is the array form of `type`.
class ElementValues {
public:
  /// `type` is that of a tensor or of a scalar.
  ElementValues(mlir::Type type, const NpyArray &array);

  /// Elements, two for each byte of f4E2M1FN.
  int64_t size() const { return count; }
  /// The value of element `i`, exact but for integers beyond 2^53.
  double at(int64_t i) const;
  /// Whether element `i` has the same bits as that of `other`. Any NaN equals
  /// any other where arithmetic leaves its bits open (docs/reference/Math.md,
  /// Arithmetic): in floats of 16 bits and more.
  bool isEqual(const ElementValues &other, int64_t i) const;

private:
  uint64_t bitsAt(int64_t i) const;

  mlir::Type element;
  const NpyArray &array;
  /// Bits of an element, and bytes of an item that has one or more of them.
  int64_t width, itemBytes;
  int64_t count;
};

} // namespace mx

#endif // MX_LIB_CHECK_ELEMENTVALUES_H
