//===- LayoutDigits.h - Writing down layouts of fragments -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A layout is a list of digits of threads, and one of values
// (#mxgpu.fragment_layout).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_LAYOUTDIGITS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_LAYOUTDIGITS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/STLExtras.h"

namespace mx::mxgpu {

/// A digit that counts rows, or columns, in steps.
inline FragmentDigit rows(int64_t size, int64_t step) {
  return {size, step, 0};
}
inline FragmentDigit columns(int64_t size, int64_t step) {
  return {size, 0, step};
}

/// Digits of one value count nothing.
inline FragmentLayoutAttr makeLayout(mlir::MLIRContext *context,
                                     llvm::ArrayRef<FragmentDigit> threads,
                                     llvm::ArrayRef<FragmentDigit> values) {
  auto isMore = [](const FragmentDigit &digit) { return digit.size > 1; };
  return FragmentLayoutAttr::get(context,
                                 llvm::filter_to_vector(threads, isMore),
                                 llvm::filter_to_vector(values, isMore));
}

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_LAYOUTDIGITS_H
