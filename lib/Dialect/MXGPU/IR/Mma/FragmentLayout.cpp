//===- FragmentLayout.cpp - Which elements each thread holds --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Layouts are data: whatever is asked of one follows from its digits.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// How a layout is written
//===----------------------------------------------------------------------===//

/// `4: 2 columns`.
static ParseResult parseDigit(AsmParser &parser, FragmentDigit &digit) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t step;
  StringRef workTile;
  if (parser.parseInteger(digit.size) || parser.parseColon() ||
      parser.parseInteger(step) || parser.parseKeyword(&workTile))
    return failure();
  bool isRow = workTile == "row" || workTile == "rows";
  if (!isRow && workTile != "column" && workTile != "columns")
    return parser.emitError(loc, "expected a digit as in '4: 2 columns' or "
                                 "'8: 1 row', found '")
           << workTile << "'";
  digit.rows = isRow ? step : 0;
  digit.columns = isRow ? 0 : step;
  return success();
}

static FailureOr<SmallVector<FragmentDigit>> parseDigits(AsmParser &parser,
                                                         StringRef name) {
  SmallVector<FragmentDigit> digits;
  if (parser.parseKeyword(name) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseDigit(parser, digits.emplace_back());
      }))
    return failure();
  return digits;
}

static void printDigits(AsmPrinter &printer, ArrayRef<FragmentDigit> digits) {
  printer << '[';
  llvm::interleaveComma(digits, printer, [&](const FragmentDigit &digit) {
    int64_t step = digit.rows + digit.columns; // one of them is 0
    printer << digit.size << ": " << step << (digit.rows ? " row" : " column")
            << (step == 1 ? "" : "s");
  });
  printer << ']';
}

Attribute FragmentLayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  auto threads = parseDigits(parser, "threads");
  if (failed(threads) || parser.parseComma())
    return {};
  auto values = parseDigits(parser, "values");
  if (failed(values) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    ArrayRef(*threads), ArrayRef(*values));
}

void FragmentLayoutAttr::print(AsmPrinter &printer) const {
  printer << "<threads = ";
  printDigits(printer, getThreads());
  printer << ", values = ";
  printDigits(printer, getValues());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// What is asked of a layout
//===----------------------------------------------------------------------===//

/// Most digits of a number, and registers of a thread that a layout counts.
static constexpr size_t kMaxDigits = 16;
static constexpr int64_t kMaxValues = 1024;

/// The digits of a dimension, by their step.
static SmallVector<FragmentDigit> sortDigits(ArrayRef<FragmentDigit> threads,
                                             ArrayRef<FragmentDigit> values,
                                             bool rows) {
  SmallVector<FragmentDigit> digits;
  for (ArrayRef<FragmentDigit> part : {threads, values})
    for (const FragmentDigit &digit : part)
      if (bool(digit.rows) == rows)
        digits.push_back(digit);
  llvm::stable_sort(digits, [](const FragmentDigit &a, const FragmentDigit &b) {
    return a.rows + a.columns < b.rows + b.columns;
  });
  return digits;
}

/// The steps of a dimension's digits count all of it, each place once.
static LogicalResult
verifyDimension(function_ref<InFlightDiagnostic()> emitError,
                ArrayRef<FragmentDigit> digits, StringRef name) {
  int64_t step = 1;
  for (const FragmentDigit &digit : digits) {
    int64_t found = digit.rows + digit.columns;
    // fragment_layout C5
    if (found != step)
      return emitError() << "expected a digit with a step of " << step << ' '
                         << name << ", so that each is held once, found "
                         << found;
    bool isLast = &digit == &digits.back();
    // fragment_layout C6
    if (!isLast && !llvm::isPowerOf2_64(digit.size))
      return emitError() << "expected digits of a power of two values below "
                            "the highest of "
                         << name << ", found " << digit.size;
    step *= digit.size;
  }
  return success();
}

LogicalResult
FragmentLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                           ArrayRef<FragmentDigit> threads,
                           ArrayRef<FragmentDigit> values) {
  for (auto [digits, most, name] :
       {std::tuple(threads, int64_t(target::kMaxThreadsPerCta), "threads"),
        std::tuple(values, kMaxValues, "values")}) {
    // fragment_layout C4
    if (digits.size() > kMaxDigits)
      return emitError() << "expected at most " << kMaxDigits << " digits of "
                         << name << ", found " << digits.size();
    int64_t count = 1;
    for (const FragmentDigit &digit : digits) {
      // fragment_layout C1
      if (digit.size < 1)
        return emitError() << "expected digits of " << name
                           << " of at least 1 value, found " << digit.size;
      // fragment_layout C2
      if (int64_t step = digit.rows + digit.columns; step < 1)
        return emitError() << "expected digits of " << name
                           << " with a step of at least 1, found " << step;
      count = digit.size > most ? most + 1 : count * digit.size;
      // fragment_layout C3
      if (count > most)
        return emitError() << "expected at most " << most << ' ' << name
                           << ", found more";
    }
  }
  if (failed(verifyDimension(emitError, sortDigits(threads, values, true),
                             "rows")))
    return failure();
  return verifyDimension(emitError, sortDigits(threads, values, false),
                         "columns");
}

FragmentDigits FragmentLayoutAttr::getRowPerThread(int64_t columns) {
  return {{{target::kTmemLanes, 1, 0}}, {{columns, 0, 1}}};
}

static int64_t countAll(ArrayRef<FragmentDigit> digits) {
  int64_t count = 1;
  for (const FragmentDigit &digit : digits)
    count *= digit.size;
  return count;
}

int64_t FragmentLayoutAttr::getNumThreads() const {
  return countAll(getThreads());
}
int64_t FragmentLayoutAttr::getNumValues() const {
  return countAll(getValues());
}

std::pair<int64_t, int64_t> FragmentLayoutAttr::getShape() const {
  return {countAll(sortDigits(getThreads(), getValues(), true)),
          countAll(sortDigits(getThreads(), getValues(), false))};
}

/// All sums of the digits' steps in one dimension, in ascending order.
static SmallVector<int64_t> getOffsets(ArrayRef<FragmentDigit> digits) {
  SmallVector<int64_t> offsets = {0};
  for (const FragmentDigit &digit : digits) {
    SmallVector<int64_t> next;
    for (int64_t value = 0; value < digit.size; ++value)
      for (int64_t offset : offsets)
        next.push_back(offset + value * (digit.rows + digit.columns));
    offsets = next;
  }
  llvm::sort(offsets);
  return offsets;
}

SmallVector<int64_t> FragmentLayoutAttr::getRowOffsets() const {
  return getOffsets(sortDigits({}, getValues(), /*rows=*/true));
}

SmallVector<FragmentRun> FragmentLayoutAttr::getRuns() const {
  SmallVector<FragmentRun> runs;
  for (int64_t column : getOffsets(sortDigits({}, getValues(), false))) {
    if (!runs.empty() && runs.back().column + runs.back().size == column)
      ++runs.back().size;
    else
      runs.push_back({column, 1});
  }
  return runs;
}

SmallVector<int64_t> FragmentLayoutAttr::getBlocks(int64_t block) const {
  SmallVector<int64_t> blocks;
  for (int64_t column : getOffsets(sortDigits({}, getValues(), false)))
    if (blocks.empty() || blocks.back() != column / block)
      blocks.push_back(column / block);
  return blocks;
}

int64_t FragmentLayoutAttr::getRegister(int64_t row, int64_t column) const {
  int64_t number = 0, weight = 1;
  for (const FragmentDigit &digit : getValues()) {
    int64_t place = digit.rows ? row / digit.rows : column / digit.columns;
    number += place % digit.size * weight;
    weight *= digit.size;
  }
  return number;
}

int64_t FragmentLayoutAttr::getWarpRows() const {
  int64_t warps = getNumThreads() / target::kWarpSize;
  if (warps < 1 || getNumThreads() % target::kWarpSize ||
      getShape().first % warps)
    return 0;
  int64_t rows = getShape().first / warps, weight = 1;
  for (const FragmentDigit &digit : getThreads()) {
    if (target::kWarpSize % weight && weight % target::kWarpSize)
      return 0; // part of the digit's values are another warp's
    // The first of its values that are other warps'.
    int64_t inWarp =
        std::clamp<int64_t>(target::kWarpSize / weight, 1, digit.size);
    int64_t warp = weight * inWarp / target::kWarpSize;
    if (digit.size > inWarp && digit.rows * inWarp != warp * rows)
      return 0;
    weight *= digit.size;
  }
  return rows;
}

FragmentLayoutAttr FragmentLayoutAttr::withColumns(int64_t columns) const {
  int64_t found = getShape().second;
  SmallVector<FragmentDigit> digits(getValues());
  for (FragmentDigit &digit : llvm::reverse(digits)) {
    if (found == columns)
      break;
    // The digit that counts the last columns: the others count parts of them.
    if (!digit.columns || digit.columns * digit.size != found ||
        (columns % digit.columns && digit.columns % columns))
      continue;
    digit.size = std::max<int64_t>(columns / digit.columns, 1);
    found = digit.columns * digit.size;
  }
  if (found != columns)
    return {};
  llvm::erase_if(digits, [](const FragmentDigit &d) { return d.size == 1; });
  return get(getContext(), getThreads(), digits);
}

/// Rows that stand above those of a digit move down when it is gone.
static SmallVector<FragmentDigit> withoutRows(ArrayRef<FragmentDigit> digits,
                                              const FragmentDigit &gone) {
  SmallVector<FragmentDigit> left(digits);
  for (FragmentDigit &digit : left)
    if (digit.rows > gone.rows)
      digit.rows /= gone.size;
  return left;
}

std::optional<unsigned>
FragmentLayoutAttr::findRowDigit(FragmentLayoutAttr part) const {
  ArrayRef<FragmentDigit> values = getValues();
  for (unsigned i = values.size(); i-- > 0;) {
    if (!values[i].rows)
      continue;
    SmallVector<FragmentDigit> left(values);
    left.erase(left.begin() + i);
    if (ArrayRef(withoutRows(left, values[i])) == part.getValues() &&
        ArrayRef(withoutRows(getThreads(), values[i])) == part.getThreads())
      return i;
  }
  return std::nullopt;
}

int64_t FragmentLayoutAttr::getSharedColumns() const {
  int64_t columns = 1;
  for (const FragmentDigit &digit : getThreads())
    columns = std::max(columns, digit.columns * digit.size);
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
  // fragment C1
  if (!element.isIntOrFloat())
    return emitError() << "expected elements of an integer or float type, "
                          "found "
                       << element;
  auto [rows, columns] = layout.getShape();
  // fragment C2
  if (shape != ArrayRef<int64_t>{rows, columns})
    return emitError() << "expected the " << rows << "x" << columns
                       << " elements of its layout, found a shape of " << shape;
  int64_t bits = element.getIntOrFloatBitWidth();
  bool isNarrow = isa<FloatType>(element) && bits < 8;
  // fragment C3
  if (isNarrow && layout.getNumValues() * (bits == 6 ? 8 : bits) % 32)
    return emitError() << "expected elements of " << element
                       << " that fill words of 32 bits of a thread, found "
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

static FragmentType makeFragment(Type element, const FragmentDigits &digits) {
  return FragmentType::get(
      element, FragmentLayoutAttr::get(element.getContext(), digits.threads,
                                       digits.values));
}

FragmentType MmaAttrInterface::getAccumulatorType(Type element,
                                                  int64_t columns) {
  return makeFragment(element, getAccumulatorDigits(columns));
}

FragmentType MmaAttrInterface::getOperandType(MmaOperand operand, Type element,
                                              int64_t columns) {
  FragmentDigits digits = getOperandDigits(operand, element, columns);
  return digits.values.empty() ? FragmentType() : makeFragment(element, digits);
}
