//===- RaggedPadding.h - Padding of ragged quantizers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CHECK_RAGGEDPADDING_H
#define MX_LIB_CHECK_RAGGEDPADDING_H

#include "mx/Check/Intermediates.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Returns the values of an i32 or i64 array of offsets.
std::vector<int64_t> readEnds(const NpyArray &offsets);

/// Returns the ends of the expert groups, clamped to `total` rows or columns
/// (docs/reference/Spec.md, Wrong offsets).
std::vector<int64_t> clampEnds(llvm::ArrayRef<int64_t> offsets, int64_t total);

/// Returns the number of columns in all segments of a ragged reduction.
int64_t countSegmentColumns(llvm::ArrayRef<int64_t> ends);

/// Copies bytes outside all expert groups from `reference` to `device`, so that
/// a comparison ignores them.
void ignorePadding(FusedQuantizeOp op, const IntermediateArrays &arrays,
                   unsigned result, NpyArray &device,
                   const NpyArray &reference);

} // namespace mx

#endif // MX_LIB_CHECK_RAGGEDPADDING_H
