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
struct TileChoice {
  Axes axes;
  Numbers numbers;
  int64_t least; // elements of the input
  int64_t threads, ctas;
  int64_t group; // tiles below each other that are visited together
};
} // namespace

/// Through shared memory, the first that fits: as many CTAs as memory and
/// registers let in, one tile each. Larger tiles that are loaded in parts were
/// slower on an H200 (docs/QuantizeSpeed.md).
static constexpr TileChoice kTiles[] = {
    {Axes::Both, Numbers::Pairs, int64_t(1) << 29, 256, 3, 2},
    {Axes::Both, Numbers::Pairs, 0, 256, 3, 1},
    {Axes::Both, Numbers::Widened, 0, 128, 3, 1},
    {Axes::Both, Numbers::F32, 0, 256, 2, 1},
    {Axes::Columns, Numbers::Pairs, 0, 256, 4, 1},
    {Axes::Columns, Numbers::F32, 0, 256, 2, 1},
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

/// Tiles that lie below each other are written side by side where the tensor is
/// only written transposed, or group by group.
static RasterOrder getTileOrder(QuantizeOp op) {
  return getAxes(op) == Axes::Both && !op.getOffsets() ? RasterOrder::Linear
                                                       : RasterOrder::Columns;
}

static QuantizeScheduleAttr selectTileSchedule(QuantizeOp op) {
  auto input = cast<ShapedType>(op.getInput().getType());
  bool isRagged = bool(op.getOffsets());
  Axes axes = getAxes(op);
  Numbers numbers = getNumbers(op, axes, input.getElementType());
  int64_t size =
      input.hasStaticShape() && !isRagged ? input.getNumElements() : 0;
  RasterOrder order = getTileOrder(op);
  const TileChoice *tile = llvm::find_if(kTiles, [&](const TileChoice &tile) {
    return tile.axes == axes && tile.numbers == numbers && tile.least <= size;
  });
  if (tile->group > 1)
    order = RasterOrder::Supergroup;
  return QuantizeScheduleAttr::get(
      op.getContext(), {128, 128}, tile->threads, /*vector=*/32, /*unit=*/0,
      /*stages=*/1, tile->ctas,
      RasterAttr::get(op.getContext(), order, tile->group));
}

namespace {
struct ProducedChoice {
  Numbers numbers;
  int64_t bits; // of all values of an element
  int64_t stages, ctas;
};
} // namespace

/// Tiles that threads compute, the first that is large enough: a slot is filled
/// while another one is quantized, where shared memory has room for two, and
/// all threads have the registers of those who quantize both axes. Chosen by
/// what fits, not measured.
static constexpr ProducedChoice kProducedTiles[] = {
    {Numbers::Pairs, 16, /*stages=*/2, /*ctas=*/2},
    {Numbers::F32, 32, /*stages=*/2, /*ctas=*/1},
    {Numbers::F32, 64, /*stages=*/1, /*ctas=*/1},
};

/// Groups have tiles in one stage. What does not fit at all is left to the
/// message of mxgpu-allocate.
static QuantizeScheduleAttr selectProducedTileSchedule(QuantizeOp op) {
  Numbers numbers = Numbers::Pairs;
  int64_t bits = 0;
  for (Type type : getQuantizedTypes(op)) {
    numbers = std::max(numbers, getNumbers(op, getAxes(op), type));
    bits += type.getIntOrFloatBitWidth();
  }
  const auto *choice = llvm::find_if(
      ArrayRef(kProducedTiles).drop_back(), [&](const ProducedChoice &choice) {
        return numbers <= choice.numbers && bits <= choice.bits;
      });
  return QuantizeScheduleAttr::get(
      op.getContext(), {128, 128}, /*threads=*/128, /*vector=*/32, /*unit=*/0,
      op.getOffsets() ? 1 : choice->stages, choice->ctas,
      RasterAttr::get(op.getContext(), getTileOrder(op), /*group=*/1));
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
      RasterAttr::get(op.getContext(), RasterOrder::Linear, 1));
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
