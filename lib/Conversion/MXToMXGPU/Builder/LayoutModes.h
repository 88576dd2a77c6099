//===- LayoutModes.h - Writing down layouts of fragments -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A layout is a list of modes of threads, and one of values
// (#mxgpu.fragment_layout).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_LAYOUTMODES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_LAYOUTMODES_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/STLExtras.h"

namespace mx::mxgpu {

/// A mode that counts rows, or columns, in steps.
inline FragmentMode rows(int64_t size, int64_t step) { return {size, step, 0}; }
inline FragmentMode columns(int64_t size, int64_t step) {
  return {size, 0, step};
}

/// Adds a mode, or makes it part of the last one if it goes on from there.
inline void appendMode(llvm::SmallVectorImpl<FragmentMode> &modes,
                       const FragmentMode &mode) {
  if (!modes.empty() && mode.rows + mode.columns) {
    FragmentMode &last = modes.back();
    if (last.rows * last.size == mode.rows &&
        last.columns * last.size == mode.columns) {
      last.size *= mode.size;
      return;
    }
  }
  modes.push_back(mode);
}

/// Modes of one value count nothing.
inline FragmentLayoutAttr makeLayout(mlir::MLIRContext *context,
                                     llvm::ArrayRef<FragmentMode> threads,
                                     llvm::ArrayRef<FragmentMode> values) {
  auto isMore = [](const FragmentMode &mode) { return mode.size > 1; };
  return FragmentLayoutAttr::get(context,
                                 llvm::filter_to_vector(threads, isMore),
                                 llvm::filter_to_vector(values, isMore));
}

/// A tile as `threads` threads read it: a row each, or several, or part of one
/// where there are fewer rows.
inline FragmentLayoutAttr getRowsOfThreads(mlir::MLIRContext *context,
                                           int64_t threads, int64_t tileRows,
                                           int64_t tileColumns) {
  int64_t shared = std::max<int64_t>(threads / tileRows, 1),
          perThread = threads / shared;
  return makeLayout(context,
                    {rows(perThread, 1), columns(shared, tileColumns / shared)},
                    {columns(tileColumns / shared, 1),
                     rows(tileRows / perThread, perThread)});
}

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_LAYOUTMODES_H
