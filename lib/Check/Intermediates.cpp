//===- Intermediates.cpp - Isolated operations of a run -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Check/Intermediates.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;

namespace {
/// Logical shapes of a stage's tensors. Elements have the shape of their array.
/// The shape of tiled scales is inferred from their elements, or from the other
/// side of a relayout. The shape of packed weights is inferred from the other
/// operands of the matmul and from its result.
class IntermediateShapes {
public:
  IntermediateShapes(const ComparedOp &stage,
                     const IntermediateArrays &arrays) {
    Operation *op = stage.op;
    // The arrays of captured values follow the arrays of the operands.
    for (auto [i, array] : llvm::enumerate(arrays.operands))
      infer(i < op->getNumOperands() ? op->getOperand(i)
                                     : stage.operands[i].value,
            array);
    for (auto [value, array] : llvm::zip(op->getResults(), arrays.results))
      infer(value, array);
    // An unread destination has no array, but the shape of the result.
    auto structured = cast<DestinationStyleOpInterface>(op);
    for (auto [init, result] :
         llvm::zip(structured.getDpsInits(), op->getResults()))
      alike(init, result);
    llvm::TypeSwitch<Operation *>(op)
        .Case<FusedQuantizeOp>([&](FusedQuantizeOp quantize) {
          if (quantize->getNumResults())
            for (unsigned i = 0; i < quantize.getNumDestinations(); ++i)
              if (!quantize.isDequantized(i))
                scalesOf(quantize->getResult(quantize.getElementsNumber(i)),
                         quantize->getResult(quantize.getScalesNumber(i)),
                         quantize.getBlockSize());
          for (const QuantizeSource &source : quantize.getSources())
            if (source.scales)
              scalesOf(source.tensor, source.scales, source.getBlockSize());
        })
        .Case<DequantizeOp>([&](DequantizeOp dequantize) {
          scalesOf(dequantize.getInput(), dequantize.getScales(),
                   dequantize.getBlockSize());
        })
        .Case<PackOperandOp>([&](PackOperandOp pack) {
          alike(pack.getInput(), pack->getResult(0));
          if (pack.getScales())
            scalesOf(pack.getInput(), pack.getScales(), pack.getBlockSize());
        })
        .Case<MatmulOp, GroupedMatmulOp>([&](auto matmul) {
          if (matmul.getAScales())
            scalesOf(matmul.getA(), matmul.getAScales(), matmul.getBlockSize());
          packedBOf(matmul);
          if (matmul.getBScales())
            scalesOf(matmul.getB(), matmul.getBScales(),
                     matmul.getBlockSizeOfB());
          if (matmul->getNumResults() > 1)
            scalesOf(matmul->getResult(0), matmul->getResult(1),
                     BlockShape(kPowerOfTwoBlockSize));
        })
        .Case<RelayoutOp>([&](RelayoutOp relayout) {
          alike(relayout.getInput(), relayout->getResult(0));
        });
    for (auto [init, result] :
         llvm::zip(structured.getDpsInits(), op->getResults()))
      alike(init, result);
  }

  /// Returns the static type of `value`, or null if its shape is unknown.
  RankedTensorType getType(Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.hasStaticShape())
      return type;
    auto found = shapes.find(value);
    return found == shapes.end() ? RankedTensorType()
                                 : type.clone(found->second);
  }

private:
  void infer(Value value, const NpyArray *array) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    if (type.hasStaticShape()) {
      shapes[value] = llvm::to_vector(type.getShape());
      return;
    }
    if (!array || hasTiledLayout(type))
      return;
    SmallVector<int64_t> shape(array->shape.begin(), array->shape.end());
    if (int64_t packing = llvm::cantFail(getArrayType(type)).packing;
        packing != 1)
      shape.back() *= packing;
    shapes[value] = shape;
  }

  /// Infers the shape of packed weights: a row for each column of the result, a
  /// column for each column of A, and a matrix for each batch or expert group.
  void packedBOf(MatmulOpInterface op) {
    Value b = op.getB(), offsets = op.getExpertOffsets();
    auto a = shapes.find(op.getA()), out = shapes.find(op->getResult(0));
    auto groups = offsets ? shapes.find(offsets) : shapes.end();
    if (!hasPackedB(op) || shapes.count(b) || a == shapes.end() ||
        out == shapes.end() || (offsets && groups == shapes.end()))
      return;
    SmallVector<int64_t> shape =
        offsets ? groups->second
                : llvm::to_vector(ArrayRef(a->second).drop_back(2));
    shape.append({out->second.back() * op.getNumB(), a->second.back()});
    shapes[b] = shape;
  }

  void scalesOf(Value elements, Value scales, BlockShape block) {
    auto found = shapes.find(elements);
    if (found == shapes.end() || shapes.count(scales))
      return;
    const BlockFormat &format =
        getBlockFormat(getElementTypeOrSelf(scales), block);
    shapes[scales] = format.getScaleShape(SmallVector<int64_t>(found->second));
  }

  void alike(Value a, Value b) {
    auto foundA = shapes.find(a), foundB = shapes.find(b);
    if (foundA != shapes.end() && foundB == shapes.end())
      shapes[b] = SmallVector<int64_t>(foundA->second);
    else if (foundA == shapes.end() && foundB != shapes.end())
      shapes[a] = SmallVector<int64_t>(foundB->second);
  }

  DenseMap<Value, SmallVector<int64_t>> shapes;
};
} // namespace

/// Clones the constant `value`, converted to f32 if `type` is f32.
static Value cloneConstant(OpBuilder &builder, Value value, Type type) {
  Operation *copy = builder.clone(*value.getDefiningOp());
  DenseFPElementsAttr elements;
  auto constant = dyn_cast<arith::ConstantOp>(copy);
  if (constant && copy->getResult(0).getType() != type &&
      matchPattern(value, m_Constant(&elements))) {
    SmallVector<float> numbers;
    for (APFloat number : elements.getValues<APFloat>()) {
      bool losesInfo;
      number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      numbers.push_back(number.convertToFloat());
    }
    constant.setValueAttr(
        DenseElementsAttr::get(cast<ShapedType>(type), ArrayRef(numbers)));
    copy->getResult(0).setType(type);
  }
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

static Operation *cloneWithoutRegions(OpBuilder &builder, Operation *op) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state);
}

/// Adds to `body` an argument with an f32 for each element of the result. Adds
/// these numbers to the accumulators before the epilogue of `op`.
static void disturbAccumulator(OpBuilder &builder, Operation *op, Block &body) {
  OpBuilder::InsertionGuard guard(builder);
  Block &epilogue = op->getRegion(0).front();
  Value init = cast<DestinationStyleOpInterface>(op).getDpsInits()[0];
  Location loc = op->getLoc();
  Value amounts = body.addArgument(
      cast<RankedTensorType>(init.getType()).clone(builder.getF32Type()), loc);
  builder.setInsertionPointToStart(&epilogue);
  Value amount = tensor::ExtractOp::create(
      builder, loc, amounts, epilogue.getArguments().drop_front());
  Value sum = epilogue.getArgument(0);
  auto disturbed = arith::AddFOp::create(builder, loc, sum, amount);
  sum.replaceAllUsesExcept(disturbed, disturbed);
}

/// Clones the rank groups to which `op` and nested operations refer.
static void cloneGroups(OpBuilder &builder, Operation *op) {
  llvm::SetVector<Operation *> groups;
  std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(op);
  for (SymbolTable::SymbolUse use : *uses)
    if (auto group = SymbolTable::lookupNearestSymbolFrom<RankGroupOp>(
            op, use.getSymbolRef().getRootReference()))
      groups.insert(group);
  for (Operation *group : groups)
    builder.clone(*group);
}

llvm::Expected<OwningOpRef<ModuleOp>>
mx::buildAlone(const ComparedOp &stage, const IntermediateArrays &arrays,
               OpVariant variant) {
  Operation *op = stage.op;
  MLIRContext *context = op->getContext();
  Location loc = op->getLoc();
  IntermediateShapes shapes(stage, arrays);
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  cloneGroups(builder, op);
  auto function = func::FuncOp::create(builder, loc, "stage",
                                       builder.getFunctionType({}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);

  // A destination has the type of its result.
  auto retype = [&](RankedTensorType type) {
    return variant == OpVariant::F32Result || variant == OpVariant::Accumulator
               ? type.clone(builder.getF32Type())
               : type;
  };
  auto structured = cast<DestinationStyleOpInterface>(op);
  IRMapping mapping;
  SmallVector<Value> operands;
  for (auto [index, source] : llvm::enumerate(stage.operands)) {
    bool isCaptured = index >= op->getNumOperands();
    Value value = isCaptured ? source.value : op->getOperand(index);
    bool isInit = !isCaptured && structured.isDpsInit(&op->getOpOperand(index));
    Type type = value.getType();
    if (isa<RankedTensorType>(type)) {
      RankedTensorType known = shapes.getType(value);
      if (!known)
        return makeError("cannot infer the logical shape of operand " +
                         llvm::Twine(index) + " of " + describeOp(op));
      type = isInit ? retype(known) : known;
    }
    Value mapped;
    if (source.kind == IntermediateValue::Unread)
      mapped = tensor::EmptyOp::create(
          builder, loc, cast<RankedTensorType>(type).getShape(),
          cast<RankedTensorType>(type).getElementType(),
          cast<RankedTensorType>(type).getEncoding());
    else if (source.kind == IntermediateValue::Constant)
      mapped = cloneConstant(builder, value, type);
    else
      mapped = body->addArgument(type, loc);
    if (isCaptured)
      mapping.map(value, mapped);
    else
      operands.push_back(mapped);
  }
  Operation *copy = variant == OpVariant::Accumulator
                        ? cloneWithoutRegions(builder, op)
                        : builder.clone(*op, mapping);
  copy->setOperands(operands);
  if (variant == OpVariant::Disturbed)
    disturbAccumulator(builder, copy, *body);
  for (auto [result, init] :
       llvm::zip_equal(copy->getResults(),
                       cast<DestinationStyleOpInterface>(copy).getDpsInits()))
    result.setType(init.getType());
  func::ReturnOp::create(builder, loc, copy->getResults());
  function.setType(builder.getFunctionType(body->getArgumentTypes(),
                                           copy->getResultTypes()));
  if (failed(verify(*module)))
    return makeError("cannot build the reference of " + describeOp(op));
  return module;
}

std::string mx::describeOp(Operation *op) {
  std::string text = op->getName().getStringRef().str() + " at ";
  llvm::raw_string_ostream stream(text);
  if (auto location = op->getLoc()->findInstanceOf<FileLineColLoc>())
    stream << location.getFilename().getValue() << ':' << location.getLine()
           << ':' << location.getColumn();
  else
    stream << op->getLoc();
  return text;
}
