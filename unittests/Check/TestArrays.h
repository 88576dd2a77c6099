//===- TestArrays.h - Random arguments for execution tests ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_CHECK_TESTARRAYS_H
#define MX_UNITTESTS_CHECK_TESTARRAYS_H

#include "mx/Check/Check.h"
#include <random>

namespace mx {

inline mlir::DialectRegistry makeExecutionRegistry() {
  mlir::DialectRegistry registry;
  registerExecutionDialects(registry);
  return registry;
}

inline NpyArray makeArray(std::string dtype, std::vector<int64_t> shape) {
  NpyArray array;
  array.dtype = std::move(dtype);
  size_t bytes = npyItemSize(array.dtype);
  for (int64_t extent : shape)
    bytes *= extent;
  array.shape = std::move(shape);
  array.data.resize(bytes);
  return array;
}

/// Fills `array` with bf16 values of either sign between 2^-3 and 2^3.
inline void fillBF16(NpyArray &array, std::mt19937 &random) {
  for (size_t i = 0; i < array.data.size(); i += 2) {
    uint16_t code = (124 << 7) + random() % (6 << 7);
    code |= random() % 2 << 15;
    array.data[i] = uint8_t(code);
    array.data[i + 1] = code >> 8;
  }
}

/// Fills `array` with E4M3 values of either sign between 2^-3 and 2^4.
inline void fillE4M3(NpyArray &array, std::mt19937 &random) {
  for (uint8_t &code : array.data)
    code = 0x20 + random() % 0x38 + (random() % 2 << 7);
}

} // namespace mx

#endif // MX_UNITTESTS_CHECK_TESTARRAYS_H
