//===- FragmentLayout.cpp - Layouts of fragments --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// Parses a mode such as `4: 2 columns`.
static ParseResult parseMode(AsmParser &parser, FragmentMode &mode) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t step;
  StringRef direction;
  if (parser.parseInteger(mode.size) || parser.parseColon() ||
      parser.parseInteger(step) || parser.parseKeyword(&direction))
    return failure();
  bool isRow = direction == "row" || direction == "rows";
  if (!isRow && direction != "column" && direction != "columns")
    return parser.emitError(
               loc,
               "expected a mode such as '4: 2 columns' or '8: 1 row', found '")
           << direction << "'";
  mode.rows = isRow ? step : 0;
  mode.columns = isRow ? 0 : step;
  return success();
}

static FailureOr<SmallVector<FragmentMode>> parseModes(AsmParser &parser,
                                                       StringRef name) {
  SmallVector<FragmentMode> modes;
  if (parser.parseKeyword(name) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseMode(parser, modes.emplace_back());
      }))
    return failure();
  return modes;
}

static void printModes(AsmPrinter &printer, ArrayRef<FragmentMode> modes) {
  printer << '[';
  llvm::interleaveComma(modes, printer, [&](const FragmentMode &mode) {
    int64_t step = mode.rows + mode.columns; // one of them is 0
    printer << mode.size << ": " << step << (mode.rows ? " row" : " column")
            << (step == 1 ? "" : "s");
  });
  printer << ']';
}

Attribute FragmentLayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  auto threads = parseModes(parser, "threads");
  if (failed(threads) || parser.parseComma())
    return {};
  auto values = parseModes(parser, "values");
  if (failed(values) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    ArrayRef(*threads), ArrayRef(*values));
}

void FragmentLayoutAttr::print(AsmPrinter &printer) const {
  printer << "<threads = ";
  printModes(printer, getThreads());
  printer << ", values = ";
  printModes(printer, getValues());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// Maximum number of thread or register modes, and of registers per thread.
static constexpr size_t kMaxModes = 16;
static constexpr int64_t kMaxValues = 1024;

/// Returns the modes that count rows or columns, sorted by step.
static SmallVector<FragmentMode> sortModes(ArrayRef<FragmentMode> threads,
                                           ArrayRef<FragmentMode> values,
                                           bool rows) {
  SmallVector<FragmentMode> modes;
  for (ArrayRef<FragmentMode> list : {threads, values})
    for (const FragmentMode &mode : list)
      if (rows ? mode.rows : mode.columns)
        modes.push_back(mode);
  llvm::stable_sort(modes, [](const FragmentMode &a, const FragmentMode &b) {
    return a.rows + a.columns < b.rows + b.columns;
  });
  return modes;
}

/// Checks that the modes of a dimension enumerate each position once. `modes`
/// excludes modes with step 0, whose threads hold the same positions.
static LogicalResult
verifyDimension(function_ref<InFlightDiagnostic()> emitError,
                ArrayRef<FragmentMode> modes, StringRef name) {
  int64_t step = 1;
  for (const FragmentMode &mode : modes) {
    int64_t found = mode.rows + mode.columns;
    if (found != step) // fragment_layout C5
      return emitError()
             << "expected a mode with a step of " << step << ' ' << name
             << ", so that the modes enumerate each position once, found "
             << found;
    bool isLast = &mode == &modes.back();
    if (!isLast && !llvm::isPowerOf2_64(mode.size)) // fragment_layout C6
      return emitError() << "expected a power-of-two size for every mode "
                            "except the highest mode of "
                         << name << ", found " << mode.size;
    step *= mode.size;
  }
  return success();
}

LogicalResult
FragmentLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                           ArrayRef<FragmentMode> threads,
                           ArrayRef<FragmentMode> values) {
  for (auto [modes, most, name, least] :
       {std::tuple(threads, int64_t(target::kMaxThreadsPerCta), "threads",
                   int64_t(0)),
        std::tuple(values, kMaxValues, "values", int64_t(1))}) {
    if (modes.size() > kMaxModes) // fragment_layout C4
      return emitError() << "expected at most " << kMaxModes << " modes of "
                         << name << ", found " << modes.size();
    int64_t count = 1;
    for (const FragmentMode &mode : modes) {
      if (mode.size < 1) // fragment_layout C1
        return emitError() << "expected modes of " << name
                           << " with at least 1 value, found " << mode.size;
      // fragment_layout C2
      if (int64_t step = mode.rows + mode.columns; step < least)
        return emitError() << "expected modes of " << name
                           << " with a step of at least " << least << ", found "
                           << step;
      count = mode.size > most ? most + 1 : count * mode.size;
      if (count > most) // fragment_layout C3
        return emitError() << "expected at most " << most << ' ' << name
                           << ", found more";
    }
  }
  if (failed(
          verifyDimension(emitError, sortModes(threads, values, true), "rows")))
    return failure();
  return verifyDimension(emitError, sortModes(threads, values, false),
                         "columns");
}

FragmentLayoutAttr FragmentLayoutAttr::getRowPerThread(MLIRContext *context,
                                                       int64_t columns) {
  return get(context, FragmentMode{target::kTmemLanes, 1, 0},
             FragmentMode{columns, 0, 1});
}

FragmentLayoutAttr FragmentLayoutAttr::getRowsOfThreads(MLIRContext *context,
                                                        int64_t threads,
                                                        int64_t tileRows,
                                                        int64_t tileColumns) {
  int64_t shared = std::max<int64_t>(threads / tileRows, 1),
          perThread = threads / shared;
  return getWithoutUnits(
      context,
      {mxgpu::rows(perThread, 1), mxgpu::columns(shared, tileColumns / shared)},
      {mxgpu::columns(tileColumns / shared, 1),
       mxgpu::rows(tileRows / perThread, perThread)});
}

FragmentLayoutAttr
FragmentLayoutAttr::getWithoutUnits(MLIRContext *context,
                                    ArrayRef<FragmentMode> threads,
                                    ArrayRef<FragmentMode> values) {
  auto counts = [](const FragmentMode &mode) { return mode.size > 1; };
  return get(context, llvm::filter_to_vector(threads, counts),
             llvm::filter_to_vector(values, counts));
}

void mx::mxgpu::appendMode(SmallVectorImpl<FragmentMode> &modes,
                           const FragmentMode &mode) {
  if (!modes.empty() && mode.rows + mode.columns) {
    FragmentMode &last = modes.back();
    if (last.rows * last.size == mode.rows &&
        last.columns * last.size == mode.columns) {
      last.size *= mode.size;
      return;
    }
  }
  modes.push_back(mode);
}

static int64_t countAll(ArrayRef<FragmentMode> modes) {
  int64_t count = 1;
  for (const FragmentMode &mode : modes)
    count *= mode.size;
  return count;
}

int64_t FragmentLayoutAttr::getNumThreads() const {
  return countAll(getThreads());
}
int64_t FragmentLayoutAttr::getNumValues() const {
  return countAll(getValues());
}

std::pair<int64_t, int64_t> FragmentLayoutAttr::getShape() const {
  return {countAll(sortModes(getThreads(), getValues(), true)),
          countAll(sortModes(getThreads(), getValues(), false))};
}

/// Returns all sums of the modes' steps in a dimension, in ascending order.
static SmallVector<int64_t> getOffsets(ArrayRef<FragmentMode> modes) {
  SmallVector<int64_t> offsets = {0};
  for (const FragmentMode &mode : modes) {
    SmallVector<int64_t> next;
    for (int64_t value = 0; value < mode.size; ++value)
      for (int64_t offset : offsets)
        next.push_back(offset + value * (mode.rows + mode.columns));
    offsets = next;
  }
  llvm::sort(offsets);
  return offsets;
}

SmallVector<int64_t> FragmentLayoutAttr::getRowOffsets() const {
  return getOffsets(sortModes({}, getValues(), /*rows=*/true));
}

SmallVector<FragmentRun> FragmentLayoutAttr::getRuns() const {
  SmallVector<FragmentRun> runs;
  for (int64_t column : getOffsets(sortModes({}, getValues(), false))) {
    if (!runs.empty() && runs.back().column + runs.back().size == column)
      ++runs.back().size;
    else
      runs.push_back({column, 1});
  }
  return runs;
}

SmallVector<int64_t> FragmentLayoutAttr::getBlocks(int64_t block) const {
  SmallVector<int64_t> blocks;
  for (int64_t column : getOffsets(sortModes({}, getValues(), false)))
    if (blocks.empty() || blocks.back() != column / block)
      blocks.push_back(column / block);
  return blocks;
}

int64_t FragmentLayoutAttr::getRegister(int64_t row, int64_t column) const {
  int64_t number = 0, weight = 1;
  for (const FragmentMode &mode : getValues()) {
    int64_t place = mode.rows ? row / mode.rows : column / mode.columns;
    number += place % mode.size * weight;
    weight *= mode.size;
  }
  return number;
}

int64_t FragmentLayoutAttr::getWarpRows() const {
  int64_t warps = getNumThreads() / target::kWarpSize;
  if (warps < 1 || getNumThreads() % target::kWarpSize ||
      getShape().first % warps)
    return 0;
  int64_t rows = getShape().first / warps, weight = 1;
  for (const FragmentMode &mode : getThreads()) {
    if (target::kWarpSize % weight && weight % target::kWarpSize)
      return 0; // mode spans several warps
    // Number of the mode's values within a warp.
    int64_t inWarp =
        std::clamp<int64_t>(target::kWarpSize / weight, 1, mode.size);
    int64_t warp = weight * inWarp / target::kWarpSize;
    if (mode.size > inWarp && mode.rows * inWarp != warp * rows)
      return 0;
    weight *= mode.size;
  }
  return rows;
}

FragmentLayoutAttr FragmentLayoutAttr::withColumns(int64_t columns) const {
  int64_t found = getShape().second;
  SmallVector<FragmentMode> modes(getValues());
  for (FragmentMode &mode : llvm::reverse(modes)) {
    if (found == columns)
      break;
    // Skip all modes except that with the largest column step.
    if (!mode.columns || mode.columns * mode.size != found ||
        (columns % mode.columns && mode.columns % columns))
      continue;
    mode.size = std::max<int64_t>(columns / mode.columns, 1);
    found = mode.columns * mode.size;
  }
  if (found != columns)
    return {};
  return getWithoutUnits(getContext(), getThreads(), modes);
}

/// Returns `modes` after removal of the rows that the mode `gone` counts.
/// Larger row steps shrink accordingly.
static SmallVector<FragmentMode> withoutRows(ArrayRef<FragmentMode> modes,
                                             const FragmentMode &gone) {
  SmallVector<FragmentMode> left(modes);
  for (FragmentMode &mode : left)
    if (mode.rows > gone.rows)
      mode.rows /= gone.size;
  return left;
}

std::optional<unsigned>
FragmentLayoutAttr::findRowMode(FragmentLayoutAttr slice) const {
  ArrayRef<FragmentMode> values = getValues();
  for (unsigned i = values.size(); i-- > 0;) {
    if (!values[i].rows)
      continue;
    SmallVector<FragmentMode> left(values);
    left.erase(left.begin() + i);
    if (ArrayRef(withoutRows(left, values[i])) == slice.getValues() &&
        ArrayRef(withoutRows(getThreads(), values[i])) == slice.getThreads())
      return i;
  }
  return std::nullopt;
}

int64_t FragmentLayoutAttr::getSharedColumns() const {
  int64_t columns = 1;
  for (const FragmentMode &mode : getThreads())
    columns = std::max(columns, mode.columns * mode.size);
  return columns;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

Type FragmentType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type element;
  FragmentLayoutAttr layout;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma() ||
      parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    ArrayRef(shape), element, layout);
}

void FragmentType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << 'x' << getElementType() << ", " << getLayout() << '>';
}

LogicalResult FragmentType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> shape, Type element,
                                   FragmentLayoutAttr layout) {
  if (!element.isIntOrFloat()) // fragment C1
    return emitError() << "expected integer or float elements, found "
                       << element;
  auto [rows, columns] = layout.getShape();
  if (shape != ArrayRef<int64_t>{rows, columns}) // fragment C2
    return emitError() << "expected the shape " << rows << "x" << columns
                       << " of the layout, found " << shape;
  int64_t bits = element.getIntOrFloatBitWidth();
  bool isNarrow = isa<FloatType>(element) && bits < 8;
  // fragment C3
  if (isNarrow && layout.getNumValues() * (bits == 6 ? 8 : bits) % 32)
    return emitError()
           << "expected the " << element
           << " elements of each thread to fill 32-bit words, found "
           << layout.getNumValues();
  return success();
}

VectorType FragmentType::getRowType() const {
  int64_t rows = getLayout().getRowOffsets().size();
  return VectorType::get({getLayout().getNumValues() / rows}, getElementType());
}

int64_t FragmentType::getElementsOfWord() const {
  if (isa<Float4E2M1FNType>(getElementType()))
    return 8;
  return isa<Float6E2M3FNType, Float6E3M2FNType>(getElementType()) ? 4 : 1;
}

/// Returns the type with these modes, or null if they form no valid layout.
static FragmentType makeFragment(Type element, const FragmentModes &modes) {
  if (modes.values.empty())
    return {};
  return FragmentType::get(
      element, FragmentLayoutAttr::get(element.getContext(), modes.threads,
                                       modes.values));
}

FragmentType MmaAttrInterface::getAccumulatorType(Type element,
                                                  int64_t columns) {
  return makeFragment(element, getAccumulatorModes(columns));
}

FragmentType MmaAttrInterface::getOperandType(MmaOperand operand, Type element,
                                              int64_t columns) {
  return makeFragment(element, getOperandModes(operand, element, columns));
}
