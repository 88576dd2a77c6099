//===- Quantize.cpp - Lowering of quantizations ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line is a row of a destination: an input row for axis 1, or an input column
// for axis 0. Each block is read twice, first to compute the maximum and then
// to quantize the elements.
//===----------------------------------------------------------------------===//

#include "../Utils/HostCode.h"
#include "Patterns.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

/// Rows that a destination copies unchanged.
struct Copied {
  Elements elements;
  Scales scales;
  Value gather; // or null
};

/// A destination of a quantization along one axis.
struct Orientation {
  Value input;
  bool transposed; // axis 0
  Elements elements;
  Scales scales;
  std::optional<Scales> spreads;
  int64_t blockSize;
  ScaleRounding mode;
  std::optional<Int> encodeBits; // NVFP4
  const ScaleCodec *codec;       // or null
  std::optional<Int> seed;       // for stochastic rounding
  int64_t lines;                 // number of lines with the same scale
  std::optional<Copied> copied;  // copied instead of quantized
};

/// Part of an orientation, processed by quantizeLines. `length` positions of
/// the input, starting at `from`, are written to the destination at `to`.
struct Extent {
  ArrayRef<Value> batch;
  Int firstLine, endLine, from, length, to;
};

} // namespace

/// Returns the input indices of a position in a line.
static SmallVector<Value> getPlace(const Orientation &o, const Extent &extent,
                                   Int line, Int position) {
  SmallVector<Value> place(extent.batch);
  Int from = extent.from + position;
  if (o.transposed)
    place.append({from, line});
  else
    place.append({line, from});
  return place;
}

/// Returns an element's random number, or none without stochastic rounding.
static std::optional<Int> drawRandom(Emitter &emitter, const Orientation &o,
                                     ArrayRef<Value> place) {
  if (!o.seed)
    return std::nullopt;
  Int index = emitter.index(0);
  for (auto [dimension, coordinate] : llvm::enumerate(place))
    index = index * emitter.dim(o.input, dimension) + emitter.wrap(coordinate);
  return emitter.getNumbers().random(index.to(o.seed->type()), *o.seed);
}

/// Returns the scale of a block, and the factor for its elements. For
/// power-of-two scales the second value is the divisor.
static std::pair<Int, Int> getScale(Emitter &emitter, const Orientation &o,
                                    Int absMax) {
  FormatArith &numbers = emitter.getNumbers();
  if (o.codec) {
    OpBuilder &builder = emitter.getBuilder();
    EncodedScale scale =
        o.codec->encode(builder, emitter.getLoc(), o.elements.type,
                        absMax.as(builder.getF32Type()));
    return {emitter.wrap(scale.bits),
            emitter.wrap(emitter.wrap(scale.factor).as(absMax.type()))};
  }
  if (!o.encodeBits) {
    Int scale = numbers.blockScale(o.elements.type, o.mode, absMax);
    return {scale, scale};
  }
  Int scale = numbers.nvfp4Scale(absMax, *o.encodeBits);
  return {scale, numbers.nvfp4Inverse(scale, *o.encodeBits)};
}

static Int loadBits(Emitter &emitter, const Orientation &o,
                    const Extent &extent, Int line, Int position) {
  return emitter.getNumbers().widenToF32(
      emitter.load(o.input, getPlace(o, extent, line, position)));
}

/// Stores the spread of the block `[begin, end)` of a line. A range contains
/// the largest scale and 255 minus the smallest, in a byte each.
static void storeSpread(Emitter &emitter, const Orientation &o,
                        const Extent &extent, Int line, Int block, Int begin,
                        Int end) {
  Int none = Int::constant(emitter.getBuilder(), emitter.getLoc(),
                           emitter.getBuilder().getI32Type(), 0);
  Int groups = (end - begin).ceilDiv(kPowerOfTwoBlockSize);
  Int range =
      emitter.reduce(emitter.index(0), groups, none, [&](Int group, Int soFar) {
        Int first = begin + group * kPowerOfTwoBlockSize;
        Int last = (first + kPowerOfTwoBlockSize).min(end);
        Int absMax =
            emitter.reduce(first, last, none, [&](Int position, Int maximum) {
              return maximum.max(loadBits(emitter, o, extent, line, position) &
                                 0x7FFFFFFF);
            });
        Int scale = emitter.getNumbers()
                        .blockScale(o.elements.type, o.mode, absMax)
                        .to(absMax.type());
        Int counts = (absMax > 0) & (scale < 255);
        Int most = (soFar & 0xFF).max(counts.select(scale, 0));
        Int rest = (soFar >> 8).max(counts.select(scale.like(255) - scale, 0));
        return most | (rest << 8);
      });
  Int spread = ((range & 0xFF) + (range >> 8)).max(255) - 255;
  Int number = extent.to / o.blockSize + block;
  if (o.transposed)
    std::swap(line, number);
  emitter.storeScale(spread, *o.spreads, extent.batch, line, number);
}

/// Quantizes a block of all lines that share a scale, starting at `line`.
static void quantizeBlock(Emitter &emitter, const Orientation &o,
                          const Extent &extent, Int line, Int block) {
  FormatArith &numbers = emitter.getNumbers();
  Int begin = block * o.blockSize;
  Int end = (begin + o.blockSize).min(extent.length);
  Int lineEnd = (line + o.lines).min(extent.endLine);
  Int zero = Int::constant(emitter.getBuilder(), emitter.getLoc(),
                           emitter.getBuilder().getI32Type(), 0);
  auto findMax = [&](Int line, Int soFar) {
    return emitter.reduce(begin, end, soFar, [&](Int position, Int maximum) {
      return maximum.max(loadBits(emitter, o, extent, line, position) &
                         0x7FFFFFFF);
    });
  };
  Int absMax = o.lines > 1 ? emitter.reduce(line, lineEnd, zero, findMax)
                           : findMax(line, zero);
  // Quantize elements with the scale or, for NVFP4 and codecs, with the factor.
  std::pair<Int, Int> encoded = getScale(emitter, o, absMax);
  Int scale = encoded.first, factor = encoded.second;
  auto storeScale = [&](Int line) {
    emitter.storeScale(scale, o.scales, extent.batch, line,
                       extent.to / o.blockSize + block);
  };
  bool isCompact = o.scales.blockRows > 1;
  if (isCompact)
    storeScale(line);
  auto quantizeLine = [&](Int line) {
    if (!isCompact)
      storeScale(line);
    if (o.spreads)
      storeSpread(emitter, o, extent, line, block, begin, end);
    emitter.loop(begin, end, 1, [&](Int position) {
      Int bits = loadBits(emitter, o, extent, line, position);
      std::optional<Int> random =
          drawRandom(emitter, o, getPlace(o, extent, line, position));
      Int code = o.encodeBits || o.codec
                     ? numbers.quantizeBy(o.elements.type, bits, factor, random)
                     : numbers.quantize(o.elements.type, bits, factor, random);
      SmallVector<Value> place(extent.batch);
      place.append({line, extent.to + position});
      emitter.storeCode(code, o.elements, place);
    });
  };
  if (o.lines > 1)
    emitter.loop(line, lineEnd, 1, quantizeLine);
  else
    quantizeLine(line);
}

/// Copies a block of a line and its scale.
static void copyBlock(Emitter &emitter, const Orientation &o,
                      const Extent &extent, Int line, Int block) {
  const Copied &from = *o.copied;
  auto store = [&](Int scale, function_ref<Int(Int)> getCode) {
    emitter.storeScale(scale, o.scales, extent.batch, line, block);
    Int begin = block * o.blockSize;
    Int end = (begin + o.blockSize).min(extent.length);
    emitter.loop(begin, end, 1, [&](Int position) {
      SmallVector<Value> place(extent.batch);
      place.append({line, position});
      emitter.storeCode(getCode(position), o.elements, place);
    });
  };
  auto copy = [&](Int row) {
    store(emitter.loadScale(from.scales, extent.batch, row, block),
          [&](Int position) {
            SmallVector<Value> place(extent.batch);
            place.append({row, position});
            return emitter.loadCode(from.elements, place);
          });
  };
  if (!from.gather)
    return copy(line);
  Int zero = Int::constant(emitter.getBuilder(), emitter.getLoc(),
                           emitter.getBuilder().getI8Type(), 0);
  store(zero, [&](Int) { return zero; });
  int64_t rows = from.elements.getRank() - 2;
  emitIfRowExists(emitter, from.gather, line, emitter.dim(from.elements, rows),
                  copy);
}

static void quantizeLines(Emitter &emitter, const Orientation &o,
                          const Extent &extent) {
  Int zero = emitter.index(0), blocks = extent.length.ceilDiv(o.blockSize);
  // A whole matrix or row has one scale, even if it has no elements.
  bool isMatrix = o.lines == BlockFormat::kWhole;
  Int endLine = isMatrix ? emitter.index(1) : extent.endLine;
  if (o.blockSize == BlockFormat::kWhole)
    blocks = emitter.index(1);
  auto forEachLine = [&](function_ref<void(Int)> body) {
    emitter.loop(extent.firstLine, endLine, o.lines, body);
  };
  // The inner loop iterates along the rows of the input.
  if (o.transposed)
    emitter.loop(zero, blocks, 1, [&](Int block) {
      forEachLine(
          [&](Int line) { quantizeBlock(emitter, o, extent, line, block); });
    });
  else
    forEachLine([&](Int line) {
      emitter.loop(zero, blocks, 1, [&](Int block) {
        if (o.copied)
          copyBlock(emitter, o, extent, line, block);
        else
          quantizeBlock(emitter, o, extent, line, block);
      });
    });
}

static void quantizeAxis(Emitter &emitter, Orientation o, Value offsets,
                         RaggedKind ragged) {
  int64_t rank = cast<MemRefType>(o.input.getType()).getRank();
  Int zero = emitter.index(0);
  Int lines = emitter.dim(o.input, rank - (o.transposed ? 1 : 2));
  Int length = emitter.dim(o.input, rank - (o.transposed ? 2 : 1));

  bool reduction = ragged == RaggedKind::Reduction;
  std::optional<Int> groups;
  if (offsets)
    groups = emitter.dim(offsets, 0);
  Int columns = length;
  if (reduction)
    columns = (length + *groups * 127).roundUp(128); // ragged capacity
  else
    emitter.checkMultiple("input", rank - (o.transposed ? 2 : 1), length,
                          o.blockSize);
  for (int64_t i = 0; i < rank - 2; ++i)
    emitter.checkDim("elements", o.elements, i, emitter.dim(o.input, i));
  emitter.checkDim("elements", o.elements, rank - 2, lines);
  emitter.checkDim("elements", o.elements, rank - 1, columns);
  emitter.checkScales("scales", o.scales, o.elements, lines, columns,
                      o.blockSize, reduction ? std::nullopt : groups);
  if (o.spreads) {
    Int blocks = o.blockSize == BlockFormat::kWhole ? emitter.index(1)
                                                    : columns / o.blockSize;
    emitter.checkScales(
        "spreads", *o.spreads, o.elements, o.transposed ? blocks : lines,
        o.transposed ? lines : blocks, /*blockSize=*/1, std::nullopt);
  }

  // Zero the padding, including the ends of a ragged reduction's expert groups.
  if (o.scales.layout != ScaleLayoutKind::Linear || reduction)
    emitter.fillZero(o.scales.memref);
  if (reduction)
    emitter.fillZero(o.elements.memref);
  if (reduction && o.spreads)
    emitter.fillZero(o.spreads->memref);
  emitter.loopOverDims(o.input, rank - 2, [&](ArrayRef<Value> batch) {
    if (ragged == RaggedKind::None)
      return quantizeLines(emitter, o,
                           {batch, zero, lines, zero, length, zero});
    Int total = reduction ? length : lines;
    emitter.forEachExpert(offsets, total, [&](Emitter::ExpertGroup group) {
      if (reduction)
        return quantizeLines(emitter, o,
                             {batch, zero, lines, group.begin,
                              group.end - group.begin, group.start});
      Orientation inExpert = o;
      inExpert.scales = emitter.inExpert(o.scales, group);
      quantizeLines(emitter, inExpert,
                    {batch, group.begin, group.end, zero, length, zero});
    });
  });
}

/// Replaces `out` by the maximum of `out` and the magnitude of an element.
static void raiseMagnitude(Emitter &emitter, Value input, ArrayRef<Value> place,
                           Value out) {
  OpBuilder &builder = emitter.getBuilder();
  Value sofar = memref::LoadOp::create(builder, emitter.getLoc(), out);
  Int bits = emitter.getNumbers().widenToF32(emitter.load(input, place));
  Int magnitude = bits & 0x7FFFFFFF;
  Int isNaN = magnitude > 0x7F800000;
  Int largest = emitter.wrap(emitter.wrap(sofar).as(magnitude.type()))
                    .max(isNaN.select(int64_t(kF32CanonicalNaN), magnitude));
  memref::StoreOp::create(builder, emitter.getLoc(),
                          largest.as(builder.getF32Type()), out, ValueRange());
}

/// Stores the largest magnitude of all elements, or of each expert group, in
/// `out`.
static void storeMagnitude(Emitter &emitter, Value input, Value out,
                           Value offsets = {},
                           RaggedKind ragged = RaggedKind::None) {
  OpBuilder &builder = emitter.getBuilder();
  Value nothing = arith::ConstantOp::create(builder, emitter.getLoc(),
                                            builder.getF32FloatAttr(0.0f));
  memref::StoreOp::create(builder, emitter.getLoc(), nothing, out,
                          ValueRange());
  auto raise = [&](ArrayRef<Value> place) {
    raiseMagnitude(emitter, input, place, out);
  };
  if (ragged == RaggedKind::None)
    return emitter.loopOverDims(
        input, cast<MemRefType>(input.getType()).getRank(), raise);
  Int zero = emitter.index(0), rows = emitter.dim(input, 0),
      columns = emitter.dim(input, 1);
  Int total = ragged == RaggedKind::Rows ? rows : columns;
  emitter.forEachExpert(offsets, total, [&](Emitter::ExpertGroup group) {
    auto raiseRows = [&](Int firstRow, Int endRow, Int first, Int end) {
      emitter.loop(firstRow, endRow, 1, [&](Int row) {
        emitter.loop(first, end, 1, [&](Int column) { raise({row, column}); });
      });
    };
    if (ragged == RaggedKind::Rows)
      raiseRows(group.begin, group.end, zero, columns);
    else
      raiseRows(zero, rows, group.begin, group.end);
  });
}

static void quantizeAll(Emitter &emitter, FusedQuantizeOp op,
                        FusedQuantizeOp::Adaptor adaptor) {
  OpBuilder &builder = emitter.getBuilder();
  emitter.checkExperts(adaptor.getOffsets());
  int64_t rank = op.getInput().getType().getRank();
  const BlockFormat &format =
      getBlockFormat(getElementTypeOrSelf(op.getScales(0)), op.getBlockSize());
  ScaleRounding rounding = op.getRounding();
  std::optional<Int> encodeBits;
  if (format.hasTensorFactor) {
    Type i32 = builder.getI32Type();
    encodeBits =
        op.getGlobalScale()
            ? emitter.wrap(emitter.wrap(adaptor.getGlobalScale()).as(i32))
            : Int::constant(builder, op.getLoc(), i32, 0x3F800000);
    Int isPositive = *encodeBits > 0, isFinite = *encodeBits < 0x7F800000;
    // An invalid factor in memory becomes NaN, as on the GPU, where the host
    // does not wait for values in memory.
    if (op.getGlobalScale() && followsFromMemory(op.getGlobalScale()))
      encodeBits = (isPositive & isFinite).select(*encodeBits, 0x7FC00000);
    else
      emitter.check(isPositive & isFinite,
                    "a finite global_scale greater than 0, found the "
                    "bits %ld",
                    {*encodeBits});
  }
  std::optional<Int> seed;
  if (op.getSeed())
    seed = emitter.wrap(adaptor.getSeed());
  SmallVector<Value> values(adaptor.getInputs());
  if (op.getGather() || !op.getPrologue().empty() || op.isPassedOn())
    values = computeValues(emitter, op, adaptor.getInputs(),
                           adaptor.getInputScales(), adaptor.getGather());
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    Orientation orientation{
        values[op.getValueOf(i)],
        op.getAxis(i) == 0,
        getElements(op.getElements(i),
                    adaptor.getOuts()[op.getElementsNumber(i)]),
        getScales(adaptor.getOuts()[op.getScalesNumber(i)], rank,
                  format.blockRows),
        std::nullopt,
        int64_t(op.getBlockSize()),
        rounding,
        encodeBits,
        format.getCodec(rounding == ScaleRounding::Ceil),
        seed,
        op.getSquare() ? int64_t(op.getBlockSize()) : format.blockRows,
        std::nullopt};
    if (op.isCopied(i))
      orientation.copied = {
          getElements(op.getInput(), adaptor.getInputs()[0]),
          getScales(adaptor.getInputScales()[0], rank, format.blockRows),
          adaptor.getGather()};
    if (op.getSpreads())
      orientation.spreads =
          getScales(adaptor.getOuts()[op.getElementsNumber(i) + 2], rank,
                    format.blockRows);
    quantizeAxis(emitter, orientation, adaptor.getOffsets(),
                 op.getRaggedOfAxis(op.getAxis(i)));
  }
  for (unsigned i = 0; i < op.getAmaxOuts().size(); ++i)
    storeMagnitude(emitter, values[i], adaptor.getOuts()[op.getAmaxNumber(i)],
                   adaptor.getOffsets(), op.getRaggedOrNone());
}

static void lowerQuantize(Emitter &emitter, FusedQuantizeOp op,
                          FusedQuantizeOp::Adaptor adaptor) {
  emitIfAny(emitter, adaptor.getIfAny(),
            [&] { quantizeAll(emitter, op, adaptor); });
}

static void lowerAmax(Emitter &emitter, AmaxOp op, AmaxOp::Adaptor adaptor) {
  storeMagnitude(emitter, adaptor.getInput(), adaptor.getOuts()[0]);
}

Scales mx::cpu::getScales(Value scales, int64_t logicalRank,
                          int64_t blockRows) {
  Scales result{scales,
                getLayoutKind(cast<MemRefType>(scales.getType()), logicalRank)};
  result.blockRows = blockRows;
  return result;
}

Scales mx::cpu::getScales(Emitter &emitter, Value original, Value converted,
                          int64_t logicalRank, BlockShape block) {
  Type type = getElementTypeOrSelf(original);
  const BlockFormat &format = getBlockFormat(type, block);
  Scales scales = getScales(converted, logicalRank, format.blockRows);
  scales.codec = format.codec;
  if (!scales.codec)
    scales.values = emitter.getNumbers().decodeTable(type, /*isScale=*/true);
  return scales;
}

void mx::cpu::populateQuantizePatterns(const TypeConverter &converter,
                                       RewritePatternSet &patterns) {
  addPatterns<lowerQuantize, lowerAmax>(converter, patterns);
}
