//===- SplitReduction.cpp - Split reductions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If there are too few tiles to occupy the chip, several CTAs share a tile and
// compute splits of its reduction. Partial accumulators are stored to device
// memory as f32, in whole tiles without tail handling. A second kernel adds the
// partial accumulators in fixed order and applies the epilogue, so the result
// is deterministic and rounded only once.
//===----------------------------------------------------------------------===//

#include "../Builder/HostChecks.h"
#include "BuildMatmul.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Matmul of each split
//===----------------------------------------------------------------------===//

/// Allocates the stacked partial accumulators.
static Value allocatePartials(KernelBuilder &host, Value out,
                              ScheduleAttr schedule) {
  auto type = cast<MemRefType>(out.getType());
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (auto [dim, tile, count] :
       {std::tuple(0, schedule.getTileM(), schedule.getSplitK()),
        std::tuple(1, schedule.getTileN(), int64_t(1))}) {
    if (!type.isDynamicDim(dim)) {
      shape.push_back(llvm::alignTo(type.getDimSize(dim), tile) * count);
      continue;
    }
    shape.push_back(ShapedType::kDynamic);
    sizes.push_back(host.mul(host.ceilDiv(host.dim(out, dim), tile),
                             host.index(tile * count)));
  }
  return memref::AllocOp::create(
      host, MemRefType::get(shape, host.getF32Type()), sizes);
}

/// Builds the matmul of the operands, without the epilogue.
static void buildPartialsMatmul(const ScheduledMatmul &matmul,
                                gpu::GPUModuleOp module, KernelBuilder &host,
                                Value partials) {
  MatmulOpInterface op = matmul.op;
  auto plain = MatmulOp::create(host, op.getA(), op.getAScales(), op.getB(),
                                op.getBScales(), partials);
  plain.copyReduction(op);
  copyOrders(op, plain);
  {
    MatmulKernel kernel(ScheduledMatmul(plain, matmul.schedule, matmul.target),
                        module);
    buildMatmul(kernel, Policies(kernel));
  }
  plain.erase();
}

void mx::mxgpu::buildSplit(const ScheduledMatmul &matmul,
                           gpu::GPUModuleOp module) {
  MatmulKernel kernel(matmul, module);
  checkSizes(kernel, Policies(kernel));
  KernelBuilder &host = kernel.host;
  Value partials = allocatePartials(host, kernel.matrices.out, matmul.schedule);
  buildPartialsMatmul(matmul, module, host, partials);
  buildSum(matmul, module, partials);
  memref::DeallocOp::create(host, partials);
}

//===----------------------------------------------------------------------===//
// Sum of the splits
//===----------------------------------------------------------------------===//

static constexpr int64_t kSumWarps = 8, kSumColumns = 8;
static constexpr int64_t kSumTileN = kSumColumns * target::kWarpSize;

namespace {
class SumKernel : public KernelComponent {
public:
  explicit SumKernel(MatmulKernel &kernel)
      : KernelComponent(kernel), elements(kernel.body, op) {}

  void build(Value partials) {
    kernel.arguments = getSumArguments(kernel, partials, elements.region);
    SmallVector<Value> values = arguments.getHostValues();
    KernelOp kernelOp =
        host.kernel(kernel.module, "matmul_sum", ValueRange(values).getTypes());
    body.setInsertionPointToStart(&kernelOp.getBody().front());
    kernel.arguments.enter(kernelOp, body);
    elements.enter(arguments, getResultType().getElementType());
    buildRole();
    launch(kernelOp, values);
  }

private:
  void buildRole();
  void launch(KernelOp kernelOp, ValueRange values);
  Value addPartials(Value row, const Columns &columns);
  void storeRow(Value accumulators, Value row, Value column, Value empty);

  Value getResult() const { return arguments.get(Arg::Result); }
  MemRefType getResultType() const {
    return cast<MemRefType>(getResult().getType());
  }
  Value isBelow(Value value, Value bound) {
    return arith::CmpIOp::create(body, arith::CmpIPredicate::ult, value, bound);
  }

  ResultElements elements;
};
} // namespace

void SumKernel::launch(KernelOp kernelOp, ValueRange values) {
  Value out = matrices.out;
  Value workTiles = host.mul(host.ceilDiv(host.dim(out, 0), kSumWarps),
                             host.ceilDiv(host.dim(out, 1), kSumTileN));
  requireAtMost(host, workTiles, kMaxWorkTiles, "work tiles");
  int64_t ctas = matmul.target.threadsPerSm / (kSumWarps * target::kWarpSize);
  Value most = host.mul(SmCountOp::create(host), host.index(ctas));
  host.launch(kernelOp, arith::MinUIOp::create(host, workTiles, most), values);
}

void SumKernel::buildRole() {
  Value rows = body.dim(getResult(), 0), columns = body.dim(getResult(), 1);
  auto work = TileSchedulerOp::create(
      body, rows, columns, arguments.get(Arg::K),
      ArrayRef<int64_t>{kSumWarps, kSumTileN},
      RasterAttr::get(op->getContext(), RasterOrder::Linear, 1));
  body.role("sum", kSumWarps, /*elected=*/false);
  auto [warp, lane] = body.warpAndLane();
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  Value row = body.add(workTile.getRow(), warp);
  Value column =
      body.add(workTile.getColumn(), body.mul(lane, body.index(kSumColumns)));
  Value exists =
      arith::AndIOp::create(body, isBelow(row, rows), isBelow(column, columns));
  auto ifOp = scf::IfOp::create(body, exists, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  elements.region.emitScalars(body, row);
  Value empty = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                      workTile.getStart(), workTile.getEnd());
  Value accumulators = addPartials(row, {column, kSumColumns, {}, {}});
  storeRow(accumulators, row, column, empty);
}

/// Returns the sum of all splits in `columns` of a row. The tile may extend
/// past the last column of the result.
Value SumKernel::addPartials(Value row, const Columns &columns) {
  OpBuilder::InsertionGuard guard(body);
  Value partials = arguments.get(Arg::Partials);
  Value first = loadColumns(body, partials, row, columns);
  Value height = body.div(body.dim(partials, 0), schedule.getSplitK());
  Value one = body.index(1);
  auto loop = scf::ForOp::create(body, one, body.index(schedule.getSplitK()),
                                 one, ValueRange(first));
  body.setInsertionPointToStart(loop.getBody());
  Value inSplit = body.add(row, body.mul(loop.getInductionVar(), height));
  Value next = loadColumns(body, partials, inSplit, columns);
  Value sum =
      arith::AddFOp::create(body, loop.getRegionIterArgs().front(), next);
  scf::YieldOp::create(body, sum);
  return loop.getResult(0);
}

/// Finishes and stores a row, starting at `column`. Requires `row` and `column`
/// in bounds.
void SumKernel::storeRow(Value accumulators, Value row, Value column,
                         Value empty) {
  Value result = getResult();
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  Value last = arith::SubIOp::create(body, body.dim(result, 1), body.index(1));
  auto store = [&](bool isWhole) {
    Columns columns = {column, kSumColumns, isWhole ? Value() : last,
                       /*isPresent=*/Value()};
    IntegerAttr alignment;
    if (isWhole)
      alignment = body.getI64IntegerAttr(16);
    StoreFragmentOp::create(
        body, elements.finishOnto(accumulators, result, row, columns, empty),
        result, row, column, yes, alignment, /*add=*/false,
        schedule.getL2Out());
  };
  if (!getRowAlignment(getResultType(), /*dynamic=*/16))
    return store(/*isWhole=*/false);
  Value whole =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                            body.add(column, kSumColumns), body.dim(result, 1));
  auto require = [&](Value condition) {
    whole = arith::AndIOp::create(body, whole, condition);
  };
  // Accumulation loads the result with the widest vectors that its type allows.
  int64_t alignment = 16;
  if (op.getAccumulate())
    alignment =
        std::max(alignment, getLoadAlignment(getResultType(), kSumColumns));
  require(isAligned(body, result, alignment));
  if (Value aligned = elements.region.areLoadsAligned(body, kSumColumns))
    require(aligned);
  auto ifOp = scf::IfOp::create(body, whole, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  store(/*isWhole=*/true);
  body.setInsertionPointToStart(ifOp.elseBlock());
  store(/*isWhole=*/false);
}

void mx::mxgpu::buildSum(const ScheduledMatmul &matmul, gpu::GPUModuleOp module,
                         Value partials) {
  MatmulKernel kernel(matmul, module);
  SumKernel(kernel).build(partials);
}
