//===- NumbersOnGrid.h - Quantized and dequantized at once ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A quantizer, and what dequantizes its results, as one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_NUMBERSONGRID_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_NUMBERSONGRID_H

#include "../KernelBuilder.h"

namespace mx::mxgpu {

/// For each pair of elements and scales that a quantizer writes: what
/// dequantizes it, if nothing else reads it, so that the numbers can be written
/// instead. Null where bytes are written.
class NumbersOnGrid {
public:
  NumbersOnGrid() = default;
  /// Those that can be written where the quantizer is, or else where the first
  /// of them is.
  static NumbersOnGrid find(QuantizeOp op);

  DequantizeOp operator[](unsigned destination) const {
    return destination < readers.size() ? readers[destination] : DequantizeOp();
  }
  bool any() const { return llvm::any_of(readers, isPresent); }
  bool all() const {
    return !readers.empty() && llvm::all_of(readers, isPresent);
  }

  /// Moves the quantizer, and the memory that the numbers are written to, where
  /// the kernel is. What dequantizes is `done` by that.
  void moveTogether(QuantizeOp op,
                    llvm::SmallPtrSetImpl<mlir::Operation *> &done) const;
  /// Requires at run time that the numbers have room where they are written.
  void checkSizes(KernelBuilder &host, QuantizeOp op) const;
  /// Appends what a kernel is given to write numbers in place of a destination.
  void addArguments(unsigned destination,
                    llvm::SmallVectorImpl<mlir::Value> &arguments) const;
  void erase();

private:
  static bool isPresent(DequantizeOp op) { return bool(op); }
  DequantizeOp getFirst() const;

  llvm::SmallVector<DequantizeOp> readers;
  mlir::Operation *place = nullptr; ///< the kernel is built here, or before
};

/// What kernels do, for their names.
llvm::StringRef getKernelName(const NumbersOnGrid &numbers);

/// Whether the kernel along rows builds it: groups of rows matter for where
/// their scales lie, and for which rows are among the largest magnitude.
bool isBuiltByRows(QuantizeOp op, const NumbersOnGrid &numbers);

/// The schedule of what has `schedule` if it writes no numbers. Leaves none of
/// them where shared memory has no room.
QuantizeScheduleAttr selectNumbersSchedule(QuantizeOp op,
                                           QuantizeScheduleAttr schedule,
                                           NumbersOnGrid &numbers,
                                           const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_NUMBERSONGRID_H
