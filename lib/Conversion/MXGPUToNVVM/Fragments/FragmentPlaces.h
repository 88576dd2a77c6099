//===- FragmentPlaces.h - Coordinates of fragment elements ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A layout splits the thread number into modes, each a step of rows or columns.
// For shared memory, the modes determine the accesses of a thread to its
// elements of a box, and their addresses.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Computes the sum of the modes of `number` < `count`, weighted by `step`, or
/// null if all weights are 0.
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

/// Access to 1, 2, 4, 8 or 16 adjacent bytes of a row: their offset from the
/// thread's first element, and the register byte of each.
struct FragmentAccess {
  int64_t row, byte;
  llvm::SmallVector<int64_t, 16> registerBytes;
};

/// Accesses to a fragment in a buffer, with addresses in a box of its shape.
class FragmentPlaces {
public:
  FragmentPlaces(NVVMBuilder &builder, BufferType buffer, FragmentType type,
                 mlir::Value start, mlir::Value thread);

  /// Selects the box at these coordinates (index). The default is the whole
  /// buffer.
  void moveTo(mlir::Value row, mlir::Value column);

  /// Computes a single address and derives the others at each access, to save
  /// registers if boxes of a stage differ in their swizzled bits. Buffers start
  /// where these bits are 0.
  void shareAddress() { isShared = true; }

  /// Returns accesses row by row, with the widest size allowed by runs,
  /// positions and swizzle.
  llvm::SmallVector<FragmentAccess> getAccesses() const;
  mlir::Value getPointer(const FragmentAccess &access);

private:
  /// Returns the bytes of `columns` columns.
  int64_t toBytes(int64_t columns) const { return columns * bits / 8; }
  /// Returns the swizzle of a row: address bits from 7 on, xored into the bits
  /// from 4 on (PTX ISA, Swizzling modes).
  int64_t permute(int64_t row) const { return (row * rowBytes >> 3) & mask; }
  mlir::Value permute(mlir::Value line);
  mlir::Value computePointer(int64_t changed);
  /// Returns the common alignment of all threads' first bytes, at most 16.
  int64_t getAlignment() const;

  NVVMBuilder &builder;
  FragmentType type;
  FragmentLayoutAttr layout;
  mlir::Value start;
  int64_t bits, rowBytes, panelBytes, mask = 0;
  /// Offsets by the thread number to the line and within the line, and offset
  /// by the box within the line.
  mlir::Value line, inLine, boxInLine;
  bool isShared = false;
  /// Shared base address (i32).
  mlir::Value shared;
  /// Addresses by swizzled offset within a line.
  llvm::DenseMap<int64_t, mlir::Value> pointers;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H
