//===- FragmentPlaces.h - Coordinates of fragment elements ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layout splits the thread number into digits, its modes. Each mode advances
// by a number of rows and columns. The modes also determine how a thread
// accesses its elements of a box in shared memory.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Splits `number` (less than `count`) into the thread modes of `layout`.
/// Returns the sum of the modes times their `step`, or null if all steps are 0.
mlir::Value
addThreadModes(ArithBuilder &builder, mlir::Value number, int64_t count,
               FragmentLayoutAttr layout,
               llvm::function_ref<int64_t(const FragmentMode &)> step);

/// Position of a byte in a list of words.
struct BytePlace {
  size_t word;
  int64_t byte;
};

/// Gathers up to four bytes into a word, lowest byte first.
mlir::Value gatherBytes(NVVMBuilder &builder, llvm::ArrayRef<mlir::Value> words,
                        llvm::ArrayRef<BytePlace> bytes);

/// Access to 1, 2, 4, 8 or 16 adjacent bytes of a row. `row` and `byte` are the
/// offset from the thread's first element. `registerBytes` maps each byte of
/// memory to a byte of the thread's registers.
struct FragmentAccess {
  int64_t row, byte;
  llvm::SmallVector<int64_t, 16> registerBytes;
};

/// Accesses to a fragment (a box of a buffer in shared memory).
class FragmentPlaces {
public:
  FragmentPlaces(NVVMBuilder &builder, BufferType buffer, FragmentType type,
                 mlir::Value start, mlir::Value thread);

  /// Selects the box at these coordinates (index) instead of the whole buffer.
  void moveTo(mlir::Value row, mlir::Value column);

  /// Computes a single address and derives the addresses of all accesses. This
  /// saves registers if the boxes of a stage differ in their swizzled bits,
  /// which are 0 at the start of a buffer.
  void shareAddress() { isShared = true; }

  /// Returns the accesses row by row. Each is as wide as the layout, the
  /// alignment and the swizzle allow.
  llvm::SmallVector<FragmentAccess> getAccesses() const;
  mlir::Value getPointer(const FragmentAccess &access);

private:
  int64_t toBytes(int64_t columns) const { return columns * bits / 8; }
  /// Returns the value that the swizzle xors into the addresses of a row:
  /// address bits 7 and up, moved to bits 4 and up (PTX ISA, Swizzling modes).
  int64_t permute(int64_t row) const { return (row * rowBytes >> 3) & mask; }
  mlir::Value permute(mlir::Value line);
  mlir::Value computePointer(int64_t changed);
  /// Returns the alignment of the first bytes of all threads, at most 16.
  int64_t getAlignment() const;

  NVVMBuilder &builder;
  FragmentType type;
  FragmentLayoutAttr layout;
  mlir::Value start;
  int64_t bits, rowBytes, panelBytes, mask = 0;
  /// Byte offsets. `line` is the offset of the thread's row in the box,
  /// `inLine` the offset in this row, and `boxInLine` the offset of the box in
  /// a row.
  mlir::Value line, inLine, boxInLine;
  bool isShared = false;
  /// Base address of all accesses (i32).
  mlir::Value shared;
  /// Maps swizzled offsets within a row to addresses.
  llvm::DenseMap<int64_t, mlir::Value> pointers;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H
