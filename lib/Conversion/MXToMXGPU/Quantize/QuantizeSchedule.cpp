//===- QuantizeSchedule.cpp - Selection of quantizer schedules ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantizers are memory bound, and their schedules are measured
// (QuantizeSchedules.def). Along rows, a CTA keeps 32 KiB of loads in flight,
// and registers limit the number of CTAs. Narrower results need more
// instructions and profit from more and smaller CTAs. A CTA that quantizes
// through shared memory processes one tile. If threads compute the values, they
// fill a stage while other threads quantize another stage.
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
/// Result kind. `Relative` is 4-bit with scales relative to a tensor factor.
enum class Output { Bytes, E2M1, Relative };
enum class Axes { Columns, Both };
/// Register format of the values being quantized: pairs of 16-bit values, f32
/// values converted from such pairs, or f32 values from memory. If rounding to
/// 6 bits is emulated, the next wider format is assumed, because quantizing
/// along both axes exhausts the registers.
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

/// Number of rows and columns of the smallest tile. A wider tile is rejected if
/// more than 1 / kLeastFilled of its columns are padding.
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

/// Returns the schedule of the target's first matching table row, or null.
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

/// Returns true unless a large part of a wide tile is padding. Threads that
/// compute values also compute the padding.
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
  // Divisions of f32 scales need registers.
  if (axes == Axes::Columns &&
      getBlockFormat(op.getScaleType(0), op.getBlockSize()).isExact)
    return RegisterFormat::WidenedF32;
  bool isSix = op.getElementType(0).getIntOrFloatBitWidth() == 6;
  return axes == Axes::Both && (input == Input::F16 || isSix)
             ? RegisterFormat::WidenedF32
             : RegisterFormat::Packed16;
}

/// Returns the axes of a quantizer. Squares along rows need as many registers
/// as both axes.
static Axes getAxes(FusedQuantizeOp op) {
  return op.getAxes().size() == 2 || op.getSquare() ? Axes::Both
                                                    : Axes::Columns;
}

/// Returns the number of input elements, or 0 if the shape is dynamic or expert
/// groups divide the input.
static int64_t getSize(FusedQuantizeOp op) {
  auto input = cast<ShapedType>(op.getInput().getType());
  return input.hasStaticShape() && !op.getOffsets() ? input.getNumElements()
                                                    : 0;
}

/// Adapts a schedule to expert groups. They need a single stage and tiles in
/// column order.
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

/// Returns true if a schedule and the destinations fit in shared memory.
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

/// Upper bound of the bytes for barriers, work tile indices and alignment.
static constexpr int64_t kOtherBytes = 4096;

int64_t mx::mxgpu::getQuantizeTileBits(StringRef chip) {
  const TargetInfo *target = target::lookupTarget(chip);
  if (!target)
    return 0;
  int64_t bits =
      8 * (target->smemPerCta - kOtherBytes) / (kNarrowTile * kNarrowTile);
  // With little shared memory, a stage is a quarter of a tile, and only
  // quantized columns buffer a whole tile. Of n bits per element, at least 16
  // belong to a dequantized result, and at most a third of the rest to
  // quantized columns. The buffers therefore need at most n / 4 + 3 / 4 * (n -
  // 16) / 3 bits.
  constexpr int64_t kLittleBytes = 1 << 17;
  return target->smemPerCta < kLittleBytes ? 2 * (bits + 4) : bits;
}

/// Returns the shared-memory bytes that a tile quantizer needs for value
/// stages, prologue input stages and outputs. Outputs along rows and
/// dequantized outputs need the size of a stage, other outputs the size of a
/// tile.
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

/// Returns false if the schedule copies prologue inputs to shared memory, but
/// bulk copies cannot load them or they do not fit.
static bool fitsCopies(FusedQuantizeOp op, const TargetInfo &target,
                       QuantizeScheduleAttr schedule) {
  return !schedule.getInputStages() ||
         (canCopyInputs(op) && getTileBytes(op, schedule) <= target.smemPerCta);
}

/// Selects a schedule for computed values. If no schedule fits,
/// mxgpu-verify-resources reports the error.
static QuantizeScheduleAttr selectProducedTileSchedule(FusedQuantizeOp op,
                                                       const TargetInfo &target,
                                                       HasRoom hasRoom) {
  Axes axes = getAxes(op);
  // NVFP4 scales and scales of several inputs need registers.
  bool hasScales = op.getGlobalScale() || op.getInputScales().size() > 1;
  RegisterFormat format =
      hasScales ? RegisterFormat::WidenedF32 : RegisterFormat::Packed16;
  for (Type type : getQuantizedTypes(op))
    format = std::max(format, getRegisterFormat(op, axes, type));
  int64_t bits = getQuantizedBits(op);
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

/// Adapts a schedule to the generation of random numbers, which is compute
/// bound and needs registers.
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

/// Widens vectors so that a warp holds a block. Four blocks of 512 seldom
/// divide a row, so smaller CTAs waste fewer threads on padding.
static QuantizeScheduleAttr adaptToBlocks(FusedQuantizeOp op,
                                          QuantizeScheduleAttr schedule) {
  int64_t vector = op.getBlockSize() / target::kWarpSize;
  constexpr int64_t kLongBlock = 512, kSmallCta = 256;
  int64_t threads = schedule.getThreads(), ctas = schedule.getCtas();
  if (op.getBlockSize() >= kLongBlock && threads > kSmallCta) {
    ctas *= threads / kSmallCta;
    threads = kSmallCta;
  }
  return QuantizeScheduleAttr::get(
      op.getContext(), schedule.getTile(), threads,
      std::max(vector, schedule.getVector()),
      /*stage_rows=*/0, /*stages=*/1, ctas, schedule.getRaster(),
      /*atomic_counter=*/false, /*input_stages=*/0);
}

/// Selects a schedule for a prologue. Its threads hold pieces of all inputs and
/// results in registers.
static QuantizeScheduleAttr selectForPrologue(FusedQuantizeOp op) {
  bool isSmall = getInputBits(op) <= 32;
  return QuantizeScheduleAttr::get(
      op.getContext(), {128, 128}, /*threads=*/isSmall ? 256 : 512,
      /*vector=*/16, /*stage_rows=*/0, /*stages=*/1,
      /*ctas=*/isSmall && !op.getSeed() ? 2 : 1,
      RasterAttr::get(op.getContext(), RasterOrder::Linear, 1),
      /*atomic_counter=*/false, /*input_stages=*/0);
}

/// Selects a schedule for whole rows, which a warp or, if they are long, a CTA
/// holds in registers.
static QuantizeScheduleAttr selectForWholeRows(FusedQuantizeOp op,
                                               const TargetInfo &target) {
  // Registers for other values: more if each warp computes spreads of a row.
  constexpr int64_t kThreads = 256, kOfWarp = 64, kOthers = 40,
                    kOthersOfWarp = 56, kMostCtas = 4;
  bool isWide = llvm::any_of(getQuantizedTypes(op),
                             [](Type type) { return type.isF32(); });
  int64_t bits = getQuantizedBits(op), vector = isWide ? 8 : 16;
  int64_t columns = op.getInput().getType().getShape().back();
  auto getRegisters = [&](int64_t threads) {
    return llvm::divideCeil(columns, threads * vector) * vector * bits / 32;
  };
  int64_t atOnce = 128, ctas = 1;
  if (!ShapedType::isDynamic(columns)) {
    int64_t registers = getRegisters(target::kWarpSize) + kOthersOfWarp;
    if (registers - kOthersOfWarp > kOfWarp) {
      atOnce = kThreads * vector;
      registers = getRegisters(kThreads) + kOthers;
    }
    ctas = std::clamp<int64_t>(target.registersPerSm / kThreads / registers, 1,
                               kMostCtas);
  }
  return QuantizeScheduleAttr::get(op.getContext(), {128, atOnce}, kThreads,
                                   vector, /*stages=*/1, ctas);
}

static QuantizeScheduleAttr selectRowSchedule(FusedQuantizeOp op,
                                              const TargetInfo &target) {
  if (op.getBlockSize() == BlockFormat::kWhole)
    return selectForWholeRows(op, target);
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
  auto select = [&](HasRoom fits) {
    return isProduced(op) ? selectProducedTileSchedule(op, target, fits)
                          : selectCopiedTileSchedule(op, target, fits);
  };
  QuantizeScheduleAttr schedule = select([&](QuantizeScheduleAttr choice) {
    return holdsBlocks(op, choice) && hasRoom(choice);
  });
  if (!schedule) // the builder reports the blocks
    schedule = select(hasRoom);
  if (!schedule)
    return schedule;
  return adaptToSeed(op, adaptToExperts(op, schedule), /*mostThreads=*/128);
}

/// Returns the first schedule that fits. If none fits, returns the smallest,
/// because the estimate of its shared memory may be too high.
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
  assert(schedule && "expected table rows that cover all quantizers");
  return schedule;
}

/// Returns true if expert groups fill at most half of a tile on average.
static bool hasSmallExperts(const DequantizeOperands &operands) {
  if (operands.ragged != RaggedKind::Rows)
    return false;
  constexpr int64_t kFewRows = kScaleTileRows / 2;
  int64_t rows = cast<ShapedType>(operands.input.getType()).getDimSize(0);
  int64_t groups = cast<ShapedType>(operands.offsets.getType()).getDimSize(0);
  return !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(groups) &&
         rows <= kFewRows * groups;
}

/// Selects a schedule in which a thread writes 16 bytes of bf16 or 32 bytes of
/// f32 at once. Small expert groups use wide tiles, because each CTA first
/// searches for its group.
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
    const TargetInfo *target = lookupTarget(getOperation(), chip);
    if (!target)
      return signalPassFailure();
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
