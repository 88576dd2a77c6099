//===- BlockScaledBuffers.cpp - Rings of kernels with block scales --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operands and their scales go to the tensor core as they are; sums come back
// in tensor memory. Each CTA of a pair holds its half of the rows of A and of
// B, the scales of its rows of A and those of all columns.
//
//===----------------------------------------------------------------------===//

#include "BufferTypes.h"
#include "ScheduleRules.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// Types of tensor cores that take operands and scales as they are.
struct BlockScaledTypes : BufferTypes {
  using BufferTypes::BufferTypes;

  /// Rows as long as the swizzle's span, at most 128 bytes; several panels if
  /// the reduction is longer.
  BufferType getOperand(int64_t rows, Type type,
                        const target::OperandForm &form) const {
    int64_t bits = target::getInfo(form.mapType).smemBits;
    int64_t elements =
        std::min(tileK, static_cast<int64_t>(mxgpu::Swizzle::Sw128) * 8 / bits);
    SmallVector<int64_t> shape = {rows, elements};
    if (tileK > elements)
      shape.insert(shape.begin(), tileK / elements);
    return BufferType::get(context, Space::Smem, shape, type,
                           getSwizzle(elements * bits / 8), form.padded);
  }

  ScalesType getTmemScales(int64_t rows) const {
    return ScalesType::get(context, roundUp(rows, kScaleTileRows),
                           getScaleTiles(), problem.scales);
  }

  RingType getInputs() const {
    return getRing(fields.stages, {"a", "b", "sfa", "sfb"},
                   {getOperand(tileM / ctas, problem.a, *problem.product.a),
                    getOperand(tileN / ctas, problem.b, *problem.product.b),
                    getScales(tileM / ctas), getScales(tileN)},
                   {AsyncKind::BulkCopy}, {AsyncKind::MmaCommit}, scope);
  }

  MmaAttrInterface getMma() const {
    auto kind = static_cast<mxgpu::MmaKind>(problem.product.kind);
    return Tcgen05MmaAttr::get(context, kind, tileM, tileN, ctas,
                               problem.product.blockSize);
  }
};

} // namespace

MatmulBuffers mx::mxgpu::getBlockScaledBuffers(const MatmulProblem &problem,
                                               const ScheduleFields &fields) {
  BlockScaledTypes types(problem, fields);
  MatmulBuffers buffers;
  buffers.inputs = types.getInputs();
  buffers.accumulators = types.getAccumulators();
  buffers.sums = types.getTmemSums(types.getMma());
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    buffers.staging = types.getStaging(buffers.sums);
  buffers.units = types.getUnits();
  buffers.aScales = types.getTmemScales(fields.tile[0] / types.ctas);
  buffers.bScales = types.getTmemScales(fields.tile[1]);
  buffers.mma = types.getMma();
  buffers.epilogueWarps = kEpilogueWarps;
  buffers.otherWarps = 2; // loads, and the tensor core
  return buffers;
}
