//===- GroupRows.cpp - Lowering of mx.group_rows and mx.gather_rows -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorts token-expert pairs by counting. Counts the pairs of each expert, and
// then assigns each pair, in order, the next row of its expert.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

class GroupRowsEmitter {
public:
  GroupRowsEmitter(Emitter &emitter, GroupRowsOp::Adaptor adaptor)
      : emitter(emitter), builder(emitter.getBuilder()), ids(adaptor.getIds()),
        rows(adaptor.getOuts()[0]), slots(adaptor.getOuts()[1]),
        ends(adaptor.getOuts()[2]), count(adaptor.getOuts()[3]),
        zero(emitter.index(0)),
        first(adaptor.getFirst() ? emitter.wrap(adaptor.getFirst()) : zero),
        tokens(emitter.dim(ids, 0)), choices(emitter.dim(ids, 1)),
        places(emitter.dim(rows, 0)), experts(emitter.dim(ends, 0)) {}

  void emit() {
    check();
    countPairs();
    placePairs();
    emitter.loop(zero, experts, 1, [&](Int expert) {
      store(ends, expert, load(ends, expert).min(places));
    });
  }

private:
  void check() {
    emitter.checkDim("slots", {slots, builder.getI32Type()}, 0, places);
    emitter.check(experts > 0, "at least 1 expert, found %ld", {experts});
    int64_t most = std::numeric_limits<int32_t>::max();
    Int pairs = tokens * choices;
    emitter.check(pairs <= most,
                  "at most " + Twine(most) + " token-expert pairs, found %ld",
                  {pairs});
  }

  /// Counts the pairs of each expert and stores its first row in `ends`.
  void countPairs() {
    Int none = emitter.index(-1);
    emitter.loop(zero, places, 1, [&](Int place) {
      store(rows, place, none);
      store(slots, place, none);
    });
    emitter.loop(zero, experts, 1,
                 [&](Int expert) { store(ends, expert, zero); });
    forEachPair([&](Int, Int, Int expert) {
      store(ends, expert, load(ends, expert) + 1);
    });
    Int all = emitter.reduce(zero, experts, zero, [&](Int expert, Int begin) {
      Int own = load(ends, expert);
      store(ends, expert, begin);
      return begin + own;
    });
    store(count, {}, all);
  }

  /// Assigns rows to pairs, and leaves the end of each expert's rows in `ends`.
  void placePairs() {
    forEachPair([&](Int token, Int choice, Int expert) {
      Int place = load(ends, expert);
      store(ends, expert, place + 1);
      emitIf(place < places, [&] {
        store(rows, place, token);
        store(slots, place, token * choices + choice);
      });
    });
  }

  /// Iterates over the pairs with a valid expert, in order.
  void forEachPair(llvm::function_ref<void(Int, Int, Int)> body) {
    emitter.loop(zero, tokens, 1, [&](Int token) {
      emitter.loop(zero, choices, 1, [&](Int choice) {
        // index_cast sign-extends the id.
        Int id = emitter.wrap(arith::IndexCastOp::create(
            builder, emitter.getLoc(), builder.getIndexType(),
            emitter.load(ids, {token, choice})));
        Int expert = id - first;
        // The comparison is unsigned, so negative ids are out of range.
        Value exists =
            arith::CmpIOp::create(builder, emitter.getLoc(),
                                  arith::CmpIPredicate::ult, expert, experts);
        emitIf(exists, [&] { body(token, choice, expert); });
      });
    });
  }

  void emitIf(Value condition, llvm::function_ref<void()> body) {
    scf::IfOp::create(builder, emitter.getLoc(), condition,
                      [&](OpBuilder &, Location loc) {
                        body();
                        scf::YieldOp::create(builder, loc);
                      });
  }

  Int load(Value list, Int place) {
    return emitter.wrap(emitter.load(list, {place})).to(builder.getIndexType());
  }
  void store(Value list, ArrayRef<Value> place, Int number) {
    memref::StoreOp::create(builder, emitter.getLoc(),
                            number.to(builder.getI32Type()), list, place);
  }
  void store(Value list, Int place, Int number) {
    store(list, ArrayRef<Value>{place}, number);
  }

  Emitter &emitter;
  OpBuilder &builder;
  Value ids, rows, slots, ends, count;
  Int zero, first, tokens, choices, places, experts;
};

} // namespace

static void lowerGatherRows(Emitter &emitter, GatherRowsOp,
                            GatherRowsOp::Adaptor adaptor) {
  Value input = adaptor.getInput(), out = adaptor.getOuts()[0];
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  Elements rows{adaptor.getRows(), emitter.getBuilder().getI32Type()};
  emitter.checkDim("rows", rows, 0, emitter.dim(out, 0));
  Int count = emitter.dim(input, 0);
  emitter.loopOverDims(out, rank, [&](ArrayRef<Value> place) {
    emitIfRowExists(
        emitter, rows.memref, emitter.wrap(place[0]), count, [&](Int row) {
          SmallVector<Value> from(place);
          from[0] = row;
          memref::StoreOp::create(emitter.getBuilder(), emitter.getLoc(),
                                  emitter.load(input, from), out, place);
        });
  });
}

static void lowerGroupRows(Emitter &emitter, GroupRowsOp,
                           GroupRowsOp::Adaptor adaptor) {
  GroupRowsEmitter(emitter, adaptor).emit();
}

void mx::cpu::populateGroupRowsPatterns(const TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  addPatterns<lowerGatherRows, lowerGroupRows>(converter, patterns);
}
