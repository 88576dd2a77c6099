//===- MXGPUDialect.cpp - Registration of the mxgpu dialect ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Adds types, attributes and operations to a context; names the long ring
// types by aliases so that a printed kernel can be read.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

#include "mx/Dialect/MXGPU/IR/MXGPUDialect.cpp.inc"
#include "mx/Dialect/MXGPU/IR/MXGPUEnums.cpp.inc"

namespace {
struct MXGPUAsmInterface final : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    // A ring is known by who fills it.
    if (auto ring = dyn_cast<RingType>(type))
      os << stringifyAgent(ring.getProducer()) << "_ring";
    else if (auto stage = dyn_cast<StageType>(type))
      os << stringifyAgent(stage.getRing().getProducer()) << "_stage";
    else if (auto buffer = dyn_cast<BufferType>(type))
      os << stringifySpace(buffer.getSpace());
    else if (isa<TensorMapType>(type))
      os << "map";
    else
      return AliasResult::NoAlias;
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void MXGPUDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "mx/Dialect/MXGPU/IR/MXGPUOps.cpp.inc"
      >();
  addInterfaces<MXGPUAsmInterface>();
}

LogicalResult MXGPUDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == kQuantizeScheduleAttrName) {
    if (!isa<QuantizeOp, DequantizeOp>(op))
      return op->emitOpError("expected ")
             << kQuantizeScheduleAttrName
             << " only on mx.quantize and mx.dequantize";
    if (!isa<QuantizeScheduleAttr>(attribute.getValue()))
      return op->emitOpError("expected ")
             << kQuantizeScheduleAttrName
             << " to be #mxgpu.quantize_schedule, found "
             << attribute.getValue();
    return success();
  }
  if (attribute.getName() != kScheduleAttrName)
    return op->emitOpError("has unknown attribute ") << attribute.getName();
  if (!isa<MatmulOp, GroupedMatmulOp>(op))
    return op->emitOpError("expected ")
           << kScheduleAttrName << " only on mx.matmul and mx.grouped_matmul";
  if (!isa<ScheduleAttr>(attribute.getValue()))
    return op->emitOpError("expected ")
           << kScheduleAttrName << " to be #mxgpu.schedule, found "
           << attribute.getValue();
  return success();
}
