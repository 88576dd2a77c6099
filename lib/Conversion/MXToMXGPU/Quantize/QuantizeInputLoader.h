//===- QuantizeInputLoader.h - What is quantized, in registers --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Threads read pieces of rows of the inputs, which may be gathered, and compute
// what the prologue makes of them: to quantize it where they have it, or to
// leave it in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZEINPUTLOADER_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZEINPUTLOADER_H

#include "../Builder/ElementRegion.h"

namespace mx::mxgpu {

/// Dimensions in front of a matrix that is quantized.
int64_t getBatchRank(FusedQuantizeOp op);

/// A dimension of what is quantized, 0 or 1.
mlir::Value getQuantizedDim(KernelBuilder &host, FusedQuantizeOp op,
                            int64_t dim);

/// The types of what is quantized: the input's, or what the prologue yields.
llvm::SmallVector<mlir::Type> getQuantizedTypes(FusedQuantizeOp op);

/// Bits that a thread holds of an element of all inputs, the numbers that those
/// which are quantized already become.
int64_t getInputBits(FusedQuantizeOp op);

/// Whether threads compute or gather what is quantized; if not, it is a tensor
/// of numbers.
bool isProduced(FusedQuantizeOp op);

/// Whether bulk copies may bring the inputs of a prologue: a place in shared
/// memory is all that the threads that compute know of an element.
bool canCopyInputs(FusedQuantizeOp op);

/// The largest magnitude of a vector that is quantized.
mlir::Value findThreadAmax(KernelBuilder &body, FusedQuantizeOp op,
                           mlir::Value vector);

class QuantizeInputLoader {
public:
  /// What a thread reads of an input: numbers, or codes and their scale.
  struct Loaded {
    mlir::Value elements, scale;
  };
  /// Consecutive elements of a row of what is quantized.
  struct Piece {
    mlir::Value row, sourceRow, column;
    llvm::SmallVector<Loaded> inputs;
  };

  /// A piece has `vector` elements, and `tile` gives the rows and columns of a
  /// tile. If tiles are `padded`, rows past the end are quantized too.
  QuantizeInputLoader(FusedQuantizeOp op, KernelBuilder &body, int64_t vector,
                      llvm::ArrayRef<int64_t> tile, bool padded);

  /// What a kernel is given for it.
  llvm::SmallVector<mlir::Value> getArguments(KernelBuilder &host);
  /// Takes what stands for it in the kernel, from `next` on.
  void takeArguments(mlir::Block::args_iterator &next);
  /// The same, in pieces of another length.
  QuantizeInputLoader withVector(int64_t length) const;
  /// Emits what all pieces need. In the kernel, outside of its roles.
  void begin();

  mlir::Value getRows() const;
  mlir::Value getColumns() const;

  /// Reads the inputs. Several pieces are read before the first is used.
  /// With `end` those of a piece from that row on, or of columns that do not
  /// exist, are zeros; without a prologue only.
  Piece load(mlir::Value row, mlir::Value column, mlir::Value end = {});
  /// The same of inputs that other threads have read, which have no scales.
  Piece take(mlir::Value row, mlir::Value column,
             llvm::ArrayRef<mlir::Value> elements);
  /// What is quantized of a piece: 0 where there is nothing, and not what the
  /// prologue makes of 0.
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
  /// In the kernel. Those of inputs without scales are null.
  llvm::SmallVector<mlir::Value> inputs, inputScales;
  mlir::Value gather, rows, columns;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZEINPUTLOADER_H
