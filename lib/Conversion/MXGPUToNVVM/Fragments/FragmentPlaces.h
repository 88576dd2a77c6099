//===- FragmentPlaces.h - Where the elements of a thread lie ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A layout divides the number of a thread into modes, each of which moves the
// element by rows or columns. In shared memory these say by which accesses a
// thread moves its elements of a box of a matrix, and at which addresses.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// The sum that the modes of `number`, which is below `count`, give if one step
/// of a mode gives `step`; null if that is 0 for all.
mlir::Value
addThreadModes(ArithBuilder &builder, mlir::Value number, int64_t count,
               FragmentLayoutAttr layout,
               llvm::function_ref<int64_t(const FragmentMode &)> step);

/// One byte of a list of words.
struct BytePlace {
  size_t word;
  int64_t byte;
};

/// A word of four bytes, or of fewer in its lower part.
mlir::Value gatherBytes(NVVMBuilder &builder, llvm::ArrayRef<mlir::Value> words,
                        llvm::ArrayRef<BytePlace> bytes);

/// 1, 2, 4, 8 or 16 adjacent bytes of a row: where they lie, counted from the
/// thread's first element, and for each the byte of the registers.
struct FragmentAccess {
  int64_t row, byte;
  llvm::SmallVector<int64_t, 16> registerBytes;
};

/// The accesses of a fragment in a buffer, and their addresses in a box of its
/// shape.
class FragmentPlaces {
public:
  FragmentPlaces(NVVMBuilder &builder, BufferType buffer, FragmentType type,
                 mlir::Value start, mlir::Value thread);

  /// The box that begins there (index); else it is the whole buffer.
  void moveTo(mlir::Value row, mlir::Value column);

  /// Has one address computed, and others of it at each access: registers are
  /// few where boxes of a stage differ in what the swizzle changes. Buffers
  /// begin, as the swizzle asks for, where the changed bits are 0.
  void shareAddress() { isShared = true; }

  /// Row after row, the widest that runs, their places and the swizzle allow.
  llvm::SmallVector<FragmentAccess> getAccesses() const;
  mlir::Value getPointer(const FragmentAccess &access);

private:
  /// Bytes that `columns` take.
  int64_t toBytes(int64_t columns) const { return columns * bits / 8; }
  /// What the swizzle changes in a row: bits 7 and up of the address, added to
  /// bits 4 and up without carry (PTX ISA, Swizzling modes).
  int64_t permute(int64_t row) const { return (row * rowBytes >> 3) & mask; }
  mlir::Value permute(mlir::Value line);
  mlir::Value computePointer(int64_t changed);
  /// Bytes that all threads' first bytes are multiples of, 16 at most.
  int64_t getAlignment() const;

  NVVMBuilder &builder;
  FragmentType type;
  FragmentLayoutAttr layout;
  mlir::Value start;
  int64_t bits, rowBytes, panelBytes, mask = 0;
  /// What the thread's number adds to the address of its line, and the place in
  /// the line; what the box adds to that place.
  mlir::Value line, inLine, boxInLine;
  bool isShared = false;
  /// The address of which others are computed (i32).
  mlir::Value shared;
  /// Addresses by what is changed in the place in a line.
  llvm::DenseMap<int64_t, mlir::Value> pointers;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_FRAGMENTS_FRAGMENTPLACES_H
