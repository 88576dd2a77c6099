//===- Strategy.cpp - Strategy mma_sync_upcast_b --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine loads A into one ring, and B with its scales into another.
// Each warp owns columns of the tile (WarpColumns.h). The warp loads these
// columns of B to registers, dequantizes the columns, and multiplies A by the
// result.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RingTypes.h"
#include "../Common/UpcastMainLoop.h"
#include "../Common/WarpColumns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/OperandOrders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

class MmaSyncUpcastMainLoop final : public UpcastMainLoop {
public:
  MmaSyncUpcastMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
      : UpcastMainLoop(kernel, work, b),
        mma(cast<MmaSyncAttr>(kernel.matmul.buffers.mma)) {}

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return schedule.getTileM(); }
  void loadA(ProducerAcquireOp stage, Value row, Value k) override;
  /// Loads and dequantizes reduction elements [k, k + depth) of a tile of B.
  Value loadB(ConsumerWaitOp stage, Value scales, int64_t k, int64_t depth);
  /// Returns the accumulator of a work tile.
  Value multiply(ForEachWorkTileOp workTile);

  MmaSyncAttr mma;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Tile size for which each thread of 8 warps holds 64 accumulators.
static constexpr int64_t kMostUpcastElements = 16384, kUpcastWarps = 8;

/// Returns true if threads hold 128 accumulators. Only tiles with columns of
/// two B matrices are that large.
static bool isLargestUpcast(ArrayRef<int64_t> tile) {
  return tile[0] * tile[1] > kMostUpcastElements;
}

static MmaSyncAttr getUpcastMma(const MatmulProblem &problem,
                                ArrayRef<int64_t> tile) {
  int64_t columns = kWarpColumnsOfMatrix * problem.numB;
  int64_t elements =
      kMostUpcastElements / kUpcastWarps * (isLargestUpcast(tile) ? 2 : 1);
  return MmaSyncAttr::get(problem.out.getContext(), MmaKind::F16, tile[0],
                          tile[1],
                          std::max<int64_t>(tile[0] * columns / elements, 1),
                          tile[1] / columns, /*block=*/0, /*first_scale=*/0);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static constexpr int64_t kUpcastRows[] = {16, 32, 64, 128};
static constexpr int64_t kUpcastColumns[] = {32, 64, 128, 256};
/// Maximum rows that leave registers for a second CTA.
static constexpr int64_t kFewRows = 32;

static std::optional<ScheduleError>
checkMmaSyncUpcastTile(const MatmulProblem &problem, ArrayRef<int64_t> tile) {
  if (!llvm::is_contained(kUpcastRows, tile[0]))
    return refuse("expected a tile of 16, 32, 64 or 128 rows, found {0}",
                  tile[0]);
  if (!llvm::is_contained(kUpcastColumns, tile[1]) ||
      tile[0] * tile[1] > kMostUpcastElements * problem.numB)
    return refuse("expected a tile of 32, 64 or 128 columns, or of 256 with at "
                  "most 64 rows or two matrices of b, found {0} x {1}",
                  tile[0], tile[1]);
  if (tile[2] != target::kDequantizedTileK)
    return refuse("expected a tile of {0} reduction elements, found {1}",
                  target::kDequantizedTileK, tile[2]);
  return std::nullopt;
}

/// Checks the tile sizes that the operation requires.
static std::optional<ScheduleError>
checkMmaSyncUpcastForm(const MatmulProblem &problem, ArrayRef<int64_t> tile) {
  // A work tile writes whole scale tiles.
  if (problem.isQuantized && tile[0] % kScaleTileRows)
    return refuse(
        "expected a tile of {0} rows with a quantized result, found {1}",
        kScaleTileRows, tile[0]);
  if (problem.isPackedB && tile[1] % kWeightTileRows)
    return refuse("expected a tile of 64, 128 or 256 columns with packed "
                  "weights, found {0}",
                  tile[1]);
  return std::nullopt;
}

/// Checks the CTAs per SM and that stores are direct, since warps share rows.
static std::optional<ScheduleError>
checkMmaSyncUpcastLoop(const MatmulProblem &problem,
                       const ScheduleFields &fields, int64_t ctasPerSm) {
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    return ScheduleError{"expected epilogue = direct, because warps share rows "
                         "of the result, found epilogue = tma_store"};
  if (ctasPerSm == 1 || (ctasPerSm == 2 && fields.tile[0] <= kFewRows))
    return std::nullopt;
  return refuse("expected ctas_per_sm = 1, or 2 with a tile of 16 or 32 rows, "
                "found {0} with {1}",
                ctasPerSm, fields.tile[0]);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns true if a tile's accumulators and operands fit in registers. With
/// the largest tiles and unpacked weights, ptxas 13.0 spills up to 44 bytes, or
/// 60 bytes for 4-bit weights and two matrices. Quantized results use the
/// largest tiles anyway, because they support no other tile.
static bool fitsUpcastRegisters(const MatmulProblem &problem,
                                ArrayRef<int64_t> tile) {
  bool isLean =
      problem.isPackedB || (getStoredBits(problem.b) == 4 && problem.numB == 1);
  return !isLargestUpcast(tile) || isLean || problem.isQuantized;
}

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

namespace {

class MmaSyncUpcastB final
    : public StrategyOf<MmaSyncUpcastBAttr, MmaSyncUpcastMainLoop,
                        target::kMmaSyncBF16> {
public:
  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    RingTypes types(problem, fields);
    MmaSyncAttr mma = getUpcastMma(problem, fields.tile);
    int64_t warps = mma.getWarps() * mma.getColumnWarps();
    int64_t threads = warps * target::kWarpSize;
    MatmulBuffers buffers;
    buffers.mma = mma;
    buffers.inputs = types.getRing(
        fields.stages, {"a"}, {types.getDense(types.tileM)},
        {AsyncKind::BulkCopy}, {AsyncKind::Threads, threads}, Scope::Cta);
    buffers.bInputs = types.getBInputs(threads);
    buffers.otherWarps = 1; // loads
    types.addEpilogue(buffers, WarpColumns(problem, mma).getResult(), warps);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &) const override {
    if (auto error = checkMmaSyncUpcastTile(problem, fields.tile))
      return error;
    if (auto error = checkMmaSyncUpcastForm(problem, fields.tile))
      return error;
    return checkMmaSyncUpcastLoop(problem, fields,
                                  getOwn(fields).getCtasPerSm());
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    return checkMmaSyncRegisters(getUpcastMma(problem, fields.tile), fields,
                                 target);
  }

  SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const override {
    return getMmaSyncRegisters(problem, getUpcastMma(problem, fields.tile));
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    for (int64_t rows : kUpcastRows)
      for (int64_t columns : kUpcastColumns)
        for (int64_t ctas : {1, 2}) {
          ScheduleFields fields;
          fields.strategy =
              MmaSyncUpcastBAttr::get(problem.out.getContext(), ctas);
          fields.tile = {rows, columns, target::kDequantizedTileK};
          if (checkMmaSyncUpcastTile(problem, fields.tile) ||
              checkMmaSyncUpcastForm(problem, fields.tile) ||
              !fitsUpcastRegisters(problem, fields.tile))
            continue;
          fields.registers = getRegisters(problem, fields);
          add(fields);
        }
  }

  /// Returns the cycles of shared memory or of dequantization (at H200 rates).
  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    constexpr int64_t kCyclesOfElement = 11;
    auto mma = cast<MmaSyncAttr>(buffers.mma);
    int64_t elements =
        mma.getWarpColumns() * fields.tile[2] / target::kWarpSize;
    return std::max(getMmaSyncReadCycles(mma, problem, fields.tile[2], rates),
                    elements * kCyclesOfElement);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

void MmaSyncUpcastMainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
  bInputs = body.ring(matmul.buffers.bInputs, "in_b");
}

void MmaSyncUpcastMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  loadBoxesOfA(stage, row, k, /*firstRows=*/{int64_t(0)});
}

void MmaSyncUpcastMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildLoad();
}

/// Returns the number of reduction elements held in registers at once. They
/// suffice for two instructions, or for one if accumulators occupy most
/// registers.
static int64_t getDepthAtOnce(MmaSyncAttr mma, ArrayRef<int64_t> tile) {
  return MmaAttrInterface(mma).getMmaShape().k *
         (isLargestUpcast(tile) ? 1 : 2);
}

/// Returns the scales of columns [k, k + depth).
static Value takeBlocks(KernelBuilder &body, Value scales, int64_t block,
                        int64_t k, int64_t depth) {
  auto type = cast<VectorType>(scales.getType());
  int64_t blocks = std::max<int64_t>(depth / block, 1);
  if (blocks == type.getDimSize(1))
    return scales;
  return vector::ExtractStridedSliceOp::create(
      body, scales, ArrayRef<int64_t>{0, k / block},
      ArrayRef<int64_t>{type.getDimSize(0), blocks}, ArrayRef<int64_t>{1, 1});
}

Value MmaSyncUpcastMainLoop::loadB(ConsumerWaitOp stage, Value scales,
                                   int64_t k, int64_t depth) {
  const MatmulProblem &problem = matmul.problem;
  WarpColumns columns(problem, mma);
  auto type = FragmentType::get(problem.b, columns.getLoaded(depth));
  LoadedTile slice = {loadWeights(stage.getBuffer("b"), type,
                                  /*thread=*/Value(), problem.isPackedB, k),
                      takeBlocks(body, scales, problem.mma.blockSize, k, depth),
                      stage.getStage()};
  return relabel(dequantize(slice, columns.getOrdered(depth)),
                 columns.getTaken(depth));
}

/// Multiplies whole slices. A and B are zero past the end of the reduction.
Value MmaSyncUpcastMainLoop::multiply(ForEachWorkTileOp workTile) {
  OpBuilder::InsertionGuard guard(body);
  MmaAttrInterface kind = mma;
  int64_t tileK = schedule.getTileK(),
          depth = getDepthAtOnce(mma, schedule.getTile());
  Value row = getFirstRowOfScales(workTile);
  Value zero = ZeroFragmentOp::create(
      body, kind.getAccumulatorType(body.getF32Type(), mma.getN()));
  ForEachKOp step = forEachTile(workTile, zero);
  auto bStage = ConsumerWaitOp::create(body, bInputs);
  Value scales = loadScales(
      bStage.getBuffer("sfb"),
      FragmentType::get(matmul.problem.b,
                        WarpColumns(matmul.problem, mma).getLoaded(tileK)),
      row, step);
  ConsumerWaitOp stage;
  Value sum = step.getRegionIterArgs()[0];
  for (int64_t k = 0; k < tileK; k += depth) {
    Value ofB = loadB(bStage, scales, k, depth);
    if (!stage)
      stage = ConsumerWaitOp::create(body, inputs);
    Value ofA = LoadFragmentOp::create(
        body, kind.getOperandType(MmaOperand::A, body.getBF16Type(), depth),
        stage.getBuffer("a"), body.index(0), body.index(k),
        /*thread=*/Value());
    sum = MmaOp::create(body, zero.getType(), kind, ofA, ofB,
                        /*a_scales=*/Value(), /*b_scales=*/Value(), sum,
                        /*b_offset=*/Value(), /*accumulate=*/Value(),
                        /*extent=*/Value(), /*thread=*/Value(),
                        /*column=*/IntegerAttr(), /*row=*/IntegerAttr())
              .getAccumulator();
  }
  ConsumerReleaseOp::create(body, bStage.getStage());
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(sum);
  return step.getResult(0);
}

const Strategy &mx::mxgpu::getMmaSyncUpcastB() {
  static const MmaSyncUpcastB strategy;
  return strategy;
}
