//===- Tma.h - Bulk copies between global and shared memory -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movement of cp.async.bulk and cp.async.bulk.tensor (tile, gather4,
// scatter4) for a single CTA. The machine handles completion, multicast and
// ordering.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_TMA_H
#define MXSIM_TENSOR_TMA_H

#include "mxsim/tensor/Fault.h"
#include "mxsim/tensor/Memory.h"
#include "mxsim/tensor/TensorMap.h"

#include <vector>

namespace mx::sim {

/// Result of a copy. `bytes` is the complete_tx count: the packed size of the
/// whole box, including elements outside the tensor but without the gaps
/// between lines.
struct TmaResult {
  Fault fault;
  uint64_t bytes = 0;
};

enum class ReduceOp { Add, Min, Max, Inc, Dec, And, Or, Xor };
bool parseReduceOp(std::string_view name, ReduceOp &op);

/// Element type of a non-tensor bulk reduction.
enum class ReduceType { U32, S32, U64, S64, F16, BF16, F32, F64, B32, B64 };
bool parseReduceType(std::string_view name, ReduceType &type);

/// Returns the complete_tx count of a box, which may be needed before the copy
/// is done.
uint64_t tmaTransactionBytes(const TensorMapDesc &map);

/// Returns the shared memory footprint of a box, including gaps between lines.
uint64_t tmaSharedBytes(const TensorMapDesc &map);

/// Global memory that a box covers: a contiguous range for each line that
/// overlaps the tensor. The coordinates of gather4 and scatter4 are a column
/// and four rows.
struct TmaStretch {
  uint64_t address = 0;
  uint32_t bytes = 0;
};
std::vector<TmaStretch> tmaStretches(const TensorMapDesc &map,
                                     const int32_t *coordinates, bool isFour);

/// Performs cp.async.bulk.tensor.*.shared.global.tile. `coordinates` contains
/// map.rank entries, innermost first; `destination` is a CTA-relative offset.
TmaResult tmaLoad(const TensorMapDesc &map, const int32_t *coordinates,
                  GlobalAccess &global, const SharedMemory &shared,
                  uint32_t destination);
/// Performs .tile::gather4 with one column and four rows of a rank-2 map.
TmaResult tmaGather4(const TensorMapDesc &map, int32_t column,
                     const int32_t rows[4], GlobalAccess &global,
                     const SharedMemory &shared, uint32_t destination);
/// Performs cp.async.bulk.tensor.*.global.shared::cta.tile. Skips elements
/// outside the tensor.
TmaResult tmaStore(const TensorMapDesc &map, const int32_t *coordinates,
                   GlobalAccess &global, const SharedMemory &shared,
                   uint32_t source);
TmaResult tmaScatter4(const TensorMapDesc &map, int32_t column,
                      const int32_t rows[4], GlobalAccess &global,
                      const SharedMemory &shared, uint32_t source);
/// Performs cp.reduce.async.bulk.tensor.
TmaResult tmaReduce(ReduceOp op, const TensorMapDesc &map,
                    const int32_t *coordinates, GlobalAccess &global,
                    const SharedMemory &shared, uint32_t source);

/// Performs cp.async.bulk. Sizes and addresses must be multiples of 16 bytes.
TmaResult bulkLoad(GlobalAccess &global, uint64_t source,
                   const SharedMemory &shared, uint32_t destination,
                   uint32_t size);
TmaResult bulkStore(GlobalAccess &global, uint64_t destination,
                    const SharedMemory &shared, uint32_t source, uint32_t size);
/// Copies between the shared memories of two CTAs of a cluster.
TmaResult bulkShared(const SharedMemory &to, uint32_t destination,
                     const SharedMemory &from, uint32_t source, uint32_t size);
/// Performs cp.reduce.async.bulk to global memory.
TmaResult bulkReduce(ReduceOp op, ReduceType type, GlobalAccess &global,
                     uint64_t destination, const SharedMemory &shared,
                     uint32_t source, uint32_t size);
/// Performs cp.reduce.async.bulk to the shared memory of another CTA.
TmaResult bulkReduceShared(ReduceOp op, ReduceType type, const SharedMemory &to,
                           uint32_t destination, const SharedMemory &from,
                           uint32_t source, uint32_t size);

} // namespace mx::sim

#endif // MXSIM_TENSOR_TMA_H
