//===- PlanBuilder.cpp - The host part of a function as a plan ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Arguments and results are the caller's memory, every other allocation is a
// part of the workspace. Checks need no order among the launches: all are made
// before the first.
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"
#include "../Conversion/Utils/HostMessages.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Execution/Arrays.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Operator;

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Fills in what an argument or result of the lowered `type` is. `attributes`
/// says how it looked in the source, or nothing.
static FailureOr<ArrayType> describe(func::FuncOp function,
                                     DictionaryAttr attributes, Type type,
                                     StringRef name, plan::Value &value) {
  Type source = type;
  value.name = name;
  if (attributes) {
    if (auto attr = attributes.getAs<TypeAttr>(kEntryTypeAttr))
      source = attr.getValue();
    if (auto attr = attributes.getAs<StringAttr>(kEntryNameAttr))
      value.name = attr.getValue();
  }
  value.type = print(source);
  if (auto memref = dyn_cast<MemRefType>(source))
    source = RankedTensorType::get(memref.getShape(), memref.getElementType());
  llvm::Expected<ArrayType> array = getArrayType(source);
  if (!array) {
    function.emitOpError() << name << ": " << llvm::toString(array.takeError());
    return failure();
  }
  auto memref = dyn_cast<MemRefType>(type);
  bool fits = array->isScalar
                  ? !isa<BaseMemRefType>(type)
                  : memref && memref.getLayout().isIdentity() &&
                        memref.getShape() == ArrayRef<int64_t>(array->shape);
  if (!fits) {
    function.emitOpError() << name << ": expected a number or a memref of "
                           << array->str() << " with identity layout, found "
                           << type;
    return failure();
  }
  value.dtype = array->dtype;
  value.isNumber = array->isScalar;
  return std::move(*array);
}

LogicalResult PlanBuilder::describeArguments() {
  for (BlockArgument value : function.getArguments()) {
    unsigned index = value.getArgNumber();
    plan::Argument &argument = entry.arguments.emplace_back();
    FailureOr<ArrayType> array =
        describe(function, function.getArgAttrDict(index), value.getType(),
                 "arg" + std::to_string(index), argument);
    if (failed(array))
      return failure();
    if (argument.isNumber) {
      if (value.getType().isIntOrIndex())
        numbers.set(value, Number(Number::Argument, index));
      continue;
    }
    std::vector<Number> sizes;
    for (auto [dim, size] : llvm::enumerate(array->shape)) {
      bool isDynamic = ShapedType::isDynamic(size);
      argument.shape.push_back(isDynamic ? plan::kDynamic : size);
      sizes.push_back(isDynamic ? Number(Number::Extent, index, dim)
                                : Number(size));
    }
    setView(value, {Buffer::Argument, index}, std::move(sizes));
  }
  return success();
}

/// The allocation that a memref shows from its first byte to its last.
static memref::AllocOp findAllocation(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return alloc;
    if (!isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(
            op))
      break;
    memref = op->getOperand(0);
  }
  return {};
}

void PlanBuilder::findResults() {
  Operation *end = function.getBody().back().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (memref::AllocOp alloc = findAllocation(value))
      resultOf.try_emplace(alloc, index);
}

LogicalResult PlanBuilder::describeResults(func::ReturnOp returnOp) {
  for (auto [index, value] : llvm::enumerate(returnOp.getOperands())) {
    plan::Result &result = entry.results.emplace_back();
    std::string name = "result" + std::to_string(index);
    FailureOr<ArrayType> array =
        describe(function, function.getResultAttrDict(index), value.getType(),
                 name, result);
    if (failed(array))
      return failure();
    if (result.isNumber)
      return returnOp.emitOpError("expected results that are arrays in a "
                                  "launch plan, found ")
             << value.getType();
    const View &view = views.find(value)->second;
    result.shape = view.sizes;
    Buffer own = {Buffer::Result, unsigned(index)};
    if (view.buffer == own)
      continue;
    plan::Step &copy = entry.steps.emplace_back();
    copy.kind = plan::Step::Copy;
    copy.from = view.buffer;
    copy.to = own;
    copy.bytes = getBytes(cast<MemRefType>(value.getType()), view.sizes);
  }
  return success();
}

LogicalResult PlanBuilder::translateCopy(memref::CopyOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  const View &from = views.find(op.getSource())->second;
  const View &to = views.find(op.getTarget())->second;
  if (from.buffer == to.buffer)
    return success();
  plan::Step &copy = entry.steps.emplace_back();
  copy.kind = plan::Step::Copy;
  copy.from = from.buffer;
  copy.to = to.buffer;
  copy.bytes = getBytes(type, from.sizes);
  return success();
}

std::vector<uint8_t> PlanBuilder::getConstantBytes(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return {};
  Attribute attr = constant.getValue();
  APInt bits;
  if (auto number = dyn_cast<FloatAttr>(attr))
    bits = number.getValue().bitcastToAPInt();
  else if (auto integer = dyn_cast<IntegerAttr>(attr))
    bits = integer.getValue();
  if (bits.getBitWidth() % 8 || bits.getBitWidth() > 64)
    return {};
  std::vector<uint8_t> bytes;
  for (unsigned i = 0; i < bits.getBitWidth(); i += 8)
    bytes.push_back(uint8_t(bits.extractBitsAsZExtValue(8, i)));
  return bytes;
}

LogicalResult PlanBuilder::translateMemset(Operation *op) {
  auto memset = cast<gpu::MemsetOp>(op);
  std::vector<uint8_t> bytes = getConstantBytes(memset.getValue());
  if (bytes.empty() || !llvm::all_equal(bytes) || memset.getAsyncToken())
    return op->emitOpError("expected a constant of equal bytes and no tokens "
                           "in a launch plan");
  const View &view = views.find(memset.getDst())->second;
  plan::Step &step = entry.steps.emplace_back();
  step.kind = plan::Step::Memset;
  step.to = view.buffer;
  step.byte = bytes[0];
  step.bytes =
      getBytes(cast<MemRefType>(memset.getDst().getType()), view.sizes);
  return success();
}

/// A printf format becomes text with {} for values.
LogicalResult PlanBuilder::translateRequire(mxgpu::RequireOp op) {
  StringRef format = op.getMessage();
  std::string text = getPlace(op.getLoc());
  if (StringRef(text).contains("{}") || format.contains("{}"))
    return op.emitOpError("expected no {} in the message of a launch plan");
  while (!format.empty()) {
    if (format.consume_front("%lld")) {
      text += "{}";
    } else if (format.consume_front("%%")) {
      text += '%';
    } else {
      text += format.front();
      format = format.drop_front();
    }
  }
  std::vector<Number> values;
  for (Value value : op.getValues())
    values.push_back(numbers.get(value));
  numbers.require(numbers.get(op.getCondition()), std::move(text),
                  std::move(values));
  return success();
}

/// What the inliner left.
static LogicalResult refuseCall(func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      op, op.getCalleeAttr());
  bool isExternal = !callee || callee.isExternal();
  return op.emitOpError("expected calls that can be inlined in a launch plan, "
                        "found one of @")
         << op.getCallee()
         << (isExternal ? ", which has no body: what the host would do there "
                          "cannot be part of a plan"
                        : ", which is recursive or must not be inlined");
}

LogicalResult PlanBuilder::translate(Operation *op) {
  if (isa<memref::DeallocOp>(op))
    return success(); // the workspace knows when a buffer was last used
  if (PlanNumbers::isArithmetic(op))
    return numbers.translate(op);
  bool mayBePart = isa<memref::CastOp, memref::DimOp, memref::SubViewOp,
                       memref::ExtractStridedMetadataOp,
                       memref::ExtractAlignedPointerAsIndexOp,
                       mxgpu::EncodeTensorMapOp, mxgpu::LaunchOp>(op);
  for (Value operand : op->getOperands()) {
    auto view = views.find(operand);
    bool isMemRef = isa<BaseMemRefType>(operand.getType());
    bool isKnown =
        isMemRef ? view != views.end()
                 : !operand.getType().isIntOrIndex() || numbers.has(operand);
    if (!isKnown)
      return op->emitOpError("expected operands that a launch plan knows");
    if (isMemRef && !mayBePart && !view->second.isWhole())
      return op->emitOpError("expected whole arrays in a launch plan, found a "
                             "part of one");
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](memref::AllocOp op) { return translateAlloc(op); })
      .Case([&](memref::DimOp op) { return translateDim(op); })
      .Case([&](memref::CastOp op) { return translateCast(op); })
      .Case<memref::CollapseShapeOp, memref::ExpandShapeOp>(
          [&](auto op) { return translateShape(op); })
      .Case([&](memref::SubViewOp op) { return translateSubView(op); })
      .Case([&](memref::ExtractStridedMetadataOp op) {
        return translateMetadata(op);
      })
      .Case([&](memref::ExtractAlignedPointerAsIndexOp op) {
        translateAddress(op);
        return success();
      })
      .Case([&](memref::CopyOp op) { return translateCopy(op); })
      .Case([&](gpu::MemsetOp op) { return translateMemset(op); })
      .Case([&](mxgpu::EncodeTensorMapOp op) { return translateMap(op); })
      .Case([&](mxgpu::SmCountOp op) {
        numbers.set(op, Number(Number::SmCount, 0));
        return success();
      })
      .Case([&](mxgpu::RequireOp op) { return translateRequire(op); })
      .Case([&](mxgpu::LaunchOp op) { return translateLaunch(op); })
      .Case([&](func::ReturnOp op) { return describeResults(op); })
      .Case([&](func::CallOp op) { return refuseCall(op); })
      .Case([&](RegionBranchOpInterface op) {
        return op->emitOpError(
            "expected launches that are known before the plan runs, found "
            "control flow: unroll it, or compile its body as an entry and "
            "launch that as often");
      })
      .Default([](Operation *op) {
        return op->emitOpError(
            "expected arithmetic on sizes, allocations, copies and launches in "
            "a launch plan, found another operation");
      });
}

FailureOr<plan::Entry> PlanBuilder::build() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("expected one block in a launch plan, found ")
           << function.getBody().getBlocks().size();
  entry.name = function.getSymName();
  if (failed(describeArguments()))
    return failure();
  findResults();
  for (Operation &op : function.getBody().front())
    if (failed(translate(&op)))
      return failure();
  placeWorkBuffers();
  pruneValues();
  return std::move(entry);
}
