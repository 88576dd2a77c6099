//===- Emitter.h - Loops, array accesses and checks -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by all lowerings: loops, accesses to elements and scales in any
// layout, iteration over expert groups, and checks at run time.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_EMITTER_H
#define MX_LIB_CONVERSION_MXTOCPU_EMITTER_H

#include "FormatArith.h"
#include "mlir/IR/BuiltinOps.h"

namespace mx {

/// If the i1 `condition` is false, prints the location and `format`, a printf
/// format for `values` (integers or indices, as %ld or %lld), and ends the
/// program with kExitBadInput.
void createEndProgramUnless(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ModuleOp module, mlir::Value condition,
                            const llvm::Twine &format, mlir::ValueRange values);

} // namespace mx

namespace mx::cpu {

/// Array of elements: a memref, and the element type before its conversion to a
/// storage type.
struct Elements {
  mlir::Value memref;
  mlir::Type type;

  int64_t getRank() const {
    return mlir::cast<mlir::MemRefType>(memref.getType()).getRank();
  }
};

/// Linear or tiled scales. If `expertStart` is set, the rows of an expert group
/// start at a separate row of tiles.
struct Scales {
  mlir::Value memref;
  bool tiled;
  std::optional<Int> expertStart = {}, expertTileRow = {};
  /// Decode table, or codec of a format without a table; neither for copied
  /// scales.
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
  /// Emits a loop with a loop-carried value and returns its result.
  Int reduce(Int begin, Int end, Int initial,
             llvm::function_ref<Int(Int, Int)> body);
  /// Emits a loop nest over the first `count` dimensions of a memref.
  void loopOverDims(mlir::Value memref, unsigned count,
                    llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);

  /// Begin and end of expert group g in `total` rows or columns, and its start
  /// p[g] in a ragged reduction. docs/reference/Spec.md defines invalid
  /// offsets.
  struct ExpertGroup {
    Int number, begin, end, start;
  };
  void forEachExpert(mlir::Value offsets, Int total,
                     llvm::function_ref<void(ExpertGroup)> body);
  /// Loads an offset, sign-extended.
  Int loadOffset(mlir::Value offsets, Int group);
  /// Loads the end of the last expert group.
  Int loadEnd(mlir::Value offsets, Int total);

  /// Inlines an epilogue or prologue for an element and returns the yielded
  /// values.
  llvm::SmallVector<mlir::Value> inlineRegion(mlir::Region &region,
                                              mlir::ValueRange arguments);

  //===--------------------------------------------------------------------===//
  // Arrays
  //===--------------------------------------------------------------------===//

  Int dim(mlir::Value memref, int64_t dimension);
  /// Returns a size of the logical array, in elements.
  Int dim(const Elements &array, int64_t dimension);

  mlir::Value load(mlir::Value memref, llvm::ArrayRef<mlir::Value> indices);
  /// Loads the code of an element as i8.
  Int loadCode(const Elements &array, llvm::ArrayRef<mlir::Value> indices);
  void storeCode(Int code, const Elements &array,
                 llvm::ArrayRef<mlir::Value> indices);
  /// Loads the bits of a scale as an integer of their width.
  Int loadScale(const Scales &scales, llvm::ArrayRef<mlir::Value> batch,
                Int row, Int block);
  /// Loads a scale as f64.
  mlir::Value loadScaleValue(const Scales &scales,
                             llvm::ArrayRef<mlir::Value> batch, Int row,
                             Int block);
  void storeScale(Int bits, const Scales &scales,
                  llvm::ArrayRef<mlir::Value> batch, Int row, Int block);
  mlir::Value lookup(mlir::Value table, Int code);
  /// Zeroes all bytes.
  void fillZero(mlir::Value memref);
  void fillZero(const Elements &array) { fillZero(array.memref); }

  /// Returns `scales` offset to expert group g of ragged rows.
  Scales inExpert(Scales scales, const ExpertGroup &group);

  //===--------------------------------------------------------------------===//
  // Checks at run time
  //===--------------------------------------------------------------------===//

  /// Ends the program with "expected TEXT" if `condition` is false; %ld are
  /// replaced by `values`. Emits nothing for conditions known to hold.
  void check(Int condition, llvm::Twine text, llvm::ArrayRef<Int> values);
  /// Checks a dimension of `name`.
  void checkDim(llvm::StringRef name, const Elements &array, int64_t dimension,
                Int expected);
  /// Checks that `offsets`, if present, are not empty.
  void checkExperts(mlir::Value offsets);
  /// Checks the shape of the scales of `rows` x `columns` elements with the
  /// batch dimensions of `like`.
  void checkScales(llvm::StringRef name, const Scales &scales,
                   const Elements &like, Int rows, Int columns,
                   int64_t blockSize, std::optional<Int> groups = {});
  /// Checks that a dimension of `name`, of size `found`, consists of whole
  /// blocks and bytes.
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
