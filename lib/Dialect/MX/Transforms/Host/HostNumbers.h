//===- HostNumbers.h - Numbers known on the host ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds numbers that the host can compute before a launch, and the ranges of
// numbers in the region of an elementwise operation.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_HOST_HOSTNUMBERS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_HOST_HOSTNUMBERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace mx {

/// Finds numbers that the host can compute without reading device memory.
/// Results are cached, because numbers share operands.
class HostNumbers {
public:
  bool contains(mlir::Value value);

private:
  bool find(mlir::Value value);
  /// Returns true if the function has no callers in the module. Such callers
  /// could pass numbers from arrays.
  bool isEntry(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, bool> known;
  llvm::DenseMap<mlir::Operation *, bool> entries;
};

/// Index as a sum of host numbers and at most a single loop index.
struct IndexSum {
  std::optional<unsigned> loop;
  /// Terms that are added and subtracted.
  llvm::SmallVector<mlir::Value> plus, minus;
};

/// Numbers in the region of an elementwise operation.
class KernelNumbers {
public:
  KernelNumbers(mlir::Operation *op, HostNumbers &hostNumbers);

  mlir::Block *getBlock() const { return block; }
  /// Returns a builder before the operation.
  mlir::ImplicitLocOpBuilder &getHost() { return host; }

  bool isOutside(mlir::Value value) const;
  /// Returns the loop that has `value` as its index.
  std::optional<unsigned> getLoop(mlir::Value value) const;
  /// Returns the trip count of each loop, on the host.
  llvm::ArrayRef<mlir::Value> getSizes();
  /// Returns the range of `value` for all inputs.
  mlir::ConstantIntRanges getRange(mlir::Value value);
  /// Adds the terms of an index to `sum`. Returns false if the index is not a
  /// sum of host numbers and at most one loop index.
  bool addTerms(mlir::Value value, IndexSum &sum, bool isMinus);
  /// Computes a term of an IndexSum on the host.
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
