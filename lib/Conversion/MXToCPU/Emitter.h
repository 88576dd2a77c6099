//===- Emitter.h - Loops, array accesses and checks -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All lowerings use these helpers for loops, accesses to elements and scales in
// any layout, iteration over expert groups, and run-time checks.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_EMITTER_H
#define MX_LIB_CONVERSION_MXTOCPU_EMITTER_H

#include "FormatArith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Creates code that prints the location and a message and exits with
/// kExitBadInput if the i1 `condition` is false. `format` is the printf format
/// of the message for `values`, which are integers or indices (%ld or %lld).
void createEndProgramUnless(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::ModuleOp module, mlir::Value condition,
                            const llvm::Twine &format, mlir::ValueRange values);

} // namespace mx

namespace mx::cpu {

/// Array of elements. `type` is the element type, not the storage type.
struct Elements {
  mlir::Value memref;
  mlir::Type type;

  int64_t getRank() const {
    return mlir::cast<mlir::MemRefType>(memref.getType()).getRank();
  }
};

/// Scales in any layout. If `expertStart` is set, the scales belong to an
/// expert group with its own rows of tiles.
struct Scales {
  mlir::Value memref;
  ScaleLayoutKind layout;
  std::optional<Int> expertStart = {}, expertTileRow = {};
  /// Decode table, or the codec of a format without a table. Both are null if
  /// scales are only copied.
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

  // Loops.

  void loop(Int begin, Int end, int64_t step,
            llvm::function_ref<void(Int)> body);
  /// Emits a loop with a loop-carried value and returns its result.
  Int reduce(Int begin, Int end, Int initial,
             llvm::function_ref<Int(Int, Int)> body);
  /// Emits a loop nest over the first `count` dimensions of a memref.
  void loopOverDims(mlir::Value memref, unsigned count,
                    llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);

  /// Begin and end of an expert group in `total` rows or columns. `start` is
  /// p[number], the start of the group in a ragged reduction.
  /// docs/reference/Spec.md defines the groups for invalid offsets.
  struct ExpertGroup {
    Int number, begin, end, start;
  };
  void forEachExpert(mlir::Value offsets, Int total,
                     llvm::function_ref<void(ExpertGroup)> body);
  /// Loads an offset and sign-extends it.
  Int loadOffset(mlir::Value offsets, Int group);
  /// Loads the end of the last expert group.
  Int loadEnd(mlir::Value offsets, Int total);

  /// Inlines an epilogue or prologue for an element and returns its results.
  llvm::SmallVector<mlir::Value> inlineRegion(mlir::Region &region,
                                              mlir::ValueRange arguments);

  // Arrays.

  Int dim(mlir::Value memref, int64_t dimension);
  /// Returns a size of the logical array, in elements.
  Int dim(const Elements &array, int64_t dimension);

  mlir::Value load(mlir::Value memref, llvm::ArrayRef<mlir::Value> indices);
  /// Loads the code of an element as i8.
  Int loadCode(const Elements &array, llvm::ArrayRef<mlir::Value> indices);
  void storeCode(Int code, const Elements &array,
                 llvm::ArrayRef<mlir::Value> indices);
  /// Loads the bits of a scale as an integer of the same width.
  Int loadScale(const Scales &scales, llvm::ArrayRef<mlir::Value> batch,
                Int row, Int block);
  /// Loads a scale as f64.
  mlir::Value loadScaleValue(const Scales &scales,
                             llvm::ArrayRef<mlir::Value> batch, Int row,
                             Int block);
  void storeScale(Int bits, const Scales &scales,
                  llvm::ArrayRef<mlir::Value> batch, Int row, Int block);
  mlir::Value lookup(mlir::Value table, Int code);
  void fillZero(mlir::Value memref);
  void fillZero(const Elements &array) { fillZero(array.memref); }

  /// Returns the scales of an expert group of ragged rows.
  Scales inExpert(Scales scales, const ExpertGroup &group);

  // Checks at run time.

  /// Ends the program with "expected TEXT" if `condition` is false at run time.
  /// `values` replace the %ld. Emits nothing if the condition is the constant
  /// true.
  void check(Int condition, llvm::Twine text, llvm::ArrayRef<Int> values);
  /// Checks the size of a dimension. Messages call the array `name`.
  void checkDim(llvm::StringRef name, const Elements &array, int64_t dimension,
                Int expected);
  /// Checks that `offsets` is not empty, unless it is null.
  void checkExperts(mlir::Value offsets);
  /// Checks the shape of scales for `rows` x `columns` elements with the batch
  /// dimensions of `like`.
  void checkScales(llvm::StringRef name, const Scales &scales,
                   const Elements &like, Int rows, Int columns,
                   int64_t blockSize, std::optional<Int> groups = {});
  /// Checks that `found`, the size of a dimension of `name`, is a multiple of
  /// the block size and fills whole bytes.
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
