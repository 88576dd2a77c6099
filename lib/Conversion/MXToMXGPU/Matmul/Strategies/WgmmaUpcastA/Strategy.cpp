//===- Strategy.cpp - Strategy wgmma_upcast_a -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MMA warpgroups load A to registers and dequantize A there. They read bf16 B
// from shared memory (../Common/RegisterOperandLayouts.h). This is
// wgmma_swap_ab with exchanged operands. It is for matmuls with many rows and
// few columns, if B is cheaper than A to dequantize beforehand.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RegisterOperandMainLoop.h"
#include "../Common/RegisterOperandTile.h"
#include "../Common/RingTypes.h"
#include "mx/Support/OperandOrders.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/Wgmma.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns the tile with the rows and columns of the instruction.
static RegisterOperandTile getUpcastATile(const MatmulProblem &problem,
                                          const ScheduleFields &fields) {
  auto [rows, columns, depth] = fields.tile;
  return {rows,
          columns,
          depth,
          problem.mma.a->type,
          problem.mma.blockSize,
          /*isPacked=*/false,
          getPermuted(fields) == Workspace::B,
          /*isOfA=*/true};
}

static RegisterOperandNames getUpcastANames() {
  return {"wgmma_upcast_a", "rows", "columns"};
}

namespace {

class UpcastAMainLoop final : public RegisterOperandMainLoop {
public:
  UpcastAMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
      : RegisterOperandMainLoop(kernel, work, b, getOperand(kernel)) {}

private:
  static RegisterOperand getOperand(const MatmulKernel &kernel) {
    const MatmulProblem &problem = kernel.matmul.problem;
    bool isPermuted =
        getPermuted(kernel.matmul.schedule.getFields()) == Workspace::B;
    return {problem.a,
            "a",
            "sfa",
            "b",
            /*isPacked=*/false,
            RowSteps::ofInstruction(),
            isPermuted ? getReductionBlock(problem.k) : 0};
  }

  Value getRing() override { return inputs; }
  Value getOtherRing() override { return bInputs; }
  Value getFirstRow(ForEachWorkTileOp workTile) override {
    return getFirstRowOfScalesOfA(workTile);
  }

  int64_t getRowsOfBox() const override { return schedule.getTileM(); }
  void loadA(ProducerAcquireOp stage, Value row, Value k) override {
    loadBoxesOfA(stage, row, k, /*firstRows=*/{0});
  }
};

} // namespace

namespace {

class WgmmaUpcastA final
    : public StrategyOf<WgmmaUpcastAAttr, UpcastAMainLoop, target::kWgmmaBF16> {
public:
  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    RingTypes types(problem, fields);
    auto [rows, columns, depth] = fields.tile;
    int64_t groups = getUpcastATile(problem, fields).getWarpgroups();
    auto mma = WgmmaAttr::get(types.context, rows, columns, problem.mma.getK(),
                              groups);
    int64_t threads = groups * target::kWarpGroupSize;
    MatmulBuffers buffers;
    buffers.mma = mma;
    buffers.inputs = types.getAInputs(threads);
    buffers.bInputs = types.getDenseBInputs(threads);
    buffers.otherWarps = 1; // loads
    types.addEpilogue(buffers,
                      RegisterOperandLayouts(mma, types.tileK,
                                             RowSteps::ofInstruction(),
                                             /*permuted=*/0)
                          .getResultOfA(),
                      threads / target::kWarpSize);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &) const override {
    if (auto error = checkRegisterOperandTile(getUpcastATile(problem, fields),
                                              getUpcastANames()))
      return error;
    // The scales of each expert group start a new scale tile.
    if (problem.ragged != RaggedKind::None && fields.tile[0] % kScaleTileRows)
      return refuse(
          "expected a tile of 128 or 256 rows with expert groups, found {0}",
          fields.tile[0]);
    if (getOwn(fields).getPermutedB())
      if (std::string why = explainNotPermuted(problem, Workspace::B);
          !why.empty())
        return ScheduleError{why};
    if (problem.isQuantized)
      return ScheduleError{
          "wgmma_upcast_a does not support quantized results, because their "
          "blocks span four threads: use another strategy"};
    return std::nullopt;
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    RegisterOperandTile tile = getUpcastATile(problem, fields);
    return checkTwoRoles(fields, tile.getWarpgroups(), tile.getRegisters(),
                         target);
  }
  SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const override {
    return getUpcastATile(problem, fields).getRegisters();
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    forEachRegisterOperandTile(
        [&](int64_t rows, int64_t columns, int64_t depth) {
          ScheduleFields fields;
          fields.strategy = WgmmaUpcastAAttr::get(
              problem.out.getContext(), problem.canPermute == Workspace::B);
          fields.tile = {rows, columns, depth};
          if (checkRegisterOperandTile(getUpcastATile(problem, fields),
                                       getUpcastANames()))
            return;
          fields.registers = getRegisters(problem, fields);
          add(fields);
        });
  }

  void refineSplit(const MatmulProblem &,
                   ScheduleFields &fields) const override {
    fields.pdl = fields.splitK == 1;
  }

  /// Returns less than wgmma_swap_ab, because these matmuls are large and their
  /// loads from L2 are faster than modelled. The value was fitted to seeds 41
  /// and 42 ([shapes] of mx/Target/Rates.h).
  int64_t getHeldPercent(const ScheduleFields &fields) const override {
    return getSlicesOfStep(fields.tile[1]) > 1 ? 65 : 0;
  }
  int64_t getStepCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getUpcastATile(problem, fields).getStepCycles(buffers, rates);
  }
  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getUpcastATile(problem, fields)
        .getPortCycles(buffers, buffers.inputs, buffers.bInputs, rates);
  }
  /// Accounts for partial sectors: four lanes own 8 adjacent columns, half a
  /// sector of 16-bit elements. The values were fitted.
  int64_t getDirectStorePercent(const MatmulProblem &,
                                int64_t bits) const override {
    return bits > 16 ? 100 : 250;
  }

  std::string describe(const ScheduleFields &fields) const override {
    return getOwn(fields).getPermutedB() ? " upcast_a permuted_b" : " upcast_a";
  }
};

} // namespace

const Strategy &mx::mxgpu::getWgmmaUpcastA() {
  static const WgmmaUpcastA strategy;
  return strategy;
}
