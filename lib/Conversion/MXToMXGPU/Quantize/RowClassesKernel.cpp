//===- RowClassesKernel.cpp - Kernel of mx.row_classes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp computes a word: a lane reads the spreads of a row. A single launch
// computes the words of all operands.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kWarps = 4;
/// Vectors of spreads that a lane loads before the first use.
static constexpr int64_t kVectorsAtOnce = 16;
/// Largest number of spreads of a vector.
static constexpr int64_t kMostSpreads = 16;
/// Words of an operand that a thread loads before the first use.
static constexpr int64_t kWordsAtOnce = 4;

/// Returns the number of adjacent spreads of a row that a lane loads at once.
static int64_t getVectorSize(MemRefType spreads, int64_t axis) {
  int64_t blocks = spreads.getShape().back();
  if (!axis || ShapedType::isDynamic(blocks) ||
      !spreads.getLayout().isIdentity())
    return 1;
  return std::gcd(blocks, kMostSpreads);
}

/// Returns the largest spread of `row`, from a matrix of rows by blocks, or of
/// blocks by rows along axis 0.
static Value findLargest(KernelBuilder &body, Value spreads, Value matrix,
                         Value row, int64_t axis) {
  auto type = cast<MemRefType>(spreads.getType());
  int64_t rank = type.getRank(), size = getVectorSize(type, axis);
  auto vector = VectorType::get({size}, type.getElementType());
  auto widened = VectorType::get({size}, body.getI32Type());
  Value blocks = body.dim(spreads, axis ? rank - 1 : rank - 2);
  Value last = body.sub(blocks, body.index(size)),
        zero = arith::ConstantOp::create(body, body.getZeroAttr(widened));
  auto loop = scf::ForOp::create(
      body, body.index(0), blocks, body.index(kVectorsAtOnce * size), zero,
      [&](OpBuilder &, Location, Value first, ValueRange largest) {
        SmallVector<Value> loaded;
        for (int64_t i = 0; i < kVectorsAtOnce; ++i) {
          Value block = body.min(body.add(first, i * size), last);
          SmallVector<Value> place(rank - 2, matrix);
          place.append({axis ? row : block, axis ? block : row});
          loaded.push_back(vector::LoadOp::create(body, vector, spreads, place,
                                                  /*nontemporal=*/false,
                                                  llvm::MaybeAlign(size)));
        }
        Value joined = largest[0];
        for (Value values : loaded)
          joined = arith::MaxUIOp::create(
              body, joined, arith::ExtUIOp::create(body, widened, values));
        scf::YieldOp::create(body, joined);
      });
  return vector::ReductionOp::create(body, vector::CombiningKind::MAXUI,
                                     loop.getResult(0));
}

/// Returns the indices of the word `number` of all words of an operand.
static SmallVector<Value> getPlace(KernelBuilder &body, Value words,
                                   Value number) {
  int64_t rank = cast<MemRefType>(words.getType()).getRank();
  if (rank == 1)
    return {number};
  Value inMatrix = body.dim(words, rank - 1);
  return {body.div(number, inMatrix), body.rem(number, inMatrix)};
}

/// Stores the word `number` of all words of `out`.
static void storeWord(KernelBuilder &body, Value spreads, Value out,
                      Value number, Value lane, int64_t axis, int64_t limit) {
  int64_t rank = cast<MemRefType>(spreads.getType()).getRank();
  Value rows = body.dim(spreads, rank - 1 - axis);
  SmallVector<Value> place = getPlace(body, out, number);
  Value row = body.add(body.mul(place.back(), body.index(kRowsPerWord)), lane);
  Value clamped = body.min(row, body.sub(rows, body.index(1)));
  Value isWide = arith::CmpIOp::create(
      body, arith::CmpIPredicate::ugt,
      findLargest(body, spreads, place.front(), clamped, axis),
      body.i32(limit));
  isWide = body.both(isWide, body.isBelow(row, rows));
  Value bit =
      body.shiftLeft(arith::ExtUIOp::create(body, body.getI32Type(), isWide),
                     arith::IndexCastOp::create(body, body.getI32Type(), lane));
  Value joined = gpu::SubgroupReduceOp::create(
      body, bit, gpu::AllReduceOperation::OR, /*uniform=*/true);
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
  WaitDependenciesOp::create(body);
  LaunchDependentsOp::create(body);
  size_t count = op.getAxes().size();
  auto spreads = entry.getArguments().take_front(count);
  auto outs = entry.getArguments().drop_front(count);
  Value all = countWords(body, outs.front());
  for (Value out : outs.drop_front())
    all = body.add(all, countWords(body, out));
  Value work = body.scheduleTiles(all, body.index(1), {kWarps, 1});
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

static Value joinBits(KernelBuilder &body, ArrayRef<Value> words) {
  Value joined = words.front();
  for (Value word : words.drop_front())
    joined = body.orBits(joined, word);
  return joined;
}

/// Joins the words `first`, `first + step` and so on of an operand, or the last
/// word instead of words past the end. Returns 0 without words.
static Value joinFrom(KernelBuilder &body, Value words, Value count,
                      Value first, Value step) {
  auto join = [&](OpBuilder &, Location) {
    Value last = body.sub(count, body.index(1));
    SmallVector<Value> loaded;
    for (int64_t i = 0; i < kWordsAtOnce; ++i) {
      loaded.push_back(memref::LoadOp::create(
          body, words, getPlace(body, words, body.min(first, last))));
      first = body.add(first, step);
    }
    scf::YieldOp::create(body, joinBits(body, loaded));
  };
  return scf::IfOp::create(body, body.isBelow(body.index(0), count), join,
                           [&](OpBuilder &, Location) {
                             scf::YieldOp::create(body, body.i32(0));
                           })
      .getResult(0);
}

Value mx::mxgpu::isAnySet(KernelBuilder &body, ValueRange classes) {
  Type i32 = body.getI32Type(), index = body.getIndexType();
  auto read = [&](auto special) -> Value {
    return arith::IndexCastOp::create(body, index, special);
  };
  Value thread = read(NVVM::ThreadIdXOp::create(body, i32));
  Value threads = read(NVVM::BlockDimXOp::create(body, i32));
  SmallVector<Value> counts;
  Value most = body.index(0);
  for (Value words : classes) {
    counts.push_back(countWords(body, words));
    most = arith::MaxUIOp::create(body, most, counts.back());
  }
  auto loop = scf::ForOp::create(
      body, thread, most, body.mul(threads, body.index(kWordsAtOnce)),
      body.i32(0), [&](OpBuilder &, Location, Value first, ValueRange joined) {
        SmallVector<Value> loaded(joined);
        for (auto [words, count] : llvm::zip_equal(classes, counts))
          loaded.push_back(joinFrom(body, words, count, first, threads));
        scf::YieldOp::create(body, joinBits(body, loaded));
      });
  Value isSet = body.isNot(body.isEqual(loop.getResult(0), body.i32(0)));
  return gpu::AllReduceOp::create(
      body, isSet.getType(), isSet,
      gpu::AllReduceOperationAttr::get(body.getContext(),
                                       gpu::AllReduceOperation::OR),
      /*uniform=*/body.getUnitAttr());
}
