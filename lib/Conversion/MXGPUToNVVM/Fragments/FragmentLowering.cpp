//===- FragmentLowering.cpp - Fragments as vectors of registers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fragment becomes a vector of a thread's registers in the order of its
// layout, and its parts become elements of the vector. Column offsets must be
// constants, so loops over columns are unrolled first.
//===----------------------------------------------------------------------===//

#include "../Common/Lowering.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/Shared/VectorSizes.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUUNROLLFRAGMENTS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// Loops over columns
//===----------------------------------------------------------------------===//

// Loops over a tile's columns are short. Unrolling them makes their
// columns and staging stages constant. Loops that quantize many blocks are only
// partly unrolled to bound the code size.

static bool isWide(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isF64();
}

/// Returns true if `op` expands to many instructions, for example to draw
/// random numbers or to evaluate a math function in f64. Loops with such
/// operations need no unrolling.
static bool isLong(Operation &op) {
  if (auto block = dyn_cast<QuantizeBlockOp>(op))
    return bool(block.getSeed());
  if (auto columns = dyn_cast<QuantizeColumnsOp>(op))
    return bool(columns.getSeed());
  return op
      .walk([](Operation *inner) {
        return llvm::any_of(inner->getResultTypes(), isWide)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns true if the loop computes columns of mxgpu.extract_columns, which
/// must be constant after unrolling.
static bool needsConstants(scf::ForOp loop) {
  return llvm::any_of(loop.getOps<ExtractColumnsOp>(), [&](auto op) {
    return !loop.isDefinedOutsideOfLoop(op.getColumn());
  });
}

/// Returns true if the loop belongs to the short path, which most tiles take.
/// The path for edge tiles is already long. Unrolling its loops would hoist the
/// loads of all iterations, which would need too many registers.
static bool isShort(scf::ForOp loop) {
  if (llvm::any_of(*loop.getBody(), isLong))
    return false;
  if (!loop.getBody()->getOps<LoadBlockOp>().empty())
    return false;
  for (auto store : loop.getBody()->getOps<StoreFragmentOp>())
    if (!store.getAlignment())
      return false;
  for (Operation &op : *loop.getBody())
    if (isa<StoreFragmentOp, StoreSharedOp>(op))
      return true;
  return false;
}

/// Maximum number of elements that a thread quantizes in straight-line code.
/// More code would save a branch but fill the instruction cache.
static constexpr int64_t kMostQuantized = 128;

/// Returns the number of elements quantized per thread and iteration.
static int64_t countQuantized(scf::ForOp loop) {
  int64_t count = 0;
  for (Operation &op : *loop.getBody())
    if (isa<QuantizeBlockOp, QuantizeColumnsOp>(op))
      count += cast<VectorType>(op.getOperand(0).getType()).getNumElements();
  return count;
}

/// Returns the unroll factor: the largest divisor of the trip count with at
/// most kMostQuantized elements.
static int64_t getUnrollFactor(scf::ForOp loop) {
  int64_t rounds = loop.getStaticTripCount()->getSExtValue();
  int64_t quantized = countQuantized(loop), factor = rounds;
  while (factor > 1 &&
         (rounds % factor != 0 || factor * quantized > kMostQuantized))
    --factor;
  return factor;
}

namespace {
struct UnrollFragmentsPass final
    : mx::mxgpu::impl::MXGPUUnrollFragmentsBase<UnrollFragmentsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (failed(mx::verifyVectorSizes(kernel, mx::kMaxKernelVector)))
        return signalPassFailure();
      unroll(kernel);
    }
  }

  static void unroll(KernelOp kernel) {
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if ((needsConstants(loop) || isShort(loop)) && loop.getStaticTripCount())
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      (void)loopUnrollByFactor(loop, getUnrollFactor(loop));
    // Fold the counters of unrolled loops.
    if (!loops.empty())
      (void)applyPatternsGreedily(kernel,
                                  RewritePatternSet(kernel.getContext()));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Returns the registers that contain exactly the elements `numbers` in this
/// order. Returns an empty list if such registers do not exist.
static SmallVector<int64_t> getRegistersOf(ArrayRef<int64_t> numbers,
                                           int64_t inWord) {
  SmallVector<int64_t> words;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    int64_t place = static_cast<int64_t>(i) % inWord;
    if (number % inWord != place || (place && number / inWord != words.back()))
      return {};
    if (!place)
      words.push_back(number / inWord);
  }
  return words;
}

/// Selects elements of a fragment by number. Returns `registers` itself if
/// `numbers` lists all elements in order.
static Value pick(NVVMBuilder &builder, Value registers, FragmentType type,
                  ArrayRef<int64_t> numbers) {
  auto isOwn = [](auto pair) {
    return static_cast<int64_t>(pair.index()) == pair.value();
  };
  if (type.getLayout().getNumValues() == static_cast<int64_t>(numbers.size()) &&
      llvm::all_of(llvm::enumerate(numbers), isOwn))
    return registers;
  if (SmallVector<int64_t> words =
          getRegistersOf(numbers, type.getElementsOfWord());
      !words.empty())
    return vector::ShuffleOp::create(builder, registers, registers, words);
  Type element = type.getElementType();
  Value spread = spreadElements(builder, registers, element);
  return packElements(
      builder, vector::ShuffleOp::create(builder, spread, spread, numbers),
      element);
}

/// Returns the columns of a thread's rows in ascending order.
static SmallVector<int64_t> getColumns(FragmentLayoutAttr layout) {
  SmallVector<int64_t> columns;
  for (const FragmentRun &run : layout.getRuns())
    for (int64_t i = 0; i < run.size; ++i)
      columns.push_back(run.column + i);
  return columns;
}

SmallVector<Value> mx::mxgpu::takeRows(NVVMBuilder &builder, Value registers,
                                       FragmentType type) {
  FragmentLayoutAttr layout = type.getLayout();
  SmallVector<Value> rows;
  for (int64_t row : layout.getRowOffsets()) {
    SmallVector<int64_t> numbers;
    for (int64_t column : getColumns(layout))
      numbers.push_back(layout.getRegister(row, column));
    rows.push_back(pick(builder, registers, type, numbers));
  }
  return rows;
}

static Values lowerToRows(NVVMBuilder &builder, ToRowsOp op,
                          ToRowsOp::Adaptor adaptor) {
  return takeRows(builder, adaptor.getFragment(), op.getFragment().getType());
}

static Values lowerFromRows(NVVMBuilder &builder, FromRowsOp op,
                            FromRowsOp::Adaptor adaptor) {
  FragmentLayoutAttr layout = op.getType().getLayout();
  SmallVector<int64_t> columns = getColumns(layout);
  auto isOwn = [&](auto pair) {
    return static_cast<int64_t>(pair.index()) ==
           layout.getRegister(0, pair.value());
  };
  if (adaptor.getRows().size() == 1 &&
      llvm::all_of(llvm::enumerate(columns), isOwn)) {
    return {adaptor.getRows().front()};
  }
  SmallVector<Value> registers(layout.getNumValues());
  Type element = op.getType().getElementType();
  for (auto [row, values] :
       llvm::zip(layout.getRowOffsets(), adaptor.getRows())) {
    Value spread = spreadElements(builder, values, element);
    for (auto [i, column] : llvm::enumerate(columns))
      registers[layout.getRegister(row, column)] = vector::ExtractOp::create(
          builder, spread, ArrayRef<int64_t>{int64_t(i)});
  }
  auto spread =
      VectorType::get({int64_t(registers.size())}, registers.front().getType());
  return {packElements(
      builder, vector::FromElementsOp::create(builder, spread, registers),
      element)};
}

static LogicalResult lowerExtractColumns(ExtractColumnsOp op,
                                         ExtractColumnsOp::Adaptor adaptor,
                                         ConversionPatternRewriter &rewriter) {
  IntegerAttr first;
  if (!matchPattern(op.getColumn(), m_Constant(&first)))
    return rewriter.notifyMatchFailure(op, "a column that is not constant");
  FragmentLayoutAttr from = op.getFragment().getType().getLayout();
  FragmentLayoutAttr layout = op.getType().getLayout();
  SmallVector<int64_t> numbers(layout.getNumValues());
  for (int64_t row : layout.getRowOffsets())
    for (int64_t column : getColumns(layout))
      numbers[layout.getRegister(row, column)] =
          from.getRegister(row, first.getInt() + column);
  NVVMBuilder builder(op.getLoc(), rewriter);
  rewriter.replaceOp(op, pick(builder, adaptor.getFragment(),
                              op.getFragment().getType(), numbers));
  return success();
}

/// Returns the registers of `whole` that form row slice number `slice` of type
/// `of`. Elements that share a register stay together.
static SmallVector<int64_t>
getRegistersOfSlice(FragmentType whole, FragmentType of, int64_t slice) {
  ArrayRef<FragmentMode> values = whole.getLayout().getValues();
  unsigned place = *whole.getLayout().findRowMode(of.getLayout());
  int64_t below = 1;
  for (const FragmentMode &mode : values.take_front(place))
    below *= mode.size;
  int64_t inWord = whole.getElementsOfWord();
  int64_t run = below / inWord, size = values[place].size;
  int64_t count = of.getLayout().getNumValues() / inWord;
  SmallVector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back((i / run * size + slice) * run + i % run);
  return numbers;
}

static Values lowerExtractRows(NVVMBuilder &builder, ExtractRowsOp op,
                               ExtractRowsOp::Adaptor adaptor) {
  Value registers = adaptor.getFragment();
  return {vector::ShuffleOp::create(
      builder, registers, registers,
      getRegistersOfSlice(op.getFragment().getType(), op.getType(),
                          op.getIndex()))};
}

static Values lowerConcatRows(NVVMBuilder &builder, ConcatRowsOp op,
                              ConcatRowsOp::Adaptor adaptor,
                              const TypeConverter &converter) {
  auto type = cast<VectorType>(converter.convertType(op.getType()));
  SmallVector<Value> elements(type.getNumElements());
  for (auto [slice, registers] : llvm::enumerate(adaptor.getFragments())) {
    auto of = cast<FragmentType>(op.getFragments()[slice].getType());
    for (auto [i, number] :
         llvm::enumerate(getRegistersOfSlice(op.getType(), of, slice)))
      elements[number] = vector::ExtractOp::create(
          builder, registers, ArrayRef<int64_t>{static_cast<int64_t>(i)});
  }
  return {vector::FromElementsOp::create(builder, type, elements)};
}

static Values lowerZeroFragment(NVVMBuilder &builder, ZeroFragmentOp op,
                                ZeroFragmentOp::Adaptor,
                                const TypeConverter &converter) {
  Type type = converter.convertType(op.getType());
  return {arith::ConstantOp::create(builder, builder.getZeroAttr(type))};
}

/// Lowers a select of fragments. Upstream folds an scf.if to such a select.
static LogicalResult lowerSelect(arith::SelectOp op,
                                 arith::SelectOp::Adaptor adaptor,
                                 ConversionPatternRewriter &rewriter) {
  if (!isa<FragmentType>(op.getType()))
    return failure();
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, adaptor.getCondition(),
                                               adaptor.getTrueValue(),
                                               adaptor.getFalseValue());
  return success();
}

void mx::mxgpu::populateFragmentPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter) {
  addPatterns<lowerToRows, lowerFromRows, lowerExtractColumns, lowerExtractRows,
              lowerConcatRows, lowerZeroFragment, lowerSelect>(converter,
                                                               patterns);
}
