//===- Tma.h - bulk copies between global and shared memory ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cp.async.bulk and cp.async.bulk.tensor (tile, gather4, scatter4) do to
// the bytes of one CTA. Completion, multicast and ordering are the machine's.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_TMA_H
#define MXSIM_TENSOR_TMA_H

#include "mxsim/tensor/Fault.h"
#include "mxsim/tensor/Memory.h"
#include "mxsim/tensor/TensorMap.h"

#include <vector>

namespace mx::sim {

/// `bytes` is the number that complete_tx subtracts: the whole box, elements
/// outside the tensor included, line gaps not, packed types as packed.
struct TmaResult {
  Fault fault;
  uint64_t bytes = 0;
};

enum class ReduceOp { Add, Min, Max, Inc, Dec, And, Or, Xor };
bool parseReduceOp(std::string_view name, ReduceOp &op);

/// Element type of a non-tensor bulk reduction.
enum class ReduceType { U32, S32, U64, S64, F16, BF16, F32, F64, B32, B64 };
bool parseReduceType(std::string_view name, ReduceType &type);

/// The bytes complete_tx counts for one box; the machine can announce it
/// before the copy is done.
uint64_t tmaTransactionBytes(const TensorMapDesc &map);

/// The shared memory that a box takes, with gaps between its lines.
uint64_t tmaSharedBytes(const TensorMapDesc &map);

/// Global memory of a box, a stretch for each line that has elements in the
/// tensor. Of gather4 and scatter4 the coordinates are a column and four rows.
struct TmaStretch {
  uint64_t address = 0;
  uint32_t bytes = 0;
};
std::vector<TmaStretch> tmaStretches(const TensorMapDesc &map,
                                     const int32_t *coordinates, bool isFour);

/// cp.async.bulk.tensor.*.shared.global.tile: `coordinates` has map.rank
/// entries, innermost first; `destination` is a CTA-relative offset.
TmaResult tmaLoad(const TensorMapDesc &map, const int32_t *coordinates,
                  GlobalAccess &global, const SharedMemory &shared,
                  uint32_t destination);
/// .tile::gather4: one column, four rows, of a map of rank 2.
TmaResult tmaGather4(const TensorMapDesc &map, int32_t column,
                     const int32_t rows[4], GlobalAccess &global,
                     const SharedMemory &shared, uint32_t destination);
/// cp.async.bulk.tensor.*.global.shared::cta.tile: skips what lies outside.
TmaResult tmaStore(const TensorMapDesc &map, const int32_t *coordinates,
                   GlobalAccess &global, const SharedMemory &shared,
                   uint32_t source);
TmaResult tmaScatter4(const TensorMapDesc &map, int32_t column,
                      const int32_t rows[4], GlobalAccess &global,
                      const SharedMemory &shared, uint32_t source);
/// cp.reduce.async.bulk.tensor.
TmaResult tmaReduce(ReduceOp op, const TensorMapDesc &map,
                    const int32_t *coordinates, GlobalAccess &global,
                    const SharedMemory &shared, uint32_t source);

/// cp.async.bulk: sizes and addresses are multiples of 16 bytes.
TmaResult bulkLoad(GlobalAccess &global, uint64_t source,
                   const SharedMemory &shared, uint32_t destination,
                   uint32_t size);
TmaResult bulkStore(GlobalAccess &global, uint64_t destination,
                    const SharedMemory &shared, uint32_t source, uint32_t size);
/// Shared memory of one CTA to that of another CTA of the cluster.
TmaResult bulkShared(const SharedMemory &to, uint32_t destination,
                     const SharedMemory &from, uint32_t source, uint32_t size);
/// cp.reduce.async.bulk to global memory.
TmaResult bulkReduce(ReduceOp op, ReduceType type, GlobalAccess &global,
                     uint64_t destination, const SharedMemory &shared,
                     uint32_t source, uint32_t size);
/// cp.reduce.async.bulk to the shared memory of another CTA.
TmaResult bulkReduceShared(ReduceOp op, ReduceType type, const SharedMemory &to,
                           uint32_t destination, const SharedMemory &from,
                           uint32_t source, uint32_t size);

} // namespace mx::sim

#endif // MXSIM_TENSOR_TMA_H
