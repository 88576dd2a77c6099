//===- RowClassesKernel.cpp - Kernel of mx.row_classes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A warp computes a word: a lane reads the spreads of a row. A single launch
// computes the words of all operands.
//
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kWarps = 4;
/// Spreads that a lane loads before the first use.
static constexpr int64_t kSpreadsAtOnce = 16;
/// Words that a lane loads before the first use.
static constexpr int64_t kWordsAtOnce = 8;

/// Returns the largest spread of `row`, from a matrix of rows by blocks, or of
/// blocks by rows along axis 0.
static Value findLargest(KernelBuilder &body, Value spreads, Value matrix,
                         Value row, int64_t axis) {
  int64_t rank = cast<MemRefType>(spreads.getType()).getRank();
  Value blocks = body.dim(spreads, axis ? rank - 1 : rank - 2);
  Value last = body.sub(blocks, body.index(1));
  auto loop = scf::ForOp::create(body, body.index(0), blocks,
                                 body.index(kSpreadsAtOnce), body.i32(0));
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < kSpreadsAtOnce; ++i) {
    Value block = body.min(body.add(loop.getInductionVar(), i), last);
    SmallVector<Value> place(rank - 2, matrix);
    place.append({axis ? row : block, axis ? block : row});
    loaded.push_back(memref::LoadOp::create(body, spreads, place));
  }
  Value largest = loop.getRegionIterArgs()[0];
  for (Value spread : loaded)
    largest = arith::MaxUIOp::create(
        body, largest, arith::ExtUIOp::create(body, body.getI32Type(), spread));
  scf::YieldOp::create(body, largest);
  return loop.getResult(0);
}

/// Stores the word `number` of all words of `out`.
static void storeWord(KernelBuilder &body, Value spreads, Value out,
                      Value number, Value lane, int64_t axis, int64_t limit) {
  int64_t rank = cast<MemRefType>(spreads.getType()).getRank();
  Value words = body.dim(out, rank - 2),
        rows = body.dim(spreads, rank - 1 - axis);
  Value matrix = rank > 2 ? body.div(number, words) : Value();
  Value word = rank > 2 ? body.rem(number, words) : number;
  Value row = body.add(body.mul(word, body.index(kRowsPerWord)), lane);
  Value clamped = body.min(row, body.sub(rows, body.index(1)));
  Value isWide = arith::CmpIOp::create(
      body, arith::CmpIPredicate::ugt,
      findLargest(body, spreads, matrix, clamped, axis), body.i32(limit));
  isWide = body.both(isWide, body.isBelow(row, rows));
  Value bit =
      body.shiftLeft(arith::ExtUIOp::create(body, body.getI32Type(), isWide),
                     arith::IndexCastOp::create(body, body.getI32Type(), lane));
  Value joined = gpu::SubgroupReduceOp::create(
      body, bit, gpu::AllReduceOperation::OR, /*uniform=*/true);
  SmallVector<Value> place(rank - 2, matrix);
  place.push_back(word);
  OpBuilder::InsertionGuard guard(body);
  body.beginIf(body.isEqual(lane, body.index(0)));
  memref::StoreOp::create(body, joined, out, place);
}

static Value countWords(KernelBuilder &builder, Value out) {
  Value count = builder.dim(out, 0);
  for (int64_t i = 1; i < cast<MemRefType>(out.getType()).getRank(); ++i)
    count = builder.mul(count, builder.dim(out, i));
  return count;
}

static void buildKernel(KernelOp kernel, RowClassesOp op) {
  KernelBuilder body(op.getLoc(), kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  size_t count = op.getAxes().size();
  auto spreads = entry.getArguments().take_front(count);
  auto outs = entry.getArguments().drop_front(count);
  Value all = countWords(body, outs.front());
  for (Value out : outs.drop_front())
    all = body.add(all, countWords(body, out));
  Value work = TileSchedulerOp::create(
      body, all, body.index(1), /*reduction=*/body.index(0),
      ArrayRef<int64_t>{kWarps, 1},
      RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  body.role("classes", kWarps, /*elected=*/false);
  auto [warp, lane] = body.warpAndLane();
  ForEachWorkTileOp tile = body.forEachWorkTile(work);
  // The numbers of words of other operands are out of range.
  Value number = body.add(tile.getRow(), warp);
  for (size_t i = 0; i < count; ++i) {
    Value words = countWords(body, outs[i]);
    {
      OpBuilder::InsertionGuard guard(body);
      body.beginIf(body.isBelow(number, words));
      storeWord(body, spreads[i], outs[i], number, lane, op.getAxes()[i],
                static_cast<int64_t>(op.getLimit()));
    }
    number = body.sub(number, words);
  }
}

LogicalResult mx::mxgpu::convertRowClasses(RowClassesOp op,
                                           gpu::GPUModuleOp module) {
  KernelBuilder host(op.getLoc(), op);
  Value all;
  for (auto [spreads, out, axis] :
       llvm::zip_equal(op.getSpreads(), op.getOuts(), op.getAxes())) {
    int64_t rank = cast<MemRefType>(spreads.getType()).getRank();
    if (rank > 3)
      return op.emitOpError("expected matrices, or a batch in one dimension, "
                            "on the GPU, found ")
             << spreads.getType();
    requireSize(host, host.dim(out, rank - 2),
                host.ceilDiv(host.dim(spreads, rank - 1 - axis), kRowsPerWord),
                "the last dimension of outs");
    Value words = countWords(host, out);
    all = all ? host.add(all, words) : words;
  }
  SmallVector<Value> arguments(op.getSpreads());
  llvm::append_range(arguments, op.getOuts());
  KernelOp kernel =
      host.kernel(module, "row_classes", ValueRange(arguments).getTypes());
  buildKernel(kernel, op);
  host.launch(kernel, host.ceilDiv(all, kWarps), arguments);
  op.erase();
  return success();
}

Value mx::mxgpu::isAnySet(KernelBuilder &body, ValueRange classes) {
  // A role numbers its own threads, but roles share the result.
  Value lane = arith::IndexCastOp::create(
      body, body.getIndexType(),
      NVVM::LaneIdOp::create(body, body.getI32Type()));
  Value joined = body.i32(0);
  for (Value words : classes) {
    int64_t rank = cast<MemRefType>(words.getType()).getRank();
    Value inMatrix = body.dim(words, rank - 1);
    Value count = countWords(body, words);
    Value last = body.sub(count, body.index(1));
    auto loop = scf::ForOp::create(body, lane, count,
                                   body.index(kWordsAtOnce * target::kWarpSize),
                                   joined);
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> loaded;
    for (int64_t i = 0; i < kWordsAtOnce; ++i) {
      Value word = body.add(loop.getInductionVar(), i * target::kWarpSize);
      SmallVector<Value> place = {body.min(word, last)};
      if (rank > 1)
        place = {body.div(place[0], inMatrix), body.rem(place[0], inMatrix)};
      loaded.push_back(memref::LoadOp::create(body, words, place));
    }
    Value any = loop.getRegionIterArgs()[0];
    for (Value word : loaded)
      any = body.orBits(any, word);
    scf::YieldOp::create(body, any);
    joined = loop.getResult(0);
  }
  joined = body.warpMax(joined);
  return body.isNot(body.isEqual(joined, body.i32(0)));
}
