//===- PlanLaunch.cpp - Tensor maps and launches of plans -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"
#include "mx/Dialect/MXGPU/IR/TensorMaps.h"

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Parameter;
using plan::Step;

LogicalResult PlanBuilder::translate(mxplan::EncodeTensorMapOp op) {
  mxgpu::TensorMapType type = op.getType();
  std::optional<target::TensorMapType> mapType = mxgpu::getMapType(type);
  if (!mapType)
    return op.emitOpError("expected elements of one byte, f16, bf16 or f32, "
                          "found ")
           << type.getElementType();
  plan::TensorMap map;
  map.buffer = getOperand(op.getBuffer()).buffer;
  map.offset = numbers.get(op.getOffset());
  map.type = *mapType;
  map.dims = getNumbers(op.getDims());
  map.strides = getNumbers(op.getStrides());
  map.box.assign(type.getBox().rbegin(), type.getBox().rend());
  map.swizzle = mxgpu::toSwizzle(type.getSwizzle());
  map.l2 = mxgpu::getMapL2(op.getL2Promotion());
  map.fill = mxgpu::kMapFill;
  maps[op] = mapCount++;
  auto isKnown = [&](Number number) { return numbers.isKnown(number); };
  if (!numbers.isInBlock() && map.buffer.kind != Buffer::Chosen &&
      numbers.isSize(map.offset) && llvm::all_of(map.dims, isKnown) &&
      llvm::all_of(map.strides, isKnown)) {
    tableMaps.push_back(maps[op]);
    entry.tensorMaps.push_back(std::move(map));
    return success();
  }
  Step &step = numbers.addStep(Step::Encode);
  step.index = maps[op];
  step.map = std::move(map);
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

/// Returns true if a parameter is an unmodified argument of the entry.
static bool isArgument(Value value, func::FuncOp function) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &function.getBody().front();
}

LogicalResult PlanBuilder::addParameter(Operation *op, Value value,
                                        std::vector<Parameter> &parameters) {
  Type type = value.getType();
  Parameter &parameter = parameters.emplace_back();
  if (isa<mxplan::BufferType>(type)) {
    parameter.kind = Parameter::Pointer;
    if (auto slice = value.getDefiningOp<mxplan::SliceOp>()) {
      value = slice.getBuffer();
      parameter.number = numbers.get(slice.getOffset());
    }
    parameter.buffer = getOperand(value).buffer;
    return success();
  }
  if (isa<mxgpu::TensorMapType>(type)) {
    parameter.kind = Parameter::TensorMap;
    parameter.index = maps.find(value)->second;
    return success();
  }
  unsigned bits = type.isIndex() ? 64
                  : type.isInteger()
                      ? llvm::alignTo<8>(type.getIntOrFloatBitWidth())
                      : 0;
  if (llvm::is_contained({8, 16, 32, 64}, bits) && numbers.has(value)) {
    parameter.number = numbers.get(value);
    parameter.bytes = bits / 8;
    return success();
  }
  if (isArgument(value, function)) {
    parameter.kind = Parameter::Argument;
    parameter.index = argumentOf(cast<BlockArgument>(value));
    return success();
  }
  if (isa<FloatType>(type) && numbers.has(value) &&
      !numbers.get(value).isConstant()) {
    parameter.kind = Parameter::Float;
    parameter.number = numbers.get(value);
    parameter.bytes = type.getIntOrFloatBitWidth() / 8;
    return success();
  }
  parameter.kind = Parameter::Bytes;
  parameter.data = getConstantBytes(value);
  if (!parameter.data.empty())
    return success();
  return op->emitOpError("expected arguments, constants and sizes as "
                         "parameters in a launch plan, found a computed ")
         << type;
}

LogicalResult PlanBuilder::translate(mxplan::LaunchOp op) {
  StringRef name = op.getKernel().getLeafReference().getValue();
  unsigned kernel = findNamed(manifest.kernels, name);
  if (kernel == manifest.kernels.size())
    return op.emitOpError("expected a kernel of the module, found ") << name;
  Step step;
  step.kind = Step::Launch;
  step.kernel = kernel;
  step.grid[0] = numbers.get(op.getGrid());
  for (Value value : op.getArgs())
    if (failed(addParameter(op, value, step.parameters)))
      return failure();
  numbers.addStep(Step::Launch) = std::move(step);
  return success();
}
