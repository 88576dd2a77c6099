//===- Traffic.cpp - Memory traffic of programs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces each size to constants and arguments, and expresses the size as an
// affine expression of argument extents.
//===----------------------------------------------------------------------===//

#include "mx/Execution/Traffic.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;

static AffineExpr add(AffineExpr a, AffineExpr b) {
  return a && b ? a + b : AffineExpr();
}

AffineExpr Traffic::sum(AffineExpr TrafficStep::*bytes,
                        MLIRContext *context) const {
  AffineExpr total = getAffineConstantExpr(0, context);
  for (const TrafficStep &step : steps)
    total = add(total, step.*bytes);
  return total;
}

namespace {

/// Computes sizes of values in a function.
class Sizes {
public:
  Sizes(func::FuncOp function, Traffic &traffic)
      : function(function), traffic(traffic) {}

  AffineExpr constant(int64_t number) {
    return getAffineConstantExpr(number, function.getContext());
  }
  /// Returns the value of an index, or null if unknown.
  AffineExpr get(OpFoldResult value);
  AffineExpr getDim(Value shaped, int64_t dim);
  AffineExpr getBytes(Value shaped);

private:
  AffineExpr getExtent(BlockArgument argument, int64_t dim);
  AffineExpr getOperation(Operation *op);
  AffineExpr getResultDim(OpResult result, int64_t dim);

  func::FuncOp function;
  Traffic &traffic;
};

} // namespace

AffineExpr Sizes::get(OpFoldResult value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return constant(*number);
  Operation *op = cast<Value>(value).getDefiningOp();
  return op ? getOperation(op) : AffineExpr();
}

AffineExpr Sizes::getOperation(Operation *op) {
  if (isa<tensor::DimOp, memref::DimOp>(op)) {
    std::optional<int64_t> dim = getConstantIntValue(op->getOperand(1));
    return dim ? getDim(op->getOperand(0), *dim) : AffineExpr();
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return get(op->getOperand(0));
  if (op->getNumOperands() != 2)
    return {};
  AffineExpr a = get(op->getOperand(0)), b = get(op->getOperand(1));
  if (!a || !b)
    return {};
  auto divisor = dyn_cast<AffineConstantExpr>(b);
  bool divides = divisor && divisor.getValue() > 0;
  return llvm::TypeSwitch<Operation *, AffineExpr>(op)
      .Case([&](arith::AddIOp) { return a + b; })
      .Case([&](arith::SubIOp) { return a - b; })
      .Case([&](arith::MulIOp) { return a * b; })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [&](auto) { return divides ? a.floorDiv(b) : AffineExpr(); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [&](auto) { return divides ? a.ceilDiv(b) : AffineExpr(); })
      .Default([](Operation *) { return AffineExpr(); });
}

AffineExpr Sizes::getExtent(BlockArgument argument, int64_t dim) {
  if (argument.getOwner() != &function.getBody().front())
    return {};
  unsigned number = argument.getArgNumber(), symbol = 0;
  for (Traffic::Extent extent : traffic.extents) {
    if (extent.argument == number && extent.dim == dim)
      break;
    ++symbol;
  }
  if (symbol == traffic.extents.size())
    traffic.extents.push_back({number, unsigned(dim)});
  return getAffineSymbolExpr(symbol, function.getContext());
}

/// Returns a dimension of a result if its operation lists the sizes.
AffineExpr Sizes::getResultDim(OpResult result, int64_t dim) {
  Operation *op = result.getOwner();
  auto ofMixed = [&](ArrayRef<OpFoldResult> sizes) { return get(sizes[dim]); };
  return llvm::TypeSwitch<Operation *, AffineExpr>(op)
      .Case(
          [&](tensor::EmptyOp empty) { return ofMixed(empty.getMixedSizes()); })
      .Case(
          [&](memref::AllocOp alloc) { return ofMixed(alloc.getMixedSizes()); })
      .Case<memref::CastOp, tensor::CastOp>(
          [&](auto cast) { return getDim(cast.getSource(), dim); })
      .Case<tensor::ExtractSliceOp, memref::SubViewOp>([&](auto slice) {
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        int64_t source = -1;
        for (int64_t left = dim; left >= 0; --left)
          do
            ++source;
          while (dropped.test(source));
        return get(slice.getMixedSizes()[source]);
      })
      .Case([&](tensor::InsertSliceOp insert) {
        return getDim(insert.getDest(), dim);
      })
      .Case([&](tensor::ConcatOp concat) {
        if (int64_t(concat.getDim()) != dim)
          return getDim(concat.getInputs()[0], dim);
        AffineExpr total = constant(0);
        for (Value input : concat.getInputs())
          total = add(total, getDim(input, dim));
        return total;
      })
      .Case([&](DestinationStyleOpInterface structured) {
        return getDim(structured.getTiedOpOperand(result)->get(), dim);
      })
      .Case([&](UnrealizedConversionCastOp cast) {
        return getDim(cast.getOperand(0), dim);
      })
      .Default([](Operation *) { return AffineExpr(); });
}

AffineExpr Sizes::getDim(Value shaped, int64_t dim) {
  auto type = cast<ShapedType>(shaped.getType());
  if (!type.isDynamicDim(dim))
    return constant(type.getDimSize(dim));
  if (auto argument = dyn_cast<BlockArgument>(shaped))
    return getExtent(argument, dim);
  return getResultDim(cast<OpResult>(shaped), dim);
}

/// Rounds rows and columns of tiled scales and operands up to tiles.
static void roundToTiles(Type type, MutableArrayRef<AffineExpr> sizes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (OperandOrderAttrInterface order = getOrder(type)) {
    OperandTiles tiles = order.getTiles();
    AffineExpr &rows = sizes[sizes.size() - 2], &columns = sizes.back();
    rows = rows.ceilDiv(tiles.rows) * tiles.rows;
    columns = columns.ceilDiv(tiles.columns) * tiles.columns;
    return;
  }
  auto layout = tensor ? dyn_cast_or_null<ScaleLayoutAttr>(tensor.getEncoding())
                       : ScaleLayoutAttr();
  if (!layout || layout.getKind() == ScaleLayoutKind::Linear)
    return;
  AffineExpr &rows = sizes[sizes.size() - 2], &blocks = sizes.back();
  if (layout.getKind() == ScaleLayoutKind::MNMajor) {
    rows = rows.ceilDiv(kMNMajorRows) * kMNMajorRows;
    return;
  }
  rows = layout.getRagged() == RaggedKind::Rows
             ? (rows.floorDiv(kScaleTileRows) + layout.getGroups())
             : rows.ceilDiv(kScaleTileRows);
  rows = rows * kScaleTileRows;
  blocks = blocks.ceilDiv(kScaleTileBlocks) * kScaleTileBlocks;
}

/// Two 4-bit elements share a byte; a 6-bit element occupies a byte.
AffineExpr Sizes::getBytes(Value shaped) {
  // Reshapes keep the bytes.
  while (isa_and_present<memref::CollapseShapeOp, memref::ExpandShapeOp,
                         tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      shaped.getDefiningOp()))
    shaped = shaped.getDefiningOp()->getOperand(0);
  auto type = cast<ShapedType>(shaped.getType());
  SmallVector<AffineExpr> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    sizes.push_back(getDim(shaped, dim));
    if (!sizes.back())
      return {};
  }
  roundToTiles(type, sizes);
  AffineExpr elements = constant(1);
  for (AffineExpr size : sizes)
    elements = elements * size;
  Type element = type.getElementType();
  int64_t bits = getElementBits(element);
  return bits == 4 ? elements.floorDiv(2) : elements * ((bits + 7) / 8);
}

namespace {

/// Computes the traffic of a step. Counts each operand at most once as read and
/// once as written.
class StepCounter {
public:
  StepCounter(Sizes &sizes, StringRef name, bool isLaunch) : sizes(sizes) {
    step = {name.str(), isLaunch, sizes.constant(0), sizes.constant(0)};
  }
  void read(Value shaped) { count(shaped, step.read, reads); }
  void write(Value shaped) { count(shaped, step.written, writes); }
  TrafficStep finish() { return step; }

private:
  void count(Value shaped, AffineExpr &total, DenseSet<Value> &seen) {
    if (seen.insert(shaped).second)
      total = add(total, sizes.getBytes(shaped));
  }
  Sizes &sizes;
  TrafficStep step;
  DenseSet<Value> reads, writes;
};

/// Kinds of accesses of a kernel to an argument.
struct ArgumentUse {
  bool reads = false, writes = false;
};

} // namespace

static ArgumentUse getUse(BlockArgument argument) {
  ArgumentUse found;
  for (OpOperand &use : argument.getUses()) {
    Operation *op = use.getOwner();
    if (isa<mxgpu::TmaLoadOp, mxgpu::TileSchedulerOp>(op)) {
      found.reads = true;
    } else if (auto store = dyn_cast<mxgpu::TmaStoreOp>(op)) {
      found.writes = true;
      found.reads |= store.getAdd();
    } else if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
      found.reads |=
          effects.getEffectOnValue<MemoryEffects::Read>(argument).has_value();
      found.writes |=
          effects.getEffectOnValue<MemoryEffects::Write>(argument).has_value();
    }
  }
  return found;
}

static TrafficStep countLaunch(mxgpu::LaunchOp op, Sizes &sizes) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<mxgpu::KernelOp>(
      op, op.getKernelAttr());
  StepCounter counter(sizes, kernel.getSymName(), /*isLaunch=*/true);
  SmallVector<BlockArgument> arguments;
  for (mxgpu::KernelOp part : mxgpu::getParts(kernel))
    llvm::append_range(arguments, part.getBody().getArguments());
  for (auto [operand, argument] :
       llvm::zip_equal(op.getArgs().take_back(arguments.size()), arguments)) {
    Value shown = operand;
    if (auto map = operand.getDefiningOp<mxgpu::EncodeTensorMapOp>())
      shown = map.getSource();
    if (!isa<MemRefType>(shown.getType()))
      continue;
    ArgumentUse use = getUse(argument);
    if (use.reads)
      counter.read(shown);
    if (use.writes)
      counter.write(shown);
  }
  return counter.finish();
}

Traffic mx::countLaunches(func::FuncOp function) {
  Traffic traffic;
  Sizes sizes(function, traffic);
  function.walk([&](Operation *op) {
    if (auto launch = dyn_cast<mxgpu::LaunchOp>(op)) {
      traffic.steps.push_back(countLaunch(launch, sizes));
    } else if (auto fill = dyn_cast<gpu::MemsetOp>(op)) {
      StepCounter counter(sizes, "zeros", /*isLaunch=*/false);
      counter.write(fill.getDst());
      traffic.steps.push_back(counter.finish());
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      StepCounter counter(sizes, "copy", /*isLaunch=*/false);
      counter.read(copy.getSource());
      counter.write(copy.getTarget());
      traffic.steps.push_back(counter.finish());
    }
  });
  return traffic;
}

/// Returns true if an operation reads its destination.
static bool readsInit(Operation *op, OpOperand &init) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.payloadUsesValueFromOperand(&init);
  if (auto matmul = dyn_cast<MatmulOpInterface>(op))
    return matmul.readsOuts();
  return isa<CombineOp>(op);
}

static std::optional<TrafficStep> countOperation(Operation *op, Sizes &sizes) {
  StepCounter counter(sizes, op->getName().getStringRef(), /*isLaunch=*/true);
  auto structured = dyn_cast<DestinationStyleOpInterface>(op);
  if (isa<tensor::ConcatOp>(op)) {
    llvm::for_each(op->getOperands(), [&](Value v) { counter.read(v); });
    counter.write(op->getResult(0));
    return counter.finish();
  }
  if (!structured || !structured.hasPureTensorSemantics() ||
      isa<tensor::InsertSliceOp>(op))
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isInit = structured.isDpsInit(&operand);
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    if (!isInit || readsInit(op, operand))
      counter.read(operand.get());
    if (isInit)
      counter.write(operand.get());
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (isa<RankedTensorType>(value.getType()))
      counter.read(value);
  return counter.finish();
}

Traffic mx::countOperations(func::FuncOp function) {
  Traffic traffic;
  Sizes sizes(function, traffic);
  function.walk([&](Operation *op) {
    if (std::optional<TrafficStep> step = countOperation(op, sizes))
      traffic.steps.push_back(*step);
  });
  return traffic;
}
