//===- PackOperand.cpp - Packed operand orders ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand order maps stored positions to rows and columns, so packing and
// unpacking share a loop. Matmuls read an unpacked copy of a packed operand.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

static void checkStored(Emitter &emitter, StringRef name,
                        OperandOrderAttrInterface order, const Elements &stored,
                        int64_t batch, Int rows, Int columns) {
  OperandTiles tiles = order.getTiles();
  if (order.keepsShape()) {
    emitter.checkMultiple(name, batch, rows, tiles.rows);
    emitter.checkMultiple(name, batch + 1, columns, tiles.columns);
    emitter.checkDim(name, stored, batch, rows);
    return emitter.checkDim(name, stored, batch + 1, columns);
  }
  emitter.checkDim(name, stored, batch, rows.ceilDiv(tiles.rows));
  emitter.checkDim(name, stored, batch + 1, columns.ceilDiv(tiles.columns));
  for (auto [i, size] : llvm::enumerate(tiles.stored))
    emitter.checkDim(name, stored, batch + 2 + i, emitter.index(size));
}

/// Calls `body` with each position in `stored` and the row and column of its
/// element in the operand. Skips padding.
static void
forEachStored(Emitter &emitter, OperandOrderAttrInterface order,
              const Elements &stored, int64_t batch, Int rows, Int columns,
              llvm::function_ref<void(ArrayRef<Value>, ArrayRef<Value>)> body) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  int64_t last = stored.getRank() - 1;
  auto visit = [&](ArrayRef<Value> place) {
    SmallVector<Value> element = *affine::expandAffineMap(
        builder, loc, order.getMap(), place.drop_front(batch));
    mx::ArithBuilder arith(loc, builder);
    Value exists = arith.both(arith.isBelow(element[0], rows),
                              arith.isBelow(element[1], columns));
    element.insert(element.begin(), place.begin(), place.begin() + batch);
    if (order.keepsShape())
      return body(place, element);
    scf::IfOp::create(builder, loc, exists, [&](OpBuilder &, Location) {
      body(place, element);
      scf::YieldOp::create(builder, loc);
    });
  };
  emitter.loopOverDims(stored.memref, last, [&](ArrayRef<Value> outer) {
    emitter.loop(emitter.index(0), emitter.dim(stored, last), 1, [&](Int i) {
      SmallVector<Value> place(outer);
      place.push_back(i);
      visit(place);
    });
  });
}

static void copyElement(Emitter &emitter, const Elements &from,
                        ArrayRef<Value> source, const Elements &to,
                        ArrayRef<Value> target) {
  if (isa<Float4E2M1FNType>(from.type))
    return emitter.storeCode(emitter.loadCode(from, source), to, target);
  memref::StoreOp::create(emitter.getBuilder(), emitter.getLoc(),
                          emitter.load(from.memref, source), to.memref, target);
}

Elements mx::cpu::toRows(Emitter &emitter, StringRef name,
                         const Elements &stored,
                         OperandOrderAttrInterface order, Int rows,
                         Int columns) {
  int64_t batch = stored.getRank() - order.getTiles().stored.size() - 2;
  checkStored(emitter, name, order, stored, batch, rows, columns);
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < batch; ++i)
    sizes.push_back(emitter.dim(stored, i));
  bool arePairs = isa<Float4E2M1FNType>(stored.type);
  sizes.append({rows, arePairs ? columns.ceilDiv(2) : columns});
  auto type =
      MemRefType::get(SmallVector<int64_t>(batch + 2, ShapedType::kDynamic),
                      getElementTypeOrSelf(stored.memref.getType()));
  Elements copy{memref::AllocOp::create(emitter.getBuilder(), emitter.getLoc(),
                                        type, sizes),
                stored.type};
  forEachStored(emitter, order, stored, batch, rows, columns,
                [&](ArrayRef<Value> place, ArrayRef<Value> element) {
                  copyElement(emitter, stored, place, copy, element);
                });
  return copy;
}

static void lowerPackOperand(Emitter &emitter, PackOperandOp op,
                             PackOperandOp::Adaptor adaptor) {
  Elements from = getElements(op.getInput(), adaptor.getInput());
  Elements to = getElements(op.getOuts()[0], adaptor.getOuts()[0]);
  OperandOrderAttrInterface order = op.getOutOrder();
  int64_t batch = from.getRank() - 2;
  Int rows = emitter.dim(from, batch), columns = emitter.dim(from, batch + 1);
  for (int64_t i = 0; i < batch; ++i)
    emitter.checkDim("outs", to, i, emitter.dim(from, i));
  checkStored(emitter, "outs", order, to, batch, rows, columns);
  if (!order.keepsShape())
    emitter.fillZero(to);
  forEachStored(emitter, order, to, batch, rows, columns,
                [&](ArrayRef<Value> place, ArrayRef<Value> element) {
                  copyElement(emitter, from, element, to, place);
                });
}

void mx::cpu::decomposePackings(Operation *root) {
  SmallVector<PackOperandOp> ops;
  root->walk([&](PackOperandOp op) {
    if (op.getScales())
      ops.push_back(op);
  });
  for (PackOperandOp op : ops) {
    OpBuilder builder(op);
    Value numbers = allocateLike(builder, op.getLoc(), op.getInput(),
                                 getElementTypeOrSelf(op.getOuts()[0]));
    DequantizeOp::create(builder, op.getLoc(), TypeRange(), op.getInput(),
                         op.getScales(), /*global_scale=*/Value(),
                         op.getOffsets(), numbers, op.getRaggedAttr(),
                         /*padded=*/UnitAttr(), op.getBlockSizeAttr());
    op.getInputMutable().assign(numbers);
    op.getScalesMutable().clear();
    op.getOffsetsMutable().clear();
    op.removeRaggedAttr();
    op.setBlockSize(BlockShape(kPowerOfTwoBlockSize));
  }
}

void mx::cpu::populatePackOperandPatterns(const TypeConverter &converter,
                                          RewritePatternSet &patterns) {
  addPatterns<lowerPackOperand>(converter, patterns);
}
