//===- CollectParts.h - Parts of a collect's columns ----------- -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A part of the columns is sent while a matmul computes the next part.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_GROUPS_COLLECTPARTS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_GROUPS_COLLECTPARTS_H

#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Target/TargetInfo.h"

namespace mx {

/// Returns the matmul of the input of `op` if it can compute parts, or null.
GroupedMatmulOp findSplittable(CollectOp op);

/// Returns the end of each part of the columns of `op`. Without `parts` and
/// without a target with known rates, there is one part.
llvm::SmallVector<int64_t> getPartEnds(CollectOp op, GroupedMatmulOp matmul,
                                       const target::TargetInfo *target);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_GROUPS_COLLECTPARTS_H
