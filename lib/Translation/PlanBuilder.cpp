//===- PlanBuilder.cpp - Construction of launch plans ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caller owns the memory of arguments and results. Other allocations are
// slices of the workspace. Checks independent of steps run before all launches.
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Operator;
using plan::Step;

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Sets the public description of an argument or a result.
static FailureOr<ArrayType> describe(func::FuncOp function,
                                     mxplan::ValueAttr attribute,
                                     plan::Value &value) {
  Type source = attribute.getSource(), type = attribute.getType();
  value.name = attribute.getName();
  value.type = print(source);
  if (auto memref = dyn_cast<MemRefType>(source))
    source = RankedTensorType::get(memref.getShape(), memref.getElementType());
  llvm::Expected<ArrayType> array = getArrayType(source);
  if (!array) {
    function.emitOpError() << value.name << ": "
                           << llvm::toString(array.takeError());
    return failure();
  }
  auto memref = dyn_cast<MemRefType>(type);
  bool fits = array->isScalar
                  ? !isa<BaseMemRefType>(type)
                  : memref && memref.getLayout().isIdentity() &&
                        memref.getShape() == ArrayRef<int64_t>(array->shape);
  if (!fits) {
    function.emitOpError() << value.name
                           << ": expected a number or a memref of "
                           << array->str() << " with identity layout, found "
                           << type;
    return failure();
  }
  value.dtype = array->dtype;
  value.isNumber = array->isScalar;
  return std::move(*array);
}

/// Returns the public descriptions of arguments or results.
static auto getValues(func::FuncOp function, StringRef attribute) {
  auto values = function->getAttrOfType<ArrayAttr>(attribute);
  return llvm::to_vector(values.getAsRange<mxplan::ValueAttr>());
}

LogicalResult PlanBuilder::describeArguments() {
  ValueRange values = function.getArguments();
  for (auto [index, attribute] :
       llvm::enumerate(getValues(function, mxplan::kArgumentsAttrName))) {
    plan::Argument &argument = entry.arguments.emplace_back();
    FailureOr<ArrayType> array = describe(function, attribute, argument);
    if (failed(array))
      return failure();
    Value first = values.front();
    values = values.drop_front();
    if (argument.isNumber) {
      if (first.getType().isIntOrIndex())
        numbers.set(first, Number(Number::Argument, index));
      if (isa<FloatType>(first.getType()))
        numbers.set(first, Number(Number::ArgumentBits, index));
      continue;
    }
    buffers[first] = {Buffer::Argument, unsigned(index)};
    for (auto [dim, size] : llvm::enumerate(array->shape)) {
      bool isDynamic = ShapedType::isDynamic(size);
      argument.shape.push_back(isDynamic ? plan::kDynamic : size);
      if (!isDynamic)
        continue;
      numbers.set(values.front(), Number(Number::Extent, index, dim));
      values = values.drop_front();
    }
  }
  return success();
}

unsigned PlanBuilder::argumentOf(BlockArgument value) const {
  unsigned first = 0, index = 0;
  for (mxplan::ValueAttr attribute :
       getValues(function, mxplan::kArgumentsAttrName)) {
    first += mxplan::getPlanTypes(attribute.getType()).size();
    if (value.getArgNumber() < first)
      break;
    ++index;
  }
  return index;
}

/// Returns true if numbers are computed from the arguments by arithmetic only.
/// Such numbers are known before the steps run.
static bool areKnownBefore(ValueRange values) {
  SmallVector<Value> rest(values);
  llvm::DenseSet<Value> seen;
  while (!rest.empty()) {
    Value value = rest.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    bool isArgument =
        !op && isa<FunctionOpInterface>(value.getParentRegion()->getParentOp());
    if (isArgument || isa_and_present<mxgpu::SmCountOp, mxplan::RankOp>(op))
      continue;
    if (!op || !PlanScalars::isArithmetic(op))
      return false;
    llvm::append_range(rest, op->getOperands());
  }
  return true;
}

void PlanBuilder::findResults() {
  Operation *end = function.getBody().back().getTerminator();
  ValueRange values = end->getOperands();
  for (auto [index, attribute] :
       llvm::enumerate(getValues(function, mxplan::kResultsAttrName))) {
    size_t count = mxplan::getPlanTypes(attribute.getType()).size();
    auto alloc = values.front().getDefiningOp<mxplan::AllocOp>();
    if (alloc && alloc->getBlock() == end->getBlock() &&
        areKnownBefore(values.slice(1, count - 1)) &&
        areKnownBefore(alloc.getBytes()))
      resultOf.try_emplace(alloc, index);
    values = values.drop_front(count);
  }
}

LogicalResult PlanBuilder::describeResults() {
  Operation *end = function.getBody().back().getTerminator();
  ValueRange values = end->getOperands();
  for (auto [index, attribute] :
       llvm::enumerate(getValues(function, mxplan::kResultsAttrName))) {
    plan::Result &result = entry.results.emplace_back();
    FailureOr<ArrayType> array = describe(function, attribute, result);
    if (failed(array))
      return failure();
    Value first = values.front();
    values = values.drop_front();
    if (result.isNumber) {
      if (!numbers.has(first))
        return end->emitOpError("expected results that are arrays and numbers "
                                "in a launch plan, found ")
               << first.getType();
      result.value = numbers.get(first);
      continue;
    }
    Number bytes = 1, constant = plan::getItemBytes(result.dtype);
    for (int64_t size : array->shape) {
      Number extent = size;
      if (ShapedType::isDynamic(size)) {
        extent = numbers.get(values.front());
        result.isTaken |= !numbers.isSize(extent);
        values = values.drop_front();
      }
      result.shape.push_back(extent);
      // Multiply constants last, so they fold to a single factor.
      Number &term = extent.isConstant() ? constant : bytes;
      term = numbers.mul(term, extent);
    }
    Buffer own = {Buffer::Result, unsigned(index)};
    Buffer buffer = buffers.find(first)->second;
    if (result.isTaken)
      result.buffer = buffer;
    if (result.isTaken || buffer == own)
      continue;
    Step &copy = numbers.addStep(Step::Copy);
    copy.from = buffer;
    copy.to = own;
    copy.bytes = numbers.mul(bytes, constant);
  }
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::CopyOp op) {
  plan::Operand from = getOperand(op.getSource()),
                to = getOperand(op.getTarget());
  if (from.buffer == to.buffer)
    return success();
  Step &copy = numbers.addStep(Step::Copy);
  copy.from = from.buffer;
  copy.to = to.buffer;
  if (op.getOffset())
    copy.offset = numbers.get(op.getOffset());
  copy.bytes = numbers.get(op.getBytes());
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::FillOp op) {
  Step &step = numbers.addStep(Step::Memset);
  step.to = getOperand(op.getBuffer()).buffer;
  step.byte = op.getByte();
  step.bytes = numbers.get(op.getBytes());
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::ReadOp op) {
  Type type = op.getType();
  Step step;
  step.kind = Step::Read;
  step.from = getOperand(op.getBuffer()).buffer;
  step.offset = numbers.get(op.getOffset());
  // Floats are represented by their bits.
  unsigned bits = getElementBits(type);
  step.dtype = (isa<FloatType>(type) && bits < 64 ? "u" : "i") +
               std::to_string(bits / 8);
  step.results = {numbers.define()};
  set(op, step.results[0]);
  numbers.addStep(Step::Read) = std::move(step);
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::ConstantOp op) {
  buffers[op] = {Buffer::Constant,
                 findNamed(manifest.constants, op.getGlobal())};
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::AddressOp op) {
  numbers.set(op, getOperand(op.getBuffer()).buffer.getAddress());
  return success();
}

LogicalResult PlanBuilder::translate(mxgpu::SmCountOp op) {
  numbers.set(op, Number(Number::SmCount, 0));
  return success();
}

/// Converts a printf format to text with {} for values.
LogicalResult PlanBuilder::translate(mxgpu::RequireOp op) {
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
  Number condition = numbers.get(op.getCondition());
  std::vector<Number> values = getNumbers(op.getValues());
  // Check before any launch if the condition, the values and the conditions of
  // enclosing branches are known before the steps run.
  std::optional<Number> implied = getConditionIfRun(condition);
  if (implied && numbers.isKnown(*implied) &&
      llvm::all_of(values,
                   [&](Number value) { return numbers.isKnown(value); }))
    numbers.require(*implied, std::move(text), std::move(values),
                    /*isEarly=*/true);
  else
    numbers.require(condition, std::move(text), std::move(values));
  return success();
}

std::vector<Number> PlanBuilder::getNumbers(ValueRange values) const {
  std::vector<Number> result;
  for (Value value : values)
    result.push_back(numbers.get(value));
  return result;
}

bool PlanBuilder::isKnown(Value value) const {
  if (isa<mxplan::TokenType>(value.getType()) ||
      value.getDefiningOp<mxplan::SliceOp>())
    return true; // its operands were known
  return isa<mxplan::BufferType>(value.getType())     ? buffers.count(value)
         : isa<mxgpu::TensorMapType>(value.getType()) ? maps.count(value)
                                                      : numbers.has(value);
}

LogicalResult PlanBuilder::translate(Operation *op) {
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && isa<mxplan::BufferType>(select.getType()))
    return translate(select);
  if (PlanScalars::isArithmetic(op))
    return numbers.translate(op);
  // Check the operands of supported operations, except launches, which check
  // their own. Unsupported operations are rejected below.
  bool isPlanned = isa<scf::SCFDialect>(op->getDialect()) ||
                   isa<func::CallOp, mxgpu::RequireOp>(op) ||
                   isa<mxplan::MXPlanDialect>(op->getDialect());
  bool isLaunch = isa<mxplan::LaunchOp>(op);
  for (Value operand : op->getOperands())
    if (isPlanned && !isKnown(operand) &&
        !(isLaunch && operand.getType().isIntOrFloat()))
      return op->emitOpError("expected operands that a launch plan computes");
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](mxplan::SliceOp) {
        return success();
      }) // translated with the launch
      .Case<mxplan::AllocOp, mxplan::ConstantOp, mxplan::AddressOp,
            mxplan::RankOp, mxplan::PeersOp, mxplan::BarrierOp,
            mxplan::WindowOp, mxplan::AllGatherOp, mxplan::AllToAllOp,
            mxplan::WaitOp, mxplan::CopyOp, mxplan::FillOp, mxplan::ReadOp,
            mxplan::EncodeTensorMapOp, mxplan::LaunchOp, mxgpu::SmCountOp,
            mxgpu::RequireOp, scf::IfOp, scf::IndexSwitchOp, scf::ForOp,
            scf::WhileOp, scf::ExecuteRegionOp, func::CallOp>(
          [&](auto op) { return translate(op); })
      .Default([](Operation *op) {
        return op->emitOpError(
            "expected arithmetic on numbers of up to 64 bits, allocations, "
            "copies, launches, control flow of scf and calls in a launch "
            "plan, found another operation");
      });
}

LogicalResult PlanBuilder::verifyOneBlock(Region &region) {
  if (region.hasOneBlock())
    return success();
  return region.getParentOp()->emitOpError(
             "expected one block in a launch plan, found ")
         << region.getBlocks().size();
}

LogicalResult PlanBuilder::translate(Region &region) {
  for (Operation &op : region.front().without_terminator())
    if (failed(translate(&op)))
      return failure();
  return success();
}

FailureOr<plan::Entry> PlanBuilder::build() {
  for (StringRef name : {mxplan::kArgumentsAttrName, mxplan::kResultsAttrName})
    if (!function->hasAttr(name))
      return function.emitOpError("expected ")
             << name << ": run "
             << "convert-mxgpu-host-to-plan first";
  entry.name = function.getSymName();
  calls.push_back(function);
  if (failed(verifyOneBlock(function.getBody())) || failed(describeArguments()))
    return failure();
  findResults();
  if (failed(translate(function.getBody())) || failed(describeResults()))
    return failure();
  placeWorkBuffers();
  pruneValues();
  return std::move(entry);
}
