//===- QuantizedValues.cpp - What a prologue and a gather give ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a prologue computes is stored in arrays of its own before it is
// quantized: the reference of a fused quantization is the one that is not
// fused.
//
//===----------------------------------------------------------------------===//

#include "Dequantizer.h"
#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

class Values {
public:
  Values(Emitter &emitter, QuantizeOp op, ValueRange inputs,
         ValueRange inputScales, Value gather)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        op(op), gather(gather) {
    for (auto [source, memref] : llvm::zip_equal(op.getSources(), inputs)) {
      Input input{getElements(source.tensor, memref)};
      if (source.scales) {
        input.scales = getScales(inputScales.front(), getRank());
        input.blockSize = source.getBlockSize();
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
    /// Of an input that is quantized already.
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
    SmallVector<Type> types = {getElementTypeOrSelf(op.getInput())};
    if (Block *prologue = op.getPrologueBlock())
      types = llvm::to_vector(prologue->getTerminator()->getOperandTypes());
    if (op.getConcat())
      types.resize(1);
    for (Type type : types)
      arrays.push_back(memref::AllocOp::create(
          builder, loc, MemRefType::get(shape, type), sizes));
  }

  /// What stands at a place of the arrays, made of a place of the inputs.
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

  /// In an array each, or side by side in one.
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
      // As unsigned numbers, negative ones are beyond any row.
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
  QuantizeOp op;
  SmallVector<Input, 2> inputs;
  Value gather;
  SmallVector<Value> arrays;
};

} // namespace

SmallVector<Value> mx::cpu::computeValues(Emitter &emitter, QuantizeOp op,
                                          ValueRange inputs,
                                          ValueRange inputScales,
                                          Value gather) {
  return Values(emitter, op, inputs, inputScales, gather).compute();
}
