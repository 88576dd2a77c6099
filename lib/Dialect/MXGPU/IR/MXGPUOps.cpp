//===- MXGPUOps.cpp - Operations of the mxgpu dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What TableGen generates, and the custom syntax that it calls. The operations
// are verified by subject: in KernelOps.cpp, WorkOps.cpp, RingOps.cpp and
// others. Whatever the IR, what verifies can be lowered or refused with a
// message.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static ParseResult parseRaster(OpAsmParser &parser, RasterAttr &raster) {
  FailureOr<RasterAttr> parsed = RasterAttr::parseBody(parser);
  if (failed(parsed))
    return failure();
  raster = *parsed;
  return success();
}

static void printRaster(OpAsmPrinter &printer, Operation *, RasterAttr raster) {
  raster.printBody(printer);
}

/// `static`, `single`, `clc(work tiles)`, `groups(work tiles)` or
/// `atomic_counter(work tiles, counter)`.
static ParseResult parseScheduler(
    OpAsmParser &parser, UnitAttr &single,
    std::optional<OpAsmParser::UnresolvedOperand> &workTiles, Type &unitsType,
    std::optional<OpAsmParser::UnresolvedOperand> &counter, Type &counterType) {
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
  if (parser.parseColonType(unitsType) ||
      (counts && (parser.parseComma() || parser.parseType(counterType))))
    return failure();
  return parser.parseRParen();
}

static void printScheduler(OpAsmPrinter &printer, TileSchedulerOp,
                           UnitAttr single, Value workTiles, Type unitsType,
                           Value counter, Type counterType) {
  if (!workTiles) {
    printer << (single ? "single" : "static");
    return;
  }
  AsyncKind producer = cast<RingType>(unitsType).getProducer();
  printer << stringifyAsyncKind(producer) << '(' << workTiles;
  if (counter)
    printer << ", " << counter;
  printer << " : " << unitsType;
  if (counter)
    printer << ", " << counterType;
  printer << ')';
}

#define GET_OP_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUOps.cpp.inc"
