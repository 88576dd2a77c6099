//===- Strategy.cpp - Strategy wgmma_fp8 ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Folded 8-bit operands with promotion to f32 every 128 elements. Each
// warpgroup computes 64 rows of a tile, in slices of at most 128 columns. While
// it promotes a slice, the tensor core multiplies for the other warpgroups:
// two warpgroups hide most of a promotion, three all of it.
//
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RingTypes.h"
#include "MainLoop.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {
/// Rows of a CTA, and the most columns that its registers hold beside a
/// partial sum: registers per thread are {MMA warpgroup, load warpgroup}.
struct FP8Tile {
  int64_t rows, mostColumns;
  int64_t registers[2];
};
} // namespace

static constexpr FP8Tile kTiles[] = {{128, 256, {232, 40}},
                                     {192, 128, {160, 32}}};
static constexpr int64_t kFP8Columns[] = {64, 128, 256};

/// Returns the row of kTiles for a schedule, or null.
static const FP8Tile *findTile(const ScheduleFields &fields) {
  const auto *tile = llvm::find_if(
      kTiles, [&](const FP8Tile &tile) { return tile.rows == fields.tile[0]; });
  return tile == std::end(kTiles) ? nullptr : tile;
}

namespace {

class WgmmaFP8 final
    : public StrategyOf<WgmmaFP8Attr, WgmmaFP8MainLoop, target::kWgmmaFP8> {
public:
  std::optional<target::MmaForm>
  match(const OperandTypes &types, const target::TargetInfo &) const override {
    return target::getFP8Mma(types.a, types.b, types.blockSize);
  }

  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    RingTypes types(problem, fields);
    int64_t rows = fields.tile[0], slices = getFP8Slices(types.tileN),
            columns = types.tileN / slices;
    auto mma = WgmmaAttr::get(types.context, rows, columns, problem.mma.getK(),
                              rows / target::kWgmmaM);
    int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
    auto getElements = [&](int64_t rows, Type type) {
      return BufferType::get(types.context, Space::Smem, {rows, types.tileK},
                             type, RingTypes::getSwizzle(types.tileK));
    };
    bool hasScalesOfRows = problem.aBlockSize == BlockFormat::kWhole;
    SmallVector<StringRef> names = {"a", "b"}, ofTile = {"sfb"};
    SmallVector<BufferType> buffersOfStage = {getElements(rows, problem.a),
                                              getElements(types.tileN,
                                                          problem.b)},
                            buffersOfTile = {types.getScales(types.tileN)};
    (hasScalesOfRows ? ofTile : names).push_back("sfa");
    (hasScalesOfRows ? buffersOfTile : buffersOfStage)
        .push_back(types.getScales(rows));
    MatmulBuffers buffers;
    buffers.mma = mma;
    buffers.slices = slices;
    buffers.inputs = types.getRing(
        fields.stages, names, buffersOfStage, {AsyncKind::BulkCopy},
        {AsyncKind::AsyncThreads, threads}, Scope::Cta);
    // The scales of the next work tile are loaded during the present one.
    buffers.tileScales = types.getRing(
        /*stages=*/2, ofTile, buffersOfTile, {AsyncKind::BulkCopy},
        {AsyncKind::Threads, threads}, Scope::Cta);
    buffers.otherWarps = 1; // loads
    FragmentModes modes = mma.getAccumulatorModes(types.tileN);
    types.addEpilogue(
        buffers,
        FragmentLayoutAttr::get(types.context, modes.threads, modes.values),
        threads / target::kWarpSize);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override {
    const FP8Tile *tile = findTile(fields);
    if (!tile)
      return refuse("expected a tile of 128 or 192 rows, found {0}",
                    fields.tile[0]);
    if (!llvm::is_contained(kFP8Columns, fields.tile[1]) ||
        fields.tile[1] > tile->mostColumns)
      return refuse("expected a tile of 64, 128 or 256 columns, at most {0} "
                    "with {1} rows, found {2}",
                    tile->mostColumns, tile->rows, fields.tile[1]);
    if (fields.tile[2] != target::kFoldedTileK)
      return refuse("expected a tile of {0} reduction elements, found {1}",
                    target::kFoldedTileK, fields.tile[2]);
    if (tile->rows % kScaleTileRows && problem.ragged != RaggedKind::None)
      return refuse("expected a tile of 128 rows with expert groups, "
                    "found {0}",
                    tile->rows);
    if (fields.splitK > 1)
      return refuse("expected split_k = 1 with promotion, which determines "
                    "the order of sums, found {0}",
                    fields.splitK);
    return std::nullopt;
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    return checkTwoRoles(fields, fields.tile[0] / target::kWgmmaM,
                         findTile(fields)->registers, target);
  }

  SmallVector<int64_t>
  getRegisters(const MatmulProblem &,
               const ScheduleFields &fields) const override {
    return llvm::to_vector(ArrayRef<int64_t>(findTile(fields)->registers));
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    for (const FP8Tile &tile : kTiles)
      for (int64_t columns : kFP8Columns) {
        if (columns > tile.mostColumns)
          continue;
        ScheduleFields fields;
        fields.strategy = WgmmaFP8Attr::get(problem.out.getContext());
        fields.tile = {tile.rows, columns, target::kFoldedTileK};
        fields.registers = getRegisters(problem, fields);
        add(fields);
      }
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
