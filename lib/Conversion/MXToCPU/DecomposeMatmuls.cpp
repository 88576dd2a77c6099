//===- DecomposeMatmuls.cpp - Products in parts, and quantized ------------===//
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
    for (int64_t dim = 0; dim + 1 < getRank(); ++dim)
      rows.push_back(memref::DimOp::create(builder, loc, op.getA(), dim));
    columns = memref::DimOp::create(builder, loc, op.getResultTensor(),
                                    getRank() - 1);
    sums = computeSums();
    if (op.getResultScales())
      quantize();
    else
      finishElements();
    op.erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// The sums of all parts, side by side.
  Value computeSums() {
    Value all =
        arith::MulIOp::create(builder, loc, columns, index(op.getNumB()));
    auto type =
        MemRefType::get(SmallVector<int64_t>(getRank(), ShapedType::kDynamic),
                        builder.getF32Type());
    SmallVector<Value> sizes(rows);
    sizes.push_back(all);
    Value sums = memref::AllocOp::create(builder, loc, type, sizes);
    GroupedMatmulOp::create(
        builder, loc, TypeRange(), op.getA(), op.getAScales(), op.getB(),
        op.getBScales(), op.getOffsets(), op.getAlpha(), /*scatter=*/Value(),
        sums, op.getRagged(), op.getMasked(), op.getBlockSize(), /*num_b=*/1,
        /*accumulate=*/false, ScaleRounding::Ceil, /*epilogueCount=*/0);
    return sums;
  }

  void quantize() {
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets(getRank(), zero),
        sizes(rows.begin(), rows.end());
    sizes.push_back(columns);
    SmallVector<Value> inputs;
    for (int64_t part = 0, parts = op.getNumB(); part < parts; ++part) {
      Value first = arith::MulIOp::create(builder, loc, columns, index(part));
      offsets.back() = first;
      inputs.push_back(
          memref::SubViewOp::create(builder, loc, sums, offsets, sizes,
                                    SmallVector<OpFoldResult>(getRank(), one)));
    }
    auto ragged = op.getMasked()
                      ? RaggedKindAttr()
                      : RaggedKindAttr::get(op.getContext(), RaggedKind::Rows);
    int64_t block =
        getBlockSizeOf(getElementTypeOrSelf(op.getResultScales().getType()));
    auto quantize = QuantizeOp::create(
        builder, loc, TypeRange(), inputs, /*input_scales=*/ValueRange(),
        /*global_scale=*/Value(), /*decode_factors=*/ValueRange(),
        /*seed=*/Value(), /*gather=*/Value(),
        ragged ? op.getOffsets() : Value(), op.getOuts(), ragged,
        builder.getDenseI64ArrayAttr({1}), builder.getI64IntegerAttr(block),
        /*square=*/UnitAttr(), /*amax=*/UnitAttr(), /*concat=*/UnitAttr(),
        /*dequantized=*/ArrayAttr(), op.getScaleRoundingAttr(),
        /*prologueCount=*/op.getEpilogue().size());
    if (!op.getEpilogue().empty())
      quantize.getPrologue().front().takeBody(op.getEpilogue().front());
  }

  void finishElements() {
    Block &region = *op.getEpilogueBlock();
    SmallVector<Value> place;
    for (Value size : llvm::concat<Value>(rows, MutableArrayRef(columns))) {
      auto loop = scf::ForOp::create(builder, loc, index(0), size, index(1));
      builder.setInsertionPointToStart(loop.getBody());
      place.push_back(loop.getInductionVar());
    }
    Value row = place[getRank() - 2], column = place.back();
    IRMapping mapping;
    for (int64_t part = 0, parts = op.getNumB(); part < parts; ++part) {
      Value first = arith::MulIOp::create(builder, loc, columns, index(part));
      SmallVector<Value> inSums(place);
      inSums.back() = arith::AddIOp::create(builder, loc, first, column);
      mapping.map(region.getArgument(part),
                  memref::LoadOp::create(builder, loc, sums, inSums));
    }
    mapping.map(region.getArgument(op.getNumB()), row);
    mapping.map(region.getArgument(op.getNumB() + 1), column);
    for (Operation &inside : region.without_terminator())
      builder.clone(inside, mapping);
    Value value = cast<YieldOp>(region.getTerminator()).getValue();
    memref::StoreOp::create(builder, loc, mapping.lookupOrDefault(value),
                            op.getResultTensor(), place);
  }

  int64_t getRank() { return op.getA().getType().getRank(); }

  GroupedMatmulOp op;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> rows; // and groups before, if they have matrices
  Value columns, sums;
};
} // namespace

void mx::cpu::decomposeMatmuls(Operation *root) {
  SmallVector<GroupedMatmulOp> ops;
  root->walk([&](GroupedMatmulOp op) {
    if (op.getNumB() > 1 || op.getResultScales())
      ops.push_back(op);
  });
  for (GroupedMatmulOp op : ops)
    Decomposition(op).run();
}
