//===- DecomposeProducts.cpp - Products in parts, and quantized -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A product of several parts, or with a quantized result, is defined by what it
// comes to: a product of f32, and an elementwise operation or a quantization of
// that. On the CPU it is computed so.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

namespace {
class Decomposition {
public:
  explicit Decomposition(GroupedMatmulOp op)
      : op(op), builder(op), loc(op.getLoc()) {}

  void run() {
    Value rows = memref::DimOp::create(builder, loc, op.getA(), 0);
    columns = memref::DimOp::create(builder, loc, op.getOuts()[0], 1);
    sums = computeSums(rows);
    if (op.getResultScales())
      quantize(rows);
    else
      finishElements(rows);
    op.erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// The sums of all parts, side by side.
  Value computeSums(Value rows) {
    Value all =
        arith::MulIOp::create(builder, loc, columns, index(op.getParts()));
    auto type = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                                builder.getF32Type());
    Value sums =
        memref::AllocOp::create(builder, loc, type, ValueRange{rows, all});
    GroupedMatmulOp::create(
        builder, loc, TypeRange(), op.getA(), op.getAScales(), op.getB(),
        op.getBScales(), op.getOffsets(), op.getAlpha(), /*scatter=*/Value(),
        sums, op.getRagged(), op.getBlockSize(), /*parts=*/1,
        /*accumulate=*/false, ScaleRounding::Ceil, /*epilogueCount=*/0);
    return sums;
  }

  void quantize(Value rows) {
    SmallVector<Value> inputs;
    for (int64_t part = 0; part < op.getParts(); ++part) {
      Value first = arith::MulIOp::create(builder, loc, columns, index(part));
      inputs.push_back(memref::SubViewOp::create(
          builder, loc, sums,
          ArrayRef<OpFoldResult>{builder.getIndexAttr(0), first},
          ArrayRef<OpFoldResult>{rows, columns},
          ArrayRef<OpFoldResult>{builder.getIndexAttr(1),
                                 builder.getIndexAttr(1)}));
    }
    auto quantize = QuantizeOp::create(
        builder, loc, TypeRange(), inputs, /*input_scales=*/ValueRange(),
        /*global_scale=*/Value(), /*seed=*/Value(), /*gather=*/Value(),
        op.getOffsets(), op.getOuts(),
        RaggedKindAttr::get(op.getContext(), RaggedKind::Rows),
        builder.getDenseI64ArrayAttr({1}), builder.getI64IntegerAttr(32),
        /*square=*/UnitAttr(), /*amax=*/UnitAttr(), /*concat=*/UnitAttr(),
        op.getScaleRoundingAttr(),
        /*producerCount=*/op.getEpilogue().size());
    if (!op.getEpilogue().empty())
      quantize.getProducer().front().takeBody(op.getEpilogue().front());
  }

  void finishElements(Value rows) {
    Block &region = *op.getEpilogueBlock();
    auto rowLoop = scf::ForOp::create(builder, loc, index(0), rows, index(1));
    builder.setInsertionPointToStart(rowLoop.getBody());
    auto loop = scf::ForOp::create(builder, loc, index(0), columns, index(1));
    builder.setInsertionPointToStart(loop.getBody());
    Value row = rowLoop.getInductionVar(), column = loop.getInductionVar();
    IRMapping mapping;
    for (int64_t part = 0; part < op.getParts(); ++part) {
      Value first = arith::MulIOp::create(builder, loc, columns, index(part));
      Value place = arith::AddIOp::create(builder, loc, first, column);
      mapping.map(
          region.getArgument(part),
          memref::LoadOp::create(builder, loc, sums, ValueRange{row, place}));
    }
    mapping.map(region.getArgument(op.getParts()), row);
    mapping.map(region.getArgument(op.getParts() + 1), column);
    for (Operation &inside : region.without_terminator())
      builder.clone(inside, mapping);
    Value value = cast<YieldOp>(region.getTerminator()).getValue();
    memref::StoreOp::create(builder, loc, mapping.lookupOrDefault(value),
                            op.getOuts()[0], ValueRange{row, column});
  }

  GroupedMatmulOp op;
  OpBuilder builder;
  Location loc;
  Value columns, sums;
};
} // namespace

void mx::cpu::decomposeProducts(Operation *root) {
  SmallVector<GroupedMatmulOp> ops;
  root->walk([&](GroupedMatmulOp op) {
    if (op.getParts() > 1 || op.getResultScales())
      ops.push_back(op);
  });
  for (GroupedMatmulOp op : ops)
    Decomposition(op).run();
}
