//===- TmaReduce.h - Element functions of bulk reductions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines: reductions shared by tensor and plain bulk copies.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_TMAREDUCE_H
#define MXSIM_LIB_TENSOR_TMAREDUCE_H

#include "mxsim/tensor/Tma.h"

namespace mx::sim {

/// Reduces `bytes` bytes of `source` into `target`, element by element.
using ReduceFunction = void (*)(uint8_t *target, const uint8_t *source,
                                uint64_t bytes);

/// Returns null if the ISA does not define the combination.
ReduceFunction findTensorReduce(ReduceOp op, TmapType type);
ReduceFunction findBulkReduce(ReduceOp op, ReduceType type, bool toShared);
std::string_view name(ReduceOp op);
std::string_view name(ReduceType type);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_TMAREDUCE_H
