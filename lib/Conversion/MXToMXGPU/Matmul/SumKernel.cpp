//===- SumKernel.cpp - The kernel that adds parts of a reduction ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A warp has a row, a thread 8 columns of it: two loads of 16 bytes from each
// part. See SplitReduction.h.
//
//===----------------------------------------------------------------------===//

#include "Epilogue/ResultElements.h"
#include "Signatures.h"
#include "SplitReduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kSumWarps = 8, kSumColumns = 8;
static constexpr int64_t kSumTileN = kSumColumns * target::kWarpSize;

namespace {
class SumKernel : public KernelPart {
public:
  explicit SumKernel(ProductKernel &kernel)
      : KernelPart(kernel), elements(kernel.body, op) {}

  void build(Value parts) {
    kernel.arguments = getSumArguments(kernel, parts, elements.region);
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
  Value addParts(Value row, const Columns &columns);
  void storeSums(Value sums, Value row, Value column, Value empty);

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
  Value units = host.mul(host.ceilDiv(host.dim(out, 0), kSumWarps),
                         host.ceilDiv(host.dim(out, 1), kSumTileN));
  host.requireAtMost(units, kMaxUnits, "units of work");
  int64_t ctas = product.target.threadsPerSm / (kSumWarps * target::kWarpSize);
  Value most = host.mul(SmCountOp::create(host), host.index(ctas));
  host.launch(kernelOp, arith::MinUIOp::create(host, units, most), values);
}

void SumKernel::buildRole() {
  Value rows = body.dim(getResult(), 0), columns = body.dim(getResult(), 1);
  auto work = TileSchedulerOp::create(
      body, rows, columns, arguments.get(Arg::K),
      ArrayRef<int64_t>{kSumWarps, kSumTileN},
      RasterAttr::get(op->getContext(), RasterOrder::Linear, 1));
  body.role("sum", kSumWarps, /*elected=*/false);
  auto [warp, lane] = body.warpAndLane();
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value row = body.add(unit.getRow(), warp);
  Value column =
      body.add(unit.getColumn(), body.mul(lane, body.index(kSumColumns)));
  Value exists =
      arith::AndIOp::create(body, isBelow(row, rows), isBelow(column, columns));
  auto ifOp = scf::IfOp::create(body, exists, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  elements.region.emitScalars(body, row);
  Value empty = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                      unit.getStart(), unit.getEnd());
  Value sums = addParts(row, {column, kSumColumns, {}, {}});
  storeSums(sums, row, column, empty);
}

/// The sum of all splits in `columns` of a row; after the last column of the
/// result there may be others, of the same tile.
Value SumKernel::addParts(Value row, const Columns &columns) {
  OpBuilder::InsertionGuard guard(body);
  Value parts = arguments.get(Arg::Parts);
  Value first = loadColumns(body, parts, row, columns);
  Value height = body.div(body.dim(parts, 0), schedule.getSplitK());
  Value one = body.index(1);
  auto loop = scf::ForOp::create(body, one, body.index(schedule.getSplitK()),
                                 one, ValueRange(first));
  body.setInsertionPointToStart(loop.getBody());
  Value inPart = body.add(row, body.mul(loop.getInductionVar(), height));
  Value next = loadColumns(body, parts, inPart, columns);
  Value sum =
      arith::AddFOp::create(body, loop.getRegionIterArgs().front(), next);
  scf::YieldOp::create(body, sum);
  return loop.getResult(0);
}

/// Finishes and stores the sums of a row that exists, from a column that does.
void SumKernel::storeSums(Value sums, Value row, Value column, Value empty) {
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
        body, elements.finishOnto(sums, result, row, columns, empty), result,
        row, column, yes, alignment);
  };
  if (!getRowAlignment(getResultType(), /*dynamic=*/16))
    return store(/*isWhole=*/false);
  Value whole =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                            body.add(column, kSumColumns), body.dim(result, 1));
  auto require = [&](Value condition) {
    whole = arith::AndIOp::create(body, whole, condition);
  };
  require(isAligned(body, result, 16));
  if (Value aligned = elements.region.areLoadsAligned(body, kSumColumns))
    require(aligned);
  auto ifOp = scf::IfOp::create(body, whole, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  store(/*isWhole=*/true);
  body.setInsertionPointToStart(ifOp.elseBlock());
  store(/*isWhole=*/false);
}

void mx::mxgpu::buildSum(const Product &product, gpu::GPUModuleOp module,
                         Value parts) {
  ProductKernel kernel(product, module);
  SumKernel(kernel).build(parts);
}
