//===- MXGPUSchedule.cpp - Syntax of schedules ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields may be in any order. ScheduleRules.cpp verifies them.
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static ParseResult parseIntegers(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return parser.parseInteger(values.emplace_back());
      });
}

static ParseResult parseTileSizes(AsmParser &parser,
                                  SmallVectorImpl<int64_t> &sizes) {
  return parseIntegers(parser, sizes);
}

static void printTileSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  printer << '[';
  llvm::interleaveComma(sizes, printer.getStream());
  printer << ']';
}

template <typename EnumT>
static ParseResult parseEnum(AsmParser &parser, EnumT &value) {
  FailureOr<EnumT> parsed = FieldParser<EnumT>::parse(parser);
  if (succeeded(parsed))
    value = *parsed;
  return failure(failed(parsed));
}

static ParseResult parseRasterOrder(AsmParser &parser, RasterOrder &order,
                                    int64_t &group) {
  group = 1;
  if (parseEnum(parser, order))
    return failure();
  if (order != RasterOrder::GroupM)
    return success();
  return failure(parser.parseLParen() || parser.parseInteger(group) ||
                 parser.parseRParen());
}

static void printRasterOrder(AsmPrinter &printer, RasterOrder order,
                             int64_t group) {
  printer << stringifyRasterOrder(order);
  if (order == RasterOrder::GroupM)
    printer << '(' << group << ')';
}

static ParseResult parseRaster(AsmParser &parser, RasterAttr &raster) {
  return RasterAttr::parseBody(parser, raster);
}

static void printRaster(AsmPrinter &printer, RasterAttr raster) {
  raster.printBody(printer);
}

// g++ 12 warns about the generated parser, as in MXDialect.cpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUAttrs.cpp.inc"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

void MXGPUDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mx/Dialect/MXGPU/IR/MXGPUAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Raster
//===----------------------------------------------------------------------===//

ParseResult RasterAttr::parseBody(AsmParser &parser, RasterAttr &raster) {
  RasterOrder order;
  int64_t group;
  SMLoc loc = parser.getCurrentLocation();
  if (parseRasterOrder(parser, order, group))
    return failure();
  raster = getChecked([&] { return parser.emitError(loc); },
                      parser.getContext(), order, group);
  return failure(!raster);
}

void RasterAttr::printBody(AsmPrinter &printer) const {
  printRasterOrder(printer, getOrder(), getGroup());
}

LogicalResult RasterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 RasterOrder, int64_t group) {
  if (group < 1 || group > kMaxRasterGroup) // raster C1
    return emitError() << "expected group_m(n) with n from 1 to "
                       << kMaxRasterGroup << ", found " << group;
  return success();
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

ScheduleAttr ScheduleAttr::get(MLIRContext *context,
                               const ScheduleFields &fields) {
  return get(context, fields.tile, fields.stages, fields.strategy,
             fields.workspace, fields.splitK,
             RasterAttr::get(context, fields.rasterOrder, fields.rasterGroup),
             fields.epilogue, fields.staging, fields.registers, fields.l2A,
             fields.l2B, fields.l2Out, fields.pdl);
}

ScheduleFields ScheduleAttr::getFields() const {
  ScheduleFields fields;
  llvm::copy(getTile(), fields.tile.begin());
  fields.stages = getStages();
  fields.strategy = getStrategy();
  fields.workspace = getWorkspace();
  fields.splitK = getSplitK();
  fields.rasterOrder = getRaster().getOrder();
  fields.rasterGroup = getRaster().getGroup();
  fields.epilogue = getEpilogue();
  fields.staging = getStaging();
  fields.registers.assign(getRegisters().begin(), getRegisters().end());
  fields.l2A = getL2A();
  fields.l2B = getL2B();
  fields.l2Out = getL2Out();
  fields.pdl = getPdl();
  return fields;
}

static ParseResult parseStrategy(AsmParser &parser,
                                 StrategyAttrInterface &strategy) {
  SMLoc loc = parser.getCurrentLocation();
  Attribute attr;
  if (parser.parseAttribute(attr))
    return failure();
  strategy = dyn_cast<StrategyAttrInterface>(attr);
  if (!strategy)
    return parser.emitError(loc, "expected a strategy such as "
                                 "#mxgpu.tcgen05_block_scaled, found ")
           << attr;
  return success();
}

/// Parses a value after `name =`, or `name` alone.
static ParseResult parseField(AsmParser &parser, StringRef name, SMLoc loc,
                              ScheduleFields &fields) {
  if (name == "pdl") {
    fields.pdl = true;
    return success();
  }
  int64_t *integer = llvm::StringSwitch<int64_t *>(name)
                         .Case("stages", &fields.stages)
                         .Case("split_k", &fields.splitK)
                         .Case("staging", &fields.staging)
                         .Default(nullptr);
  if (integer) {
    SMLoc valueLoc = parser.getCurrentLocation();
    if (parser.parseEqual() || parser.parseInteger(*integer))
      return failure();
    // 0 marks an omitted field, so it is not a legal number here.
    if (name == "stages" && *integer < 1)
      return parser.emitError(valueLoc, "expected 1 to ")
             << kMaxStages << " stages, found " << *integer;
    return success();
  }
  if (name == "tile") {
    SmallVector<int64_t> tile;
    SMLoc valueLoc = parser.getCurrentLocation();
    if (parser.parseEqual() || parseIntegers(parser, tile))
      return failure();
    if (tile.size() != fields.tile.size()) // schedule C1
      return parser.emitError(valueLoc, "expected 3 tile sizes (rows, columns, "
                                        "reduction), found ")
             << tile.size();
    llvm::copy(tile, fields.tile.begin());
    return success();
  }
  if (name == "registers")
    return failure(parser.parseEqual() ||
                   parseIntegers(parser, fields.registers));
  if (name == "strategy")
    return failure(parser.parseEqual() ||
                   parseStrategy(parser, fields.strategy));
  if (name == "workspace")
    return failure(parser.parseEqual() || parseEnum(parser, fields.workspace));
  if (name == "epilogue")
    return failure(parser.parseEqual() || parseEnum(parser, fields.epilogue));
  if (name == "raster")
    return failure(
        parser.parseEqual() ||
        parseRasterOrder(parser, fields.rasterOrder, fields.rasterGroup));
  if (name == "l2") {
    if (parser.parseEqual() || parser.parseLSquare() ||
        parseEnum(parser, fields.l2A) || parser.parseComma() ||
        parseEnum(parser, fields.l2B))
      return failure();
    if (succeeded(parser.parseOptionalComma()) &&
        parseEnum(parser, fields.l2Out))
      return failure();
    return parser.parseRSquare();
  }
  return parser.emitError(
             loc, "expected tile, stages, strategy, workspace, split_k, "
                  "raster, epilogue, staging, registers, l2 or pdl, found '")
         << name << "'";
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  ScheduleFields fields;
  llvm::StringSet<> seen;
  SMLoc start = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    if (!seen.insert(name).second)
      return parser.emitError(loc, "expected each field once, found '")
             << name << "' twice";
    return parseField(parser, name, loc, fields);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  if (!seen.contains("tile")) {
    parser.emitError(start, "expected a tile, found none");
    return {};
  }
  auto emitError = [&] { return parser.emitError(start); };
  MLIRContext *context = parser.getContext();
  if (!RasterAttr::getChecked(emitError, context, fields.rasterOrder,
                              fields.rasterGroup))
    return {};
  if (failed(verifyFields(emitError, fields)))
    return {};
  return ScheduleAttr::get(context, fields);
}

/// Prints the main fields, and other fields that differ from their defaults.
void ScheduleAttr::print(AsmPrinter &printer) const {
  const ScheduleFields defaults;
  auto printIntegers = [&](ArrayRef<int64_t> values) {
    printer << '[';
    llvm::interleaveComma(values, printer);
    printer << ']';
  };
  auto printUnless = [&](StringRef name, int64_t value, int64_t other) {
    if (value != other)
      printer << ", " << name << " = " << value;
  };
  printer << "<tile = ";
  printIntegers(getTile());
  printUnless("stages", getStages(), defaults.stages);
  if (getStrategy())
    printer << ", strategy = " << getStrategy();
  if (getWorkspace() != defaults.workspace)
    printer << ", workspace = " << stringifyWorkspace(getWorkspace());
  printUnless("split_k", getSplitK(), defaults.splitK);
  printer << ", raster = ";
  getRaster().printBody(printer);
  printer << ", epilogue = " << stringifyEpilogue(getEpilogue());
  printUnless("staging", getStaging(), defaults.staging);
  if (!getRegisters().empty()) {
    printer << ", registers = ";
    printIntegers(getRegisters());
  }
  bool hasOut = getL2Out() != defaults.l2Out;
  if (getL2A() != defaults.l2A || getL2B() != defaults.l2B || hasOut)
    printer << ", l2 = [" << stringifyCacheHint(getL2A()) << ", "
            << stringifyCacheHint(getL2B())
            << (hasOut ? ", " + stringifyCacheHint(getL2Out()) : "") << ']';
  if (getPdl())
    printer << ", pdl";
  printer << '>';
}
