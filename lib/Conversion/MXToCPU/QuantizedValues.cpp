//===- QuantizedValues.cpp - What a producer and a gather give ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a producer computes is stored in arrays of its own before it is
// quantized: the reference of a fused quantization is the one that is not
// fused.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

class Values {
public:
  Values(Emitter &emitter, QuantizeOp op, ValueRange inputs, Value gather)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        op(op), inputs(inputs), gather(gather) {}

  SmallVector<Value> compute() {
    allocate();
    if (gather)
      gatherRows();
    else
      emitter.loopOverDims(arrays[0], op.getQuantizedShape().size(),
                           [&](ArrayRef<Value> place) { emit(place, place); });
    return arrays;
  }

private:
  void allocate() {
    SmallVector<int64_t> shape = op.getQuantizedShape();
    SmallVector<Value> sizes;
    for (auto [i, length] : llvm::enumerate(shape)) {
      Int size = emitter.dim(inputs[0], i);
      for (Value input : inputs.drop_front())
        emitter.checkDim("input", {input, getElementTypeOrSelf(input)}, i,
                         size);
      if (ShapedType::isDynamic(length))
        sizes.push_back(gather && i == 0 ? emitter.dim(gather, 0) : size);
    }
    SmallVector<Type> types = {getElementTypeOrSelf(inputs[0])};
    if (Block *producer = op.getProducerBlock())
      types = llvm::to_vector(producer->getTerminator()->getOperandTypes());
    for (Type type : types)
      arrays.push_back(memref::AllocOp::create(
          builder, loc, MemRefType::get(shape, type), sizes));
  }

  /// What stands at a place of the arrays, made of a place of the inputs.
  void emit(ArrayRef<Value> place, ArrayRef<Value> from) {
    SmallVector<Value> elements;
    for (Value input : inputs)
      elements.push_back(emitter.load(input, from));
    if (!op.getProducer().empty()) {
      llvm::append_range(elements, place.take_back(2));
      elements = emitter.inlineRegion(op.getProducer().front(), elements);
    }
    store(elements, place);
  }

  void store(ArrayRef<Value> elements, ArrayRef<Value> place) {
    for (auto [element, array] : llvm::zip_equal(elements, arrays))
      memref::StoreOp::create(builder, loc, element, array, place);
  }

  void gatherRows() {
    Int zero = emitter.index(0), columns = emitter.dim(inputs[0], 1);
    emitter.loop(zero, emitter.dim(gather, 0), 1, [&](Int row) {
      Value from = emitter.load(gather, {row});
      if (from.getType() != builder.getI64Type())
        from = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), from);
      Int number = emitter.wrap(from);
      Int rows = emitter.dim(inputs[0], 0).to(number.type());
      Int isEnough = number >= -1, isBelow = number < rows;
      emitter.check(isEnough & isBelow,
                    "rows to gather from -1 to less than %ld, found %ld",
                    {rows, number});
      auto ifOp = scf::IfOp::create(builder, loc, number >= 0,
                                    /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(ifOp.thenBlock());
      Int source = number.to(builder.getIndexType());
      emitter.loop(zero, columns, 1,
                   [&](Int column) { emit({row, column}, {source, column}); });
      builder.setInsertionPointToStart(ifOp.elseBlock());
      SmallVector<Value> zeros;
      for (Value array : arrays)
        zeros.push_back(arith::ConstantOp::create(
            builder, loc, builder.getZeroAttr(getElementTypeOrSelf(array))));
      emitter.loop(zero, columns, 1,
                   [&](Int column) { store(zeros, {row, column}); });
    });
  }

  Emitter &emitter;
  OpBuilder &builder;
  Location loc;
  QuantizeOp op;
  ValueRange inputs;
  Value gather;
  SmallVector<Value> arrays;
};

} // namespace

SmallVector<Value> mx::cpu::computeValues(Emitter &emitter, QuantizeOp op,
                                          ValueRange inputs, Value gather) {
  return Values(emitter, op, inputs, gather).compute();
}
