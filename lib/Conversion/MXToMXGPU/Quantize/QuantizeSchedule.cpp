//===- QuantizeSchedule.cpp - Selection of quantizer schedules ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Quantizers are memory bound; their schedules are measured
// (QuantizeSchedules.def). Along rows, a CTA has 32 KiB of loads in flight, and
// registers limit the CTAs; narrower results need more instructions and profit
// from more, smaller CTAs. Through shared memory, each CTA processes one tile;
// with computed tiles, filling a stage overlaps quantizing another.
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
/// Relative: 4-bit elements with scales relative to a tensor factor.
enum class Output { Bytes, E2M1, Relative };
enum class Axes { Columns, Both };
/// Register format of the values being quantized: pairs of 16 bits, f32 widened
/// from such pairs, or f32 from memory. Emulated rounding to 6 bits counts as
/// wider, because both axes together exhaust the registers.
enum class RegisterFormat { Packed16, WidenedF32, F32 };

struct RowsChoice {
  const char *chip;
  Input input;
  Output output;
  const char *schedule;
};
struct TileChoice {
  const char *chip;
  Axes axes;
  RegisterFormat format;
  int64_t least; // minimum input elements
  const char *schedule;
};
struct ProducedChoice {
  const char *chip;
  Axes axes;
  RegisterFormat format; // maximum
  int64_t bits;          // maximum over all values of an element
  int64_t least;
  const char *schedule;
};
} // namespace

static constexpr int64_t kAnyBits = std::numeric_limits<int64_t>::max();

/// Rows and columns of the smallest tile. A wider tile is rejected if more than
/// 1 / kLeastFilled of its columns are padding.
static constexpr int64_t kNarrowTile = 128, kLeastFilled = 20;

static constexpr RowsChoice kAlongRows[] = {
#define ALONG_ROWS(chip, input, output, schedule)                              \
  {#chip, Input::input, Output::output, schedule},
#include "QuantizeSchedules.def"
};

static constexpr TileChoice kTiles[] = {
#define TILE(chip, axes, format, least, schedule)                              \
  {#chip, Axes::axes, RegisterFormat::format, least, schedule},
#include "QuantizeSchedules.def"
#define DEQUANTIZED(chip, axes, format, schedule)                              \
  {#chip, Axes::axes, RegisterFormat::format, /*least=*/0, schedule},
#include "QuantizeSchedules.def"
};

static constexpr ProducedChoice kProducedTiles[] = {
#define PRODUCED(chip, axes, format, bits, least, schedule)                    \
  {#chip, Axes::axes, RegisterFormat::format, bits, least, schedule},
#include "QuantizeSchedules.def"
};

static constexpr ProducedChoice kProducedExperts[] = {
#define PRODUCED_GROUPS(chip, axes, format, bits, schedule)                    \
  {#chip, Axes::axes, RegisterFormat::format, bits, /*least=*/0, schedule},
#include "QuantizeSchedules.def"
};

template <typename Row>
static QuantizeScheduleAttr getSchedule(MLIRContext *context, const Row &row) {
  std::string text = "#mxgpu.quantize_schedule<";
  return cast<QuantizeScheduleAttr>(
      parseAttribute(text + row.schedule + ">", context));
}

/// Returns the schedule of the target's first matching row, or null.
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

/// Returns true if little of a wide tile is padding, because threads that
/// compute values also compute padding.
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

static RegisterFormat getRegisterFormat(FusedQuantizeOp op, Axes axes,
                                        Type type) {
  Input input = getInput(type);
  if (input == Input::F32)
    return RegisterFormat::F32;
  bool isSix = op.getElementType(0).getIntOrFloatBitWidth() == 6;
  return axes == Axes::Both && (input == Input::F16 || isSix)
             ? RegisterFormat::WidenedF32
             : RegisterFormat::Packed16;
}

/// Squares along rows need as many registers as both axes.
static Axes getAxes(FusedQuantizeOp op) {
  return op.getAxes().size() == 2 || op.getSquare() ? Axes::Both
                                                    : Axes::Columns;
}

/// Returns the input elements, or 0 if dynamic or divided into expert groups.
static int64_t getSize(FusedQuantizeOp op) {
  auto input = cast<ShapedType>(op.getInput().getType());
  return input.hasStaticShape() && !op.getOffsets() ? input.getNumElements()
                                                    : 0;
}

/// Adapts a schedule to expert groups: a single stage, and tiles in column
/// order.
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

/// Returns true if a schedule fits in shared memory with the destinations of
/// `op`.
using HasRoom = llvm::function_ref<bool(QuantizeScheduleAttr)>;

static QuantizeScheduleAttr selectCopiedTileSchedule(FusedQuantizeOp op,
                                                     const TargetInfo &target,
                                                     HasRoom hasRoom) {
  Axes axes = getAxes(op);
  RegisterFormat format = getRegisterFormat(
      op, axes, getElementTypeOrSelf(op.getInput().getType()));
  return findSchedule(op.getContext(), ArrayRef(kTiles), target,
                      [&](const TileChoice &choice) {
                        return axes == choice.axes && format == choice.format &&
                               choice.least <= getSize(op) &&
                               hasRoom(getSchedule(op.getContext(), choice));
                      });
}

/// Upper bound of barriers, work tile indices and alignment.
static constexpr int64_t kOtherBytes = 4096;

int64_t mx::mxgpu::getQuantizeTileBits(StringRef chip) {
  const TargetInfo *target = target::lookupTarget(chip);
  if (!target)
    return 0;
  int64_t bits =
      8 * (target->smemPerCta - kOtherBytes) / (kNarrowTile * kNarrowTile);
  // With little shared memory, stages are a quarter of a tile and only
  // quantized columns buffer a whole tile: 8 of 24 bits with their source,
  // beside at least 16 bits of a dequantized result. So n bits need at most n /
  // 4 + 3 / 4 * (n - 16) / 3.
  constexpr int64_t kLittleBytes = 1 << 17;
  return target->smemPerCta < kLittleBytes ? 2 * (bits + 4) : bits;
}

/// Returns the shared memory of a quantizer by tiles: stages of values and of
/// prologue inputs, and the output of each axis for a tile or, along rows and
/// for dequantized results, for a stage.
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

/// Returns true unless the schedule needs bulk copies of inputs that are
/// impossible or do not fit.
static bool fitsCopies(FusedQuantizeOp op, const TargetInfo &target,
                       QuantizeScheduleAttr schedule) {
  return !schedule.getInputStages() ||
         (canCopyInputs(op) && getTileBytes(op, schedule) <= target.smemPerCta);
}

/// Schedules that do not fit at all are left to mxgpu-verify-resources.
static QuantizeScheduleAttr selectProducedTileSchedule(FusedQuantizeOp op,
                                                       const TargetInfo &target,
                                                       HasRoom hasRoom) {
  Axes axes = getAxes(op);
  // NVFP4 scales need registers, and so do scales of several inputs or of one
  // gathered input.
  size_t scales = op.getInputScales().size();
  bool hasScales =
      op.getGlobalScale() || scales > 1 || (scales == 1 && op.getGather());
  RegisterFormat format =
      hasScales ? RegisterFormat::WidenedF32 : RegisterFormat::Packed16;
  int64_t bits = 0;
  for (Type type : getQuantizedTypes(op)) {
    format = std::max(format, getRegisterFormat(op, axes, type));
    bits += type.getIntOrFloatBitWidth();
  }
  auto rows = op.getOffsets() ? ArrayRef<ProducedChoice>(kProducedExperts)
                              : ArrayRef<ProducedChoice>(kProducedTiles);
  return findSchedule(
      op.getContext(), rows, target, [&](const ProducedChoice &choice) {
        auto schedule = getSchedule(op.getContext(), choice);
        return axes == choice.axes && format <= choice.format &&
               bits <= choice.bits && choice.least <= getSize(op) &&
               fillsTiles(op, schedule) && fitsCopies(op, target, schedule) &&
               hasRoom(schedule);
      });
}

/// Random numbers are compute bound and need registers.
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

/// Lanes gather four scales of a row, so tiles need at least four blocks.
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

/// Selects a schedule for threads that hold pieces of several inputs and the
/// results.
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

/// Returns the first schedule with room, or the smallest, since estimates may
/// be too high.
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
  // Dequantized destinations need more memory than the tables assume.
  QuantizeScheduleAttr schedule;
  if (op.getDequantized())
    schedule = selectTileSchedule(op, target, hasRoom);
  if (!schedule)
    schedule = selectTileSchedule(op, target,
                                  [](QuantizeScheduleAttr) { return true; });
  // Several results or wide values may also need more.
  if (schedule && !fits(schedule, /*ctas=*/1))
    schedule = selectSmallTileSchedule(op, target, hasRoom);
  assert(schedule && "expected rows for everything of each target");
  return schedule;
}

/// Returns true if groups, on average, fill little of their tile.
static bool hasSmallExperts(const DequantizeOperands &operands) {
  if (operands.ragged != RaggedKind::Rows)
    return false;
  constexpr int64_t kFewRows = kScaleTileRows / 2;
  int64_t rows = cast<ShapedType>(operands.input.getType()).getDimSize(0);
  int64_t groups = cast<ShapedType>(operands.offsets.getType()).getDimSize(0);
  return !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(groups) &&
         rows <= kFewRows * groups;
}

/// Each thread writes 16 bytes of bf16 or 32 of f32. Small groups use wide
/// tiles, because each CTA searches for its group first.
QuantizeScheduleAttr
mx::mxgpu::selectDequantizeSchedule(const DequantizeOperands &operands) {
  int64_t columns = hasSmallExperts(operands) ? 512 : 128;
  return QuantizeScheduleAttr::get(operands.op->getContext(), {128, columns},
                                   /*threads=*/512, /*vector=*/8, /*stages=*/1,
                                   /*ctas=*/2);
}

//===----------------------------------------------------------------------===//
// Pass
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
