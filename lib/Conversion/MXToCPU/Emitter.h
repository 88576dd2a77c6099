//===- Emitter.h - Loops, arrays and checks of the lowering -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the lowerings of all operations share: loops, access to elements and
// scales wherever they lie, walking over expert groups, and checks at run time.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_EMITTER_H
#define MX_LIB_CONVERSION_MXTOCPU_EMITTER_H

#include "FormatArith.h"
#include "mlir/IR/BuiltinOps.h"

namespace mx {

/// Where the i1 `condition` is false, prints the place of `loc` and `format`,
/// a printf format for `values` (integers or indices, as %ld or %lld), and ends
/// the program with kExitBadInput.
void createEndProgramUnless(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ModuleOp module, mlir::Value condition,
                            const llvm::Twine &format, mlir::ValueRange values);

} // namespace mx

namespace mx::cpu {

/// An array of elements: a memref, and the element type that it had before
/// types narrower than a byte got a storage type.
struct Elements {
  mlir::Value memref;
  mlir::Type type;

  int64_t getRank() const {
    return mlir::cast<mlir::MemRefType>(memref.getType()).getRank();
  }
};

/// Scales, linear or tiled, with the rows of an expert starting at a tile row
/// of their own where `expertStart` is set.
struct Scales {
  mlir::Value memref;
  bool tiled;
  std::optional<Int> expertStart = {}, expertTileRow = {};
  /// Values of codes, or the codec of a format without such a table; neither
  /// of scales that are copied.
  mlir::Value values = {};
  const ScaleCodec *codec = nullptr;
  int64_t blockRows = 1; ///< rows of elements for each row of linear scales
};

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Operation *op);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  FormatArith &getNumbers() { return numbers; }

  Int index(int64_t value) {
    return Int::constant(builder, loc, builder.getIndexType(), value);
  }
  Int wrap(mlir::Value value) { return {builder, loc, value}; }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  void loop(Int begin, Int end, int64_t step,
            llvm::function_ref<void(Int)> body);
  /// A loop that carries one value and returns it.
  Int reduce(Int begin, Int end, Int initial,
             llvm::function_ref<Int(Int, Int)> body);
  /// A nest over the first `count` dimensions of a memref.
  void loopOverDims(mlir::Value memref, unsigned count,
                    llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);

  /// Begin and end of group g as `offsets` says of `total` rows or columns, and
  /// its start p[g] in a ragged reduction. Wrong offsets mean what
  /// docs/reference/Spec.md says.
  struct ExpertGroup {
    Int number, begin, end, start;
  };
  void forEachExpert(mlir::Value offsets, Int total,
                     llvm::function_ref<void(ExpertGroup)> body);
  /// An offset as it is in memory, with its sign.
  Int loadOffset(mlir::Value offsets, Int group);
  /// The end of the last expert group.
  Int loadEnd(mlir::Value offsets, Int total);

  /// The operations of an epilogue or prologue for the element that the
  /// arguments describe; returns what it yields.
  llvm::SmallVector<mlir::Value> inlineRegion(mlir::Region &region,
                                              mlir::ValueRange arguments);

  //===--------------------------------------------------------------------===//
  // Arrays
  //===--------------------------------------------------------------------===//

  Int dim(mlir::Value memref, int64_t dimension);
  /// A size of the logical array, in elements.
  Int dim(const Elements &array, int64_t dimension);

  mlir::Value load(mlir::Value memref, llvm::ArrayRef<mlir::Value> indices);
  /// The code of an element as an i8.
  Int loadCode(const Elements &array, llvm::ArrayRef<mlir::Value> indices);
  void storeCode(Int code, const Elements &array,
                 llvm::ArrayRef<mlir::Value> indices);
  /// The bits of a scale, an integer of their width.
  Int loadScale(const Scales &scales, llvm::ArrayRef<mlir::Value> batch,
                Int row, Int block);
  /// The value of a scale as f64.
  mlir::Value loadScaleValue(const Scales &scales,
                             llvm::ArrayRef<mlir::Value> batch, Int row,
                             Int block);
  void storeScale(Int bits, const Scales &scales,
                  llvm::ArrayRef<mlir::Value> batch, Int row, Int block);
  /// The value that `table` has for a code.
  mlir::Value lookup(mlir::Value table, Int code);
  /// Writes 0 to every byte.
  void fillZero(mlir::Value memref);
  void fillZero(const Elements &array) { fillZero(array.memref); }

  /// `scales` as group g of ragged rows sees them.
  Scales inExpert(Scales scales, const ExpertGroup &group);

  //===--------------------------------------------------------------------===//
  // Checks at run time
  //===--------------------------------------------------------------------===//

  /// Ends the program with "expected TEXT" if `condition` is false; each %ld in
  /// the text stands for one of the values. Nothing is emitted for what
  /// is known to be true.
  void check(Int condition, llvm::Twine text, llvm::ArrayRef<Int> values);
  /// Checks that a dimension of `name` has a size.
  void checkDim(llvm::StringRef name, const Elements &array, int64_t dimension,
                Int expected);
  /// Checks that `offsets`, if there are some, have a group.
  void checkExperts(mlir::Value offsets);
  /// Checks the shape of the scales of `rows` x `columns` elements whose batch
  /// dimensions are those of `like`.
  void checkScales(llvm::StringRef name, const Scales &scales,
                   const Elements &like, Int rows, Int columns,
                   int64_t blockSize, std::optional<Int> groups = {});
  /// Checks that a dimension of `name`, of size `found`, is a whole number of
  /// blocks, and of bytes.
  void checkMultiple(llvm::StringRef name, int64_t dimension, Int found,
                     int64_t blockSize);

private:
  llvm::SmallVector<mlir::Value> scaleIndices(const Scales &scales,
                                              llvm::ArrayRef<mlir::Value> batch,
                                              Int row, Int block);

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  mlir::Location loc;
  mlir::ModuleOp module;
  FormatArith numbers;
};

} // namespace mx::cpu

#endif // MX_LIB_CONVERSION_MXTOCPU_EMITTER_H
