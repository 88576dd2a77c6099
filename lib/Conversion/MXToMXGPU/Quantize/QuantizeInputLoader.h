//===- QuantizeInputLoader.h - Loads of quantizer inputs ------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads load pieces of input rows, possibly gathered, and apply the prologue.
// The result is quantized in registers or stored to shared memory.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZEINPUTLOADER_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZEINPUTLOADER_H

#include "../Builder/ElementRegion.h"

namespace mx::mxgpu {

/// Returns the number of leading dimensions of the quantized matrix.
int64_t getBatchRank(FusedQuantizeOp op);

/// Returns the size of dimension 0 or 1 of the quantized matrix.
mlir::Value getQuantizedDim(KernelBuilder &host, FusedQuantizeOp op,
                            int64_t dim);

/// Returns the types of values to quantize, from the prologue or the input.
llvm::SmallVector<mlir::Type> getQuantizedTypes(FusedQuantizeOp op);

/// Returns the register bits of an element of every value to quantize, summed
/// over the values.
int64_t getQuantizedBits(FusedQuantizeOp op);

/// Returns the register bits for a dequantized element of every input, summed
/// over the inputs.
int64_t getInputBits(FusedQuantizeOp op);

/// Returns true if threads compute or gather the values to quantize.
bool isProduced(FusedQuantizeOp op);

/// Returns true if bulk copies can load the inputs of a prologue. They cannot
/// load gathered rows, expert groups or scales, because the computing threads
/// address inputs by their position in shared memory.
bool canCopyInputs(FusedQuantizeOp op);

/// Returns the maximum magnitude of a vector to quantize, or of its column.
mlir::Value findThreadAmax(KernelBuilder &body, FusedQuantizeOp op,
                           mlir::Value vector, mlir::IntegerAttr column = {});

/// Returns the maximum of `value` over all threads of the role.
mlir::Value findRoleMaximum(KernelBuilder &body, mlir::Value value);

/// Returns the scale of a block with the largest magnitude `amax`, by the
/// recipe of a destination.
mlir::Value findScale(KernelBuilder &body, FusedQuantizeOp op, unsigned index,
                      mlir::Value amax);

/// Largest scale byte, and 255 minus the smallest, as f32. Zeros if no group
/// counts, so the maximum joins two ranges.
using CodeRange = std::array<mlir::Value, 2>;

/// Returns the range of a group of 32 elements that `lanes` adjacent lanes hold
/// with the largest magnitudes `amax`.
CodeRange findCodeRange(KernelBuilder &body, FusedQuantizeOp op, unsigned index,
                        mlir::Value amax, int64_t lanes);

/// Returns the spread of a block from the ranges of `lanes` adjacent lanes.
mlir::Value findSpread(KernelBuilder &body, CodeRange range, int64_t lanes);

class QuantizeInputLoader {
public:
  /// Loaded elements of an input, and their scale if they are codes.
  struct Loaded {
    mlir::Value elements, scale;
  };
  /// Consecutive elements of a row to quantize.
  struct Piece {
    mlir::Value row, sourceRow, column;
    llvm::SmallVector<Loaded> inputs;
  };

  /// Loads pieces of `vector` elements in tiles of `tile` rows and columns. If
  /// tiles are `padded`, rows past the end are also quantized.
  QuantizeInputLoader(FusedQuantizeOp op, KernelBuilder &body, int64_t vector,
                      llvm::ArrayRef<int64_t> tile, bool padded);

  llvm::SmallVector<mlir::Value> getArguments(KernelBuilder &host);
  /// Takes the corresponding kernel arguments, starting at `next`.
  void takeArguments(mlir::Block::args_iterator &next);
  /// Returns a copy with another piece length.
  QuantizeInputLoader withVector(int64_t length) const;
  /// Emits the common values of all roles, before the roles.
  void begin();

  mlir::Value getRows() const;
  mlir::Value getColumns() const;

  /// Loads the inputs of a piece. Callers issue several loads before the first
  /// use. If `end` is given, rows `end` and up and missing columns are zero.
  /// In this case, there must be no prologue.
  Piece load(mlir::Value row, mlir::Value column, mlir::Value end = {});
  /// Creates a piece from loaded elements. No input may have scales.
  Piece take(mlir::Value row, mlir::Value column,
             llvm::ArrayRef<mlir::Value> elements);
  /// Returns the values to quantize. They are zero outside the tensor, even if
  /// the prologue maps 0 to another value.
  llvm::SmallVector<mlir::Value> produce(const Piece &piece);

private:
  bool isCovered(int64_t dim);
  Loaded loadInput(size_t number, mlir::Value row, mlir::Value column,
                   bool inBounds);
  mlir::Value getNumbers(size_t number, const Loaded &loaded);
  llvm::SmallVector<mlir::Value> emitPrologue(const Piece &piece);
  mlir::Value getPresence(const Piece &piece);

  FusedQuantizeOp op;
  KernelBuilder &body;
  int64_t vector;
  llvm::SmallVector<int64_t> tile;
  bool padded;
  llvm::SmallVector<QuantizeSource> sources;
  ElementRegion prologue;
  /// Kernel values; scales may be null.
  llvm::SmallVector<mlir::Value> inputs, inputScales;
  mlir::Value gather, rows, columns;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZEINPUTLOADER_H
