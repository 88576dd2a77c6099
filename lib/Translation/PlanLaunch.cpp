//===- PlanLaunch.cpp - Tensor maps and launches of a plan ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The same maps and parameters as in HostLowering.cpp, as data.
//
//===----------------------------------------------------------------------===//

#include "../Conversion/Utils/HostMessages.h"
#include "../Conversion/Utils/TensorMaps.h"
#include "PlanBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using plan::Number;
using plan::Operator;
using plan::Parameter;

LogicalResult PlanBuilder::translateMap(mxgpu::EncodeTensorMapOp op) {
  mxgpu::TensorMapType type = op.getType();
  auto source = cast<MemRefType>(op.getSource().getType());
  std::optional<target::TensorMapType> mapType = getMapType(type);
  int64_t bytes = source.getElementTypeBitWidth() / 8;
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  if (!mapType || bytes == 0)
    return op.emitOpError("expected elements of one byte, f16, bf16 or f32, "
                          "found ")
           << (bytes == 0 ? source.getElementType() : type.getElementType());
  const View &view = views.find(op.getSource())->second;
  plan::TensorMap map;
  map.buffer = view.buffer;
  map.type = *mapType;
  map.swizzle = getMapSwizzle(type);
  map.l2 = getMapL2(op.getL2Promotion());
  map.fill = kMapFill;
  int64_t rank = source.getRank();
  std::vector<Number> strides = getStrides(view);
  map.offset = numbers.mul(view.offset, bytes);
  if (rank > 0)
    numbers.require(numbers.apply(Operator::Eq, strides.back(), 1),
                    getPlace(op.getLoc()) +
                        "expected elements side by side, found a stride of {}",
                    {strides.back()});
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    Number size = view.sizes[dim];
    // Narrow elements are counted as such, without gaps.
    bool isPacked = dim + 1 == rank && bits < 8;
    map.dims.push_back(
        isPacked ? numbers.apply(Operator::FloorDiv, numbers.mul(size, 8), bits)
                 : size);
    if (dim > 0)
      map.strides.push_back(numbers.mul(strides[dim - 1], bytes));
    map.box.push_back(type.getBox()[dim]);
  }
  maps[op] = entry.tensorMaps.size();
  entry.tensorMaps.push_back(std::move(map));
  return success();
}

LogicalResult PlanBuilder::addParameters(Operation *op, Value value,
                                         std::vector<Parameter> &parameters) {
  Type type = value.getType();
  if (auto memref = dyn_cast<MemRefType>(type)) {
    const View &view = views.find(value)->second;
    Parameter &pointer = parameters.emplace_back();
    pointer.kind = Parameter::Pointer;
    pointer.buffer = view.buffer;
    auto addDynamic = [&](ArrayRef<int64_t> known, ArrayRef<Number> values) {
      for (auto [number, value] : llvm::zip_equal(known, values))
        if (ShapedType::isDynamic(number))
          parameters.emplace_back().number = value;
    };
    addDynamic(memref.getShape(), view.sizes);
    if (memref.getLayout().isIdentity())
      return success();
    auto [strides, offset] = memref.getStridesAndOffset();
    addDynamic(strides, getStrides(view));
    addDynamic(offset, view.offset);
    return success();
  }
  Parameter &parameter = parameters.emplace_back();
  if (auto map = maps.find(value); map != maps.end()) {
    parameter.kind = Parameter::TensorMap;
    parameter.index = map->second;
    return success();
  }
  bool isWord = type.isInteger(32) || type.isInteger(64) || type.isIndex();
  if (isWord && numbers.has(value)) {
    parameter.number = numbers.get(value);
    parameter.bytes = type.isInteger(32) ? 4 : 8;
    return success();
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    parameter.kind = Parameter::Argument;
    parameter.index = argument.getArgNumber();
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

LogicalResult PlanBuilder::translateLaunch(mxgpu::LaunchOp op) {
  StringRef name = op.getKernel().getLeafReference().getValue();
  auto kernel = llvm::find_if(
      manifest.kernels, [&](const plan::Kernel &k) { return k.name == name; });
  if (kernel == manifest.kernels.end())
    return op.emitOpError("expected an allocated kernel: run mxgpu-allocate "
                          "first");
  plan::Step step;
  step.kernel = kernel - manifest.kernels.begin();
  step.grid[0] = numbers.get(op.getGrid());
  for (Value value : op.getArgs())
    if (failed(addParameters(op, value, step.parameters)))
      return failure();
  entry.steps.push_back(std::move(step));
  return success();
}
