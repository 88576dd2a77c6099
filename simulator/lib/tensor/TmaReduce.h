//===- TmaReduce.h - element functions of bulk reductions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines: the reductions that tensor and plain bulk copies
// share.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_TMAREDUCE_H
#define MXSIM_LIB_TENSOR_TMAREDUCE_H

#include "mxsim/tensor/Tma.h"

namespace mx::sim {

/// Reduces `bytes` bytes of `source` into `target`, element by element.
using ReduceFunction = void (*)(uint8_t *target, const uint8_t *source,
                                uint64_t bytes);

/// Null when the combination does not exist.
ReduceFunction findTensorReduce(ReduceOp op, TmapType type);
ReduceFunction findBulkReduce(ReduceOp op, ReduceType type, bool toShared);
std::string_view name(ReduceOp op);
std::string_view name(ReduceType type);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_TMAREDUCE_H
