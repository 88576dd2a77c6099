//===- Matmul.cpp - Lowering of matmuls -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks sizes and computes accumulators (MatmulLoops.h). Then multiplies by
// alpha, adds the contents of `outs` if required, applies the epilogue, and
// rounds once.
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

//===----------------------------------------------------------------------===//
// Accumulators to stored elements
//===----------------------------------------------------------------------===//

namespace {

/// Multiplies an accumulator by alpha, adds the old element if required, rounds
/// once (to f32 before an epilogue), applies the epilogue, and stores the
/// result.
class Store {
public:
  Store(Emitter &emitter, MatmulOpInterface op, Value out, Value alpha,
        ValueRange classes)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        out(out), accumulate(op.getAccumulate()), epilogue(op->getRegions()),
        isPromoted(op.getPromote().has_value()), where(op.getWhere()),
        classes(classes) {
    if (alpha)
      factor = emitter.getNumbers().widenToF64(
          emitter.wrap(emitter.wrap(alpha).as(builder.getI32Type())));
  }

  /// Stores a sum of `k` terms at `row` and `column` of the matrix at `batch`
  /// if `where` selects the element, with the matrix of B at `matrix`. With
  /// `scatter`, adds the result to the listed row instead.
  void emit(Int row, Int column, Value sum, Int k, ArrayRef<Value> batch,
            ArrayRef<Value> matrix, Value scatter = {}) {
    OpBuilder::InsertionGuard guard(builder);
    if (where) {
      Value selected =
          isSelected(builder, loc, *where, classes, matrix, row, Value(column));
      auto ifOp = scf::IfOp::create(builder, loc, selected, /*withElse=*/false);
      builder.setInsertionPointToStart(ifOp.thenBlock());
    }
    Type type = getElementTypeOrSelf(out.getType());
    SmallVector<Value> place(batch);
    place.append({row, column});
    if (factor)
      sum = roundIfPromoted(arith::MulFOp::create(builder, loc, sum, factor));
    if (accumulate) {
      FormatArith &numbers = emitter.getNumbers();
      Value old =
          numbers.widenToF64(numbers.widenToF32(emitter.load(out, place)));
      Value total =
          roundIfPromoted(arith::AddFOp::create(builder, loc, old, sum));
      // For k = 0 keep the value, including the sign of zero.
      sum = arith::SelectOp::create(builder, loc, k == 0, old, total);
    }
    Value value = epilogue.empty() ? emitter.getNumbers().round(sum, type)
                                   : inlineEpilogue(sum, row, column);
    if (scatter)
      return addTo(scatter, row, column, value);
    memref::StoreOp::create(builder, loc, value, out, place);
  }

private:
  /// Rounds to f32, as kernels do, if every device has the same result.
  Value roundIfPromoted(Value sum) {
    FormatArith &numbers = emitter.getNumbers();
    return isPromoted ? numbers.widenToF64(numbers.widenToF32(
                            numbers.round(sum, builder.getF32Type())))
                      : sum;
  }

  void addTo(Value scatter, Int row, Int column, Value value) {
    emitIfRowExists(emitter, scatter, row, emitter.dim(out, 0), [&](Int to) {
      emitAddition(emitter, value, out, {to, column});
    });
  }

  Value inlineEpilogue(Value sum, Int row, Int column) {
    Value accumulator = emitter.getNumbers().round(sum, builder.getF32Type());
    return emitter.inlineRegion(epilogue.front(), {accumulator, row, column})
        .front();
  }

  Emitter &emitter;
  OpBuilder &builder;
  Location loc;
  Value out;
  bool accumulate;
  MutableArrayRef<Region> epilogue;
  bool isPromoted;
  std::optional<RowClass> where;
  ValueRange classes;
  Value factor;
};

} // namespace

static Side makeSide(Emitter &emitter, const Elements &elements,
                     BlockShape block, Value originalScales, Value scales) {
  Side side{elements};
  side.blockSize = block;
  // Unscaled operands need no decoding.
  if (!scales)
    return side;
  side.values =
      emitter.getNumbers().decodeTable(elements.type, /*isScale=*/false);
  side.scales =
      getScales(emitter, originalScales, scales, elements.getRank(), block);
  return side;
}

/// Checks the shape of an operand's scales, if any.
static void checkScales(Emitter &emitter, StringRef name, const Side &side,
                        Int rows, Int columns, std::optional<Int> groups = {}) {
  if (side.scales)
    emitter.checkScales(name, *side.scales, side.elements, rows, columns,
                        side.blockSize, groups);
}

/// Checks the number of words of each of the row classes.
static void checkClasses(Emitter &emitter, ValueRange classes, Int rows,
                         Int rowsOfB) {
  Int counts[] = {rows, rowsOfB};
  for (auto [words, count] : llvm::zip(classes, counts))
    emitter.checkDim("row classes", {words, emitter.getBuilder().getI32Type()},
                     cast<MemRefType>(words.getType()).getRank() - 1,
                     count.ceilDiv(kRowsPerWord));
}

/// If an operand has scales, checks that K, the size of dimension `dim` of
/// operand `a`, is a multiple of the largest block size.
static void checkBlocks(Emitter &emitter, const Side &a, const Side &b,
                        int64_t dim, Int k) {
  int64_t blockSize = 1;
  for (const Side *side : {&a, &b})
    if (side->scales && side->blockSize != BlockFormat::kWhole)
      blockSize = std::max(blockSize, side->blockSize);
  if (blockSize > 1)
    emitter.checkMultiple("a", dim, k, blockSize);
}

/// Returns both operands in row-major order. A tiled B does not store its
/// number of rows, which equals the number of columns of `out`.
static std::pair<Side, Side> makeSides(Emitter &emitter, MatmulOpInterface op,
                                       ValueRange operands, Value out) {
  Elements a = getElements(op.getA(), operands[0]);
  Elements b = getElements(op.getB(), operands[2]);
  int64_t last = a.getRank() - 1;
  if (OperandOrderAttrInterface order = getOrderOfA(op))
    a = toRows(emitter, "a", a, order, emitter.dim(a, last - 1),
               emitter.dim(a, last));
  if (OperandOrderAttrInterface order = getOrderOfB(op)) {
    auto outType = cast<MemRefType>(out.getType());
    Int rows = order.keepsShape() ? emitter.dim(b, b.getRank() - 2)
                                  : emitter.dim(out, outType.getRank() - 1);
    b = toRows(emitter, "b", b, order, rows, emitter.dim(a, last));
  }
  return {
      makeSide(emitter, a, op.getBlockSize(), op.getAScales(), operands[1]),
      makeSide(emitter, b, op.getBlockSizeOfB(), op.getBScales(), operands[3])};
}

/// Emits C[b, m, n] = sum of A[b, m, k] * B[b, n, k]. `counts` limits the rows
/// that are computed in each matrix.
static void lowerMatrices(Emitter &emitter, MatmulOpInterface op, Value out,
                          Value alpha, ValueRange classes, Side a, Side b,
                          Value counts = {}) {
  int64_t rank = a.elements.getRank();
  Int rows = emitter.dim(a.elements, rank - 2);
  Int columns = emitter.dim(b.elements, b.elements.getRank() - 2);
  Int k = emitter.dim(a.elements, rank - 1);
  Elements outArray{out, emitter.getBuilder().getF32Type()};
  checkBlocks(emitter, a, b, rank - 1, k);
  if (counts)
    emitter.checkDim("a", a.elements, 0, emitter.dim(counts, 0));
  emitter.checkDim("b", b.elements, b.elements.getRank() - 1, k);
  for (int64_t i = 0; i < rank - 2; ++i) {
    emitter.checkDim("b", b.elements, i, emitter.dim(a.elements, i));
    emitter.checkDim("outs", outArray, i, emitter.dim(a.elements, i));
  }
  checkScales(emitter, "a_scales", a, rows, k);
  checkScales(emitter, "b_scales", b, columns, k);
  emitter.checkDim("outs", outArray, rank - 2, rows);
  emitter.checkDim("outs", outArray, rank - 1, columns);

  Matmul matmul(emitter, k, op.getPromote().value_or(0));
  Store store(emitter, op, out, alpha, classes);
  checkClasses(emitter, classes, rows, columns);
  emitter.loopOverDims(out, rank - 2, [&](ArrayRef<Value> batch) {
    a.batch = b.batch = llvm::to_vector(batch);
    Int count = rows;
    if (counts)
      count =
          emitter.loadOffset(counts, emitter.wrap(batch[0])).min(rows).max(0);
    matmul.emit(a, b, count, columns, k, [&](Int row, Int column, Value sum) {
      store.emit(row, column, sum, k, batch, batch);
    });
  });
}

static void lowerMatmul(Emitter &emitter, MatmulOp op,
                        MatmulOp::Adaptor adaptor) {
  auto [a, b] = makeSides(emitter, op,
                          {adaptor.getA(), adaptor.getAScales(), adaptor.getB(),
                           adaptor.getBScales()},
                          adaptor.getOut());
  lowerMatrices(emitter, op, adaptor.getOut(), adaptor.getAlpha(),
                adaptor.getRowClasses(), a, b);
}

/// Emits C[m, n] = sum of A[m, k] * B[g, n, k] for rows m of expert group g.
static void lowerRows(Emitter &emitter, GroupedMatmulOp op,
                      GroupedMatmulOp::Adaptor adaptor, Side a, Side b) {
  Value out = adaptor.getOuts()[0], offsets = adaptor.getOffsets();
  Int groups = emitter.dim(offsets, 0);
  Int rows = emitter.dim(a.elements, 0), k = emitter.dim(a.elements, 1);
  Int columns = emitter.dim(b.elements, b.elements.getRank() - 2);
  Elements outArray{out, emitter.getBuilder().getF32Type()};
  checkBlocks(emitter, a, b, 1, k);
  emitter.checkDim("b", b.elements, 0, groups);
  emitter.checkDim("b", b.elements, b.elements.getRank() - 1, k);
  checkScales(emitter, "a_scales", a, rows, k, groups);
  checkScales(emitter, "b_scales", b, columns, k);
  Value scatter = adaptor.getScatter();
  emitter.checkDim(
      scatter ? "scatter" : "outs",
      scatter ? Elements{scatter, emitter.getBuilder().getF32Type()} : outArray,
      0, rows);
  emitter.checkDim("outs", outArray, 1, columns);

  Matmul matmul(emitter, k, op.getPromote().value_or(0));
  Store store(emitter, op, out, adaptor.getAlpha(), adaptor.getRowClasses());
  checkClasses(emitter, adaptor.getRowClasses(), rows, columns);
  emitter.forEachExpert(offsets, rows, [&](Emitter::ExpertGroup group) {
    Side rowsOfExpert = a, own = b;
    if (a.scales)
      rowsOfExpert.scales = emitter.inExpert(*a.scales, group);
    rowsOfExpert.firstRow = group.begin;
    own.batch = {group.number};
    Int begin = columns.like(0), end = columns;
    if (auto range = op.getColumnRange()) {
      begin = columns.like(range->first);
      end = columns.like(range->second);
      own.firstRow = begin;
    }
    matmul.emit(rowsOfExpert, own, group.end - group.begin, end - begin, k,
                [&](Int row, Int column, Value sum) {
                  store.emit(group.begin + row, begin + column, sum, k, {},
                             {group.number}, scatter);
                });
  });
}

/// Emits C[g, m, n] = sum of A[m, k] * B[n, k] for the k of expert group g.
static void lowerReduction(Emitter &emitter, GroupedMatmulOp op,
                           GroupedMatmulOp::Adaptor adaptor, Side a, Side b) {
  Value out = adaptor.getOuts()[0], offsets = adaptor.getOffsets();
  Int rows = emitter.dim(a.elements, 0), columns = emitter.dim(b.elements, 0);
  Int capacity = emitter.dim(a.elements, 1);
  Int groups = emitter.dim(offsets, 0);
  Elements outArray{out, emitter.getBuilder().getF32Type()};
  emitter.checkMultiple("a", 1, capacity, 128);
  emitter.checkDim("b", b.elements, 1, capacity);
  checkScales(emitter, "a_scales", a, rows, capacity);
  checkScales(emitter, "b_scales", b, columns, capacity);
  emitter.checkDim("outs", outArray, 0, groups);
  emitter.checkDim("outs", outArray, 1, rows);
  emitter.checkDim("outs", outArray, 2, columns);
  Matmul matmul(emitter, capacity, op.getPromote().value_or(0));
  Store store(emitter, op, out, adaptor.getAlpha(), adaptor.getRowClasses());
  checkClasses(emitter, adaptor.getRowClasses(), rows, columns);
  emitter.forEachExpert(offsets, capacity, [&](Emitter::ExpertGroup group) {
    // Elements beyond the capacity are ignored.
    Int k = (group.end - group.begin).min((capacity - group.start).max(0));
    a.firstK = b.firstK = group.start.min(capacity);
    matmul.emit(a, b, rows, columns, k, [&](Int row, Int column, Value sum) {
      store.emit(row, column, sum, k, {group.number}, {});
    });
  });
}

static void lowerGroupedMatmul(Emitter &emitter, GroupedMatmulOp op,
                               GroupedMatmulOp::Adaptor adaptor) {
  if (!op.getMasked())
    emitter.checkExperts(adaptor.getOffsets());
  auto [a, b] = makeSides(emitter, op,
                          {adaptor.getA(), adaptor.getAScales(), adaptor.getB(),
                           adaptor.getBScales()},
                          adaptor.getOuts()[0]);
  if (op.getMasked())
    lowerMatrices(emitter, op, adaptor.getOuts()[0], adaptor.getAlpha(),
                  adaptor.getRowClasses(), a, b, adaptor.getOffsets());
  else if (op.getRagged() == RaggedKind::Rows)
    lowerRows(emitter, op, adaptor, a, b);
  else
    lowerReduction(emitter, op, adaptor, a, b);
}

void mx::cpu::emitIfRowExists(Emitter &emitter, Value rows, Int row, Int count,
                              llvm::function_ref<void(Int)> body) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Int to = emitter.wrap(emitter.load(rows, {row})).to(builder.getIndexType());
  // The comparison is unsigned, so negative indices are out of range.
  Value exists =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, to, count);
  scf::IfOp::create(builder, loc, exists, [&](OpBuilder &, Location) {
    body(to);
    scf::YieldOp::create(builder, loc);
  });
}

void mx::cpu::emitAddition(Emitter &emitter, Value term, Value out,
                           ArrayRef<Value> place) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Value sum =
      arith::AddFOp::create(builder, loc, emitter.load(out, place), term);
  memref::StoreOp::create(builder, loc, sum, out, place);
}

void mx::cpu::populateMatmulPatterns(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  addPatterns<lowerMatmul, lowerGroupedMatmul>(converter, patterns);
}
