//===- Stages.cpp - Look at every operation of a run ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Exposes the mx operations of a function and rebuilds each of them alone.
//
//===----------------------------------------------------------------------===//

#include "mx/Execution/Stages.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;

static bool isStage(Operation *op) {
  return op->getDialect() && isa<MXDialect>(op->getDialect()) &&
         isa<DestinationStyleOpInterface>(op);
}

static bool readsDestinations(Operation *op) {
  if (auto product = dyn_cast<ProductOpInterface>(op))
    return product.readsOuts();
  return isa<CombineOp>(op);
}

/// A part of an array that lies in it as it is.
static bool canCut(tensor::ExtractSliceOp slice) {
  RankedTensorType type = slice.getType();
  return type.getRank() == slice.getSourceType().getRank() &&
         slice.hasUnitStride() && !type.getEncoding() &&
         (type.getElementType().isIndex() ||
          type.getElementTypeBitWidth() >= 8);
}

/// Whether an operation uses part of a tensor that is in no array. Slices are
/// not returned: that would be a copy, which a device does not make of rows
/// that lie apart.
static bool readsOtherSlices(Operation *op) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return llvm::any_of(used, [](Value value) {
    auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
    return slice &&
           (!canCut(slice) ||
            slice.getSource().getDefiningOp<tensor::ExtractSliceOp>() ||
            matchPattern(slice.getSource(), m_Constant()));
  });
}

//===----------------------------------------------------------------------===//
// Exposing
//===----------------------------------------------------------------------===//

namespace {
class Exposer {
public:
  Exposer(func::FuncOp entry, const std::map<unsigned, std::string> &without)
      : entry(entry), without(without) {
    terminator = entry.getBody().back().getTerminator();
    returned.assign(terminator->operand_begin(), terminator->operand_end());
  }

  StageList run() {
    StageList list;
    list.ownResults = entry.getNumResults();
    unsigned number = 0;
    entry.walk([&](Operation *op) {
      if (std::string why = whyHidden(op, number); !why.empty()) {
        list.hidden.push_back({op, why});
      } else if (isStage(op)) {
        list.numbers.push_back(number);
        list.stages.push_back(expose(op));
      }
      number += isStage(op);
    });
    if (list.stages.empty())
      return list;
    terminator->setOperands(returned);
    entry.setType(FunctionType::get(entry.getContext(),
                                    entry.getArgumentTypes(),
                                    terminator->getOperandTypes()));
    return list;
  }

private:
  /// Why an operation that computes elements is not looked at alone; empty if
  /// it is, or if it computes none.
  std::string whyHidden(Operation *op, unsigned number) {
    if (isa<linalg::LinalgOp>(op) && !isa<linalg::FillOp>(op))
      return "it is not an operation of mx";
    if (!isStage(op))
      return {};
    if (op->getBlock() != terminator->getBlock() || op->getNumResults() == 0 ||
        !entry.getBody().hasOneBlock())
      return "it is not in the entry's own block";
    if (readsOtherSlices(op))
      return "an operand is a slice with strides or a layout";
    auto found = without.find(number);
    return found == without.end() ? std::string() : found->second;
  }

  Stage expose(Operation *op) {
    Stage stage;
    stage.op = op;
    auto structured = cast<DestinationStyleOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (structured.isDpsInit(&operand) && !readsDestinations(op))
        stage.operands.push_back({});
      else
        stage.operands.push_back(place(operand.get()));
    }
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      stage.operands.push_back(place(value));
    for (Value value : op->getResults())
      stage.results.push_back(place(value));
    return stage;
  }

  StageValue place(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return {StageValue::Argument, argument.getArgNumber(), value};
    if (matchPattern(value, m_Constant()))
      return {StageValue::Constant, 0, value};
    if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>()) {
      StageValue part = place(slice.getSource());
      part.value = value;
      for (OpFoldResult offset : slice.getMixedOffsets())
        part.offsets.push_back(place(offset));
      for (OpFoldResult size : slice.getMixedSizes())
        part.sizes.push_back(place(size));
      return part;
    }
    auto *found = llvm::find(returned, value);
    int64_t index = found - returned.begin();
    if (found == returned.end())
      returned.push_back(value);
    return {StageValue::Result, index, value};
  }

  StageValue place(OpFoldResult number) {
    if (std::optional<int64_t> known = getConstantIntValue(number))
      return {StageValue::Number, *known};
    return place(cast<Value>(number));
  }

  func::FuncOp entry;
  const std::map<unsigned, std::string> &without;
  Operation *terminator;
  SmallVector<Value> returned;
};
} // namespace

FailureOr<StageList>
mx::exposeStages(func::FuncOp entry,
                 const std::map<unsigned, std::string> &without) {
  auto module = entry->getParentOfType<ModuleOp>();
  std::string name = entry.getSymName().str();
  // Other functions' operations can be looked at once they are part of this
  // one; the inliner must not take the entry itself for a dead function.
  entry.setPublic();
  PassManager pm(module->getContext());
  pm.addPass(createInlinerPass());
  if (failed(pm.run(module)))
    return failure();
  auto inlined = cast<func::FuncOp>(module.lookupSymbol(name));
  StageList list = Exposer(inlined, without).run();
  module.walk([&](func::FuncOp function) {
    if (function != inlined)
      function.walk([&](Operation *op) {
        if (isStage(op) && !SymbolTable::symbolKnownUseEmpty(function, module))
          list.hidden.push_back({op, "it is in a function of its own"});
      });
  });
  return list;
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// A part of an array.
static NpyArray cut(const NpyArray &whole, ArrayRef<int64_t> offsets,
                    ArrayRef<int64_t> sizes) {
  NpyArray part;
  part.dtype = whole.dtype;
  part.shape.assign(sizes.begin(), sizes.end());
  size_t item = npyItemSize(whole.dtype), rank = sizes.size();
  size_t rows = 1, row = sizes.back() * item;
  for (int64_t size : sizes.drop_back())
    rows *= size;
  part.data.resize(rows * row);
  for (size_t i = 0; i < rows; ++i) {
    // The place of row i in the whole array.
    size_t place = offsets.back(), stride = whole.shape.back(), rest = i;
    for (size_t dim = rank - 1; dim-- > 0;) {
      place += (offsets[dim] + rest % sizes[dim]) * stride;
      rest /= sizes[dim];
      stride *= whole.shape[dim];
    }
    std::memcpy(part.data.data() + i * row, whole.data.data() + place * item,
                row);
  }
  return part;
}

StageArrays mx::collectArrays(const Stage &stage, ArrayRef<NpyArray> arguments,
                              ArrayRef<NpyArray> results) {
  auto findWhole = [&](const StageValue &value) -> const NpyArray * {
    switch (value.kind) {
    case StageValue::Argument:
      return &arguments[value.index];
    case StageValue::Result:
      return &results[value.index];
    case StageValue::Constant:
    case StageValue::Unread:
    case StageValue::Number:
      return nullptr;
    }
    return nullptr;
  };
  auto getNumbers = [&](ArrayRef<StageValue> values) {
    SmallVector<int64_t> numbers;
    for (const StageValue &value : values) {
      int64_t &number = numbers.emplace_back(value.index);
      if (const NpyArray *array = findWhole(value))
        std::memcpy(&number, array->data.data(), sizeof(number));
    }
    return numbers;
  };
  StageArrays arrays;
  auto find = [&](const StageValue &value) -> const NpyArray * {
    const NpyArray *whole = findWhole(value);
    if (!whole || value.sizes.empty())
      return whole;
    arrays.slices.push_back(std::make_shared<NpyArray>(
        cut(*whole, getNumbers(value.offsets), getNumbers(value.sizes))));
    return arrays.slices.back().get();
  };
  for (const StageValue &value : stage.operands)
    arrays.operands.push_back(find(value));
  for (const StageValue &value : stage.results)
    arrays.results.push_back(find(value));
  return arrays;
}

//===----------------------------------------------------------------------===//
// Rebuilding
//===----------------------------------------------------------------------===//

namespace {
/// The logical shapes of a stage's tensors. Elements have the shape of their
/// array; the shape behind tiled scales follows from the elements they belong
/// to, or from the scales on the other side of a relayout.
class StageShapes {
public:
  StageShapes(const Stage &stage, const StageArrays &arrays) {
    Operation *op = stage.op;
    // After the operands comes what regions use from outside.
    for (auto [i, array] : llvm::enumerate(arrays.operands))
      infer(i < op->getNumOperands() ? op->getOperand(i)
                                     : stage.operands[i].value,
            array);
    for (auto [value, array] : llvm::zip(op->getResults(), arrays.results))
      infer(value, array);
    // Destinations that are not read have no array: they look like results.
    auto structured = cast<DestinationStyleOpInterface>(op);
    for (auto [init, result] :
         llvm::zip(structured.getDpsInits(), op->getResults()))
      alike(init, result);
    llvm::TypeSwitch<Operation *>(op)
        .Case<QuantizeOp>([&](QuantizeOp quantize) {
          if (quantize->getNumResults())
            for (unsigned i = 0; i < quantize.getNumDestinations(); ++i)
              scalesOf(quantize->getResult(2 * i),
                       quantize->getResult(2 * i + 1), quantize.getBlockSize());
          for (const QuantizeSource &source : quantize.getSources())
            if (source.scales)
              scalesOf(source.tensor, source.scales, source.getBlockSize());
        })
        .Case<DequantizeOp>([&](DequantizeOp dequantize) {
          scalesOf(dequantize.getInput(), dequantize.getScales(),
                   dequantize.getBlockSize());
        })
        .Case<MatmulOp, GroupedMatmulOp>([&](auto matmul) {
          scalesOf(matmul.getA(), matmul.getAScales(), matmul.getBlockSize());
          scalesOf(matmul.getB(), matmul.getBScales(), matmul.getBlockSize());
          if (matmul->getNumResults() > 1)
            scalesOf(
                matmul->getResult(0), matmul->getResult(1),
                getBlockSizeOf(getElementTypeOrSelf(matmul->getResult(1))));
        })
        .Case<RelayoutOp>([&](RelayoutOp relayout) {
          alike(relayout.getInput(), relayout->getResult(0));
        });
    for (auto [init, result] :
         llvm::zip(structured.getDpsInits(), op->getResults()))
      alike(init, result);
  }

  /// The static type of `value`; null if its shape is not known.
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
    if (!array ||
        ScaleLayoutAttr::get(type).getKind() != ScaleLayoutKind::Linear)
      return;
    SmallVector<int64_t> shape(array->shape.begin(), array->shape.end());
    if (int64_t packing = llvm::cantFail(getArrayType(type)).packing;
        packing != 1)
      shape.back() *= packing;
    shapes[value] = shape;
  }

  void scalesOf(Value elements, Value scales, int64_t block) {
    auto found = shapes.find(elements);
    if (found == shapes.end() || shapes.count(scales))
      return;
    SmallVector<int64_t> shape = found->second;
    shape.back() = ceilDiv(shape.back(), block);
    shapes[scales] = shape;
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

/// The constant `value` again, widened where `type` asks for f32.
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

/// Adds a new argument of `body`, an f32 for each element of the result, to the
/// sums that the epilogue of `op` takes.
static void disturbSums(OpBuilder &builder, Operation *op, Block &body) {
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

llvm::Expected<OwningOpRef<ModuleOp>> mx::buildStage(const Stage &stage,
                                                     const StageArrays &arrays,
                                                     StageVariant variant) {
  Operation *op = stage.op;
  MLIRContext *context = op->getContext();
  Location loc = op->getLoc();
  StageShapes shapes(stage, arrays);
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, loc, "stage",
                                       builder.getFunctionType({}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);

  // A destination has the type of its result.
  auto retype = [&](RankedTensorType type) {
    return variant == StageVariant::F32Result || variant == StageVariant::Sums
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
        return makeError("cannot tell the logical shape of operand " +
                         llvm::Twine(index) + " of " + describeStage(op));
      type = isInit ? retype(known) : known;
    }
    Value mapped;
    if (source.kind == StageValue::Unread)
      mapped = tensor::EmptyOp::create(
          builder, loc, cast<RankedTensorType>(type).getShape(),
          cast<RankedTensorType>(type).getElementType(),
          cast<RankedTensorType>(type).getEncoding());
    else if (source.kind == StageValue::Constant)
      mapped = cloneConstant(builder, value, type);
    else
      mapped = body->addArgument(type, loc);
    if (isCaptured)
      mapping.map(value, mapped);
    else
      operands.push_back(mapped);
  }
  Operation *copy = variant == StageVariant::Sums
                        ? cloneWithoutRegions(builder, op)
                        : builder.clone(*op, mapping);
  copy->setOperands(operands);
  if (variant == StageVariant::Disturbed)
    disturbSums(builder, copy, *body);
  for (auto [result, init] :
       llvm::zip_equal(copy->getResults(),
                       cast<DestinationStyleOpInterface>(copy).getDpsInits()))
    result.setType(init.getType());
  func::ReturnOp::create(builder, loc, copy->getResults());
  function.setType(builder.getFunctionType(body->getArgumentTypes(),
                                           copy->getResultTypes()));
  if (failed(verify(*module)))
    return makeError("cannot build the reference of " + describeStage(op));
  return module;
}

std::string mx::describeStage(Operation *op) {
  std::string text = op->getName().getStringRef().str() + " at ";
  llvm::raw_string_ostream stream(text);
  if (auto location = op->getLoc()->findInstanceOf<FileLineColLoc>())
    stream << location.getFilename().getValue() << ':' << location.getLine()
           << ':' << location.getColumn();
  else
    stream << op->getLoc();
  return text;
}
