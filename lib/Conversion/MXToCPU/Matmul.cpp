//===- Matmul.cpp - mx.matmul and mx.grouped_matmul as loops --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Element times scale is exact in f64, and so is the product of two of them.
// The sum is f64, in ascending order of k, one addition per k; it is rounded
// once at the end. The order does not depend on the blocking below: rows of A
// and panels of B are decoded to buffers of f64, from which a kernel of 4 x 8
// sums is fed that fits the registers of every processor.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

constexpr int64_t kRowsOfA = 64; // decoded at a time
constexpr int64_t kKernelRows = 4;
constexpr int64_t kKernelColumns = 8;

/// A or B: rows of elements with their scales. Row r and position k of the
/// product are row firstRow + r and position firstK + k of the array.
struct Side {
  Elements elements;
  Scales scales;
  Value values, scaleValues; // decode tables
  SmallVector<Value> batch;
  std::optional<Int> firstRow, firstK;
};

/// Emits products of one operation. The buffers serve all of its products.
class Product {
public:
  Product(Emitter &emitter, int64_t blockSize, Int maxK);

  /// Calls `store` with row, column and the f64 sum of each element.
  void emit(const Side &a, const Side &b, Int rows, Int columns, Int k,
            llvm::function_ref<void(Int, Int, Value)> store);

private:
  /// Decodes rows first to first + count; rows from `end` on become zero.
  /// `place` gives the indices in `buffer` of a row of these and of k.
  void decode(const Side &side, Int first, int64_t count, Int end, Int k,
              Value buffer,
              llvm::function_ref<SmallVector<Value>(Int, Int)> place);
  /// Leaves 4 x 8 sums in `sums`.
  void emitKernel(Int row, Int k);

  Emitter &emitter;
  OpBuilder &builder;
  Location loc;
  int64_t blockSize;
  Value rowsOfA;  // [row][k]
  Value panelOfB; // [k][column]
  Value sums;
};

Product::Product(Emitter &emitter, int64_t blockSize, Int maxK)
    : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
      blockSize(blockSize) {
  Type f64 = builder.getF64Type();
  auto allocate = [&](ArrayRef<int64_t> shape) -> Value {
    auto type = MemRefType::get(shape, f64);
    SmallVector<Value> sizes(type.getNumDynamicDims(), maxK);
    return memref::AllocOp::create(builder, loc, type, sizes,
                                   builder.getI64IntegerAttr(64));
  };
  rowsOfA = allocate({kRowsOfA, ShapedType::kDynamic});
  panelOfB = allocate({ShapedType::kDynamic, kKernelColumns});
  sums = allocate({kKernelRows, kKernelColumns});
}

void Product::decode(const Side &side, Int first, int64_t count, Int end, Int k,
                     Value buffer,
                     llvm::function_ref<SmallVector<Value>(Int, Int)> place) {
  Int zero = emitter.index(0);
  auto store = [&](Value value, Int row, Int position) {
    memref::StoreOp::create(builder, loc, value, buffer, place(row, position));
  };
  Int present = (end - first).min(count);
  emitter.loop(zero, present, 1, [&](Int row) {
    Int arrayRow = first + row;
    if (side.firstRow)
      arrayRow = *side.firstRow + arrayRow;
    emitter.loop(zero, k.ceilDiv(blockSize), 1, [&](Int block) {
      Int arrayBlock = block;
      if (side.firstK)
        arrayBlock = *side.firstK / blockSize + block;
      Value scale = emitter.lookup(
          side.scaleValues,
          emitter.loadScale(side.scales, side.batch, arrayRow, arrayBlock));
      Int begin = block * blockSize;
      emitter.loop(begin, (begin + blockSize).min(k), 1, [&](Int position) {
        SmallVector<Value> source(side.batch);
        source.append(
            {arrayRow, side.firstK ? *side.firstK + position : position});
        Value value = emitter.lookup(side.values,
                                     emitter.loadCode(side.elements, source));
        store(arith::MulFOp::create(builder, loc, value, scale), row, position);
      });
    });
  });
  Value nothing =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.0));
  emitter.loop(present, emitter.index(count), 1, [&](Int row) {
    emitter.loop(zero, k, 1,
                 [&](Int position) { store(nothing, row, position); });
  });
}

void Product::emitKernel(Int row, Int k) {
  auto vector = VectorType::get({kKernelColumns}, builder.getF64Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector));
  SmallVector<Value> initial(kKernelRows, zero);
  Int first = emitter.index(0);
  auto forOp = scf::ForOp::create(
      builder, loc, first, k, emitter.index(1), initial,
      [&](OpBuilder &, Location, Value position, ValueRange running) {
        Value b =
            vector::LoadOp::create(builder, loc, vector, panelOfB,
                                   ValueRange{position, emitter.index(0)});
        SmallVector<Value> next;
        for (auto [i, sum] : llvm::enumerate(running)) {
          Value a = emitter.load(rowsOfA, {row + int64_t(i), position});
          a = vector::BroadcastOp::create(builder, loc, vector, a);
          // An fma would give the same, the product being exact, but is a
          // library call where the processor has none.
          Value product = arith::MulFOp::create(builder, loc, a, b);
          next.push_back(arith::AddFOp::create(builder, loc, sum, product));
        }
        scf::YieldOp::create(builder, loc, next);
      });
  for (auto [i, sum] : llvm::enumerate(forOp.getResults()))
    vector::StoreOp::create(
        builder, loc, sum, sums,
        ValueRange{emitter.index(int64_t(i)), emitter.index(0)});
}

void Product::emit(const Side &a, const Side &b, Int rows, Int columns, Int k,
                   llvm::function_ref<void(Int, Int, Value)> store) {
  Int zero = emitter.index(0);
  emitter.loop(zero, rows, kRowsOfA, [&](Int firstRow) {
    decode(a, firstRow, kRowsOfA, rows, k, rowsOfA, [](Int row, Int position) {
      return SmallVector<Value>{row, position};
    });
    Int presentRows = (rows - firstRow).min(kRowsOfA);
    emitter.loop(zero, columns, kKernelColumns, [&](Int firstColumn) {
      decode(b, firstColumn, kKernelColumns, columns, k, panelOfB,
             [](Int row, Int position) {
               return SmallVector<Value>{position, row};
             });
      Int presentColumns = (columns - firstColumn).min(kKernelColumns);
      emitter.loop(zero, presentRows, kKernelRows, [&](Int row) {
        emitKernel(row, k);
        Int kernelRows = (presentRows - row).min(kKernelRows);
        emitter.loop(zero, kernelRows, 1, [&](Int i) {
          emitter.loop(zero, presentColumns, 1, [&](Int j) {
            Int outRow = firstRow + row + i, outColumn = firstColumn + j;
            store(outRow, outColumn, emitter.load(sums, {i, j}));
          });
        });
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// From sums to stored elements
//===----------------------------------------------------------------------===//

/// What both operations do with a sum: alpha, accumulate, epilogue, one
/// rounding (to f32 before an epilogue).
class Store {
public:
  Store(Emitter &emitter, Value out, Value alpha, bool accumulate,
        MutableArrayRef<Region> epilogue)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        out(out), accumulate(accumulate), epilogue(epilogue) {
    if (alpha)
      factor = emitter.getNumbers().widenToF64(
          emitter.wrap(emitter.wrap(alpha).as(builder.getI32Type())));
  }

  /// Stores the sum over `k` products at a row and column of the matrix at
  /// `batch`, which starts at row `firstRow` of `out`.
  /// With `scatter` it is added to the row that this list has.
  void emit(Int row, Int column, Value sum, Int k, ArrayRef<Value> batch,
            Value scatter = {}) {
    Type type = getElementTypeOrSelf(out.getType());
    SmallVector<Value> place(batch);
    place.append({row, column});
    if (factor)
      sum = arith::MulFOp::create(builder, loc, sum, factor);
    if (accumulate) {
      FormatArith &numbers = emitter.getNumbers();
      Value old =
          numbers.widenToF64(numbers.widenToF32(emitter.load(out, place)));
      Value total = arith::AddFOp::create(builder, loc, old, sum);
      // Nothing added leaves the value as it is, the sign of zero too.
      sum = arith::SelectOp::create(builder, loc, k == 0, old, total);
    }
    Value value = epilogue.empty() ? emitter.getNumbers().round(sum, type)
                                   : inlineEpilogue(sum, row, column);
    if (scatter)
      return addTo(scatter, row, column, value);
    memref::StoreOp::create(builder, loc, value, out, place);
  }

private:
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
  Value factor;
};

//===----------------------------------------------------------------------===//
// The operations
//===----------------------------------------------------------------------===//

Side makeSide(Emitter &emitter, Value original, Value elements, Value scales) {
  Elements array = getElements(original, elements);
  FormatArith &numbers = emitter.getNumbers();
  int64_t rank = cast<MemRefType>(elements.getType()).getRank();
  return {array,
          getScales(scales, rank),
          numbers.decodeTable(array.type, /*isScale=*/false),
          numbers.decodeTable(getElementTypeOrSelf(scales.getType()),
                              /*isScale=*/true),
          {},
          {},
          {}};
}

struct MatmulOpLowering final : OpConversionPattern<MatmulOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(expectBufferized(op, rewriter)))
      return failure();
    Emitter emitter(rewriter, op);
    int64_t blockSize = op.getBlockSize(), rank = op.getA().getType().getRank();
    Side a = makeSide(emitter, op.getA(), adaptor.getA(), adaptor.getAScales());
    Side b = makeSide(emitter, op.getB(), adaptor.getB(), adaptor.getBScales());
    Value out = adaptor.getOuts()[0];
    Int rows = emitter.dim(a.elements, rank - 2);
    Int columns = emitter.dim(b.elements, rank - 2);
    Int k = emitter.dim(a.elements, rank - 1);

    Elements outArray{out, rewriter.getF32Type()};
    emitter.checkColumns("K", k, blockSize);
    emitter.checkDim("b", b.elements, rank - 1, k);
    for (int64_t i = 0; i < rank - 2; ++i) {
      emitter.checkDim("b", b.elements, i, emitter.dim(a.elements, i));
      emitter.checkDim("outs", outArray, i, emitter.dim(a.elements, i));
    }
    emitter.checkScales("a_scales", a.scales, a.elements, rows, k, blockSize);
    emitter.checkScales("b_scales", b.scales, b.elements, columns, k,
                        blockSize);
    emitter.checkDim("outs", outArray, rank - 2, rows);
    emitter.checkDim("outs", outArray, rank - 1, columns);

    Product product(emitter, blockSize, k);
    Store store(emitter, out, adaptor.getAlpha(), op.getAccumulate(),
                op.getEpilogue());
    emitter.loopOverDims(out, rank - 2, [&](ArrayRef<Value> batch) {
      a.batch = b.batch = llvm::to_vector(batch);
      product.emit(a, b, rows, columns, k, [&](Int row, Int column, Value sum) {
        store.emit(row, column, sum, k, batch);
      });
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct GroupedMatmulOpLowering final : OpConversionPattern<GroupedMatmulOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(GroupedMatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(expectBufferized(op, rewriter)))
      return failure();
    Emitter emitter(rewriter, op);
    Side a = makeSide(emitter, op.getA(), adaptor.getA(), adaptor.getAScales());
    Side b = makeSide(emitter, op.getB(), adaptor.getB(), adaptor.getBScales());
    if (op.getMasked())
      lowerMasked(emitter, op, adaptor, a, b);
    else if (op.getRagged() == RaggedKind::Rows)
      lowerRows(emitter, op, adaptor, a, b);
    else
      lowerReduction(emitter, op, adaptor, a, b);
    rewriter.eraseOp(op);
    return success();
  }

  /// C[m, n] = sum of A[m, k] * B[g, n, k] for the rows m of group g.
  static void lowerRows(Emitter &emitter, GroupedMatmulOp op, OpAdaptor adaptor,
                        Side a, Side b) {
    int64_t blockSize = op.getBlockSize();
    Value out = adaptor.getOuts()[0], offsets = adaptor.getOffsets();
    Int groups = emitter.dim(offsets, 0);
    Int rows = emitter.dim(a.elements, 0), k = emitter.dim(a.elements, 1);
    Int columns = emitter.dim(b.elements, 1);
    Elements outArray{out, emitter.getBuilder().getF32Type()};
    emitter.checkColumns("K", k, blockSize);
    emitter.checkDim("b", b.elements, 0, groups);
    emitter.checkDim("b", b.elements, 2, k);
    emitter.checkScales("a_scales", a.scales, a.elements, rows, k, blockSize,
                        groups);
    emitter.checkScales("b_scales", b.scales, b.elements, columns, k,
                        blockSize);
    Value scatter = adaptor.getScatter();
    emitter.checkDim(scatter ? "scatter" : "outs",
                     scatter
                         ? Elements{scatter, emitter.getBuilder().getF32Type()}
                         : outArray,
                     0, rows);
    emitter.checkDim("outs", outArray, 1, columns);
    emitter.checkOffsets(offsets, rows);

    Product product(emitter, blockSize, k);
    Store store(emitter, out, adaptor.getAlpha(), op.getAccumulate(),
                op.getEpilogue());
    emitter.loopOverGroups(offsets, [&](Emitter::Group group) {
      Side rowsOfGroup = a, own = b;
      rowsOfGroup.scales = emitter.inGroup(a.scales, group);
      rowsOfGroup.firstRow = group.begin;
      own.batch = {group.number};
      product.emit(rowsOfGroup, own, group.end - group.begin, columns, k,
                   [&](Int row, Int column, Value sum) {
                     store.emit(group.begin + row, column, sum, k, {}, scatter);
                   });
    });
  }

  /// C[g, m, n] = sum of A[g, m, k] * B[g, n, k] for the first rows of a
  /// matrix.
  static void lowerMasked(Emitter &emitter, GroupedMatmulOp op,
                          OpAdaptor adaptor, Side a, Side b) {
    int64_t blockSize = op.getBlockSize();
    Value out = adaptor.getOuts()[0], counts = adaptor.getOffsets();
    Int groups = emitter.dim(counts, 0), rows = emitter.dim(a.elements, 1);
    Int k = emitter.dim(a.elements, 2), columns = emitter.dim(b.elements, 1);
    Elements outArray{out, emitter.getBuilder().getF32Type()};
    emitter.checkColumns("K", k, blockSize);
    emitter.checkDim("a", a.elements, 0, groups);
    emitter.checkDim("b", b.elements, 0, groups);
    emitter.checkDim("b", b.elements, 2, k);
    emitter.checkScales("a_scales", a.scales, a.elements, rows, k, blockSize);
    emitter.checkScales("b_scales", b.scales, b.elements, columns, k,
                        blockSize);
    emitter.checkDim("outs", outArray, 0, groups);
    emitter.checkDim("outs", outArray, 1, rows);
    emitter.checkDim("outs", outArray, 2, columns);

    Type index = emitter.getBuilder().getIndexType();
    Product product(emitter, blockSize, k);
    Store store(emitter, out, adaptor.getAlpha(), op.getAccumulate(),
                op.getEpilogue());
    emitter.loop(emitter.index(0), groups, 1, [&](Int group) {
      Int count = emitter.wrap(emitter.load(counts, {group})).to(index);
      emitter.check(count >= 0,
                    "group %ld to have no negative number of rows, "
                    "found %ld",
                    {group, count});
      a.batch = b.batch = {group};
      product.emit(a, b, count.min(rows), columns, k,
                   [&](Int row, Int column, Value sum) {
                     store.emit(row, column, sum, k, {group});
                   });
    });
  }

  /// C[g, m, n] = sum of A[m, k] * B[n, k] for the k of group g.
  static void lowerReduction(Emitter &emitter, GroupedMatmulOp op,
                             OpAdaptor adaptor, Side a, Side b) {
    int64_t blockSize = op.getBlockSize();
    Value out = adaptor.getOuts()[0], offsets = adaptor.getOffsets();
    Int rows = emitter.dim(a.elements, 0), columns = emitter.dim(b.elements, 0);
    Int capacity = emitter.dim(a.elements, 1);
    Int groups = emitter.dim(offsets, 0);
    Elements outArray{out, emitter.getBuilder().getF32Type()};
    emitter.checkColumns("the ragged capacity", capacity, 128);
    emitter.checkDim("b", b.elements, 1, capacity);
    emitter.checkScales("a_scales", a.scales, a.elements, rows, capacity,
                        blockSize);
    emitter.checkScales("b_scales", b.scales, b.elements, columns, capacity,
                        blockSize);
    emitter.checkDim("outs", outArray, 0, groups);
    emitter.checkDim("outs", outArray, 1, rows);
    emitter.checkDim("outs", outArray, 2, columns);
    emitter.checkOffsets(offsets, capacity);
    emitter.loopOverGroups(offsets, [&](Emitter::Group group) {
      Int end = group.start + (group.end - group.begin).roundUp(128);
      emitter.check(end <= capacity,
                    "group %ld to end within the ragged capacity %ld, found "
                    "it to end at %ld",
                    {group.number, capacity, end});
    });

    Product product(emitter, blockSize, capacity);
    Store store(emitter, out, adaptor.getAlpha(), op.getAccumulate(),
                op.getEpilogue());
    emitter.loopOverGroups(offsets, [&](Emitter::Group group) {
      Int k = group.end - group.begin;
      a.firstK = b.firstK = group.start;
      product.emit(a, b, rows, columns, k, [&](Int row, Int column, Value sum) {
        store.emit(row, column, sum, k, {group.number});
      });
    });
  }
};

} // namespace

void mx::cpu::populateMatmulPatterns(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<MatmulOpLowering, GroupedMatmulOpLowering>(
      converter, patterns.getContext());
}
