//===- MXGPUDialect.cpp - Registration of the mxgpu dialect ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Registers types, attributes and operations, and prints long ring types as
// aliases. The verifiers of operations are in KernelOps.cpp, WorkOps.cpp,
// Rings.cpp and other files.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

#include "mx/Dialect/MXGPU/IR/MXGPUDialect.cpp.inc"
#include "mx/Dialect/MXGPU/IR/MXGPUEnums.cpp.inc"
#include "mx/Dialect/MXGPU/IR/MXGPUMmaInterfaces.cpp.inc"
#include "mx/Dialect/MXGPU/IR/MXGPUStrategyInterfaces.cpp.inc"

namespace {
struct MXGPUAsmInterface final : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    // Name rings after their producer.
    if (auto ring = dyn_cast<RingType>(type))
      os << stringifyAsyncKind(ring.getProducer()) << "_ring";
    else if (auto stage = dyn_cast<StageType>(type))
      os << stringifyAsyncKind(stage.getRing().getProducer()) << "_stage";
    else if (auto buffer = dyn_cast<BufferType>(type))
      os << stringifySpace(buffer.getSpace());
    else if (isa<TensorMapType>(type))
      os << "map";
    else if (isa<FragmentType>(type))
      os << "fragment";
    else
      return AliasResult::NoAlias;
    return AliasResult::OverridableAlias;
  }

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<FragmentLayoutAttr>(attr))
      return AliasResult::NoAlias;
    os << "layout";
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

Operation *MXGPUDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

namespace {
/// Discardable attribute on operations of other dialects. The pass that builds
/// their kernels reads it.
struct CarriedAttribute {
  StringRef name, type;
  StringRef carriers[4]; // or fewer
  bool (*isOfType)(Attribute);
};
} // namespace

static constexpr CarriedAttribute kCarried[] = {
    {kScheduleAttrName,
     "#mxgpu.schedule",
     {"mx.matmul", "mx.grouped_matmul"},
     [](Attribute attribute) { return isa<ScheduleAttr>(attribute); }},
    {kSchedulesAttrName,
     "an array of #mxgpu.schedule_case",
     {"mx.matmul", "mx.grouped_matmul"},
     [](Attribute attribute) {
       auto cases = dyn_cast<ArrayAttr>(attribute);
       return cases && llvm::all_of(cases, llvm::IsaPred<ScheduleCaseAttr>);
     }},
    {kExpectedRowsAttrName,
     "a positive i64",
     {"mx.grouped_matmul", "mx.quantize", "mx.fused_quantize"},
     [](Attribute attribute) {
       auto rows = dyn_cast<IntegerAttr>(attribute);
       return rows && rows.getType().isInteger(64) && rows.getInt() > 0;
     }},
    {kQuantizeScheduleAttrName,
     "#mxgpu.quantize_schedule",
     {"mx.quantize", "mx.fused_quantize", "mx.dequantize", "mx.pack_operand"},
     [](Attribute attribute) { return isa<QuantizeScheduleAttr>(attribute); }},
    {kSimpleKernelAttrName,
     "a string",
     {"scf.parallel"},
     [](Attribute attribute) { return isa<StringAttr>(attribute); }},
};

/// Fails unless the last schedule, and no other, is unlimited. Every problem
/// size then selects a schedule, and every schedule is reachable.
static LogicalResult verifyCases(Operation *op, ArrayAttr cases) {
  if (op->hasAttr(kScheduleAttrName)) // carried_attributes C4
    return op->emitOpError("expected ") << kScheduleAttrName << " or "
                                        << kSchedulesAttrName << ", found both";
  // carried_attributes C5
  if (cases.empty() ||
      cast<ScheduleCaseAttr>(cases.getValue().back()).isLimited())
    return op->emitOpError("expected the last case of ")
           << kSchedulesAttrName << " to have no limit";
  // carried_attributes C6
  for (Attribute attribute : cases.getValue().drop_back())
    if (!cast<ScheduleCaseAttr>(attribute).isLimited())
      return op->emitOpError("expected each case of ")
             << kSchedulesAttrName << " except the last to have a limit, found "
             << attribute;
  return success();
}

/// Formats carriers as "a", "a and b", or "a, b and c".
static std::string listCarriers(const CarriedAttribute &carried) {
  SmallVector<StringRef> names;
  llvm::copy_if(carried.carriers, std::back_inserter(names),
                [](StringRef name) { return !name.empty(); });
  StringRef last = names.pop_back_val();
  return names.empty() ? last.str()
                       : llvm::join(names, ", ") + " and " + last.str();
}

LogicalResult MXGPUDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  const CarriedAttribute *known =
      llvm::find_if(kCarried, [&](const CarriedAttribute &carried) {
        return attribute.getName() == carried.name;
      });
  if (known == std::end(kCarried)) // carried_attributes C1
    return op->emitOpError("has unknown attribute ") << attribute.getName();
  // carried_attributes C2
  if (!llvm::is_contained(known->carriers, op->getName().getStringRef()))
    return op->emitOpError("expected ")
           << known->name << " only on " << listCarriers(*known);
  if (!known->isOfType(attribute.getValue())) // carried_attributes C3
    return op->emitOpError("expected ")
           << known->name << " to be " << known->type << ", found "
           << attribute.getValue();
  if (attribute.getName() == kSchedulesAttrName)
    return verifyCases(op, cast<ArrayAttr>(attribute.getValue()));
  return success();
}

//===----------------------------------------------------------------------===//
// Operations, and the custom syntax that they call
//===----------------------------------------------------------------------===//

static ParseResult parseRaster(OpAsmParser &parser, RasterAttr &raster) {
  return RasterAttr::parseBody(parser, raster);
}

static void printRaster(OpAsmPrinter &printer, Operation *, RasterAttr raster) {
  raster.printBody(printer);
}

/// Parses `static`, `single`, `clc(work tiles)`, `groups(work tiles)` or
/// `atomic_counter(work tiles, counter)`.
static ParseResult
parseScheduler(OpAsmParser &parser, UnitAttr &single,
               std::optional<OpAsmParser::UnresolvedOperand> &workTiles,
               Type &workTilesType,
               std::optional<OpAsmParser::UnresolvedOperand> &counter,
               Type &counterType) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (!llvm::is_contained(
          {"static", "single", "clc", "groups", "atomic_counter"}, keyword))
    return parser.emitError(loc, "expected static, single, clc, groups or "
                                 "atomic_counter, found ")
           << keyword;
  if (keyword == "single")
    single = parser.getBuilder().getUnitAttr();
  if (keyword == "static" || keyword == "single")
    return success();
  bool counts = keyword == "atomic_counter";
  if (parser.parseLParen() || parser.parseOperand(workTiles.emplace()))
    return failure();
  if (counts && (parser.parseComma() || parser.parseOperand(counter.emplace())))
    return failure();
  if (parser.parseColonType(workTilesType) ||
      (counts && (parser.parseComma() || parser.parseType(counterType))))
    return failure();
  return parser.parseRParen();
}

static void printScheduler(OpAsmPrinter &printer, TileSchedulerOp,
                           UnitAttr single, Value workTiles, Type workTilesType,
                           Value counter, Type counterType) {
  if (!workTiles) {
    printer << (single ? "single" : "static");
    return;
  }
  AsyncKind producer = cast<RingType>(workTilesType).getProducer();
  printer << stringifyAsyncKind(producer) << '(' << workTiles;
  if (counter)
    printer << ", " << counter;
  printer << " : " << workTilesType;
  if (counter)
    printer << ", " << counterType;
  printer << ')';
}

#define GET_OP_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUOps.cpp.inc"
