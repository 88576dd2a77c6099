//===- QuantizeSchedule.cpp - Choose how each quantizer runs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A table, not a model: quantizers wait for memory, and what keeps it busy was
// measured on an H200. Along rows, 32 KiB of loads a CTA under way before the
// first is used, and as many CTAs as registers allow; narrower results need
// more instructions and gain by more, smaller CTAs.
//
//===----------------------------------------------------------------------===//

#include "QuantizePieces.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {
enum class Input { BF16, F16, F32 };
enum class Output { Bytes, E2M1, NVFP4 };
struct Choice {
  Input input;
  Output output;
  int64_t threads, vector, ctas;
};
} // namespace

static constexpr Choice kAlongRows[] = {
    {Input::BF16, Output::Bytes, 512, 16, 2},
    {Input::BF16, Output::E2M1, 256, 16, 4},
    {Input::BF16, Output::NVFP4, 256, 16, 4},
    {Input::F16, Output::Bytes, 512, 16, 2},
    {Input::F16, Output::E2M1, 256, 16, 4},
    // 64 registers are too few.
    {Input::F16, Output::NVFP4, 256, 16, 3},
    {Input::F32, Output::Bytes, 512, 8, 2},
    {Input::F32, Output::E2M1, 512, 8, 2},
    {Input::F32, Output::NVFP4, 512, 8, 2},
};

static Input getInput(Type type) {
  return type.isBF16() ? Input::BF16 : type.isF16() ? Input::F16 : Input::F32;
}

static Output getOutput(QuantizeOp op) {
  if (op.getGlobalScale())
    return Output::NVFP4;
  Type type = getElementTypeOrSelf(op.getOuts()[0].getType());
  return isa<Float4E2M1FNType>(type) ? Output::E2M1 : Output::Bytes;
}

namespace {
enum class Axes { Columns, Both };
/// What numbers are while a thread has them: pairs of 16 bits, or f32 that come
/// from such pairs or from memory. Rounding to 6 bits by hand, too, takes
/// registers that both axes leave no room for.
enum class Numbers { Pairs, Widened, F32 };
struct Tile {
  int64_t rows, columns;
  int64_t unit, stages; // rows loaded at a time, and slots for them
};
struct TileChoice {
  Axes axes;
  Numbers numbers;
  int64_t least; // elements of the input
  Tile tile;
  int64_t threads, ctas;
  RasterOrder order;
};
} // namespace

static constexpr Tile kSmall = {128, 128, /*unit=*/0, /*stages=*/1};
static constexpr RasterOrder kLinear = RasterOrder::Linear,
                             kColumns = RasterOrder::Columns;
/// Rows of 256 bytes both ways.
static constexpr Tile kLarge = {256, 256, /*unit=*/32, /*stages=*/2};

static constexpr Tile kWide = {256, 256, /*unit=*/64, /*stages=*/2};
static constexpr Tile kDouble = {128, 128, /*unit=*/0, /*stages=*/2};

/// Through shared memory, the first that fits: as many CTAs as memory and
/// registers let in, one tile each (docs/QuantizeSpeed.md).
static constexpr TileChoice kTiles[] = {
    {Axes::Both, Numbers::Pairs, int64_t(1) << 29, kLarge, 256, 2, kColumns},
    {Axes::Both, Numbers::Pairs, int64_t(1) << 26, kLarge, 256, 2, kLinear},
    {Axes::Both, Numbers::Pairs, 0, kSmall, 256, 3, kLinear},
    {Axes::Both, Numbers::Widened, 0, kSmall, 128, 2, kLinear},
    {Axes::Both, Numbers::F32, 0, kSmall, 256, 2, kLinear},
    {Axes::Columns, Numbers::Pairs, 0, kSmall, 256, 4, kColumns},
    {Axes::Columns, Numbers::F32, 0, kSmall, 256, 2, kColumns},
};

static Numbers getNumbers(QuantizeOp op, Axes axes, Type type) {
  Input input = getInput(type);
  if (input == Input::F32)
    return Numbers::F32;
  Type element = getElementTypeOrSelf(op.getElements(0).getType());
  bool isSix = element.getIntOrFloatBitWidth() == 6;
  return axes == Axes::Both && (input == Input::F16 || isSix) ? Numbers::Widened
                                                              : Numbers::Pairs;
}

static Axes getAxes(QuantizeOp op) {
  return op.getAxes().size() == 2 ? Axes::Both : Axes::Columns;
}

/// Elements of the input, 0 where they are not known or groups share them.
static int64_t getSize(QuantizeOp op) {
  auto input = cast<ShapedType>(op.getInput().getType());
  return input.hasStaticShape() && !op.getOffsets() ? input.getNumElements()
                                                    : 0;
}

/// Groups have tiles below each other in turn.
static QuantizeScheduleAttr getTileSchedule(QuantizeOp op, const Tile &tile,
                                            int64_t threads, int64_t ctas,
                                            RasterOrder order, bool tickets) {
  if (op.getOffsets())
    order = kColumns;
  return QuantizeScheduleAttr::get(
      op.getContext(), {tile.rows, tile.columns}, threads, /*vector=*/32,
      tile.unit, tile.stages, ctas,
      RasterAttr::get(op.getContext(), order, /*group=*/1), tickets);
}

static QuantizeScheduleAttr selectTileSchedule(QuantizeOp op) {
  Axes axes = getAxes(op);
  Numbers numbers =
      getNumbers(op, axes, getElementTypeOrSelf(op.getInput().getType()));
  int64_t size = getSize(op);
  const TileChoice *choice = llvm::find_if(kTiles, [&](const TileChoice &tile) {
    return tile.axes == axes && tile.numbers == numbers && tile.least <= size;
  });
  return getTileSchedule(op, choice->tile, choice->threads, choice->ctas,
                         choice->order, /*tickets=*/false);
}

namespace {
struct ProducedChoice {
  Axes axes;
  Numbers numbers; // or less
  int64_t bits;    // of all values of an element, or less
  int64_t least;
  Tile tile;
  int64_t threads;
  RasterOrder order;
};
} // namespace

static constexpr int64_t kAnyBits = std::numeric_limits<int64_t>::max();

/// Tiles that threads compute, the first that is large enough: a slot is filled
/// while another one is quantized, where shared memory has room for two, and
/// all threads have the registers of those who quantize both axes. The first
/// was measured (docs/QuantizeSpeed.md), the others are what fits.
static constexpr ProducedChoice kProducedTiles[] = {
    {Axes::Both, Numbers::Pairs, 16, int64_t(1) << 25, kWide, 256, kLinear},
    {Axes::Both, Numbers::Pairs, 16, 0, kDouble, 256, kLinear},
    {Axes::Both, Numbers::F32, 32, 0, kDouble, 128, kLinear},
    {Axes::Both, Numbers::F32, kAnyBits, 0, kSmall, 128, kLinear},
    {Axes::Columns, Numbers::F32, 32, 0, kDouble, 128, kColumns},
    {Axes::Columns, Numbers::F32, kAnyBits, 0, kSmall, 128, kColumns},
};

/// Groups have tiles in one stage. What does not fit at all is left to the
/// message of mxgpu-allocate.
static QuantizeScheduleAttr selectProducedTileSchedule(QuantizeOp op) {
  Axes axes = getAxes(op);
  // The scales of NVFP4 take registers too.
  Numbers numbers = op.getGlobalScale() ? Numbers::Widened : Numbers::Pairs;
  int64_t bits = 0;
  for (Type type : getQuantizedTypes(op)) {
    numbers = std::max(numbers, getNumbers(op, axes, type));
    bits += type.getIntOrFloatBitWidth();
  }
  const auto *choice =
      llvm::find_if(kProducedTiles, [&](const ProducedChoice &choice) {
        return axes == choice.axes && numbers <= choice.numbers &&
               bits <= choice.bits && choice.least <= getSize(op);
      });
  Tile tile = choice->tile;
  if (op.getOffsets())
    tile.stages = 1;
  return getTileSchedule(op, tile, choice->threads, /*ctas=*/1, choice->order,
                         /*tickets=*/tile.stages > 1);
}

/// A thread holds pieces of several inputs, and what is computed of them.
static QuantizeScheduleAttr selectForProducer(QuantizeOp op) {
  int64_t bits = 0;
  for (Value input : op.getInputs())
    bits += getElementTypeOrSelf(input.getType()).getIntOrFloatBitWidth();
  bool isSmall = bits <= 32;
  return QuantizeScheduleAttr::get(
      op.getContext(), {128, 128}, /*threads=*/isSmall ? 256 : 512,
      /*vector=*/16, /*unit=*/0, /*stages=*/1,
      /*ctas=*/isSmall && !op.getSeed() ? 2 : 1,
      RasterAttr::get(op.getContext(), RasterOrder::Linear, 1),
      /*tickets=*/false);
}

QuantizeScheduleAttr mx::mxgpu::selectQuantizeSchedule(QuantizeOp op) {
  if (op.getAxes() != ArrayRef<int64_t>{1} || op.getOffsets())
    return op.getProducerBlock() || op.getGather()
               ? selectProducedTileSchedule(op)
               : selectTileSchedule(op);
  if (!op.getProducer().empty())
    return selectForProducer(op);
  Input input = getInput(getElementTypeOrSelf(op.getInput().getType()));
  Output output = getOutput(op);
  const Choice *choice = llvm::find_if(kAlongRows, [&](const Choice &choice) {
    return choice.input == input && choice.output == output;
  });
  // Random numbers are computed, not waited for, and need their registers.
  int64_t ctas = op.getSeed() ? 1 : choice->ctas;
  return QuantizeScheduleAttr::get(op.getContext(), {128, 128}, choice->threads,
                                   choice->vector, /*stages=*/1, ctas);
}

/// Writes the most: 16 bytes of a half or 32 of an f32 for each thread.
QuantizeScheduleAttr mx::mxgpu::selectDequantizeSchedule(DequantizeOp op) {
  return QuantizeScheduleAttr::get(op.getContext(), {128, 128},
                                   /*threads=*/512, /*vector=*/8, /*stages=*/1,
                                   /*ctas=*/2);
}
