//===- Tosa.cpp - Import of block-scaled TOSA operations ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

//===----------------------------------------------------------------------===//
// MXINT8
//
// TOSA defines a type for MXINT8 elements; mx uses i8. Pairs of opposite casts
// between imported operations cancel. Arguments and results of functions with
// known callers become i8.
//===----------------------------------------------------------------------===//

static bool isTosaInt8(Type type) {
  return isa<RankedTensorType>(type) &&
         isa<tosa::mxint8Type>(getElementTypeOrSelf(type));
}

static Type withElement(Type type, Type element) {
  return cast<RankedTensorType>(type).clone(element);
}

static Value castElement(OpBuilder &builder, Value tensor, Type element) {
  Type type = withElement(tensor.getType(), element);
  auto cast = tensor.getDefiningOp<UnrealizedConversionCastOp>();
  if (cast && cast.getNumOperands() == 1 &&
      cast.getOperand(0).getType() == type)
    return cast.getOperand(0);
  return UnrealizedConversionCastOp::create(builder, tensor.getLoc(), type,
                                            tensor)
      .getResult(0);
}

Value mx::import::getAsInt8(OpBuilder &builder, Value tensor) {
  if (!isTosaInt8(tensor.getType()))
    return tensor;
  return castElement(builder, tensor, builder.getI8Type());
}

Value mx::import::getAsTosaInt8(OpBuilder &builder, Value tensor) {
  return castElement(builder, tensor,
                     tosa::mxint8Type::get(builder.getContext()));
}

/// Converts an argument to i8, with a cast for its other users.
static void convertArgument(BlockArgument argument) {
  OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
  argument.setType(withElement(argument.getType(), builder.getI8Type()));
  Value back = getAsTosaInt8(builder, argument);
  argument.replaceAllUsesExcept(back, back.getDefiningOp());
  for (Operation *user : llvm::make_early_inc_range(back.getUsers()))
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(user);
        cast && cast.getResult(0).getType() == argument.getType()) {
      cast.getResult(0).replaceAllUsesWith(argument);
      cast.erase();
    }
  eraseDead(back.getDefiningOp());
}

static void convertSignature(func::FuncOp function) {
  Type int8 = IntegerType::get(function.getContext(), 8);
  auto convert = [&](Type type) {
    return isTosaInt8(type) ? withElement(type, int8) : type;
  };
  FunctionType type = function.getFunctionType();
  auto inputs = llvm::map_to_vector(type.getInputs(), convert);
  auto results = llvm::map_to_vector(type.getResults(), convert);
  function.setFunctionType(
      FunctionType::get(function.getContext(), inputs, results));
  if (function.isExternal())
    return;
  for (BlockArgument argument : function.getArguments())
    if (isTosaInt8(argument.getType()))
      convertArgument(argument);
  function.walk([&](func::ReturnOp op) {
    OpBuilder atEnd(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *before = operand.get().getDefiningOp();
      operand.set(getAsInt8(atEnd, operand.get()));
      eraseDead(before ? before : op);
    }
  });
}

static void convertCall(func::CallOp call) {
  OpBuilder builder(call);
  for (OpOperand &operand : call->getOpOperands())
    operand.set(getAsInt8(builder, operand.get()));
  builder.setInsertionPointAfter(call);
  for (Value result : call.getResults()) {
    if (!isTosaInt8(result.getType()))
      continue;
    result.setType(withElement(result.getType(), builder.getI8Type()));
    Value back = getAsTosaInt8(builder, result);
    result.replaceAllUsesExcept(back, back.getDefiningOp());
  }
}

void mx::import::convertInt8Signatures(Operation *module) {
  auto hasInt8 = [](func::FuncOp function) {
    FunctionType type = function.getFunctionType();
    return llvm::any_of(type.getInputs(), isTosaInt8) ||
           llvm::any_of(type.getResults(), isTosaInt8);
  };
  SymbolTableCollection symbols;
  SmallVector<func::FuncOp> functions;
  module->walk([&](func::FuncOp function) {
    if (hasInt8(function))
      functions.push_back(function);
  });
  SmallVector<func::CallOp> calls;
  module->walk([&](func::CallOp call) {
    auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (callee && llvm::is_contained(functions, callee))
      calls.push_back(call);
  });
  for (func::CallOp call : calls)
    convertCall(call);
  for (func::FuncOp function : functions)
    convertSignature(function);
}

static bool areRanked(Operation *op, Reason &why) {
  if (llvm::all_of(op->getOperandTypes(),
                   [](Type type) { return isa<RankedTensorType>(type); }))
    return true;
  why = "the rank of its operands is not known; try tosa-infer-shapes";
  return false;
}

static bool isInt8(Value tensor) {
  return isa<tosa::mxint8Type>(getElementTypeOrSelf(tensor));
}

static RankedTensorType getRanked(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

/// Returns the first static size of `sizes`, which must all be equal.
static int64_t joinSizes(ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes)
    if (ShapedType::isStatic(size))
      return size;
  return ShapedType::kDynamic;
}

namespace {

/// Sizes of tosa.matmul_t_block_scaled, from its types.
struct TosaSizes {
  int64_t matrices, given, rows, columns, sum;

  explicit TosaSizes(tosa::MatmulTBlockScaledOp op) {
    auto get = [](Value tensor, int64_t dim) {
      auto type = dyn_cast<RankedTensorType>(tensor.getType());
      return type ? type.getDimSize(dim) : ShapedType::kDynamic;
    };
    auto unpack = [&](Value scales) {
      int64_t size = get(scales, 2);
      return ShapedType::isDynamic(size) ? size : size * kPowerOfTwoBlockSize;
    };
    Value a = op.getAData(), sa = op.getAScale(), b = op.getBData(),
          sb = op.getBScale(), out = op.getOutputData();
    matrices = joinSizes({get(a, 0), get(sa, 0), get(out, 0)});
    given = joinSizes({get(b, 0), get(sb, 0)});
    rows = joinSizes({get(a, 1), get(sa, 1), get(out, 1)});
    columns = joinSizes({get(b, 1), get(sb, 1), get(out, 2)});
    sum = joinSizes({get(a, 2), get(b, 2), unpack(sa), unpack(sb)});
  }

  /// Returns true if a single matrix is broadcast to all others.
  bool isBroadcast() const { return given == 1 && matrices != 1; }
};

} // namespace

/// Casts `tensor` to a type with the known sizes.
static Value refineShape(OpBuilder &builder, Value tensor,
                         ArrayRef<int64_t> shape) {
  Type type = RankedTensorType::get(shape, getElementTypeOrSelf(tensor));
  return castTensor(builder, tensor.getLoc(), tensor, type);
}

/// Returns an operand with dimensions `dims` of the given sizes. mx does not
/// support MXINT8 matmuls, so such operands become bf16, which represents all
/// values exactly.
static Factor getTosaFactor(OpBuilder &builder, Value data, Value scales,
                            const Indices &dims, SmallVector<int64_t> shape) {
  Location loc = data.getLoc();
  data = refineShape(builder, data, shape);
  int64_t sum = shape.back();
  shape.back() = ShapedType::isDynamic(sum) ? sum : sum / kPowerOfTwoBlockSize;
  scales = refineShape(builder, scales, shape);
  if (isInt8(data)) {
    Value numbers = dequantize(builder, loc, getAsInt8(builder, data), scales,
                               builder.getBF16Type());
    return {{numbers, dims, builder.getBF16Type()}, std::nullopt};
  }
  Indices ofScales = dims;
  ofScales.back() = *dropBlock(dims.back(), 32);
  return {{data, dims, getElementTypeOrSelf(data)},
          Leaf{scales, ofScales, getElementTypeOrSelf(scales)}};
}

LogicalResult mx::import::importTosaMatmul(Operation *root,
                                           const Options &options,
                                           Reason &why) {
  auto op = dyn_cast<tosa::MatmulTBlockScaledOp>(root);
  if (!op || !areRanked(root, why))
    return failure();
  TosaSizes sizes(op);
  Indices loops =
      getLoops({sizes.matrices, sizes.rows, sizes.columns, sizes.sum});
  if (isInt8(op.getAData()) != isInt8(op.getBData()))
    why = "one operand is mxint8, and the other is not";
  else if (ShapedType::isDynamic(sizes.given) && sizes.matrices != 1)
    why = "the number of matrices of its second operand is not known: a single "
          "matrix would be broadcast";
  else if (failed(dropBlock(loops[3], 32)))
    why = "the reduction dimension is not a multiple of 32";
  if (!why.empty())
    return failure();
  OpBuilder builder(root);
  Matmul matmul;
  matmul.root = root;
  matmul.left = getTosaFactor(builder, op.getAData(), op.getAScale(),
                              {loops[0], loops[1], loops[3]},
                              {sizes.matrices, sizes.rows, sizes.sum});
  matmul.right = getTosaFactor(
      builder, op.getBData(), op.getBScale(),
      {sizes.isBroadcast() ? Index() : loops[0], loops[2], loops[3]},
      {sizes.given, sizes.columns, sizes.sum});
  matmul.out = {loops[0], loops[1], loops[2]};
  matmul.reductions.insert(3);
  matmul.result = op.getOutputData();
  matmul.getSizes = [&](OpBuilder &at) -> SmallVector<OpFoldResult> {
    Value a = matmul.left.elements.tensor, b = matmul.right.elements.tensor;
    return {tensor::getMixedSize(at, root->getLoc(), a, 0),
            tensor::getMixedSize(at, root->getLoc(), a, 1),
            tensor::getMixedSize(at, root->getLoc(), b, 1)};
  };
  return rewriteMatmul(matmul, options, why);
}

LogicalResult mx::import::importTosaCastFrom(Operation *root,
                                             const Options &options,
                                             Reason &why) {
  auto op = dyn_cast<tosa::CastFromBlockScaledOp>(root);
  if (!op || !areRanked(root, why))
    return failure();
  if (why = checkResult(op.getOutputData().getType()); !why.empty())
    return failure();
  OpBuilder builder(root);
  Location loc = root->getLoc();
  Value elements = addRow(builder, loc, getAsInt8(builder, op.getInputData()));
  Value scales = addRow(builder, loc, op.getInputScale());
  Value numbers = dequantize(builder, loc, elements, scales,
                             getElementTypeOrSelf(op.getOutputData()));
  int64_t rank = getRanked(op.getInputData()).getRank();
  numbers = dropRow(builder, loc, numbers, rank);
  op.getOutputData().replaceAllUsesWith(
      castTensor(builder, loc, numbers, op.getOutputData().getType()));
  options.dead->insert(root);
  return success();
}

LogicalResult mx::import::importTosaCastTo(Operation *root,
                                           const Options &options,
                                           Reason &why) {
  auto op = dyn_cast<tosa::CastToBlockScaledOp>(root);
  if (!op || !areRanked(root, why))
    return failure();
  Type elementType = op.getOutputData().getType();
  Type scaleType = op.getOutputScale().getType();
  if (!isa<Float32Type, BFloat16Type, Float16Type>(
          getElementTypeOrSelf(op.getInputData()))) {
    why = "its operand is not f32, bf16 or f16";
    return failure();
  }
  OpBuilder builder(root);
  Location loc = root->getLoc();
  Value input = addRow(builder, loc, op.getInputData());
  Type element = isInt8(op.getOutputData()) ? Type(builder.getI8Type())
                                            : getElementTypeOrSelf(elementType);
  auto quantize = QuantizeOp::create(builder, loc, input, element,
                                     getElementTypeOrSelf(scaleType),
                                     /*axes=*/1, ScaleRounding::Fit);
  int64_t rank = getRanked(op.getInputData()).getRank();
  Value codes = dropRow(builder, loc, quantize->getResult(0), rank);
  if (isInt8(op.getOutputData()))
    codes = getAsTosaInt8(builder, codes);
  op.getOutputData().replaceAllUsesWith(
      castTensor(builder, loc, codes, elementType));
  op.getOutputScale().replaceAllUsesWith(castTensor(
      builder, loc, dropRow(builder, loc, quantize->getResult(1), rank),
      scaleType));
  options.dead->insert(root);
  return success();
}
