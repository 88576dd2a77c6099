//===- GroupRowsKernel.cpp - Kernels of mx.group_rows ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stable counting sort of pairs by expert, in chunks and spans of chunks:
//
//   count   count the pairs of each expert in each chunk and span
//   sum     add the counts of earlier spans
//   ends    compute the rows at which each expert starts and ends
//   place   place each pair after all earlier pairs of its expert: pairs in
//           earlier spans, in earlier chunks of its span, and earlier in its
//           chunk
//
// The result is deterministic, because atomic operations only add counts. A
// single kernel (few) compares all pairs if they fit in a chunk.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// To place a pair, a thread iterates over the pairs of a chunk, the chunks of
/// a span, and all spans. For 65536 pairs, there are 16 spans.
static constexpr int64_t kPairsOfChunk = 128, kChunksOfSpan = 32,
                         kPairsOfSpan = kPairsOfChunk * kChunksOfSpan;

namespace {

class GroupRowsBuilder {
public:
  GroupRowsBuilder(GroupRowsOp op, gpu::GPUModuleOp module)
      : op(op), module(module), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()) {}

  void build();

private:
  using Arguments = Block::BlockArgListType;

  void groupFew();
  void groupMany();
  void countPairs();
  void sumSpans();
  void findEnds();
  void placePairs();
  void placePair(Arguments given, Value pair);
  void clearPlace(Arguments given, Value place);

  void launch(StringRef name, Value count, ArrayRef<Value> arguments,
              llvm::function_ref<void(Arguments, Value)> emit) {
    launchForEachElement(host, body, module, name, count, arguments, emit);
  }
  /// Adds the expert's entries in lines [begin, end).
  Value sumLines(Value list, Value begin, Value end, Value experts,
                 Value expert);
  /// Emits the sum of `term` over a range.
  Value sum(Value begin, Value end, llvm::function_ref<Value(Value)> term);

  GroupRowsOp op;
  gpu::GPUModuleOp module;
  KernelBuilder host, body;
  Value ids;                           ///< ids of all pairs
  Value first;                         ///< id of expert 0
  Value pairs, places, experts, spans; ///< sizes
  /// Lists in device memory. Each line contains an entry for each expert.
  Value inChunks, inSpans, starts, begins;
};

} // namespace

void GroupRowsBuilder::build() {
  places = host.dim(op.getRows(), 0);
  experts = host.dim(op.getEnds(), 0);
  requireSize(host, host.dim(op.getSlots(), 0), places, "dimension 0 of slots");
  if (cast<MemRefType>(op.getEnds().getType()).isDynamicDim(0)) {
    RequireOp::create(host, host.isBelow(host.index(0), experts),
                      "expected at least 1 expert, found %lld",
                      ValueRange(experts));
  }
  pairs = host.mul(host.dim(op.getIds(), 0), host.dim(op.getIds(), 1));
  requireAtMost(host, pairs, std::numeric_limits<int32_t>::max(),
                "token-expert pairs");
  ids = collapseLeading(host, op.getIds(), 2);
  first = op.getFirst() ? op.getFirst() : host.index(0);
  Value isFew = host.isBelow(pairs, host.index(kPairsOfChunk + 1));
  auto ifOp = scf::IfOp::create(host, isFew, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(host);
  host.setInsertionPointToStart(ifOp.thenBlock());
  groupFew();
  host.setInsertionPointToStart(ifOp.elseBlock());
  groupMany();
}

/// Thread i places pair i, finds the end of expert i, and clears row i if no
/// pair occupies the row.
void GroupRowsBuilder::groupFew() {
  Value most = arith::MaxUIOp::create(
      host, arith::MaxUIOp::create(host, pairs, places), experts);
  Value choices = host.dim(op.getIds(), 1);
  auto emit = [&](Arguments given, Value element) {
    Value ids = given[0], rows = given[1], slots = given[2], ends = given[3],
          experts = given[5], choices = given[6], first = given[7];
    Value pairs = body.dim(ids, 0), places = body.dim(rows, 0);
    auto getExpert = [&](Value pair) {
      return body.sub(loadIndex(body, ids, pair), first);
    };
    Value isPair = body.isBelow(element, pairs);
    auto known = scf::IfOp::create(body, TypeRange(body.getIndexType()), isPair,
                                   /*withElse=*/true);
    for (Block *block : {known.thenBlock(), known.elseBlock()}) {
      OpBuilder::InsertionGuard guard(body);
      body.setInsertionPointToStart(block);
      bool exists = block == known.thenBlock();
      scf::YieldOp::create(
          body, ValueRange(exists ? getExpert(element) : body.index(-1)));
    }
    Value own = known.getResult(0);
    // Pairs before the own pair, pairs up to expert i, and all pairs.
    Value zero = body.index(0);
    auto loop = scf::ForOp::create(body, zero, pairs, body.index(1),
                                   ValueRange{zero, zero, zero});
    {
      OpBuilder::InsertionGuard guard(body);
      body.setInsertionPointToStart(loop.getBody());
      Value pair = loop.getInductionVar(), expert = getExpert(pair);
      Value isValid = body.isBelow(expert, experts);
      Value isSame =
          body.both(body.isEqual(expert, own), body.isBelow(pair, element));
      Value isBefore =
          arith::OrIOp::create(body, isSame, body.isBelow(expert, own));
      Value isUpTo = body.isBelow(expert, body.add(element, 1));
      SmallVector<Value> sums;
      for (auto [sum, counts] :
           llvm::zip_equal(loop.getRegionIterArgs(),
                           ValueRange{body.both(isValid, isBefore),
                                      body.both(isValid, isUpTo), isValid}))
        sums.push_back(
            body.add(sum, body.select(counts, body.index(1), body.index(0))));
      scf::YieldOp::create(body, sums);
    }
    Value before = loop.getResult(0), upTo = loop.getResult(1),
          all = loop.getResult(2);
    auto store = [&](Value condition, ArrayRef<std::pair<Value, Value>> numbers,
                     ValueRange place) {
      OpBuilder::InsertionGuard guard(body);
      body.beginIf(condition);
      for (auto [list, number] : numbers)
        storeIndex(body, number, list, place);
    };
    Value isPlaced = body.both(isPair, body.both(body.isBelow(own, experts),
                                                 body.isBelow(before, places)));
    store(isPlaced,
          {{rows, arith::DivUIOp::create(body, element, choices)},
           {slots, element}},
          before);
    store(body.isBelow(element, experts), {{ends, body.min(upTo, places)}},
          element);
    store(body.isEqual(element, zero), {{given[4], all}}, {});
    Value isFree =
        arith::CmpIOp::create(body, arith::CmpIPredicate::uge, element, all);
    store(body.both(isFree, body.isBelow(element, places)),
          {{rows, body.index(-1)}, {slots, body.index(-1)}}, element);
  };
  launch("group_few", most,
         {ids, op.getRows(), op.getSlots(), op.getEnds(), op.getCount(),
          experts, choices, first},
         emit);
}

void GroupRowsBuilder::groupMany() {
  spans = host.ceilDiv(pairs, kPairsOfSpan);
  auto allocateLines = [&](Value count) {
    return allocateList(host, host.mul(count, experts));
  };
  inChunks = allocateLines(host.ceilDiv(pairs, kPairsOfChunk));
  inSpans = allocateLines(spans);
  // The last line contains the counts of all pairs.
  starts = allocateLines(host.add(spans, 1));
  begins = allocateList(host, experts);
  for (Value list : {inChunks, inSpans})
    clearMemory(host, list);
  countPairs();
  sumSpans();
  findEnds();
  placePairs();
  for (Value list : {inChunks, inSpans, starts, begins})
    memref::DeallocOp::create(host, list);
}

Value GroupRowsBuilder::sum(Value begin, Value end,
                            llvm::function_ref<Value(Value)> term) {
  auto loop = scf::ForOp::create(body, begin, end, body.index(1), body.i32(0));
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  Value next = body.add(loop.getRegionIterArg(0), term(loop.getInductionVar()));
  scf::YieldOp::create(body, ValueRange(next));
  return loop.getResult(0);
}

static Value load(KernelBuilder &body, Value list, Value place) {
  return memref::LoadOp::create(body, list, ValueRange(place));
}

static Value toIndex(KernelBuilder &body, Value number) {
  return arith::IndexCastOp::create(body, body.getIndexType(), number);
}

void GroupRowsBuilder::countPairs() {
  auto emit = [&](Arguments given, Value pair) {
    Value expert = body.sub(loadIndex(body, given[0], pair), given[4]);
    Value experts = given[3];
    // Unsigned comparison also rejects negative ids.
    body.beginIf(body.isBelow(expert, experts));
    for (auto [list, size] : {std::pair(given[1], kPairsOfChunk),
                              std::pair(given[2], kPairsOfSpan)}) {
      Value line = body.mul(body.div(pair, size), experts);
      memref::AtomicRMWOp::create(body, arith::AtomicRMWKind::addi, body.i32(1),
                                  list, body.add(line, expert));
    }
  };
  launch("group_count", pairs, {ids, inChunks, inSpans, experts, first}, emit);
}

Value GroupRowsBuilder::sumLines(Value list, Value begin, Value end,
                                 Value experts, Value expert) {
  return sum(begin, end, [&](Value line) {
    return load(body, list, body.add(body.mul(line, experts), expert));
  });
}

void GroupRowsBuilder::sumSpans() {
  auto emit = [&](Arguments given, Value number) {
    Value experts = given[2];
    Value span = body.div(number, experts);
    Value expert = arith::RemUIOp::create(body, number, experts);
    Value before = sumLines(given[0], body.index(0), span, experts, expert);
    memref::StoreOp::create(body, before, given[1], number);
  };
  launch("group_sum", host.mul(host.add(spans, 1), experts),
         {inSpans, starts, experts}, emit);
}

void GroupRowsBuilder::findEnds() {
  auto emit = [&](Arguments given, Value expert) {
    Value starts = given[0], begins = given[1], places = given[4];
    Value all = body.mul(given[5], given.back());
    auto ownRows = [&](Value other) {
      return load(body, starts, body.add(all, other));
    };
    Value begin = sum(body.index(0), expert, ownRows);
    memref::StoreOp::create(body, begin, begins, expert);
    Value end = toIndex(body, body.add(begin, ownRows(expert)));
    storeIndex(body, body.min(end, places), given[2], expert);
    body.beginIf(arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                       body.add(expert, 1), given.back()));
    storeIndex(body, end, given[3], {});
  };
  launch("group_ends", experts,
         {starts, begins, op.getEnds(), op.getCount(), places, spans}, emit);
}

void GroupRowsBuilder::placePairs() {
  Value most = arith::MaxUIOp::create(host, pairs, places);
  Value choices = host.dim(op.getIds(), 1);
  auto emit = [&](Arguments given, Value element) {
    OpBuilder::InsertionGuard guard(body);
    {
      OpBuilder::InsertionGuard guard(body);
      body.beginIf(body.isBelow(element, body.dim(given[0], 0)));
      placePair(given, element);
    }
    clearPlace(given, element);
  };
  launch("group_place", most,
         {ids, starts, begins, op.getRows(), op.getSlots(), op.getCount(),
          experts, choices, inChunks, first},
         emit);
}

void GroupRowsBuilder::placePair(Arguments given, Value pair) {
  Value ids = given[0], experts = given[6];
  Value id = load(body, ids, pair);
  Value expert = body.sub(toIndex(body, id), given[9]);
  body.beginIf(body.isBelow(expert, experts));
  Value chunk = body.div(pair, kPairsOfChunk);
  Value inChunk = sum(body.mul(chunk, kPairsOfChunk), pair, [&](Value other) {
    Value isSame = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                         load(body, ids, other), id);
    return arith::ExtUIOp::create(body, body.getI32Type(), isSame).getResult();
  });
  Value span = body.div(pair, kPairsOfSpan);
  Value inSpan =
      sumLines(given[8], body.mul(span, kChunksOfSpan), chunk, experts, expert);
  Value start = load(body, given[1], body.add(body.mul(span, experts), expert));
  Value place = body.add(load(body, given[2], expert), start);
  place = toIndex(body, body.add(place, body.add(inSpan, inChunk)));
  body.beginIf(body.isBelow(place, body.dim(given[3], 0)));
  storeIndex(body, arith::DivUIOp::create(body, pair, given[7]), given[3],
             place);
  storeIndex(body, pair, given[4], place);
}

void GroupRowsBuilder::clearPlace(Arguments given, Value place) {
  Value rows = given[3];
  Value count =
      toIndex(body, memref::LoadOp::create(body, given[5], ValueRange()));
  Value isFree =
      arith::CmpIOp::create(body, arith::CmpIPredicate::uge, place, count);
  body.beginIf(body.both(isFree, body.isBelow(place, body.dim(rows, 0))));
  for (Value list : {rows, Value(given[4])})
    memref::StoreOp::create(body, body.i32(-1), list, place);
}

LogicalResult mx::mxgpu::convertGroupRows(GroupRowsOp op,
                                          gpu::GPUModuleOp module) {
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType());
        type && !isContiguous(type))
      return op.emitOpError("expected identity layout on the GPU, found ")
             << type;
  GroupRowsBuilder(op, module).build();
  op.erase();
  return success();
}
