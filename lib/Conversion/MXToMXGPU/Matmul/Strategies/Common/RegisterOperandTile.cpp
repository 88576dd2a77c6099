//===- RegisterOperandTile.cpp - Tiles with a register operand ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RegisterOperandTile.h"
#include "RegisterOperandMainLoop.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The instruction supports multiples of 8 columns, but kernels only use
/// multiples of 16.
static constexpr int64_t kColumnStep = 16, kMostColumns = 256;
static constexpr int64_t kOperandRows[] = {64, 128, 192, 256};
static constexpr int64_t kOperandDepths[] = {64, 128};

/// Registers per thread in MMA and load warpgroups, and maximum tile columns,
/// for each number of MMA warpgroups. ptxas 13.0 serializes instructions of
/// wider tiles. The widest tiles spill up to 532 bytes per thread in the
/// epilogue.
struct ThreadRegisters {
  int64_t multiply, load, mostColumns;
};
static constexpr ThreadRegisters kThreadRegisters[] = {{232, 40, kMostColumns},
                                                       {232, 40, kMostColumns},
                                                       {160, 32, 160},
                                                       {112, 32, 96}};
/// Registers and maximum columns of tiles with few accumulators.
static constexpr ThreadRegisters kFewRegisters[] = {
    {200, 40, 128}, {200, 40, 128}, {152, 40, 64}, {104, 40, 64}};

int64_t RegisterOperandTile::getWarpgroups() const {
  return rows / target::kWgmmaM;
}

static const ThreadRegisters &
getThreadRegisters(const RegisterOperandTile &tile) {
  int64_t index = tile.getWarpgroups() - 1;
  const ThreadRegisters &few = kFewRegisters[index];
  return tile.columns <= few.mostColumns ? few : kThreadRegisters[index];
}

SmallVector<int64_t> RegisterOperandTile::getRegisters() const {
  const ThreadRegisters &registers = getThreadRegisters(*this);
  return {registers.multiply, registers.load};
}

std::optional<ScheduleError>
mx::mxgpu::checkRegisterOperandTile(const RegisterOperandTile &tile,
                                    const RegisterOperandNames &names) {
  if (tile.columns % kColumnStep)
    return refuse(
        "expected a tile with a multiple of {0} {1} with {2}, found {3}",
        kColumnStep, names.columns, names.strategy, tile.columns);
  if (!llvm::is_contained(kOperandRows, tile.rows))
    return refuse(
        "expected a tile of 64, 128, 192 or 256 {0} with {1}, found {2}",
        names.rows, names.strategy, tile.rows);
  if (!llvm::is_contained(kOperandDepths, tile.depth))
    return refuse(
        "expected a tile of 64 or 128 reduction elements with {0}, found {1}",
        names.strategy, tile.depth);
  if (int64_t most = getThreadRegisters(tile).mostColumns; tile.columns > most)
    return refuse("expected a tile of at most {0} {1} with {2} {3} and {4}, "
                  "so that the accumulator fits in registers, found {5}",
                  most, names.columns, tile.rows, names.rows, names.strategy,
                  tile.columns);
  return std::nullopt;
}

void mx::mxgpu::forEachRegisterOperandTile(
    function_ref<void(int64_t rows, int64_t columns, int64_t depth)> add) {
  for (int64_t columns = kColumnStep; columns <= kMostColumns;
       columns += kColumnStep)
    for (int64_t rows : kOperandRows)
      for (int64_t depth : kOperandDepths)
        add(rows, columns, depth);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Hundredths of a cycle to dequantize an element. `kOwnElement` applies once,
/// and `kSharedElement` applies to each warpgroup that shares the schedulers.
/// These costs and the costs below are fitted to measured times of [shapes] of
/// mx/Target/Rates.h on an H200: 527 timings of seeds 1
/// (0155d274a222:benchmarks/products/results/surface-h200-seed1.json) and 2,
/// and later timings.
static constexpr int64_t kOwnElement = 344, kSharedElement = 325;
/// Thousandths of a step's MMA time that do not overlap other work, and cycles
/// of waits per step. `kInSlices` applies to two slices per step, `kWhole` to
/// one.
struct OverlapCosts {
  int64_t mmas, step;
};
static constexpr OverlapCosts kInSlices = {755, 129}, kWhole = {700, 189};
/// Additional cycles of a step if no other MMA warpgroup overlaps the waits.
static constexpr int64_t kAlone = 60;
/// MMA overhead in per cent of the tensor core's time. `kMoreOfMmas` applies if
/// the other operand is not permuted. Otherwise `Runs` applies to 4-bit
/// elements and `WideRuns` to wider elements. `Spilled` applies to tiles in
/// which ptxas spills. With 4-bit elements, these are tiles of 224 and 240
/// columns. With wider elements and steps of 128 elements, these are tiles of
/// 240 and 256 columns, in which spills cost less if the operand is A.
static constexpr int64_t kMoreOfMmas = 13, kMoreOfRuns = 4,
                         kMoreOfSpilledRuns = 8, kMoreOfWideRuns = 17,
                         kMoreOfSpilledWideRuns = 40,
                         kMoreOfSpilledWideRunsOfA = 26;

static int64_t getMoreOfRuns(const RegisterOperandTile &tile) {
  constexpr int64_t kManyColumns = 224;
  if (target::getBits(tile.type) > 4) {
    if (tile.columns <= kManyColumns || tile.depth == kOperandDepths[0])
      return kMoreOfWideRuns;
    return tile.isOfA ? kMoreOfSpilledWideRunsOfA : kMoreOfSpilledWideRuns;
  }
  return tile.columns >= kManyColumns && tile.columns < kMostColumns
             ? kMoreOfSpilledRuns
             : kMoreOfRuns;
}

/// Cost of loading, converting and scaling a 4-bit element and a wider element,
/// in per cent of `kOwnElement` and `kSharedElement`.
struct ElementPercent {
  int64_t narrow, wide;
};
static constexpr ElementPercent kPermuted = {62, 84}, kPacked = {62, 78},
                                kSingleBytes = {115, 125};
/// Additional cost of scales that are not powers of two, in per cent of
/// `kSharedElement`. There are twice as many of these scales.
/// `kMoreOfPermutedScales` applies if the other operand is permuted.
static constexpr int64_t kMoreOfPermutedScales = 8, kMoreOfScales = 28;

int64_t RegisterOperandTile::getElementPercent() const {
  const ElementPercent &percent = isPermuted ? kPermuted
                                  : isPacked ? kPacked
                                             : kSingleBytes;
  return target::getBits(type) > 4 ? percent.wide : percent.narrow;
}

int64_t RegisterOperandTile::getSharedPercent() const {
  if (blockSize >= kPowerOfTwoBlockSize)
    return getElementPercent();
  return getElementPercent() +
         (isPermuted ? kMoreOfPermutedScales : kMoreOfScales);
}

int64_t RegisterOperandTile::getMmaCycles(const MatmulBuffers &buffers,
                                          const target::Rates &rates) const {
  return ceilDiv(depth, buffers.mma.getMmaShape().k) *
         buffers.mma.getCycles(rates);
}

/// Returns the cycles of a step in the MMA warpgroups.
int64_t RegisterOperandTile::getThreadCycles(const MatmulBuffers &buffers,
                                             const target::Rates &rates) const {
  int64_t groups = getWarpgroups();
  int64_t elements = ceilDiv(rows * depth, groups * target::kWarpGroupSize);
  const OverlapCosts &costs = getSlicesOfStep(columns) > 1 ? kInSlices : kWhole;
  // Hundredths of a cycle times per cent.
  constexpr int64_t kUnit = 10000;
  int64_t sum = elements * (getSharedPercent() * kSharedElement * groups +
                            getElementPercent() * kOwnElement) +
                getMmaCycles(buffers, rates) * costs.mmas * (kUnit / 1000);
  return (sum + kUnit / 2) / kUnit + costs.step + (groups == 1 ? kAlone : 0);
}

/// Accounts for waits and for reads of the other operand, which delay the MMAs.
int64_t RegisterOperandTile::getStepCycles(const MatmulBuffers &buffers,
                                           const target::Rates &rates) const {
  int64_t percent = kMoreOfMmas;
  if (isPermuted)
    percent = getMoreOfRuns(*this);
  return getMmaCycles(buffers, rates) * percent / 100;
}

/// Dequantized elements stay in registers, but the instructions of each 64 rows
/// read the other operand from shared memory.
int64_t RegisterOperandTile::getPortCycles(const MatmulBuffers &buffers,
                                           RingType ring, RingType other,
                                           const target::Rates &rates) const {
  int64_t bytes =
      (1 + getWarpgroups()) * other.getStageBytes() + 2 * ring.getStageBytes();
  return std::max(ceilDiv(bytes, rates.smemReadBytesPerClk),
                  getThreadCycles(buffers, rates));
}
