//===- TosaForms.cpp - Block-scaled operations of TOSA --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

static bool areRanked(Operation *op, Reason &why) {
  auto isRanked = [](Type type) { return isa<RankedTensorType>(type); };
  if (llvm::all_of(op->getOperandTypes(), isRanked) &&
      llvm::all_of(op->getResultTypes(), isRanked))
    return true;
  why = "the rank of its operands is not known; tosa-infer-shapes may find it";
  return false;
}

static bool isInt8(Value tensor) {
  return isa<tosa::mxint8Type>(getElementTypeOrSelf(tensor));
}

static RankedTensorType getRanked(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// An operand whose dimensions follow `dims`. MXINT8 has no product: its
/// numbers are exact in bf16.
static Factor getTosaFactor(OpBuilder &builder, Location loc, Value data,
                            Value scales, const Indices &dims) {
  Factor factor;
  if (isInt8(data)) {
    Value numbers = dequantize(builder, loc, getAsInt8(builder, data), scales,
                               builder.getBF16Type());
    factor.elements = {numbers, dims, builder.getBF16Type()};
    return factor;
  }
  factor.elements = {data, dims, getElementTypeOrSelf(data)};
  Indices ofScales = dims;
  ofScales.back() = *dropBlock(dims.back(), 32);
  factor.scales = Leaf{scales, ofScales, getElementTypeOrSelf(scales)};
  return factor;
}

/// One size of two that are equal, which may be known of either.
static int64_t join(int64_t left, int64_t right) {
  return ShapedType::isDynamic(left) ? right : left;
}

/// Whether all matrices are multiplied by one.
static Reason findBroadcast(RankedTensorType a, RankedTensorType b,
                            bool &isBroadcast) {
  int64_t count = a.getDimSize(0), given = b.getDimSize(0);
  isBroadcast = given == 1 && count != 1;
  if (ShapedType::isDynamic(given) && count != 1)
    return "the number of matrices of its second operand is not known: 1 of "
           "them would be multiplied by all of the first";
  return {};
}

LogicalResult mx::import::importTosaProduct(Operation *root,
                                            const Options &options,
                                            Reason &why) {
  auto op = dyn_cast<tosa::MatmulTBlockScaledOp>(root);
  if (!op || !areRanked(root, why))
    return failure();
  Value aData = op.getAData(), bData = op.getBData();
  RankedTensorType a = getRanked(aData), b = getRanked(bData);
  if (isInt8(aData) != isInt8(bData)) {
    why = "one operand is mxint8, and the other is not";
    return failure();
  }
  bool isBroadcast;
  if (why = findBroadcast(a, b, isBroadcast); !why.empty())
    return failure();
  int64_t batch = isBroadcast ? a.getDimSize(0)
                              : join(a.getDimSize(0), b.getDimSize(0));
  Indices loops = getLoops({batch, a.getDimSize(1), b.getDimSize(1),
                            join(a.getDimSize(2), b.getDimSize(2))});
  if (failed(dropBlock(loops[3], 32))) {
    why = "the dimension that is summed over is not a multiple of 32";
    return failure();
  }
  OpBuilder builder(root);
  Location loc = root->getLoc();
  Product product;
  product.root = root;
  product.left = getTosaFactor(builder, loc, aData, op.getAScale(),
                               {loops[0], loops[1], loops[3]});
  product.right =
      getTosaFactor(builder, loc, bData, op.getBScale(),
                    {isBroadcast ? Index() : loops[0], loops[2], loops[3]});
  product.out = {loops[0], loops[1], loops[2]};
  product.reductions.insert(3);
  product.result = op.getOutputData();
  product.getSizes = [=](OpBuilder &at) -> SmallVector<OpFoldResult> {
    return {tensor::getMixedSize(at, loc, aData, 0),
            tensor::getMixedSize(at, loc, aData, 1),
            tensor::getMixedSize(at, loc, bData, 1)};
  };
  return rewriteProduct(product, options, why);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

LogicalResult mx::import::importTosaCastFrom(Operation *root,
                                             const Options &options,
                                             Reason &why) {
  auto op = dyn_cast<tosa::CastFromBlockScaledOp>(root);
  if (!op || !areRanked(root, why))
    return failure();
  auto type = getRanked(op.getOutputData());
  if (!isa<Float32Type, BFloat16Type, Float16Type>(type.getElementType())) {
    why = "its result is not f32, bf16 or f16";
    return failure();
  }
  OpBuilder builder(root);
  Location loc = root->getLoc();
  Value elements = addRow(builder, loc, getAsInt8(builder, op.getInputData()));
  Value scales = addRow(builder, loc, op.getInputScale());
  Value numbers =
      dequantize(builder, loc, elements, scales, type.getElementType());
  op.getOutputData().replaceAllUsesWith(dropRow(builder, loc, numbers, type));
  options.dead->insert(root);
  return success();
}

/// The rounding of mx.quantize that gives TOSA's scales: the least power of two
/// with which the largest element is rounded to a number. Of E4M3, where the
/// number after the largest is NaN, none does so exactly.
static FailureOr<ScaleRounding> getTosaRounding(Type element,
                                                const Options &options,
                                                Reason &why) {
  if (!isa<Float8E4M3FNType>(element))
    return ScaleRounding::Even;
  if (!options.strictTosa)
    return ScaleRounding::Ceil;
  why = "no rounding of mx.quantize gives the scales of TOSA for f8E4M3FN: "
        "those of ceil are twice as large for maxima from 448 to 464 times a "
        "power of two, which TOSA allows but strict-tosa does not";
  return failure();
}

LogicalResult mx::import::importTosaCastTo(Operation *root,
                                           const Options &options,
                                           Reason &why) {
  auto op = dyn_cast<tosa::CastToBlockScaledOp>(root);
  if (!op || !areRanked(root, why))
    return failure();
  auto elementType = getRanked(op.getOutputData());
  auto scaleType = getRanked(op.getOutputScale());
  FailureOr<ScaleRounding> rounding =
      getTosaRounding(elementType.getElementType(), options, why);
  if (failed(rounding))
    return failure();
  if (!isa<Float32Type, BFloat16Type, Float16Type>(
          getElementTypeOrSelf(op.getInputData()))) {
    why = "its operand is not f32, bf16 or f16";
    return failure();
  }
  OpBuilder builder(root);
  Location loc = root->getLoc();
  Value input = addRow(builder, loc, op.getInputData());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, input);
  Type element = isInt8(op.getOutputData()) ? Type(builder.getI8Type())
                                            : elementType.getElementType();
  Value elements = makeEmpty(builder, loc, sizes, element);
  sizes.back() = divideSize(builder, loc, sizes.back(), 32);
  Value scales =
      makeEmpty(builder, loc, sizes, scaleType.getElementType());
  Value outs[] = {elements, scales};
  auto quantize = QuantizeOp::create(
      builder, loc, ValueRange(outs).getTypes(), input,
      /*input_scales=*/ValueRange(), /*global_scale=*/Value(), /*seed=*/Value(),
      /*gather=*/Value(), /*offsets=*/Value(), outs, RaggedKindAttr(),
      ArrayRef<int64_t>{1}, /*block_size=*/32, /*square=*/false,
      /*amax=*/false, /*concat=*/false, *rounding, /*prologueCount=*/0);
  Value codes = quantize->getResult(0);
  if (isInt8(op.getOutputData()))
    codes = getAsTosaInt8(builder, codes);
  op.getOutputData().replaceAllUsesWith(
      dropRow(builder, loc, codes, elementType));
  op.getOutputScale().replaceAllUsesWith(
      dropRow(builder, loc, quantize->getResult(1), scaleType));
  options.dead->insert(root);
  return success();
}
