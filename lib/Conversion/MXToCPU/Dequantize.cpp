//===- Dequantize.cpp - mx.dequantize, relayout and pack_weights as loops -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All walk over logical coordinates and leave the places to the Emitter.
//
//===----------------------------------------------------------------------===//

#include "Dequantizer.h"
#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

Dequantizer::Dequantizer(Emitter &emitter, Elements elements, Scales scales,
                         Type numberType, Value decode)
    : emitter(emitter), elements(elements), scales(scales),
      numberType(numberType) {
  FormatArith &numbers = emitter.getNumbers();
  values = numbers.decodeTable(elements.type, /*isScale=*/false);
  scaleValues = numbers.decodeTable(getElementTypeOrSelf(scales.memref),
                                    /*isScale=*/true);
  if (decode)
    factor = numbers.widenToF64(emitter.wrap(
        emitter.wrap(decode).as(emitter.getBuilder().getI32Type())));
}

Value Dequantizer::loadScale(const Scales &scales, ArrayRef<Value> batch,
                             Int row, Int block) {
  return emitter.lookup(scaleValues,
                        emitter.loadScale(scales, batch, row, block));
}

/// f64 holds the products exactly.
Value Dequantizer::loadNumber(ArrayRef<Value> place, Value scale) {
  OpBuilder &builder = emitter.getBuilder();
  auto multiply = [&](Value x, Value y) {
    return arith::MulFOp::create(builder, emitter.getLoc(), x, y);
  };
  Value value = multiply(
      emitter.lookup(values, emitter.loadCode(elements, place)), scale);
  if (factor)
    value = multiply(value, factor);
  return emitter.getNumbers().round(value, numberType);
}

Value Dequantizer::loadNumber(ArrayRef<Value> place, int64_t blockSize) {
  Int row = emitter.wrap(place[place.size() - 2]);
  Int column = emitter.wrap(place.back());
  return loadNumber(
      place, loadScale(scales, place.drop_back(2), row, column / blockSize));
}

namespace {

struct DequantizeOpLowering final : EmittingPattern<DequantizeOp> {
  using EmittingPattern::EmittingPattern;

  void emit(Emitter &emitter, DequantizeOp op,
            OpAdaptor adaptor) const override {
    OpBuilder &builder = emitter.getBuilder();
    emitter.checkGroups(adaptor.getOffsets());
    int64_t blockSize = op.getBlockSize();
    int64_t rank = op.getInput().getType().getRank();
    Elements elements = getElements(op.getInput(), adaptor.getInput());
    Scales scales = getScales(adaptor.getScales(), rank);
    Value out = adaptor.getOuts()[0], offsets = adaptor.getOffsets();
    Type outType = getElementTypeOrSelf(out.getType());
    RaggedKind ragged = op.getRaggedOrNone();
    bool reduction = ragged == RaggedKind::Reduction;

    Int rows = emitter.dim(out, rank - 2), columns = emitter.dim(out, rank - 1);
    std::optional<Int> groups;
    if (offsets)
      groups = emitter.dim(offsets, 0);
    Int width = columns;
    if (reduction)
      width = (columns + *groups * 127).roundUp(128); // the ragged capacity
    for (int64_t i = 0; i < rank - 1; ++i)
      emitter.checkDim("input", elements, i, emitter.dim(out, i));
    emitter.checkDim("input", elements, rank - 1, width);
    if (!reduction)
      emitter.checkMultiple("input", rank - 1, columns, blockSize);
    emitter.checkScales("scales", scales, elements, rows, width, blockSize,
                        reduction ? std::nullopt : groups);

    Dequantizer dequantizer(emitter, elements, scales, outType,
                            adaptor.getGlobalScale());
    // Elements `from` to `from + length` of rows first to end become columns
    // `to` and following.
    auto dequantize = [&](const Scales &scales, ArrayRef<Value> batch,
                          Int first, Int end, Int from, Int length, Int to) {
      Int zero = emitter.index(0);
      emitter.loop(first, end, 1, [&](Int row) {
        emitter.loop(zero, length.ceilDiv(blockSize), 1, [&](Int block) {
          Value scale = dequantizer.loadScale(scales, batch, row,
                                              from / blockSize + block);
          Int begin = block * blockSize;
          Int stop = (begin + blockSize).min(length);
          emitter.loop(begin, stop, 1, [&](Int position) {
            SmallVector<Value> source(batch), target(batch);
            source.append({row, from + position});
            target.append({row, to + position});
            memref::StoreOp::create(builder, op.getLoc(),
                                    dequantizer.loadNumber(source, scale), out,
                                    target);
          });
        });
      });
    };

    Int zero = emitter.index(0);
    emitter.loopOverDims(out, rank - 2, [&](ArrayRef<Value> batch) {
      if (ragged == RaggedKind::None)
        return dequantize(scales, batch, zero, rows, zero, columns, zero);
      Int total = reduction ? columns : rows;
      emitter.loopOverGroups(offsets, total, [&](Emitter::Group group) {
        if (reduction)
          return dequantize(scales, batch, zero, rows, group.start,
                            group.end - group.begin, group.begin);
        dequantize(emitter.inGroup(scales, group), batch, group.begin,
                   group.end, zero, columns, zero);
      });
    });
  }
};

struct RelayoutOpLowering final : EmittingPattern<RelayoutOp> {
  using EmittingPattern::EmittingPattern;

  void emit(Emitter &emitter, RelayoutOp op, OpAdaptor adaptor) const override {
    OpBuilder &builder = emitter.getBuilder();
    emitter.checkGroups(adaptor.getOffsets());
    Value input = adaptor.getInput(), out = adaptor.getOuts()[0];
    Value offsets = adaptor.getOffsets();
    auto inputType = cast<MemRefType>(input.getType());
    auto outType = cast<MemRefType>(out.getType());
    if (inputType.getRank() == outType.getRank()) {
      for (int64_t i = 0; i < outType.getRank(); ++i)
        emitter.checkDim("input", {input, inputType.getElementType()}, i,
                         emitter.dim(out, i));
      memref::CopyOp::create(builder, op.getLoc(), input, out);
      return;
    }

    // One side is linear and gives the logical shape.
    int64_t rank = std::min(inputType.getRank(), outType.getRank());
    Scales from = getScales(input, rank), to = getScales(out, rank);
    Value linear = to.tiled ? input : out;
    Int rows = emitter.dim(linear, rank - 2);
    Int blocks = emitter.dim(linear, rank - 1);
    bool raggedRows = op.getRaggedOrNone() == RaggedKind::Rows;
    std::optional<Int> groups;
    if (raggedRows)
      groups = emitter.dim(offsets, 0);
    emitter.checkScales(to.tiled ? "outs" : "input", to.tiled ? to : from,
                        {linear, inputType.getElementType()}, rows, blocks,
                        /*blockSize=*/1, groups);

    auto copyRows = [&](const Scales &from, const Scales &to,
                        ArrayRef<Value> batch, Int first, Int end) {
      emitter.loop(first, end, 1, [&](Int row) {
        emitter.loop(emitter.index(0), blocks, 1, [&](Int block) {
          emitter.storeScale(emitter.loadScale(from, batch, row, block), to,
                             batch, row, block);
        });
      });
    };
    if (to.tiled)
      emitter.fillZero(out);
    emitter.loopOverDims(linear, rank - 2, [&](ArrayRef<Value> batch) {
      if (!raggedRows)
        return copyRows(from, to, batch, emitter.index(0), rows);
      emitter.loopOverGroups(offsets, rows, [&](Emitter::Group group) {
        Scales source = emitter.inGroup(from, group);
        Scales target = emitter.inGroup(to, group);
        copyRows(source, target, batch, group.begin, group.end);
      });
    });
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// mx.pack_weights
//
// Elements keep their logical place; the Emitter knows where that is.
//===----------------------------------------------------------------------===//

namespace {

struct PackWeightsOpLowering final : EmittingPattern<PackWeightsOp> {
  using EmittingPattern::EmittingPattern;

  void emit(Emitter &emitter, PackWeightsOp op,
            OpAdaptor adaptor) const override {
    Elements from = getElements(op.getInput(), adaptor.getInput());
    Elements to = getElements(op.getOuts()[0], adaptor.getOuts()[0]);
    to.isPacked = true;
    int64_t batch = from.getLogicalRank() - 2;
    Int rows = emitter.dim(from, batch), columns = emitter.dim(from, batch + 1);
    for (int64_t i = 0; i < batch; ++i)
      emitter.checkDim("outs", to, i, emitter.dim(from, i));
    emitter.checkPacked("outs", to, rows, columns);
    emitter.fillZero(to);
    emitter.loopOverDims(from.memref, batch, [&](ArrayRef<Value> matrix) {
      emitter.loop(emitter.index(0), rows, 1, [&](Int row) {
        emitter.loop(emitter.index(0), columns, 1, [&](Int column) {
          SmallVector<Value> place(matrix);
          place.append({row, column});
          emitter.storeCode(emitter.loadCode(from, place), to, place);
        });
      });
    });
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void mx::cpu::populateDequantizePatterns(const TypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<DequantizeOpLowering, RelayoutOpLowering, PackWeightsOpLowering>(
      converter, patterns.getContext());
}
