//===- Dequantize.cpp - Dequantization and layout changes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers mx.dequantize, mx.relayout, and the gathers and prologues of
// quantizations. The loops use logical coordinates; Emitter computes addresses.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

/// Multiplies an element by the scale of its block and rounds once. Implements
/// mx.dequantize and quantized inputs of prologues.
class Dequantizer {
public:
  /// `decode` is the f32 factor of an NVFP4 tensor, or null.
  Dequantizer(Emitter &emitter, Elements elements, Scales scales,
              Type numberType, Value decode = {});

  /// Returns the value of an element with the given scale.
  Value loadNumber(ArrayRef<Value> place, Value scale);
  /// Returns the value of an element. Loads the scale of its block.
  Value loadNumber(ArrayRef<Value> place, int64_t blockSize);

private:
  Emitter &emitter;
  Elements elements;
  Scales scales;
  Type numberType;
  /// Decode table of the elements, and `decode` as f64.
  Value values, factor;
};

} // namespace

Dequantizer::Dequantizer(Emitter &emitter, Elements elements, Scales scales,
                         Type numberType, Value decode)
    : emitter(emitter), elements(elements), scales(scales),
      numberType(numberType) {
  FormatArith &numbers = emitter.getNumbers();
  values = numbers.decodeTable(elements.type, /*isScale=*/false);
  if (decode)
    factor = numbers.widenToF64(emitter.wrap(
        emitter.wrap(decode).as(emitter.getBuilder().getI32Type())));
}

// The f64 multiplications are exact.
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
  return loadNumber(place, emitter.loadScaleValue(scales, place.drop_back(2),
                                                  row, column / blockSize));
}

static void lowerDequantize(Emitter &emitter, DequantizeOp op,
                            DequantizeOp::Adaptor adaptor) {
  OpBuilder &builder = emitter.getBuilder();
  emitter.checkExperts(adaptor.getOffsets());
  int64_t blockSize = op.getBlockSize();
  int64_t rank = op.getInput().getType().getRank();
  Elements elements = getElements(op.getInput(), adaptor.getInput());
  Scales scales = getScales(emitter, op.getScales(), adaptor.getScales(), rank,
                            op.getBlockSize());
  Value out = adaptor.getOuts()[0], offsets = adaptor.getOffsets();
  Type outType = getElementTypeOrSelf(op.getOuts()[0]);
  RaggedKind ragged = op.getRaggedOrNone();
  bool reduction = ragged == RaggedKind::Reduction;
  bool padded = op.getPadded();

  Int rows = emitter.dim(out, rank - 2), columns = emitter.dim(out, rank - 1);
  std::optional<Int> groups;
  if (offsets)
    groups = emitter.dim(offsets, 0);
  Int width = columns;
  if (reduction && !padded)
    width = (columns + *groups * 127).roundUp(128); // ragged capacity
  for (int64_t i = 0; i < rank - 1; ++i)
    emitter.checkDim("input", elements, i, emitter.dim(out, i));
  emitter.checkDim("input", elements, rank - 1, width);
  if (!reduction || padded)
    emitter.checkMultiple("input", rank - 1, columns,
                          padded ? kRaggedReductionAlign : blockSize);
  emitter.checkScales("scales", scales, elements, rows, width, blockSize,
                      reduction ? std::nullopt : groups);

  Dequantizer dequantizer(emitter, elements, scales, outType,
                          adaptor.getGlobalScale());
  // Dequantizes elements [from, from + length) of rows [first, end). Stores the
  // results in columns [to, to + length).
  auto dequantize = [&](const Scales &scales, ArrayRef<Value> batch, Int first,
                        Int end, Int from, Int length, Int to) {
    Int zero = emitter.index(0);
    emitter.loop(first, end, 1, [&](Int row) {
      emitter.loop(zero, length.ceilDiv(blockSize), 1, [&](Int block) {
        Value scale = emitter.loadScaleValue(scales, batch, row,
                                             from / blockSize + block);
        Int begin = block * blockSize;
        Int stop = (begin + blockSize).min(length);
        emitter.loop(begin, stop, 1, [&](Int position) {
          SmallVector<Value> source(batch), target(batch);
          source.append({row, from + position});
          target.append({row, to + position});
          Value number = dequantizer.loadNumber(source, scale);
          // Elements narrower than 16 bits are stored as bytes.
          memref::StoreOp::create(
              builder, op.getLoc(),
              emitter.wrap(number).as(getElementTypeOrSelf(out.getType())), out,
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
    emitter.forEachExpert(offsets, total, [&](Emitter::ExpertGroup group) {
      Int size = group.end - group.begin;
      if (padded) {
        // Elements beyond the capacity are ignored.
        Int start = group.start.min(columns);
        return dequantize(
            scales, batch, zero, rows, start,
            size.roundUp(kRaggedReductionAlign).min(columns - start), start);
      }
      if (reduction)
        return dequantize(scales, batch, zero, rows, group.start, size,
                          group.begin);
      dequantize(emitter.inExpert(scales, group), batch, group.begin, group.end,
                 zero, columns, zero);
    });
  });
}

static void lowerRelayout(Emitter &emitter, RelayoutOp op,
                          RelayoutOp::Adaptor adaptor) {
  OpBuilder &builder = emitter.getBuilder();
  emitter.checkExperts(adaptor.getOffsets());
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

  // The side with linear scales determines the logical shape.
  int64_t rank = std::min(inputType.getRank(), outType.getRank());
  Scales from = getScales(input, rank), to = getScales(out, rank);
  bool writesLinear = to.layout == ScaleLayoutKind::Linear;
  Value linear = writesLinear ? out : input;
  Int rows = emitter.dim(linear, rank - 2);
  Int blocks = emitter.dim(linear, rank - 1);
  bool raggedRows = op.getRaggedOrNone() == RaggedKind::Rows;
  std::optional<Int> groups;
  if (raggedRows)
    groups = emitter.dim(offsets, 0);
  emitter.checkScales(writesLinear ? "input" : "outs", writesLinear ? from : to,
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
  if (!writesLinear)
    emitter.fillZero(out);
  emitter.loopOverDims(linear, rank - 2, [&](ArrayRef<Value> batch) {
    if (!raggedRows)
      return copyRows(from, to, batch, emitter.index(0), rows);
    emitter.forEachExpert(offsets, rows, [&](Emitter::ExpertGroup group) {
      Scales source = emitter.inExpert(from, group);
      Scales target = emitter.inExpert(to, group);
      copyRows(source, target, batch, group.begin, group.end);
    });
  });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void mx::cpu::populateDequantizePatterns(const TypeConverter &converter,
                                         RewritePatternSet &patterns) {
  addPatterns<lowerDequantize, lowerRelayout>(converter, patterns);
}

//===----------------------------------------------------------------------===//
// Inputs of quantizations
//===----------------------------------------------------------------------===//

// Stores the results of a prologue in arrays before quantizing them, as in the
// unfused program, which defines the expected bits.

namespace {

class Values {
public:
  Values(Emitter &emitter, FusedQuantizeOp op, ValueRange inputs,
         ValueRange inputScales, Value gather)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        op(op), gather(gather) {
    for (auto [source, memref] : llvm::zip_equal(op.getSources(), inputs)) {
      Input input{getElements(source.tensor, memref)};
      if (source.scales) {
        input.blockSize = source.getBlockSize();
        input.scales = getScales(emitter, source.scales, inputScales.front(),
                                 getRank(), source.getBlockSize());
        input.dequantizer.emplace(emitter, input.elements, *input.scales,
                                  source.numberType);
        inputScales = inputScales.drop_front();
      }
      this->inputs.push_back(input);
    }
  }

  SmallVector<Value> compute() {
    checkInputs();
    allocate();
    if (gather)
      gatherRows();
    else
      emitter.loopOverDims(arrays[0], getRank() - 1, [&](ArrayRef<Value> row) {
        emitter.loop(emitter.index(0), getSize(getRank() - 1), 1,
                     [&](Int column) {
                       SmallVector<Value> place(row);
                       place.push_back(column);
                       emit(place, place);
                     });
      });
    return arrays;
  }

private:
  struct Input {
    Elements elements;
    std::optional<Scales> scales = {};
    int64_t blockSize = 0;
    std::optional<Dequantizer> dequantizer = {};
  };

  int64_t getRank() { return op.getInput().getType().getRank(); }
  Int getSize(int64_t dim) { return emitter.dim(inputs[0].elements, dim); }

  void checkInputs() {
    int64_t rank = getRank();
    for (const Input &input : llvm::drop_begin(inputs))
      for (int64_t i : llvm::seq(rank))
        emitter.checkDim("input", input.elements, i, getSize(i));
    for (const Input &input : inputs) {
      if (!input.scales)
        continue;
      Int rows = getSize(rank - 2), columns = getSize(rank - 1);
      emitter.checkMultiple("input", rank - 1, columns, input.blockSize);
      emitter.checkScales("input_scales", *input.scales, input.elements, rows,
                          columns, input.blockSize);
    }
  }

  void allocate() {
    SmallVector<int64_t> shape = op.getQuantizedShape();
    SmallVector<Value> sizes;
    for (auto [i, length] : llvm::enumerate(shape)) {
      if (!ShapedType::isDynamic(length))
        continue;
      Int size = gather && i == 0 ? emitter.dim(gather, 0) : getSize(i);
      if (i + 1 == shape.size())
        size = size * op.getNumConcatenated();
      sizes.push_back(size);
    }
    SmallVector<Type> types = {op.getSources()[0].numberType};
    if (Block *prologue = op.getPrologueBlock())
      types = llvm::to_vector(prologue->getTerminator()->getOperandTypes());
    if (op.getConcat())
      types.resize(1);
    for (Type type : types)
      arrays.push_back(memref::AllocOp::create(
          builder, loc, MemRefType::get(shape, type), sizes));
  }

  /// Computes the values at position `place` from the inputs at position
  /// `from`.
  void emit(ArrayRef<Value> place, ArrayRef<Value> from) {
    SmallVector<Value> elements;
    for (Input &input : inputs)
      elements.push_back(
          input.dequantizer
              ? input.dequantizer->loadNumber(from, input.blockSize)
              : emitter.load(input.elements.memref, from));
    if (!op.getPrologue().empty()) {
      llvm::append_range(elements, place.take_back(2));
      elements = emitter.inlineRegion(op.getPrologue().front(), elements);
    }
    store(elements, place);
  }

  /// Stores the prologue's results in separate arrays, or concatenated in one.
  void store(ArrayRef<Value> elements, ArrayRef<Value> place) {
    for (auto [i, element] : llvm::enumerate(elements)) {
      SmallVector<Value> to(place);
      if (op.getConcat())
        to.back() =
            emitter.wrap(to.back()) + getSize(getRank() - 1) * int64_t(i);
      memref::StoreOp::create(builder, loc, element,
                              arrays[op.getConcat() ? 0 : i], to);
    }
  }

  void gatherRows() {
    Int zero = emitter.index(0), columns = getSize(1);
    emitter.loop(zero, emitter.dim(gather, 0), 1, [&](Int row) {
      Int source =
          emitter.wrap(emitter.load(gather, {row})).to(builder.getIndexType());
      // The comparison is unsigned, so negative indices are out of range.
      Value exists = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, source, getSize(0));
      auto ifOp = scf::IfOp::create(builder, loc, exists,
                                    /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(ifOp.thenBlock());
      emitter.loop(zero, columns, 1,
                   [&](Int column) { emit({row, column}, {source, column}); });
      builder.setInsertionPointToStart(ifOp.elseBlock());
      SmallVector<Value> zeros;
      for (Value array : arrays)
        zeros.push_back(arith::ConstantOp::create(
            builder, loc, builder.getZeroAttr(getElementTypeOrSelf(array))));
      zeros.resize(zeros.size() * op.getNumConcatenated(), zeros[0]);
      emitter.loop(zero, columns, 1,
                   [&](Int column) { store(zeros, {row, column}); });
    });
  }

  Emitter &emitter;
  OpBuilder &builder;
  Location loc;
  FusedQuantizeOp op;
  SmallVector<Input, 2> inputs;
  Value gather;
  SmallVector<Value> arrays;
};

} // namespace

SmallVector<Value> mx::cpu::computeValues(Emitter &emitter, FusedQuantizeOp op,
                                          ValueRange inputs,
                                          ValueRange inputScales,
                                          Value gather) {
  return Values(emitter, op, inputs, inputScales, gather).compute();
}
