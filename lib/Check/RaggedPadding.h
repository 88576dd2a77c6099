//===- RaggedPadding.h - What quantizers of groups leave as it is -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CHECK_RAGGEDPADDING_H
#define MX_LIB_CHECK_RAGGEDPADDING_H

#include "mx/Check/Intermediates.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// The numbers of an array of offsets, which are i32 or i64.
std::vector<int64_t> readEnds(const NpyArray &offsets);

/// Columns of all segments of a ragged reduction.
int64_t countSegmentColumns(llvm::ArrayRef<int64_t> ends);

/// Gives the bytes of a device's result that belong to no expert group those of
/// the reference.
void ignorePadding(FusedQuantizeOp op, const IntermediateArrays &arrays,
                   unsigned result, NpyArray &device,
                   const NpyArray &reference);

} // namespace mx

#endif // MX_LIB_CHECK_RAGGEDPADDING_H
