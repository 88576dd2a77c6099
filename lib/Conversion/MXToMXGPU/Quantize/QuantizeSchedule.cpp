//===- QuantizeSchedule.cpp - Choose how each quantizer runs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tables, not a model: quantizers wait for memory, and what keeps it busy was
// measured (QuantizeSchedules.def). Along rows, 32 KiB of loads a CTA under way
// before the first is used, and as many CTAs as registers allow; narrower
// results need more instructions and gain by more, smaller CTAs. Through shared
// memory as many CTAs as that and registers let in, one tile each; where
// threads compute a tile, a stage is filled while another one is quantized.
//
//===----------------------------------------------------------------------===//

#include "QuantizeSchedule.h"
#include "../Quantize/QuantizeInputLoader.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using mx::target::TargetInfo;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXSELECTQUANTIZESCHEDULE
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

namespace {
enum class Input { BF16, F16, F32 };
/// Relative: elements of 4 bits with scales relative to a factor of the tensor.
enum class Output { Bytes, E2M1, Relative };
enum class Axes { Columns, Both };
/// What numbers are while a thread has them: pairs of 16 bits, or f32 that come
/// from such pairs or from memory. Rounding to 6 bits by hand, too, takes
/// registers that both axes leave no room for.
enum class Numbers { Pairs, Widened, F32 };

struct RowsChoice {
  const char *chip;
  Input input;
  Output output;
  const char *schedule;
};
struct TileChoice {
  const char *chip;
  Axes axes;
  Numbers numbers;
  int64_t least; // elements of the input
  const char *schedule;
};
struct ProducedChoice {
  const char *chip;
  Axes axes;
  Numbers numbers; // or less
  int64_t bits;    // of all values of an element, or less
  int64_t least;
  const char *schedule;
};
} // namespace

static constexpr int64_t kAnyBits = std::numeric_limits<int64_t>::max();

/// Rows and columns of the smallest tile, and the least fill of a wider one:
/// the columns past the last are at most one in `kLeastFilled`.
static constexpr int64_t kNarrowTile = 128, kLeastFilled = 20;

static constexpr RowsChoice kAlongRows[] = {
#define ALONG_ROWS(chip, input, output, schedule)                              \
  {#chip, Input::input, Output::output, schedule},
#include "QuantizeSchedules.def"
};

static constexpr TileChoice kTiles[] = {
#define TILE(chip, axes, numbers, least, schedule)                             \
  {#chip, Axes::axes, Numbers::numbers, least, schedule},
#include "QuantizeSchedules.def"
#define DEQUANTIZED(chip, axes, numbers, schedule)                             \
  {#chip, Axes::axes, Numbers::numbers, /*least=*/0, schedule},
#include "QuantizeSchedules.def"
};

static constexpr ProducedChoice kProducedTiles[] = {
#define PRODUCED(chip, axes, numbers, bits, least, schedule)                   \
  {#chip, Axes::axes, Numbers::numbers, bits, least, schedule},
#include "QuantizeSchedules.def"
};

static constexpr ProducedChoice kProducedExperts[] = {
#define PRODUCED_GROUPS(chip, axes, numbers, bits, schedule)                   \
  {#chip, Axes::axes, Numbers::numbers, bits, /*least=*/0, schedule},
#include "QuantizeSchedules.def"
};

template <typename Row>
static QuantizeScheduleAttr getSchedule(MLIRContext *context, const Row &row) {
  std::string text = "#mxgpu.quantize_schedule<";
  return cast<QuantizeScheduleAttr>(
      parseAttribute(text + row.schedule + ">", context));
}

/// The schedule of the first row of a target that `fits`, null if none does.
template <typename Row, typename Fits>
static QuantizeScheduleAttr findSchedule(MLIRContext *context,
                                         ArrayRef<Row> rows,
                                         const TargetInfo &target, Fits fits) {
  StringRef chip = target.quantizersMeasuredOn;
  const Row *row = llvm::find_if(
      rows, [&](const Row &row) { return chip == row.chip && fits(row); });
  return row == rows.end() ? QuantizeScheduleAttr()
                           : getSchedule(context, *row);
}

/// Whether columns fill tiles so far that wide ones lose no time: threads that
/// compute what is quantized do so beyond the last column, too.
static bool fillsTiles(FusedQuantizeOp op, QuantizeScheduleAttr schedule) {
  int64_t columns = op.getInput().getType().getShape().back();
  if (ShapedType::isDynamic(columns) || schedule.getTile()[1] <= kNarrowTile)
    return true;
  int64_t excess = llvm::alignTo(columns, schedule.getTile()[1]) - columns;
  return excess * kLeastFilled <= columns;
}

static Input getInput(Type type) {
  return type.isBF16() ? Input::BF16 : type.isF16() ? Input::F16 : Input::F32;
}

static Output getOutput(FusedQuantizeOp op) {
  if (op.getGlobalScale())
    return Output::Relative;
  return isa<Float4E2M1FNType>(op.getElementType(0)) ? Output::E2M1
                                                     : Output::Bytes;
}

static Numbers getNumbers(FusedQuantizeOp op, Axes axes, Type type) {
  Input input = getInput(type);
  if (input == Input::F32)
    return Numbers::F32;
  bool isSix = op.getElementType(0).getIntOrFloatBitWidth() == 6;
  return axes == Axes::Both && (input == Input::F16 || isSix) ? Numbers::Widened
                                                              : Numbers::Pairs;
}

/// Rows of squares take as many registers as both axes.
static Axes getAxes(FusedQuantizeOp op) {
  return op.getAxes().size() == 2 || op.getSquare() ? Axes::Both
                                                    : Axes::Columns;
}

/// Elements of the input, 0 where they are not known or groups share them.
static int64_t getSize(FusedQuantizeOp op) {
  auto input = cast<ShapedType>(op.getInput().getType());
  return input.hasStaticShape() && !op.getOffsets() ? input.getNumElements()
                                                    : 0;
}

/// Groups have a ring of one stage, and tiles below each other in turn.
static QuantizeScheduleAttr adaptToExperts(FusedQuantizeOp op,
                                           QuantizeScheduleAttr schedule) {
  if (!op.getOffsets())
    return schedule;
  return QuantizeScheduleAttr::get(
      op.getContext(), schedule.getTile(), schedule.getThreads(),
      schedule.getVector(), schedule.getStageRows(), /*stages=*/1,
      schedule.getCtas(),
      RasterAttr::get(op.getContext(), RasterOrder::Columns, /*group=*/1),
      /*atomic_counter=*/false, /*input_stages=*/0);
}

/// Whether a kernel that writes what it writes has room for a schedule.
using HasRoom = llvm::function_ref<bool(QuantizeScheduleAttr)>;

static QuantizeScheduleAttr selectCopiedTileSchedule(FusedQuantizeOp op,
                                                     const TargetInfo &target,
                                                     HasRoom hasRoom) {
  Axes axes = getAxes(op);
  Numbers numbers =
      getNumbers(op, axes, getElementTypeOrSelf(op.getInput().getType()));
  return findSchedule(
      op.getContext(), ArrayRef(kTiles), target, [&](const TileChoice &choice) {
        return axes == choice.axes && numbers == choice.numbers &&
               choice.least <= getSize(op) &&
               hasRoom(getSchedule(op.getContext(), choice));
      });
}

/// What barriers, indices of work tiles and alignment take at most.
static constexpr int64_t kOtherBytes = 4096;

int64_t mx::mxgpu::getQuantizeTileBits(StringRef chip) {
  const TargetInfo *target = target::lookupTarget(chip);
  if (!target)
    return 0;
  int64_t bits =
      8 * (target->smemPerCta - kOtherBytes) / (kNarrowTile * kNarrowTile);
  // Schedules for little memory have stages of a quarter of a tile. Only
  // columns of elements take room for all of it: 8 bits of 24 with what they
  // are made of, beside 16 or more of one result that is dequantized. So n bits
  // need n / 4 + 3 / 4 * (n - 16) / 3 at most.
  constexpr int64_t kLittleBytes = 1 << 17;
  return target->smemPerCta < kLittleBytes ? 2 * (bits + 4) : bits;
}

/// Shared memory of a CTA that quantizes by tiles: stages of what is quantized
/// and of what it is computed from, and what each axis gives of a tile or,
/// along rows and of numbers, of a stage.
static int64_t getTileBytes(FusedQuantizeOp op, QuantizeScheduleAttr schedule) {
  int64_t columns = schedule.getTile()[1];
  int64_t inTile = schedule.getTile()[0] * columns;
  int64_t inStage = schedule.getRowsPerStage() * columns;
  int64_t bits = schedule.getInputStages() * inStage * getInputBits(op);
  int64_t scales = 0;
  for (Type type : getQuantizedTypes(op))
    bits += schedule.getStages() * inStage * type.getIntOrFloatBitWidth();
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    int64_t count = op.getNumConcatenated();
    if (!op.isDequantized(i))
      scales += count * inTile / op.getBlockSize();
    bool isBySlabs = op.getAxis(i) == 1 || op.isDequantized(i);
    bits += count * (isBySlabs ? inStage : inTile) *
            getStoredBits(getElementTypeOrSelf(op.getElements(i)));
  }
  return bits / 8 + scales + kOtherBytes;
}

/// Whether bulk copies may bring what is computed from, and have room for it.
static bool fitsCopies(FusedQuantizeOp op, const TargetInfo &target,
                       QuantizeScheduleAttr schedule) {
  return !schedule.getInputStages() ||
         (canCopyInputs(op) && getTileBytes(op, schedule) <= target.smemPerCta);
}

/// What does not fit at all is left to the message of mxgpu-verify-resources.
static QuantizeScheduleAttr selectProducedTileSchedule(FusedQuantizeOp op,
                                                       const TargetInfo &target,
                                                       HasRoom hasRoom) {
  Axes axes = getAxes(op);
  // The scales of NVFP4 take registers too, and so do those of several inputs,
  // or of one and the numbers of gathered rows.
  size_t scales = op.getInputScales().size();
  bool hasScales =
      op.getGlobalScale() || scales > 1 || (scales == 1 && op.getGather());
  Numbers numbers = hasScales ? Numbers::Widened : Numbers::Pairs;
  int64_t bits = 0;
  for (Type type : getQuantizedTypes(op)) {
    numbers = std::max(numbers, getNumbers(op, axes, type));
    bits += type.getIntOrFloatBitWidth();
  }
  auto rows = op.getOffsets() ? ArrayRef<ProducedChoice>(kProducedExperts)
                              : ArrayRef<ProducedChoice>(kProducedTiles);
  return findSchedule(
      op.getContext(), rows, target, [&](const ProducedChoice &choice) {
        auto schedule = getSchedule(op.getContext(), choice);
        return axes == choice.axes && numbers <= choice.numbers &&
               bits <= choice.bits && choice.least <= getSize(op) &&
               fillsTiles(op, schedule) && fitsCopies(op, target, schedule) &&
               hasRoom(schedule);
      });
}

/// Random numbers are computed, not waited for, and need their registers.
static QuantizeScheduleAttr adaptToSeed(FusedQuantizeOp op,
                                        QuantizeScheduleAttr schedule,
                                        int64_t mostThreads) {
  if (!op.getSeed())
    return schedule;
  return QuantizeScheduleAttr::get(
      op.getContext(), schedule.getTile(),
      std::min(schedule.getThreads(), mostThreads), schedule.getVector(),
      schedule.getStageRows(), schedule.getStages(), /*ctas=*/1,
      schedule.getRaster(), schedule.getAtomicCounter(),
      schedule.getInputStages());
}

/// Lanes gather four scales of a row, so that tiles have as many blocks.
static QuantizeScheduleAttr adaptToBlocks(FusedQuantizeOp op,
                                          QuantizeScheduleAttr schedule) {
  int64_t columns = kScaleTileBlocks * op.getBlockSize();
  int64_t size = schedule.getTile()[0] * schedule.getTile()[1];
  if (schedule.getTile()[1] >= columns)
    return schedule;
  return QuantizeScheduleAttr::get(op.getContext(), {size / columns, columns},
                                   schedule.getThreads(), schedule.getVector(),
                                   /*stages=*/1, schedule.getCtas());
}

/// A thread holds pieces of several inputs, and what is computed of them.
static QuantizeScheduleAttr selectForPrologue(FusedQuantizeOp op) {
  bool isSmall = getInputBits(op) <= 32;
  return QuantizeScheduleAttr::get(
      op.getContext(), {128, 128}, /*threads=*/isSmall ? 256 : 512,
      /*vector=*/16, /*stage_rows=*/0, /*stages=*/1,
      /*ctas=*/isSmall && !op.getSeed() ? 2 : 1,
      RasterAttr::get(op.getContext(), RasterOrder::Linear, 1),
      /*atomic_counter=*/false, /*input_stages=*/0);
}

static QuantizeScheduleAttr selectRowSchedule(FusedQuantizeOp op,
                                              const TargetInfo &target) {
  if (op.getPrologueBlock() || op.isPassedOn())
    return adaptToBlocks(op, selectForPrologue(op));
  Input input = getInput(getElementTypeOrSelf(op.getInput().getType()));
  Output output = getOutput(op);
  auto schedule =
      findSchedule(op.getContext(), ArrayRef(kAlongRows), target,
                   [&](const RowsChoice &choice) {
                     return choice.input == input && choice.output == output;
                   });
  return adaptToBlocks(op, adaptToSeed(op, schedule, schedule.getThreads()));
}

static QuantizeScheduleAttr selectTileSchedule(FusedQuantizeOp op,
                                               const TargetInfo &target,
                                               HasRoom hasRoom) {
  QuantizeScheduleAttr schedule =
      isProduced(op) ? selectProducedTileSchedule(op, target, hasRoom)
                     : selectCopiedTileSchedule(op, target, hasRoom);
  if (!schedule)
    return schedule;
  return adaptToSeed(op, adaptToExperts(op, schedule), /*mostThreads=*/128);
}

/// That of the first row that has room or, as the others may take less than
/// they are said to, of the one that takes least.
static QuantizeScheduleAttr selectSmallTileSchedule(FusedQuantizeOp op,
                                                    const TargetInfo &target,
                                                    HasRoom hasRoom) {
  if (auto schedule = selectTileSchedule(op, target, hasRoom))
    return schedule;
  auto getBytes = [&](QuantizeScheduleAttr choice) {
    return getTileBytes(op, adaptToExperts(op, choice));
  };
  int64_t least = std::numeric_limits<int64_t>::max();
  selectTileSchedule(op, target, [&](QuantizeScheduleAttr choice) {
    least = std::min(least, getBytes(choice));
    return false;
  });
  return selectTileSchedule(op, target, [&](QuantizeScheduleAttr choice) {
    return getBytes(choice) == least;
  });
}

QuantizeScheduleAttr
mx::mxgpu::selectQuantizeSchedule(FusedQuantizeOp op,
                                  const TargetInfo &target) {
  if (!isByTiles(op))
    return selectRowSchedule(op, target);
  auto fits = [&](QuantizeScheduleAttr choice, int64_t ctas) {
    return getTileBytes(op, adaptToExperts(op, choice)) <=
           target.getSmemPerCta(ctas);
  };
  auto hasRoom = [&](QuantizeScheduleAttr choice) {
    return fits(choice, choice.getCtas());
  };
  // The tables are for elements; dequantized they take more.
  QuantizeScheduleAttr schedule;
  if (op.getDequantized())
    schedule = selectTileSchedule(op, target, hasRoom);
  if (!schedule)
    schedule = selectTileSchedule(op, target,
                                  [](QuantizeScheduleAttr) { return true; });
  // So do several results, and what is computed from wide numbers.
  if (schedule && !fits(schedule, /*ctas=*/1))
    schedule = selectSmallTileSchedule(op, target, hasRoom);
  assert(schedule && "expected rows for everything of each target");
  return schedule;
}

/// Rows of a group, on average, that are few of the tile that each has.
static bool hasSmallExperts(const DequantizeOperands &operands) {
  if (operands.ragged != RaggedKind::Rows)
    return false;
  constexpr int64_t kFewRows = kScaleTileRows / 2;
  int64_t rows = cast<ShapedType>(operands.input.getType()).getDimSize(0);
  int64_t groups = cast<ShapedType>(operands.offsets.getType()).getDimSize(0);
  return !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(groups) &&
         rows <= kFewRows * groups;
}

/// Writes the most: 16 bytes of a half or 32 of an f32 for each thread. Small
/// groups have wide tiles: each CTA looks for its group first.
QuantizeScheduleAttr
mx::mxgpu::selectDequantizeSchedule(const DequantizeOperands &operands) {
  int64_t columns = hasSmallExperts(operands) ? 512 : 128;
  return QuantizeScheduleAttr::get(operands.op->getContext(), {128, columns},
                                   /*threads=*/512, /*vector=*/8, /*stages=*/1,
                                   /*ctas=*/2);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SelectQuantizeSchedulePass final
    : mx::mxgpu::impl::MXSelectQuantizeScheduleBase<
          SelectQuantizeSchedulePass> {
  using MXSelectQuantizeScheduleBase::MXSelectQuantizeScheduleBase;

  void runOnOperation() override {
    std::string error;
    const TargetInfo *target = target::lookupKernelTarget(chip, error);
    if (!target) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr(kQuantizeScheduleAttrName))
        return;
      if (auto quantize = dyn_cast<FusedQuantizeOp>(op))
        op->setAttr(kQuantizeScheduleAttrName,
                    selectQuantizeSchedule(quantize, *target));
      else if (auto operands = DequantizeOperands::get(op))
        op->setAttr(kQuantizeScheduleAttrName,
                    selectDequantizeSchedule(*operands));
    });
  }
};
} // namespace
