//===- MXGPUSchedule.cpp - Syntax and rules of schedules ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A schedule is a list of parts in any order. The rules here need neither
// element types nor a chip; see Schedule.h for those that do.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/MmaShapes.h"
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

static ParseResult parseRaster(AsmParser &parser, RasterAttr &raster) {
  FailureOr<RasterAttr> parsed = RasterAttr::parseBody(parser);
  if (failed(parsed))
    return failure();
  raster = *parsed;
  return success();
}

static void printRaster(AsmPrinter &printer, RasterAttr raster) {
  raster.printBody(printer);
}

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUAttrs.cpp.inc"

void MXGPUDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mx/Dialect/MXGPU/IR/MXGPUAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Raster
//===----------------------------------------------------------------------===//

static ParseResult parseRaster(AsmParser &parser, RasterOrder &order,
                               int64_t &group) {
  FailureOr<RasterOrder> parsed = FieldParser<RasterOrder>::parse(parser);
  if (failed(parsed))
    return failure();
  order = *parsed;
  group = 1;
  if (order != RasterOrder::GroupM)
    return success();
  return failure(parser.parseLParen() || parser.parseInteger(group) ||
                 parser.parseRParen());
}

static void printRaster(AsmPrinter &printer, RasterOrder order, int64_t group) {
  printer << stringifyRasterOrder(order);
  if (order == RasterOrder::GroupM)
    printer << '(' << group << ')';
}

FailureOr<RasterAttr> RasterAttr::parseBody(AsmParser &parser) {
  RasterOrder order;
  int64_t group;
  SMLoc loc = parser.getCurrentLocation();
  if (parseRaster(parser, order, group))
    return failure();
  auto attr = RasterAttr::getChecked([&] { return parser.emitError(loc); },
                                     parser.getContext(), order, group);
  if (!attr)
    return failure();
  return attr;
}

void RasterAttr::printBody(AsmPrinter &printer) const {
  printRaster(printer, getOrder(), getGroup());
}

Attribute RasterAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<RasterAttr> attr = parseBody(parser);
  if (failed(attr) || parser.parseGreater())
    return {};
  return *attr;
}

void RasterAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBody(printer);
  printer << '>';
}

LogicalResult RasterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 RasterOrder, int64_t group) {
  // raster C1
  if (group < 1 || group > kMaxRasterGroup)
    return emitError() << "expected group_m(n) with n from 1 to "
                       << kMaxRasterGroup << ", found " << group;
  return success();
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

ScheduleAttr ScheduleAttr::get(MLIRContext *context,
                               const ScheduleFields &fields) {
  return get(context, fields.tile, fields.ctaPair, fields.stages,
             fields.accumulators, fields.overlap, fields.scaleStages,
             fields.splitK, fields.tileLoop,
             RasterAttr::get(context, fields.rasterOrder, fields.rasterGroup),
             fields.epilogue, fields.staging, fields.registers, fields.l2A,
             fields.l2B, fields.pdl);
}

ScheduleFields ScheduleAttr::getFields() const {
  ScheduleFields fields;
  llvm::copy(getTile(), fields.tile.begin());
  fields.ctaPair = getCtaPair();
  fields.stages = getStages();
  fields.accumulators = getAccumulators();
  fields.overlap = getOverlap();
  fields.scaleStages = getScaleStages();
  fields.splitK = getSplitK();
  fields.tileLoop = getTileLoop();
  fields.rasterOrder = getRaster().getOrder();
  fields.rasterGroup = getRaster().getGroup();
  fields.epilogue = getEpilogue();
  fields.staging = getStaging();
  fields.registers.assign(getRegisters().begin(), getRegisters().end());
  fields.l2A = getL2A();
  fields.l2B = getL2B();
  fields.pdl = getPdl();
  return fields;
}

template <typename EnumT>
static ParseResult parseEnum(AsmParser &parser, EnumT &value) {
  FailureOr<EnumT> parsed = FieldParser<EnumT>::parse(parser);
  if (failed(parsed))
    return failure();
  value = *parsed;
  return success();
}

/// Parses what stands behind `name =`, or behind `name` alone.
static ParseResult parseField(AsmParser &parser, StringRef name, SMLoc loc,
                              ScheduleFields &fields) {
  if (name == "cta_pair" || name == "pdl") {
    (name == "pdl" ? fields.pdl : fields.ctaPair) = true;
    return success();
  }
  int64_t *integer = llvm::StringSwitch<int64_t *>(name)
                         .Case("stages", &fields.stages)
                         .Case("accumulators", &fields.accumulators)
                         .Case("overlap", &fields.overlap)
                         .Case("scale_stages", &fields.scaleStages)
                         .Case("split_k", &fields.splitK)
                         .Case("staging", &fields.staging)
                         .Default(nullptr);
  if (integer) {
    SMLoc valueLoc = parser.getCurrentLocation();
    if (parser.parseEqual() || parser.parseInteger(*integer))
      return failure();
    // 0 stands for a choice that is still open, which is written by silence.
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
    if (tile.size() != fields.tile.size())
      return parser.emitError(valueLoc, "expected 3 tile sizes (rows, columns, "
                                        "reduction), found ")
             << tile.size();
    llvm::copy(tile, fields.tile.begin());
    return success();
  }
  if (name == "registers")
    return failure(parser.parseEqual() ||
                   parseIntegers(parser, fields.registers));
  if (name == "tile_loop")
    return failure(parser.parseEqual() || parseEnum(parser, fields.tileLoop));
  if (name == "epilogue")
    return failure(parser.parseEqual() || parseEnum(parser, fields.epilogue));
  if (name == "raster")
    return failure(parser.parseEqual() ||
                   parseRaster(parser, fields.rasterOrder, fields.rasterGroup));
  if (name == "l2")
    return failure(parser.parseEqual() || parser.parseLSquare() ||
                   parseEnum(parser, fields.l2A) || parser.parseComma() ||
                   parseEnum(parser, fields.l2B) || parser.parseRSquare());
  return parser.emitError(loc, "expected tile, cta_pair, stages, accumulators, "
                               "overlap, scale_stages, split_k, tile_loop, "
                               "raster, epilogue, staging, registers, l2 or "
                               "pdl, found '")
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
  auto raster = RasterAttr::getChecked(emitError, context, fields.rasterOrder,
                                       fields.rasterGroup);
  if (!raster)
    return {};
  return ScheduleAttr::getChecked(
      emitError, context, fields.tile, fields.ctaPair, fields.stages,
      fields.accumulators, fields.overlap, fields.scaleStages, fields.splitK,
      fields.tileLoop, raster, fields.epilogue, fields.staging,
      fields.registers, fields.l2A, fields.l2B, fields.pdl);
}

/// What differs from its default, and always what a reader looks for first.
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
  if (getCtaPair())
    printer << ", cta_pair";
  printUnless("stages", getStages(), defaults.stages);
  printer << ", accumulators = " << getAccumulators();
  printUnless("overlap", getOverlap(), defaults.overlap);
  printUnless("scale_stages", getScaleStages(), defaults.scaleStages);
  printUnless("split_k", getSplitK(), defaults.splitK);
  if (getTileLoop() != defaults.tileLoop)
    printer << ", tile_loop = " << stringifyTileLoop(getTileLoop());
  printer << ", raster = ";
  getRaster().printBody(printer);
  printer << ", epilogue = " << stringifyEpilogue(getEpilogue());
  printUnless("staging", getStaging(), defaults.staging);
  if (!getRegisters().empty()) {
    printer << ", registers = ";
    printIntegers(getRegisters());
  }
  if (getL2A() != defaults.l2A || getL2B() != defaults.l2B)
    printer << ", l2 = [" << stringifyCacheHint(getL2A()) << ", "
            << stringifyCacheHint(getL2B()) << ']';
  if (getPdl())
    printer << ", pdl";
  printer << '>';
}

/// Rows, columns and reduction elements of a tile.
static LogicalResult verifyTile(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> tile, bool ctaPair) {
  // schedule C1
  if (tile.size() != 3)
    return emitError() << "expected 3 tile sizes (rows, columns, reduction), "
                          "found "
                       << tile.size();
  int64_t rows = target::kTmemLanes * (ctaPair ? 2 : 1);
  // schedule C2
  if (tile[0] != rows)
    return emitError() << "expected a tile of " << rows << " rows "
                       << (ctaPair ? "of a CTA pair" : "without a CTA pair")
                       << ", found " << tile[0];
  // Scales come in tiles of 128 rows, of which the tensor core can begin at
  // half (PTX ISA, scale factor layouts). All block-scaled kinds have the same
  // N.
  constexpr int64_t kHalfTile = kScaleTileRows / 2;
  const target::MmaShapeRule &rule =
      *target::lookupShape(target::MmaKind::MXF8F6F4, ctaPair ? 2 : 1, rows);
  int64_t step = rule.nStepPreferred, most = rule.nMax;
  bool isWhole = tile[1] > 0 && tile[1] % kHalfTile == 0 && tile[1] <= most;
  bool isSmall = tile[1] > 0 && tile[1] % step == 0 && tile[1] < kHalfTile;
  if (!isWhole && !isSmall) {
    // schedule C3
    InFlightDiagnostic diag = emitError() << "expected a tile of ";
    for (int64_t columns = kHalfTile; columns < most; columns += kHalfTile)
      diag << columns << (columns + kHalfTile < most ? ", " : " or ");
    return diag << most << " columns, or fewer in multiples of " << step
                << ", found " << tile[1];
  }
  // The scales of 4 blocks of 32 are one column of tensor memory.
  constexpr int64_t kScaledElements = kScaleTileBlocks * 32;
  // schedule C4
  if (tile[2] != kScaledElements && tile[2] != 2 * kScaledElements)
    return emitError() << "expected a tile of " << kScaledElements << " or "
                       << 2 * kScaledElements << " reduction elements, found "
                       << tile[2];
  return success();
}

static LogicalResult
verifyRegisters(function_ref<InFlightDiagnostic()> emitError,
                ArrayRef<int64_t> registers) {
  if (registers.empty())
    return success();
  // schedule C10
  if (registers.size() != 2)
    return emitError() << "expected registers of the epilogue and of the other "
                          "roles, found "
                       << registers.size() << " numbers";
  // schedule C11
  for (int64_t count : registers)
    if (count < target::kSetMaxNRegMin || count > target::kSetMaxNRegMax ||
        count % target::kSetMaxNRegStep)
      return emitError() << "expected registers in multiples of "
                         << target::kSetMaxNRegStep << " from "
                         << target::kSetMaxNRegMin << " to "
                         << target::kSetMaxNRegMax << ", found " << count;
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> tile, bool ctaPair,
                                   int64_t stages, int64_t accumulators,
                                   int64_t overlap, int64_t scaleStages,
                                   int64_t splitK, TileLoop, RasterAttr,
                                   Epilogue epilogue, int64_t staging,
                                   ArrayRef<int64_t> registers, CacheHint,
                                   CacheHint, bool) {
  if (failed(verifyTile(emitError, tile, ctaPair)))
    return failure();
  // schedule C5
  if (stages < 0 || stages > kMaxStages)
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << stages;
  // schedule C6
  for (auto [value, name] : {std::pair(accumulators, "accumulators"),
                             std::pair(scaleStages, "scale stages"),
                             std::pair(splitK, "splits of the reduction"),
                             std::pair(staging, "staging buffers")})
    if (value < 1 || value > kMaxStages)
      return emitError() << "expected 1 to " << kMaxStages << ' ' << name
                         << ", found " << value;
  // schedule C7
  if (overlap != 0 && overlap != 64 && overlap != 128)
    return emitError() << "expected an overlap of 64 or 128 columns, found "
                       << overlap;
  // schedule C8
  if (overlap && (accumulators != 2 || tile[1] != 256))
    return emitError() << "expected an overlap only of 2 accumulators of 256 "
                          "columns, found "
                       << accumulators << " of " << tile[1];
  // schedule C9
  if (epilogue != Epilogue::TmaStore && staging != ScheduleFields().staging)
    return emitError() << "expected staging buffers only with epilogue = "
                          "tma_store, found epilogue = "
                       << stringifyEpilogue(epilogue);
  return verifyRegisters(emitError, registers);
}

//===----------------------------------------------------------------------===//
// Schedules of quantizers
//===----------------------------------------------------------------------===//

LogicalResult QuantizeScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> tile,
    int64_t threads, int64_t vector, int64_t stageRows, int64_t stages,
    int64_t ctas, RasterAttr, bool /*atomic_counter*/) {
  // quantize_schedule C1
  if (tile.size() != 2)
    return emitError() << "expected 2 tile sizes (rows, columns), found "
                       << tile.size();
  // quantize_schedule C2
  for (int64_t size : tile)
    if (size < 1 || size % 128)
      return emitError() << "expected a tile of multiples of 128, found "
                         << size;
  // quantize_schedule C3
  if (threads < 1 || threads > target::kMaxThreadsPerCta ||
      threads % target::kWarpSize)
    return emitError() << "expected " << target::kWarpSize << " to "
                       << target::kMaxThreadsPerCta
                       << " threads in whole warps, found " << threads;
  // quantize_schedule C4
  if (vector != 8 && vector != 16 && vector != 32)
    return emitError() << "expected vectors of 8, 16 or 32 elements, found "
                       << vector;
  // quantize_schedule C5
  if (stageRows && (stageRows < 32 || stageRows % 32 || tile[0] % stageRows))
    return emitError() << "expected units of a multiple of 32 rows that divide "
                       << tile[0] << ", found " << stageRows;
  // quantize_schedule C6
  if (stages < 1 || stages > kMaxStages)
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << stages;
  // quantize_schedule C7
  if (ctas < 1 || ctas > 32)
    return emitError() << "expected 1 to 32 CTAs an SM, found " << ctas;
  return success();
}
