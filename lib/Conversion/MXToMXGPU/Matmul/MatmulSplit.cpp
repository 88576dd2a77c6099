//===- MatmulSplit.cpp - A reduction in parts, and their sum --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// With few tiles most multiprocessors would stand idle, so several share one:
// each multiplies a part of the reduction. The parts go to device memory as
// f32, in whole tiles, so that the product has no tails to look after. A second
// kernel adds them, always in the same order, and does what else the operation
// asks for: its result is rounded once and is the same every time.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// A warp of the kernel that adds has a row, a thread 8 columns of it: two
/// loads of 16 bytes from each part.
static constexpr int64_t kSumWarps = 8, kSumColumns = 8;

void MatmulBuilder::buildSplit() {
  checkSizes();
  auto out = cast<MemRefType>(getOut().getType());
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (auto [dim, tile, parts] :
       {std::tuple(0, schedule.getTileM(), schedule.getSplitK()),
        std::tuple(1, schedule.getTileN(), int64_t(1))}) {
    if (!out.isDynamicDim(dim)) {
      shape.push_back(llvm::alignTo(out.getDimSize(dim), tile) * parts);
      continue;
    }
    shape.push_back(ShapedType::kDynamic);
    sizes.push_back(host.mul(host.ceilDiv(host.dim(getOut(), dim), tile),
                             host.index(tile * parts)));
  }
  Value parts = memref::AllocOp::create(
      host, MemRefType::get(shape, host.getF32Type()), sizes);

  // What the first kernel computes: the parts one below the other.
  auto product = MatmulOp::create(
      host, TypeRange(), op.getA(), op.getAScales(), op.getB(), op.getBScales(),
      /*alpha=*/Value(), parts, op.getBlockSize(), /*accumulate=*/false,
      /*epilogueCount=*/0u);
  MatmulBuilder(product, module, schedule, target).buildProduct();
  product.erase();
  buildSum(parts);
  memref::DeallocOp::create(host, parts);
}

void MatmulBuilder::buildSum(Value parts) {
  schedule = ScheduleAttr::get(op->getContext(),
                               withDirectStores(schedule.getFields()));
  buffers = getBuffers(problem, schedule.getFields());
  SmallVector<Value> arguments = {parts, getOut()};
  appendReduction(arguments);
  appendCaptures(arguments);
  kernel = host.kernel(module, "matmul_sum", ValueRange(arguments).getTypes());
  body.setInsertionPointToStart(&kernel.getBody().front());
  result = kernel.getBody().getArgument(1);
  mapCaptures();
  buildSumRole(kernel.getBody().getArgument(0));

  constexpr int64_t kTileN = kSumColumns * 32;
  Value units = host.mul(host.ceilDiv(host.dim(getOut(), 0), kSumWarps),
                         host.ceilDiv(host.dim(getOut(), 1), kTileN));
  host.requireAtMost(units, kMaxUnits, "units of work");
  int64_t ctas = target.threadsPerSm / (kSumWarps * target::kWarpSize);
  Value most = host.mul(SmCountOp::create(host), host.index(ctas));
  host.launch(kernel, arith::MinUIOp::create(host, units, most), arguments);
}

void MatmulBuilder::buildSumRole(Value parts) {
  Value reduction = getReduction(2);
  Value rows = body.dim(result, 0), columns = body.dim(result, 1);
  work = TileSchedulerOp::create(
      body, rows, columns, reduction,
      ArrayRef<int64_t>{kSumWarps, kSumColumns * 32},
      RasterAttr::get(op->getContext(), RasterOrder::Linear, 1));
  body.role("sum", kSumWarps, /*elected=*/false);
  Value thread = ThreadIdOp::create(body);
  Value warp = body.div(thread, 32);
  Value lane = arith::RemUIOp::create(body, thread, body.index(32));
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value row = body.add(unit.getRow(), warp);
  Value column =
      body.add(unit.getColumn(), body.mul(lane, body.index(kSumColumns)));
  auto isBelow = [&](Value value, Value bound) -> Value {
    return arith::CmpIOp::create(body, arith::CmpIPredicate::ult, value, bound);
  };
  Value exists =
      arith::AndIOp::create(body, isBelow(row, rows), isBelow(column, columns));
  auto ifOp = scf::IfOp::create(body, exists, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  region.emitScalars(body, row);
  Value empty = isEmpty(unit);
  Value sums = addParts(parts, row, {column, kSumColumns, {}, {}});
  storeSums(sums, row, column, empty);
}

/// The sum of all parts in `columns` of a row; behind the last column of the
/// result there may be others, of the same tile.
Value MatmulBuilder::addParts(Value parts, Value row, const Columns &columns) {
  OpBuilder::InsertionGuard guard(body);
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
void MatmulBuilder::storeSums(Value sums, Value row, Value column,
                              Value empty) {
  auto type = cast<MemRefType>(result.getType());
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  Row inResult = {row, row, row, yes};
  Value last = arith::SubIOp::create(body, body.dim(result, 1), body.index(1));
  auto store = [&](bool isWhole) {
    Columns columns = {column, kSumColumns, isWhole ? Value() : last,
                       /*isPresent=*/Value()};
    IntegerAttr alignment;
    if (isWhole)
      alignment = body.getI64IntegerAttr(16);
    StoreFragmentOp::create(body, finish(sums, inResult, columns, empty),
                            result, row, column, yes, alignment);
  };
  if (!getRowAlignment(type, /*dynamic=*/16))
    return store(/*isWhole=*/false);
  Value whole =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                            body.add(column, kSumColumns), body.dim(result, 1));
  auto require = [&](Value condition) {
    whole = arith::AndIOp::create(body, whole, condition);
  };
  require(isAligned(body, result, 16));
  if (Value aligned = region.areLoadsAligned(body, kSumColumns))
    require(aligned);
  auto ifOp = scf::IfOp::create(body, whole, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  store(/*isWhole=*/true);
  body.setInsertionPointToStart(ifOp.elseBlock());
  store(/*isWhole=*/false);
}
