//===- RowClasses.cpp - Lowering of row classes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the classes of rows, and selects elements of a class.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

/// Stores the words of `spreads`, which are transposed along axis 0.
static void storeClasses(Emitter &emitter, Value spreads, Value out,
                         int64_t axis, int64_t limit) {
  OpBuilder &builder = emitter.getBuilder();
  Type i32 = builder.getI32Type();
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  Elements words{out, i32};
  Int rows = emitter.dim(spreads, axis ? rank - 1 : rank);
  Int blocks = emitter.dim(spreads, axis ? rank : rank - 1);
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    emitter.checkDim("outs", words, dim, emitter.dim(spreads, dim));
  emitter.checkDim("outs", words, rank - 1, rows.ceilDiv(kRowsPerWord));
  emitter.loopOverDims(out, rank, [&](ArrayRef<Value> place) {
    Int zero = Int::constant(builder, emitter.getLoc(), i32, 0);
    Int first = emitter.wrap(place.back()) * kRowsPerWord;
    Int end = (first + kRowsPerWord).min(rows);
    Int word = emitter.reduce(first, end, zero, [&](Int row, Int bits) {
      Int largest = emitter.reduce(
          emitter.index(0), blocks, zero, [&](Int block, Int sofar) {
            SmallVector<Value> at(place.drop_back());
            at.append({axis ? row : block, axis ? block : row});
            return emitter.wrap(emitter.load(spreads, at)).to(i32).max(sofar);
          });
      return bits | ((largest > limit).to(i32) << (row - first).to(i32));
    });
    memref::StoreOp::create(builder, emitter.getLoc(), word, out, place);
  });
}

static void lowerRowClasses(Emitter &emitter, RowClassesOp op,
                            RowClassesOp::Adaptor adaptor) {
  for (auto [spreads, out, axis] :
       llvm::zip_equal(adaptor.getSpreads(), adaptor.getOuts(), op.getAxes()))
    storeClasses(emitter, spreads, out, axis,
                 static_cast<int64_t>(op.getLimit()));
}

/// Returns the bit of `row`. `matrix` begins with the indices of its matrix.
static Int loadClass(OpBuilder &builder, Location loc, Value classes,
                     ValueRange matrix, Value row) {
  int64_t rank = cast<MemRefType>(classes.getType()).getRank();
  Int number{builder, loc, row};
  SmallVector<Value> place(matrix.take_front(rank - 1));
  place.push_back(number / kRowsPerWord);
  Int word{builder, loc, memref::LoadOp::create(builder, loc, classes, place)};
  return (word >> (number % kRowsPerWord).to(word.type())) & 1;
}

Int mx::cpu::isSelected(OpBuilder &builder, Location loc, RowClass where,
                        ValueRange classes, ValueRange matrix, Value row,
                        ValueRange rowsOfB) {
  Int wide = loadClass(builder, loc, classes[0], matrix, row);
  for (Value rowOfB : rowsOfB)
    wide = wide | loadClass(builder, loc, classes[1], matrix, rowOfB);
  return wide == static_cast<int64_t>(where == RowClass::Wide);
}

void mx::cpu::emitIfAny(Emitter &emitter, ValueRange classes,
                        llvm::function_ref<void()> body) {
  if (classes.empty())
    return body();
  OpBuilder &builder = emitter.getBuilder();
  Int any = Int::constant(builder, emitter.getLoc(), builder.getI32Type(), 0);
  for (Value words : classes) {
    auto flat = llvm::to_vector<2>(
        llvm::seq<int64_t>(cast<MemRefType>(words.getType()).getRank()));
    if (flat.size() > 1)
      words = memref::CollapseShapeOp::create(builder, emitter.getLoc(), words,
                                              ArrayRef(&flat, 1));
    any = emitter.reduce(
        emitter.index(0), emitter.dim(words, 0), any, [&](Int word, Int sofar) {
          return sofar | emitter.wrap(emitter.load(words, {word}));
        });
  }
  auto ifOp = scf::IfOp::create(builder, emitter.getLoc(), any != 0,
                                /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

void mx::cpu::populateRowClassesPatterns(const TypeConverter &converter,
                                         RewritePatternSet &patterns) {
  addPatterns<lowerRowClasses>(converter, patterns);
}
