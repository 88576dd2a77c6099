//===- TileScales.cpp - Tiling of matmul scales ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other compilers emit row-major scales. If a quantizer in the same function
// writes scales that only matmuls read, the pass changes the quantizer to write
// tiles. Other scales are converted before the matmul. The tiled type does not
// contain the numbers of rows and blocks, so this pass compares dynamic sizes.
//===----------------------------------------------------------------------===//

#include "../Utils/Sizes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Utils/Utils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mx;

static llvm::TrackingStatistic numTiled("mx-tile-scales", "numTiled",
                                        "Scales that became tiles");

namespace mx {
#define GEN_PASS_DEF_MXTILESCALES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

static RankedTensorType getTiledType(RankedTensorType type) {
  auto layout =
      ScaleLayoutAttr::get(type.getContext(), ScaleLayoutKind::Sf128x4,
                           RaggedKind::None, /*groups=*/0);
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

static Value createTiled(OpBuilder &builder, Location loc, Value scales) {
  auto type = getTiledType(cast<RankedTensorType>(scales.getType()));
  return tensor::EmptyOp::create(
      builder, loc, type, tensor::createDynamicDimValues(builder, loc, scales));
}

/// Returns true if scales of `elements` belong to matrices, not expert groups.
static bool isOfMatrices(MatmulOpInterface op, Value elements) {
  if (op.getRaggedOrNone() == RaggedKind::None)
    return true;
  return op.getRaggedOrNone() == RaggedKind::Rows &&
         cast<ShapedType>(elements.getType()).getRank() == 3;
}

/// Returns true if a use is a scale operand of a matmul and its scales belong
/// to matrices, not expert groups.
static bool isOfMatmul(OpOperand &use) {
  auto op = dyn_cast<MatmulOpInterface>(use.getOwner());
  return op && ((op.getAScales() == use.get() && isOfMatrices(op, op.getA())) ||
                (op.getBScales() == use.get() && isOfMatrices(op, op.getB())));
}

/// Rewrites a quantizer that only feeds matmuls to write tiles.
static bool tileAtSource(Value scales) {
  auto quantize = scales.getDefiningOp<FusedQuantizeOp>();
  if (!quantize || quantize.getOffsets() ||
      !llvm::all_of(scales.getUses(), isOfMatmul))
    return false;
  OpOperand &out =
      *cast<DestinationStyleOpInterface>(*quantize).getTiedOpOperand(
          cast<OpResult>(scales));
  if (!out.get().getDefiningOp<tensor::EmptyOp>())
    return false;
  OpBuilder builder(quantize);
  out.set(createTiled(builder, quantize.getLoc(), out.get()));
  scales.setType(out.get().getType());
  return true;
}

/// Requires at run time that `scales` contain a scale for each row and block of
/// `elements`. The error is the same as on the CPU path.
static void requireSizes(MatmulOpInterface op, Value scales, Value elements,
                         int64_t blockSize, StringRef name) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t rank = cast<ShapedType>(scales.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    Size found = getSize(scales, dim), expected = getSize(elements, dim);
    if (dim == rank - 1 && blockSize == BlockFormat::kWhole) {
      expected = {builder.getIndexAttr(1), {}, 0};
    } else if (dim == rank - 1) {
      Value columns = expected.getValue(builder, loc);
      Value block = arith::ConstantIndexOp::create(builder, loc, blockSize);
      Value blocks = builder.createOrFold<arith::DivUIOp>(loc, columns, block);
      expected = {getAsOpFoldResult(blocks), {}, 0};
    }
    if (!(found == expected))
      requireSize(builder, loc, dim, name, expected.getValue(builder, loc),
                  found.getValue(builder, loc));
  }
}

static void tileScales(MatmulOpInterface op, OpOperand &use, Value elements,
                       BlockShape blockSize, StringRef name) {
  Value scales = use.get();
  auto type = dyn_cast<RankedTensorType>(scales.getType());
  int64_t rank = cast<ShapedType>(elements.getType()).getRank();
  if (!type || type.getRank() != rank ||
      getLayoutKind(type, rank) != ScaleLayoutKind::Linear ||
      !getBlockFormat(type.getElementType(), blockSize).hasTiles)
    return;
  ++numTiled;
  requireSizes(op, scales, elements, blockSize, name);
  if (tileAtSource(scales))
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value tiled = createTiled(builder, loc, scales);
  auto relayout = RelayoutOp::create(builder, loc, tiled.getType(), scales,
                                     /*offsets=*/Value(), tiled,
                                     /*ragged=*/RaggedKindAttr());
  use.set(relayout->getResult(0));
}

template <typename Op>
static void tileScalesOf(Op op) {
  if (op.getAScales() && isOfMatrices(op, op.getA()))
    tileScales(op, op.getAScalesMutable()[0], op.getA(), op.getBlockSize(),
               "a_scales");
  if (op.getBScales() && isOfMatrices(op, op.getB()))
    tileScales(op, op.getBScalesMutable()[0], op.getB(), op.getBlockSizeOfB(),
               "b_scales");
}

namespace {
struct TileScales final : mx::impl::MXTileScalesBase<TileScales> {
  void runOnOperation() override {
    getOperation()->walk([](MatmulOp op) { tileScalesOf(op); });
    getOperation()->walk([](GroupedMatmulOp op) { tileScalesOf(op); });
  }
};
} // namespace
