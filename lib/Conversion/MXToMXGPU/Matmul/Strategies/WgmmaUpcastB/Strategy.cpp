//===- Strategy.cpp - Strategy wgmma_upcast_b -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Separate warpgroups dequantize B to bf16 in shared memory. MMA warpgroups
// dequantize a scaled A in registers, or read bf16 A from shared memory.
// Accumulators are in registers. With f16_scale_range, tiles with a narrow
// range of scales are dequantized to f16 instead.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../../BuildMatmul.h"
#include "../Common/RingTypes.h"
#include "../Common/UpcastCosts.h"
#include "../Common/WgmmaLayouts.h"
#include "F16ScaleRange.h"
#include "MainLoop.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

struct WgmmaUpcastTypes : RingTypes {
  using RingTypes::RingTypes;

  WgmmaAttr getMma() const {
    return WgmmaAttr::get(context, tileM, tileN, problem.mma.getK(),
                          getWgmmaWarpgroups(tileM));
  }

  int64_t getThreads() const {
    return getWgmmaWarpgroups(tileM) * target::kWarpGroupSize;
  }

  int64_t getDequantizeThreads() const {
    return getDequantizeWarps(tileM, tileN) * target::kWarpSize;
  }

  RingType getAInputs() const {
    if (!problem.hasScalesOfA())
      return getDenseInputs(getThreads());
    return getRing(
        fields.stages, {"a", "sfa"},
        {getBytes(tileM, problem.a, /*isSwizzled=*/false), getScales(tileM)},
        {AsyncKind::BulkCopy}, {AsyncKind::Threads, getThreads()}, Scope::Cta);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Maximum number of accumulators of two warpgroups. With 128 per thread, there
/// are registers left for operands.
static constexpr int64_t kMostUpcastAccumulators =
    128 * 2 * target::kWarpGroupSize;

static std::optional<ScheduleError>
checkWgmmaUpcastTile(const ScheduleFields &fields) {
  constexpr int64_t kSizes[] = {64, 128, 256};
  int64_t rows = fields.tile[0], columns = fields.tile[1];
  for (auto [size, name] : {std::pair(rows, "rows"), {columns, "columns"}})
    if (!llvm::is_contained(kSizes, size))
      return refuse("expected a tile of 64, 128 or 256 {0}, found {1}", name,
                    size);
  if (rows * columns > kMostUpcastAccumulators)
    return refuse("expected a tile of at most {0} elements, so that the "
                  "accumulator fits in registers, found {1} x {2}",
                  kMostUpcastAccumulators, rows, columns);
  if (fields.tile[2] != target::kDequantizedTileK)
    return refuse("expected a tile of {0} reduction elements, found {1}",
                  target::kDequantizedTileK, fields.tile[2]);
  return std::nullopt;
}

/// Checks the number of rows of a tile, except for register limits.
static std::optional<ScheduleError> checkWgmmaRows(const MatmulProblem &problem,
                                                   int64_t rows) {
  // The scales of each expert group start a new scale tile, and a work tile
  // writes whole scale tiles.
  bool readsTiles =
      problem.ragged != RaggedKind::None && problem.hasScalesOfA();
  if ((readsTiles || problem.isQuantized) && rows % kScaleTileRows != 0)
    return refuse("expected a tile of 128 or 256 rows with {0}, found {1}",
                  readsTiles ? "expert groups" : "a quantized result", rows);
  return std::nullopt;
}

/// Checks the requirements of f16_scale_range. Conversions to f16 must be
/// exact, each scale tile needs a single reference, and rows must be aligned to
/// scale tiles.
static std::optional<ScheduleError> checkWindow(const MatmulProblem &problem,
                                                const ScheduleFields &fields) {
  auto isE4M3 = [](Type type) { return isa<Float8E4M3FNType>(type); };
  const std::pair<bool, const char *> needs[] = {
      {isE4M3(problem.a) && isE4M3(problem.b) &&
           isPowerOfTwoScale(problem.scales),
       "operands of f8E4M3FN and power-of-two scales"},
      {fields.tile[0] >= kScaleTileRows && fields.tile[1] <= kScaleTileRows,
       "a tile of 128 or 256 rows and 64 or 128 columns"},
      {problem.numB == 1, "one matrix of B"},
      {fields.splitK == 1, "a reduction that is not split"},
  };
  for (auto [isMet, what] : needs)
    if (!isMet)
      return refuse("f16_scale_range requires {0}: remove f16_scale_range "
                    "from the schedule",
                    what);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Matmuls with f16_scale_range
//===----------------------------------------------------------------------===//
//
// Products of f8E4M3FN elements and scales are exact, normal f16 values if the
// scales span at most 12 powers of two. A conversion to f16 takes half the
// instructions of a conversion to bf16. A kernel for each operand determines
// the scale range of each tile (mxgpu.load_scale_range). If a tile does not fit
// f16, another kernel finds tiles with NaN. Then three kernels compute disjoint
// sets of work tiles. The first computes work tiles with operands that fit f16
// relative to their largest scales. The second computes work tiles with
// operands that fit relative bf16 and contain no NaN. The third computes the
// rest in bf16. The host always launches all kernels.

/// Builds a kernel for the work tiles of a class.
static void buildSome(const ScheduledMatmul &matmul, gpu::GPUModuleOp module,
                      WorkTileClass workTiles, Value aScaleRange,
                      Value bScaleRange) {
  MatmulKernel kernel(matmul, module);
  kernel.workTiles = workTiles;
  kernel.aScaleRange = aScaleRange;
  kernel.bScaleRange = bScaleRange;
  Policies policies(kernel);
  policies.work->viewMatrices();
  policies.epilogue->viewResult();
  buildMatmul(kernel, policies);
}

/// Returns operand A and its expert groups.
static ScaleRangeOperand getA(MatmulKernel &kernel) {
  MatmulOpInterface op = kernel.matmul.op;
  ScaleRangeOperand a;
  a.elements = kernel.matrices.a;
  a.scales = kernel.matrices.aScales;
  a.offsets = op.getExpertOffsets();
  a.dividesReduction = op.getRaggedOrNone() == RaggedKind::Reduction;
  if (op.isMasked())
    a.matrixRows = getSize(kernel.host, op.getA(), 1);
  return a;
}

/// Returns operand B. Each expert group of rows owns a matrix.
static ScaleRangeOperand getB(MatmulKernel &kernel) {
  MatmulOpInterface op = kernel.matmul.op;
  ScaleRangeOperand b;
  b.elements = kernel.matrices.b;
  b.scales = kernel.matrices.bScales;
  b.dividesReduction = op.getRaggedOrNone() == RaggedKind::Reduction;
  if (b.dividesReduction)
    b.offsets = op.getExpertOffsets();
  else if (op.getExpertOffsets())
    b.matrixRows = getSize(kernel.host, op.getB(), 1);
  return b;
}

static void buildByScaleRange(const ScheduledMatmul &matmul,
                              gpu::GPUModuleOp module) {
  MatmulKernel kernel(matmul, module);
  Policies policies(kernel);
  policies.work->viewMatrices();
  policies.epilogue->viewResult();
  checkSizes(kernel, policies);
  KernelBuilder &host = kernel.host;
  Value a = findScaleRanges(host, module, getA(kernel));
  Value b = findScaleRanges(host, module, getB(kernel));
  SmallVector<Value> tables = {a, b};
  SmallVector<WorkTileClass> rest = {WorkTileClass::NotF16};
  if (MatmulOpInterface op = matmul.op; !op.getExpertOffsets()) {
    auto [aFinite, bFinite] =
        excludeNaN(host, module, kernel.matrices.a, kernel.matrices.b, a, b);
    tables.append({aFinite, bFinite});
    rest = {WorkTileClass::RelativeBF16, WorkTileClass::BF16};
    a = aFinite;
    b = bFinite;
  }
  buildSome(matmul, module, WorkTileClass::F16, a, b);
  ScheduleFields fields = matmul.schedule.getFields();
  auto own = cast<WgmmaUpcastBAttr>(fields.strategy);
  fields.strategy =
      WgmmaUpcastBAttr::get(own.getContext(), own.getOperandStages(),
                            /*f16_scale_range=*/false, own.getClusterSplit());
  ScheduledMatmul inBF16(
      matmul.op, ScheduleAttr::get(host.getContext(), fields), matmul.target);
  for (WorkTileClass workTiles : rest)
    buildSome(inBF16, module, workTiles, a, b);
  for (Value table : tables)
    memref::DeallocOp::create(host, table);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Cycles to dequantize an element of A, which no MMA overlaps. On an H200, 11
/// to 14 were measured.
static constexpr int64_t kDequantizeCyclesOfA = 11;
/// Cycles to dequantize an element to f16. For A, 5.7 cycles were measured in
/// the loop alone, but 4 cycles fit whole matmuls. For B, at most 14 cycles
/// were measured.
static constexpr int64_t kF16Cycles = 8, kF16CyclesOfA = 4;

namespace {

class WgmmaUpcastB final
    : public StrategyOf<WgmmaUpcastBAttr, WgmmaUpcastMainLoop,
                        target::kWgmmaBF16> {
public:
  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    WgmmaUpcastTypes types(problem, fields);
    WgmmaUpcastBAttr own = getOwn(fields);
    MatmulBuffers buffers;
    buffers.mma = types.getMma();
    buffers.inputs = types.getAInputs();
    buffers.bInputs = types.getBInputs(types.getDequantizeThreads());
    buffers.operands = types.getOperands(
        own.getOperandStages(), types.getDequantizeThreads(),
        {AsyncKind::AsyncThreads, types.getThreads()}, own.getF16ScaleRange());
    buffers.otherWarps = getDequantizeWarps(types.tileM, types.tileN) + 1;
    types.addEpilogue(buffers,
                      UpcastLayouts(types.getMma(), types.tileK,
                                    problem.hasScalesOfA(), problem.isPackedB)
                          .getResult(),
                      types.getThreads() / target::kWarpSize);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override {
    if (getOwn(fields).getF16ScaleRange())
      if (auto error = checkWindow(problem, fields))
        return error;
    if (auto error = checkWgmmaUpcastTile(fields))
      return error;
    if (auto error = checkWgmmaRows(problem, fields.tile[0]))
      return error;
    return std::nullopt;
  }

  /// Requires at least the registers of `getRegisters`, because with fewer
  /// ptxas 13.0 spills or fails.
  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    SmallVector<int64_t> least = getRegisters(problem, fields);
    ArrayRef<int64_t> found = fields.registers;
    // MMA, dequantizing and load warpgroups.
    int64_t multipliers = getWgmmaWarpgroups(fields.tile[0]);
    int64_t dequantizers = getDequantizeWarps(fields.tile[0], fields.tile[1]) /
                           target::kWarpGroupWarps;
    int64_t groups = multipliers + dequantizers + 1;
    int64_t all = getRegistersOfWarpgroups(groups, target);
    if (found.size() == least.size()) {
      auto isEnough = [](auto pair) {
        return std::get<0>(pair) >= std::get<1>(pair);
      };
      int64_t sum = multipliers * found[0] + dequantizers * found[1] + found[2];
      if (llvm::all_of(llvm::zip(found, least), isEnough) && sum <= all)
        return std::nullopt;
    }
    return refuse(
        "expected at least {0} registers per MMA thread with a tile of {1} x "
        "{2}, {3} per dequantizing thread and {4} per load thread, at most {7} "
        "in total over {5} MMA, {6} dequantizing and 1 load warpgroups, found "
        "registers = [{8:$[, ]}]",
        least[0], fields.tile[0], fields.tile[1], least[1], least[2],
        multipliers, dequantizers, all,
        llvm::make_range(found.begin(), found.end()));
  }

  /// Returns the registers per thread for accumulators, elements of A and B,
  /// and addresses. All warpgroups together use the registers of an SM.
  SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const override {
    if (fields.tile[0] < 2 * target::kWgmmaM)
      return {216, 128, 40};
    if (!problem.hasScalesOfA()) // A stays in shared memory
      return {168, 136, 40};
    if (fields.tile[1] > target::kWarpGroupSize) // two rows of B per thread
      return {184, 104, 40};
    return {200, 72, 40};
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    for (int64_t rows : {64, 128, 256})
      for (int64_t columns : {64, 128, 256}) {
        ScheduleFields fields;
        fields.strategy = getDefault(problem.out.getContext());
        fields.tile = {rows, columns, target::kDequantizedTileK};
        if (checkWgmmaUpcastTile(fields))
          continue;
        fields.registers = getRegisters(problem, fields);
        add(fields);
      }
  }

  /// Adds a candidate with f16_scale_range and more stages of B, because its
  /// MMA warpgroups are faster. Only the largest tile is added. On an H200, 128
  /// x 128 takes a quarter more time, which the model does not capture.
  /// Excludes operands quantized in each call, because the second
  /// kernel costs more than f16 saves if any scale does not fit.
  void forEachLoop(const MatmulProblem &problem, ScheduleFields fields, bool,
                   AddCandidate add) const override {
    add(fields);
    if (fields.tile[0] != 256 || fields.tile[1] != 128 ||
        problem.isQuantizedHere)
      return;
    WgmmaUpcastBAttr own = getOwn(fields);
    fields.strategy =
        WgmmaUpcastBAttr::get(own.getContext(), /*operand_stages=*/4,
                              /*f16_scale_range=*/true, own.getClusterSplit());
    if (fields.epilogue == Epilogue::TmaStore)
      fields.staging = 1;
    add(fields);
  }

  StrategyAttrInterface
  getClusterSplit(const ScheduleFields &fields) const override {
    WgmmaUpcastBAttr own = getOwn(fields);
    return WgmmaUpcastBAttr::get(own.getContext(), own.getOperandStages(),
                                 own.getF16ScaleRange(),
                                 /*cluster_split=*/true);
  }

  /// Returns the cycles of waits, and of dequantizing A before the MMAs.
  int64_t getStepCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    if (!problem.hasScalesOfA())
      return rates.stepCycles;
    return rates.stepCycles + (getOwn(fields).getF16ScaleRange()
                                   ? kF16CyclesOfA
                                   : kDequantizeCyclesOfA) *
                                  ceilDiv(fields.tile[0] * fields.tile[2],
                                          buffers.inputs.getConsumerThreads());
  }

  /// Adds a sixth if A is in shared memory, because the loop then takes longer
  /// than its longest part. On an H200, eight bf16 and weight-only matmuls of
  /// 4096 x 4096 x 4096 to 131072 x 2048 x 7168 took 17 to 27 % longer.
  int64_t getLoopCycles(const MatmulProblem &problem, const ScheduleFields &,
                        int64_t longest) const override {
    return problem.hasScalesOfA() ? longest : longest * 7 / 6;
  }

  /// Returns the cycles of all kernels except the matmul kernel in f16.
  /// These kernels find scale ranges and, without expert groups, NaN. The
  /// matmul kernels of the other classes only test every work tile.
  int64_t getOtherKernels(const MatmulProblem &problem,
                          const ScheduleFields &fields, const Grid &grid,
                          int64_t waves,
                          const target::Rates &rates) const override {
    if (!getOwn(fields).getF16ScaleRange())
      return 0;
    bool isGrouped = problem.ragged != RaggedKind::None;
    int64_t launches = isGrouped ? 3 : 5, others = isGrouped ? 1 : 2;
    int64_t matrices =
        problem.ragged == RaggedKind::Rows ? orAssumed(problem.groups) : 1;
    int64_t scales =
        ceilDiv((grid.m + grid.n * matrices) * grid.k * grid.matmuls,
                problem.mma.blockSize);
    // Segments of a reduction are short, and the begin and end of a work tile
    // overlap with no other work. The constant was fitted to gradients on an
    // H200 (97b9083de2a9:benchmarks/products/results/surface-h200-seed23.json
    // to 26).
    constexpr int64_t kSegmentCycles = 1500;
    bool isOfSegments = problem.ragged == RaggedKind::Reduction;
    return launches * rates.nextKernel + ceilDiv(scales, rates.hbmBytesPerClk) +
           others * waves * rates.loadLatency +
           (isOfSegments ? waves * kSegmentCycles : 0);
  }

  std::string describe(const ScheduleFields &fields) const override {
    return getOwn(fields).getF16ScaleRange() ? " f16" : "";
  }

  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getUpcastPortCycles(
        problem, fields, buffers, rates,
        getOwn(fields).getF16ScaleRange() ? kF16Cycles : kDequantizeCycles);
  }

  ArrayRef<StringLiteral> getRoles() const override {
    static constexpr StringLiteral kRoles[] = {
        "in MMA warps", "in dequantizing warps", "in other warps"};
    return kRoles;
  }

  void build(const ScheduledMatmul &matmul,
             gpu::GPUModuleOp module) const override {
    if (cast<WgmmaUpcastBAttr>(matmul.schedule.getStrategy())
            .getF16ScaleRange())
      return buildByScaleRange(matmul, module);
    Strategy::build(matmul, module);
  }
};

} // namespace

const Strategy &mx::mxgpu::getWgmmaUpcastB() {
  static const WgmmaUpcastB strategy;
  return strategy;
}
