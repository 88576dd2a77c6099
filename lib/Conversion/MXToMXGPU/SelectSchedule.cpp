//===- SelectSchedule.cpp - Choose how each matmul runs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The choice is an attribute: printed, tested, and yours to set instead.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/MmaShapes.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

static constexpr int64_t kTileM = 128, kTileK = 128;
static constexpr int64_t kTileColumns[] = {128, 256};

/// Shared memory of one stage: both operands, and one 512-byte tile of scales
/// for every 128 rows of either.
static int64_t getStageBytes(int64_t tileN) {
  return (kTileM + tileN) * kTileK +
         (kTileM + tileN) / target::kScaleRowsPerGroup * kScaleTileBytes;
}

/// Columns of tensor memory that the scales of a tile take.
static int64_t getScaleColumns(int64_t tileN) {
  return (kTileM + tileN) / target::kScaleRowsPerGroup *
         target::kScaleColumnsPerGroup;
}

/// Columns of output that the busiest SM computes: an MMA takes time in
/// proportion to its columns, and a wave ends with its last tile.
static int64_t getCost(int64_t m, int64_t n, int64_t tileN, int64_t sms) {
  int64_t tiles = llvm::divideCeil(m, kTileM) * llvm::divideCeil(n, tileN);
  return llvm::divideCeil(tiles, sms) * tileN;
}

static ScheduleAttr select(ShapedType out, const target::TargetInfo &target) {
  int64_t tileN = kTileColumns[0];
  if (out.hasStaticShape())
    for (int64_t candidate : kTileColumns)
      if (getCost(out.getDimSize(0), out.getDimSize(1), candidate,
                  target.smCount) <=
          getCost(out.getDimSize(0), out.getDimSize(1), tileN, target.smCount))
        tileN = candidate;
  // Barriers and the address of tensor memory stay below 1 KiB.
  int64_t stages = (target.smemPerCta - 1024) / getStageBytes(tileN);
  int64_t accumulators =
      2 * tileN + getScaleColumns(tileN) <= target.tmemColumns ? 2 : 1;
  ScheduleParts parts;
  parts.tile = {kTileM, tileN, kTileK};
  parts.stages = stages;
  parts.accumulators = accumulators;
  return ScheduleAttr::get(out.getContext(), parts);
}

namespace {
struct SelectSchedulePass final
    : mx::mxgpu::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    std::string error;
    const target::TargetInfo *target = target::lookupTcgen05Target(chip, error);
    if (!target) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    getOperation().walk([&](MatmulOp op) {
      if (!op->hasAttr(kScheduleAttrName))
        op->setAttr(kScheduleAttrName, select(op.getOutType(), *target));
    });
  }
};
} // namespace
