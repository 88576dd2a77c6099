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

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUAttrs.cpp.inc"

namespace {
struct MXGPUAsmInterface final : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    StringRef name = TypeSwitch<Type, StringRef>(type)
                         .Case<RingType>([](auto) { return "ring"; })
                         .Case<SlotType>([](auto) { return "slot"; })
                         .Case<TensorMapType>([](auto) { return "map"; })
                         .Default([](Type) { return ""; });
    if (name.empty())
      return AliasResult::NoAlias;
    os << name;
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void MXGPUDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mx/Dialect/MXGPU/IR/MXGPUAttrs.cpp.inc"
      >();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "mx/Dialect/MXGPU/IR/MXGPUOps.cpp.inc"
      >();
  addInterfaces<MXGPUAsmInterface>();
}

LogicalResult MXGPUDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
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

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> tile, int64_t stages,
                                   int64_t accumulators, Raster, Epilogue) {
  if (tile.size() != 3)
    return emitError() << "expected 3 tile sizes (rows, columns, reduction), "
                          "found "
                       << tile.size();
  if (tile[0] != 128)
    return emitError() << "expected a tile of 128 rows, found " << tile[0];
  if (tile[1] != 128 && tile[1] != 256)
    return emitError() << "expected a tile of 128 or 256 columns, found "
                       << tile[1];
  if (tile[2] != 128)
    return emitError() << "expected a tile of 128 reduction elements, found "
                       << tile[2];
  if (stages < 1)
    return emitError() << "expected at least 1 stage, found " << stages;
  if (accumulators < 1)
    return emitError() << "expected at least 1 accumulator, found "
                       << accumulators;
  return success();
}
