//===- Strategy.cpp - Strategy wgmma_fp8 ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folded 8-bit operands with promotion to f32 every 128, 256 or 512 elements.
// Each warpgroup computes 64 rows of a tile, in slices of at most 192 columns.
// While it promotes a slice, the tensor core multiplies for the other
// warpgroups.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RingTypes.h"
#include "MainLoop.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {
/// Rows of a CTA, and the most columns that its registers hold beside a
/// partial sum: registers per thread are {MMA warpgroup, load warpgroup}.
struct FP8Tile {
  int64_t rows, mostColumns, mostCtas;
  int64_t registers[2];
};
} // namespace

// The first row applies to tiles that checkSchedule rejects.
static constexpr FP8Tile kFP8Tiles[] = {{128, 256, 2, {232, 40}},
                                        {192, 128, 1, {160, 32}}};
/// Rows of B per wgmma: a partial sum of more columns would not fit in
/// registers beside the accumulator.
static constexpr int64_t kMostFP8Columns = 192;
static constexpr int64_t kFP8Columns[] = {64, 96, 128, 160, 192, 256};
/// Stages of scales: intervals or work tiles that the loads are ahead.
static constexpr int64_t kScaleStages = 2;
/// Intervals per stage of scales of blocks of several rows of B.
static constexpr int64_t kIntervalsOfBlocks = 64;

/// Returns the most columns of a tile. A partial sum of several steps covers
/// all columns.
static int64_t getMostColumns(const MatmulProblem &problem,
                              const FP8Tile &tile) {
  return problem.promote > target::kFoldedTileK
             ? std::min(tile.mostColumns, kMostFP8Columns)
             : tile.mostColumns;
}

/// Returns the numbers of columns of a tile. E8M0 scales of rows of B are in
/// tiles of 128 rows, so a tile must start at a multiple of 64.
static SmallVector<int64_t> getColumns(const MatmulProblem &problem) {
  bool startsAnywhere = problem.numB == 1 &&
                        (problem.bBlockRows > 1 || problem.promotesExactly());
  return llvm::to_vector(
      llvm::make_filter_range(kFP8Columns, [&](int64_t columns) {
        return startsAnywhere || columns % (kScaleTileRows / 2) == 0;
      }));
}

/// Returns the row of kFP8Tiles for a schedule, or null.
static const FP8Tile *findTile(const ScheduleFields &fields) {
  int64_t rows = fields.tile[0] / fields.strategy.getCtas();
  const auto *tile = llvm::find_if(
      kFP8Tiles, [&](const FP8Tile &tile) { return tile.rows == rows; });
  return tile == std::end(kFP8Tiles) ? nullptr : tile;
}

namespace {

class WgmmaFP8 final
    : public StrategyOf<WgmmaFP8Attr, WgmmaFP8MainLoop, target::kWgmmaFP8> {
public:
  std::optional<target::MmaForm>
  match(const OperandTypes &types, const target::TargetInfo &) const override {
    if (types.b == target::MmaType::E2M1) // expanded first, to a workspace
      return std::nullopt;
    return target::getFP8Mma(types.a, types.b, types.blockSize);
  }

  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    RingTypes types(problem, fields);
    int64_t rows = fields.tile[0] / types.ctas,
            slices = ceilDiv(types.tileN, kMostFP8Columns),
            columns = types.tileN / slices;
    auto mma = WgmmaAttr::get(types.context, rows, columns, problem.mma.getK(),
                              rows / target::kWgmmaM);
    int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
    auto getElements = [&](int64_t rows, Type type) {
      return BufferType::get(types.context, Space::Smem, {rows, types.tileK},
                             type, RingTypes::getSwizzle(types.tileK));
    };
    auto getFactors = [&](int64_t matrices, int64_t rows) {
      return BufferType::get(types.context, Space::Smem, {matrices, rows},
                             Float32Type::get(types.context),
                             mxgpu::Swizzle::None);
    };
    // A box of f32 scales starts at a multiple of 16 bytes, but an expert group
    // at any row.
    int64_t loadedRows = rows;
    if (problem.ragged == RaggedKind::Rows && !problem.isMasked)
      loadedRows += kMNMajorRows;
    bool promotesBlocks = problem.promotesBlocks(),
         isExact = problem.promotesExactly(),
         inStage = problem.aBlockSize != BlockFormat::kWhole && !promotesBlocks,
         isApart = !isExact && problem.bBlockRows == 1;
    SmallVector<StringRef> names = {"a", "b"}, apart = {"sfb"};
    SmallVector<BufferType> buffersOfStage = {getElements(rows, problem.a),
                                              getElements(types.tileN,
                                                          problem.b)},
                            buffersApart = {types.getScales(types.tileN)};
    (inStage ? names : apart).push_back("sfa");
    (inStage ? buffersOfStage : buffersApart)
        .push_back(isExact ? getFactors(1, loadedRows) : types.getScales(rows));
    MatmulBuffers buffers;
    buffers.mma = mma;
    buffers.slices = slices;
    buffers.inputs = types.getRing(
        fields.stages, names, buffersOfStage, {AsyncKind::BulkCopy},
        {AsyncKind::AsyncThreads, threads}, types.scope);
    // The scales of the next work tile are loaded during the present one.
    if (isApart)
      buffers.tileScales = types.getRing(
          kScaleStages, apart, buffersApart, {AsyncKind::BulkCopy},
          {AsyncKind::Threads, promotesBlocks ? target::kWarpSize : threads},
          Scope::Cta);
    buffers.otherWarps = 1; // loads
    if (promotesBlocks) {
      // Scales in f32 are loaded as factors, together with the elements.
      int64_t matrices = isExact ? problem.numB : 1;
      RingTypes::Side producer = {AsyncKind::Threads, target::kWarpSize},
                      consumer = {AsyncKind::AsyncThreads, threads};
      if (isExact)
        producer = {AsyncKind::BulkCopy}, consumer.kind = AsyncKind::Threads;
      buffers.factors =
          types.getRing(isExact ? fields.stages : kScaleStages, {"fa", "fb"},
                        {getFactors(1, isExact ? loadedRows : rows),
                         getFactors(matrices, types.tileN / matrices)},
                        producer, consumer, Scope::Cta);
      buffers.otherWarps += !isExact; // converts scales
    }
    if (problem.bBlockRows > 1) {
      int64_t blocks = types.tileN /
                       std::gcd(types.tileN / problem.numB, problem.bBlockRows);
      buffers.factors = types.getRing(
          kScaleStages, {"fb"}, {getFactors(blocks, kIntervalsOfBlocks)},
          {AsyncKind::Threads, target::kWarpSize},
          {AsyncKind::Threads, threads}, Scope::Cta);
      ++buffers.otherWarps; // loads these scales
    }
    FragmentModes modes = mma.getAccumulatorModes(types.tileN);
    types.addEpilogue(
        buffers,
        FragmentLayoutAttr::get(types.context, modes.threads, modes.values),
        threads / target::kWarpSize, /*joins=*/stagesWholeTiles());
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override {
    const FP8Tile *tile = findTile(fields);
    if (!tile)
      return refuse("expected a tile of 128 or 192 rows{0}, found {1}",
                    fields.strategy.getCtas() > 1 ? " in each of two CTAs" : "",
                    fields.tile[0] / fields.strategy.getCtas());
    SmallVector<int64_t> columns = getColumns(problem);
    if (!llvm::is_contained(columns, fields.tile[1]) ||
        fields.tile[1] > getMostColumns(problem, *tile))
      return refuse("expected a tile of {0:$[, ]} columns, at most "
                    "{1} with {2} rows and promote = {3}, found {4}",
                    llvm::make_range(columns.begin(), columns.end()),
                    getMostColumns(problem, *tile), tile->rows, problem.promote,
                    fields.tile[1]);
    if (fields.tile[2] != target::kFoldedTileK)
      return refuse("expected a tile of {0} reduction elements, found {1}",
                    target::kFoldedTileK, fields.tile[2]);
    if (tile->rows % kScaleTileRows && problem.ragged != RaggedKind::None)
      return refuse("expected a tile of 128 rows with expert groups, "
                    "found {0}",
                    tile->rows);
    if (fields.strategy.getCtas() > 1 && problem.numB > 1)
      return refuse("expected one B matrix for a CTA pair, found {0}",
                    problem.numB);
    if (fields.splitK > 1)
      return refuse("expected split_k = 1 with promotion, which determines "
                    "the order of sums, found {0}",
                    fields.splitK);
    return std::nullopt;
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    const FP8Tile &tile = *findTile(fields);
    return checkTwoRoles(fields, tile.rows / target::kWgmmaM, tile.registers,
                         target);
  }

  SmallVector<int64_t>
  getRegisters(const MatmulProblem &,
               const ScheduleFields &fields) const override {
    const FP8Tile *tile = findTile(fields);
    return llvm::to_vector(
        ArrayRef<int64_t>((tile ? *tile : kFP8Tiles[0]).registers));
  }

  bool stagesWholeTiles() const override { return true; }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    for (const FP8Tile &tile : kFP8Tiles)
      for (int64_t columns : getColumns(problem))
        for (int64_t ctas : {1, 2}) {
          if (columns > getMostColumns(problem, tile) || ctas > tile.mostCtas)
            continue;
          ScheduleFields fields;
          fields.strategy = WgmmaFP8Attr::get(problem.out.getContext(), ctas);
          fields.tile = {tile.rows * ctas, columns, target::kFoldedTileK};
          fields.registers = getRegisters(problem, fields);
          fields.pdl = true;
          add(fields);
        }
  }

  /// The MMAs of a step begin late because the warpgroup waits for the previous
  /// step, and later after a promotion, which multiplies twice if both operands
  /// have blocks. Columns of a slice in different blocks of B have different
  /// factors. The CTAs of a pair wait for each other, but with many work tiles,
  /// single CTAs drift apart and miss L2. Fitted to sustained rates of 46
  /// matmuls on an H200.
  int64_t getStepCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields, const MatmulBuffers &,
                        const target::Rates &) const override {
    constexpr int64_t kWait = 115, kPercentOfColumns = 28, kPair = 36,
                      kPairOfMany = 12, kMany = 3 << 26, kBlocks = 25;
    int64_t operations = problem.promotesBlocks() ? 2 : 1;
    int64_t cycles = kWait + operations * kPercentOfColumns * fields.tile[1] *
                                 target::kFoldedTileK / (100 * problem.promote);
    bool hasMany = ShapedType::isDynamic(problem.m) ||
                   ShapedType::isDynamic(problem.n) ||
                   problem.m * problem.n > kMany;
    if (fields.strategy.getCtas() > 1)
      cycles += hasMany || problem.promotesBlocks() ? kPairOfMany : kPair;
    if (problem.bBlockRows > 1 && fields.tile[1] % problem.bBlockRows)
      cycles += kBlocks;
    return cycles;
  }

  int64_t getPortCycles(const MatmulProblem &, const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getMmaPortCycles(fields, buffers, rates);
  }
};

} // namespace

const Strategy &mx::mxgpu::getWgmmaFP8() {
  static const WgmmaFP8 strategy;
  return strategy;
}
