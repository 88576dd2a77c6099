//===- HostNumbers.h - Numbers that the host knows --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Numbers that a program has before it launches a kernel, and what they tell of
// the numbers in the region of an operation on elements.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_HOST_HOSTNUMBERS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_HOST_HOSTNUMBERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace mx {

/// Which numbers the host has without a read of the device. Answers are kept:
/// numbers share what they are computed from.
class HostNumbers {
public:
  bool contains(mlir::Value value);

private:
  bool find(mlir::Value value);
  /// Whether only hosts call a function: a caller in the module may pass
  /// numbers that follow from arrays.
  bool isEntry(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, bool> known;
  llvm::DenseMap<mlir::Operation *, bool> entries;
};

/// An index as a sum of numbers of the host and at most one index of a loop.
struct IndexSum {
  std::optional<unsigned> loop;
  /// Numbers that are added and subtracted.
  llvm::SmallVector<mlir::Value> plus, minus;
};

/// The numbers in the region of an operation on elements.
class KernelNumbers {
public:
  KernelNumbers(mlir::Operation *op, HostNumbers &hostNumbers);

  /// The block that runs for each element.
  mlir::Block *getBlock() const { return block; }
  /// Builds on the host, before the operation.
  mlir::ImplicitLocOpBuilder &getHost() { return host; }

  /// Whether a value is not made in the region.
  bool isOutside(mlir::Value value) const;
  /// The loop of the operation whose index a value is.
  std::optional<unsigned> getLoop(mlir::Value value) const;
  /// How often each loop runs, on the host.
  llvm::ArrayRef<mlir::Value> getSizes();
  /// What the numbers of the program say, whatever it reads.
  mlir::ConstantIntRanges getRange(mlir::Value value);
  /// Adds the terms of an index to a sum, or says that it is none.
  bool addTerms(mlir::Value value, IndexSum &sum, bool isMinus);
  /// A number of such a sum, computed on the host.
  mlir::Value getOnHost(mlir::Value value);

private:
  bool isOnHost(mlir::Value value);

  mlir::Operation *op;
  mlir::Block *block;
  mlir::ImplicitLocOpBuilder host;
  llvm::SmallVector<mlir::Value> sizes;
  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
  llvm::DenseMap<mlir::Value, bool> hostValues;
  mlir::IRMapping onHost;
  HostNumbers &hostNumbers;
};

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_HOST_HOSTNUMBERS_H
