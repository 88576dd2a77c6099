//===- TilingInterfaceImpl.cpp - Tiling of the mx operations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A single external model, based on LoopNest.h, implements the interface for
// all operations. Tiles must not split a block or a tile of scales.
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::tiling;

static OpFoldResult getDimSize(OpBuilder &builder, Location loc, Value value,
                               int64_t dim) {
  return isa<RankedTensorType>(value.getType())
             ? tensor::getMixedSize(builder, loc, value, dim)
             : memref::getMixedSize(builder, loc, value, dim);
}

static OpFoldResult divide(OpBuilder &builder, Location loc, OpFoldResult value,
                           int64_t factor, bool up) {
  if (factor == 1)
    return value;
  AffineExpr dim = builder.getAffineDimExpr(0);
  return affine::makeComposedFoldedAffineApply(
      builder, loc, up ? dim.ceilDiv(factor) : dim.floorDiv(factor), value);
}

/// Returns x if `value` is x / factor, rounded as in `kind`, else null. A fused
/// producer thus has exactly the tile of its consumer.
static Value getDividend(OpFoldResult value, AffineExprKind kind,
                         int64_t factor) {
  auto ssa = dyn_cast<Value>(value);
  auto apply = ssa ? ssa.getDefiningOp<affine::AffineApplyOp>() : nullptr;
  if (!apply || apply.getMapOperands().size() != 1)
    return {};
  AffineMap map = apply.getAffineMap();
  AffineExpr operand = map.getNumDims() == 1
                           ? getAffineDimExpr(0, map.getContext())
                           : getAffineSymbolExpr(0, map.getContext());
  AffineExpr wanted = kind == AffineExprKind::FloorDiv
                          ? operand.floorDiv(factor)
                          : operand.ceilDiv(factor);
  return map.getResult(0) == wanted ? apply.getMapOperands().front() : Value();
}

/// Computes the slice of an operand that a loop tile accesses.
static void getOperandTile(OpBuilder &builder, Location loc,
                           const OperandMap &map,
                           ArrayRef<OpFoldResult> loopOffsets,
                           ArrayRef<OpFoldResult> loopSizes,
                           SmallVectorImpl<OpFoldResult> &offsets,
                           SmallVectorImpl<OpFoldResult> &sizes) {
  for (auto [i, dim] : llvm::enumerate(map.dims)) {
    if (dim.loop == DimMap::kWhole) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(getDimSize(builder, loc, map.getValue(), i));
      continue;
    }
    offsets.push_back(
        divide(builder, loc, loopOffsets[dim.loop], dim.factor, false));
    sizes.push_back(
        divide(builder, loc, loopSizes[dim.loop], dim.factor, true));
  }
}

static LogicalResult verifyTile(Operation *op, const LoopNest &nest,
                                ArrayRef<OpFoldResult> offsets,
                                ArrayRef<OpFoldResult> sizes) {
  for (Value operand : op->getOperands())
    if (hasMXEncoding(operand.getType()))
      return op->emitOpError("expected linear or materialized layouts to tile, "
                             "found ")
             << operand.getType();
  for (auto [loop, reason] : nest.whole)
    if (!isWholeLoop(offsets[loop], sizes[loop], getStaticBound(nest, loop)))
      return op->emitOpError("expected no tiling of ")
             << nest.names[loop] << ": " << reason;
  for (auto [loop, name] : llvm::enumerate(nest.names)) {
    int64_t granularity = nest.getGranularity(loop);
    if (isMultipleOf(offsets[loop], granularity) &&
        isWholeTile(offsets[loop], sizes[loop], getStaticBound(nest, loop),
                    granularity))
      continue;
    InFlightDiagnostic diag = op->emitOpError("expected tiles of ")
                              << name << " in multiples of " << granularity;
    if (std::optional<int64_t> size = getConstantIntValue(sizes[loop]))
      diag << ", found " << *size;
    return diag;
  }
  return success();
}

/// Adds the tile's start to the row and column indices of the epilogue, which
/// belong to the last two parallel loops.
static void shiftRegion(OpBuilder &builder, Operation *op, const LoopNest &nest,
                        ArrayRef<OpFoldResult> offsets) {
  if (op->getNumRegions() == 0)
    return;
  Block &block = op->getRegion(0).front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  if (nest.reduction != DimMap::kWhole)
    offsets = offsets.drop_back();
  for (auto [argument, offset] : llvm::zip_equal(
           block.getArguments().take_back(2), offsets.take_back(2))) {
    if (getConstantIntValue(offset) == 0)
      continue;
    Value start =
        getValueOrCreateConstantIndexOp(builder, op->getLoc(), offset);
    OpBuilder inside = OpBuilder::atBlockBegin(&block);
    Value shifted =
        arith::AddIOp::create(inside, op->getLoc(), argument, start);
    argument.replaceAllUsesExcept(shifted, shifted.getDefiningOp());
  }
}

namespace {

template <typename OpTy>
struct MXTiling final : TilingInterface::ExternalModel<MXTiling<OpTy>, OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    SmallVector<utils::IteratorType> types(nest.names.size(),
                                           utils::IteratorType::parallel);
    if (nest.reduction != DimMap::kWhole)
      types[nest.reduction] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *op,
                                        OpBuilder &builder) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    SmallVector<Range> domain;
    for (int64_t loop = 0, e = nest.names.size(); loop < e; ++loop) {
      auto [value, dim] = findBound(nest, loop);
      domain.push_back({builder.getIndexAttr(0),
                        getDimSize(builder, op->getLoc(), value, dim),
                        builder.getIndexAttr(1)});
    }
    return domain;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    if (failed(verifyTile(op, nest, offsets, sizes)))
      return failure();
    Location loc = op->getLoc();
    auto dstOp = cast<DestinationStyleOpInterface>(op);
    TilingResult result;
    SmallVector<Value> operands;
    SmallVector<Type> types;
    for (OpOperand &operand : op->getOpOperands()) {
      const OperandMap *map = nest.find(operand);
      Value value = operand.get();
      if (map) {
        SmallVector<OpFoldResult> tileOffsets, tileSizes;
        getOperandTile(builder, loc, *map, offsets, sizes, tileOffsets,
                       tileSizes);
        SmallVector<OpFoldResult> strides(map->dims.size(),
                                          builder.getIndexAttr(1));
        if (isa<RankedTensorType>(value.getType()))
          value = tensor::ExtractSliceOp::create(
              builder, loc, value, tileOffsets, tileSizes, strides);
        else
          value = memref::SubViewOp::create(builder, loc, value, tileOffsets,
                                            tileSizes, strides);
        result.generatedSlices.push_back(value.getDefiningOp());
      }
      operands.push_back(value);
      if (dstOp.isDpsInit(&operand) && isa<RankedTensorType>(value.getType()))
        types.push_back(value.getType());
    }
    Operation *tiled = clone(builder, op, types, operands);
    shiftRegion(builder, tiled, nest, offsets);
    result.tiledOps.push_back(tiled);
    result.tiledValues.assign(tiled->result_begin(), tiled->result_end());
    return result;
  }

  LogicalResult
  getResultTilePosition(Operation *op, OpBuilder &builder, unsigned number,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    auto dstOp = cast<DestinationStyleOpInterface>(op);
    const OperandMap *map = nest.find(*dstOp.getDpsInitOperand(number));
    if (!map)
      return failure();
    getOperandTile(builder, op->getLoc(), *map, offsets, sizes, resultOffsets,
                   resultSizes);
    return success();
  }

  /// Computes the loop tile that writes a tile of a result. Loops not
  /// determined by the result are not tiled.
  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &builder, unsigned number,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVectorImpl<OpFoldResult> &loopOffsets,
      SmallVectorImpl<OpFoldResult> &loopSizes) const {
    LoopNest nest = getLoopNest(cast<OpTy>(op));
    Location loc = op->getLoc();
    auto dstOp = cast<DestinationStyleOpInterface>(op);
    const OperandMap *map = nest.find(*dstOp.getDpsInitOperand(number));
    if (!map)
      return failure();
    for (const Range &range : getIterationDomain(op, builder)) {
      loopOffsets.push_back(range.offset);
      loopSizes.push_back(range.size);
    }
    AffineExpr d0, d1, d2;
    bindDims(builder.getContext(), d0, d1, d2);
    for (auto [i, dim] : llvm::enumerate(map->dims)) {
      if (dim.loop == DimMap::kWhole)
        continue;
      OpFoldResult bound = loopSizes[dim.loop];
      if (dim.factor == 1) {
        loopOffsets[dim.loop] = offsets[i];
        loopSizes[dim.loop] = sizes[i];
        continue;
      }
      int64_t staticBound = getStaticBound(nest, dim.loop);
      Value start =
          getDividend(offsets[i], AffineExprKind::FloorDiv, dim.factor);
      if (start && isMultipleOf(OpFoldResult(start), dim.factor))
        loopOffsets[dim.loop] = start;
      else
        loopOffsets[dim.loop] = affine::makeComposedFoldedAffineApply(
            builder, loc, d0 * dim.factor, offsets[i]);
      Value length = getDividend(sizes[i], AffineExprKind::CeilDiv, dim.factor);
      if (length &&
          isWholeTile(loopOffsets[dim.loop], length, staticBound, dim.factor)) {
        loopSizes[dim.loop] = length;
        continue;
      }
      if (!ShapedType::isDynamic(staticBound) &&
          staticBound % dim.factor == 0) {
        loopSizes[dim.loop] = affine::makeComposedFoldedAffineApply(
            builder, loc, d0 * dim.factor, sizes[i]);
        continue;
      }
      // The last tile of scales may extend past the last row.
      loopSizes[dim.loop] = affine::makeComposedFoldedAffineMin(
          builder, loc,
          AffineMap::get(3, 0, {d0 * dim.factor, d1 - d2},
                         builder.getContext()),
          {sizes[i], bound, loopOffsets[dim.loop]});
    }
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &builder, unsigned number,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    SmallVector<OpFoldResult> loopOffsets, loopSizes;
    if (failed(getIterationDomainTileFromResultTile(
            op, builder, number, offsets, sizes, loopOffsets, loopSizes)))
      return failure();
    FailureOr<TilingResult> tiled =
        getTiledImplementation(op, builder, loopOffsets, loopSizes);
    if (failed(tiled))
      return failure();
    return TilingResult{
        tiled->tiledOps, {tiled->tiledValues[number]}, tiled->generatedSlices};
  }
};

} // namespace

void mx::registerTilingInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MXDialect *) {
    QuantizeOp::attachInterface<MXTiling<QuantizeOp>>(*context);
    AmaxOp::attachInterface<MXTiling<AmaxOp>>(*context);
    DequantizeOp::attachInterface<MXTiling<DequantizeOp>>(*context);
    RelayoutOp::attachInterface<MXTiling<RelayoutOp>>(*context);
    PackOperandOp::attachInterface<MXTiling<PackOperandOp>>(*context);
    MatmulOp::attachInterface<MXTiling<MatmulOp>>(*context);
    GroupedMatmulOp::attachInterface<MXTiling<GroupedMatmulOp>>(*context);
    context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                         memref::MemRefDialect, tensor::TensorDialect>();
  });
}
