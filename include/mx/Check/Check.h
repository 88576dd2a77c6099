//===- Check.h - Comparison of a run with the reference path ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules for judging the results of a device. Quantizers, dequantizers and
// relayouts must agree in every bit. A matmul may round after every step of the
// matrix instruction. The bound of a matmul is proportional to the sum of the
// magnitudes, and tight enough to detect a single wrong scale.
//===----------------------------------------------------------------------===//

#ifndef MX_CHECK_CHECK_H
#define MX_CHECK_CHECK_H

#include "mx/Check/Intermediates.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace mx {

/// Comparison of a result of a stage.
struct ResultComparison {
  unsigned result = 0;
  int64_t elements = 0;
  /// Results must agree in every bit.
  bool isExact = false;
  int64_t unequalBytes = 0;
  /// For matmuls: largest |device - reference|, and largest ratio of this
  /// deviation to the bound of the element.
  double maxDeviation = 0, maxBoundRatio = 0;
  /// Number of elements that exceed the bound, are NaN or infinite in only one
  /// of the results, or differ although equality is required.
  int64_t violations = 0;
  /// Number of elements without a bound, because partial sums of both signs may
  /// overflow f32, or an operand overflows bf16.
  int64_t unbounded = 0;
  /// Index of the worst element.
  int64_t worst = 0;

  bool passed() const { return unequalBytes == 0 && violations == 0; }
  void violate(int64_t element) {
    if (violations++ == 0)
      worst = element;
  }
  /// Records a deviation from the reference and its ratio to the bound.
  void addDeviation(int64_t element, double deviation, double ratio);
};

struct OpComparison {
  std::string stage;
  llvm::SmallVector<ResultComparison> results;
};

/// Comparison of a function result with a complete run of the reference path.
/// Informative only, because rounding differences of all stages accumulate.
struct EndToEnd {
  unsigned result = 0;
  int64_t elements = 0;
  /// Number of elements that differ, and of elements NaN or infinite in either.
  int64_t unequal = 0, notFinite = 0;
  /// 10 log10(sum ref^2 / sum (device - ref)^2) of the finite elements; absent
  /// if they are equal.
  std::optional<double> snr;
};

/// Comparison of an array that no mx operation computes. All paths compute it
/// in the same way from arguments and results of mx operations, so the arrays
/// must be equal (docs/reference/Fusion.md, Results of simple kernels).
struct ValueComparison {
  /// "result 0", or the operation that takes the value as an operand.
  std::string value;
  ResultComparison comparison;
};

struct CheckReport {
  std::vector<OpComparison> stages;
  std::vector<ValueComparison> values;
  std::vector<EndToEnd> endToEnd;
  /// Bytes that differ between the runs with and without exposed stages.
  int64_t unequalToPlainRun = 0;
  /// Operations that could not be compared in isolation.
  std::vector<std::string> hidden;

  /// Returns the number of elements compared with a required value. If it is 0,
  /// the report does not state "passed".
  int64_t comparedElements() const;
  bool passed() const;
  std::string text() const;
  llvm::json::Value json() const;

private:
  /// Returns the comparisons of stages and of other values.
  llvm::SmallVector<ResultComparison> all() const;
};

/// Error that reports that the reference path cannot compute a stage.
class NoReference : public llvm::ErrorInfo<NoReference> {
public:
  static char ID;
  explicit NoReference(std::string why) : why(std::move(why)) {}
  void log(llvm::raw_ostream &os) const override { os << why; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
  std::string why;
};

/// Compiles, and returns the first diagnostic as the error without printing it.
llvm::Expected<std::unique_ptr<Program>>
compileQuietly(mlir::ModuleOp module, llvm::StringRef entry,
               const CompileOptions &options);

/// Cache of compiled programs of the reference path. For example, the values
/// and the magnitudes of a matmul are computed by the same program.
class ReferencePrograms {
public:
  /// Returns the program of the function `entry` of `module`. Lowers `module`
  /// in place unless a module with the same text was compiled before.
  llvm::Expected<Program *> get(mlir::ModuleOp module, llvm::StringRef entry);

private:
  llvm::StringMap<std::unique_ptr<Program>> programs; ///< keyed by module text
};

/// Runs a stage on the CPU with the device's operands and compares the results.
/// `options` describe the device run.
llvm::Expected<OpComparison> compareOp(ReferencePrograms &programs,
                                       const ComparedOp &stage,
                                       const IntermediateArrays &arrays,
                                       const CompileOptions &options);

/// [begin, end) of the defined items of an array, in order.
using ElementRanges = std::vector<std::pair<int64_t, int64_t>>;

/// Returns the defined items of the first result of a stage. Rows of a grouped
/// matmul outside all expert groups are undefined.
ElementRanges getDefinedElements(mlir::Operation *op,
                                 const IntermediateArrays &arrays);

ResultComparison compareBits(const NpyArray &device, const NpyArray &reference);

/// Compares elements of `type`, which must be bitwise equal or both NaN.
ResultComparison compareValues(mlir::Type type, const NpyArray &device,
                               const NpyArray &reference);

/// Compares the values of the defined items of two results.
llvm::Expected<EndToEnd> compareEndToEnd(unsigned index, mlir::Type type,
                                         const NpyArray &device,
                                         const NpyArray &reference,
                                         const ElementRanges &defined);

/// Fuses the operations of `entry` as `options` request, compiles it with
/// exposed stages, runs it and compares every stage with the reference path.
/// `plain` are the results of the unmodified function. Operations that cannot
/// be compared are listed in the report and are not errors.
llvm::Expected<CheckReport> checkRun(mlir::ModuleOp module,
                                     llvm::StringRef entry,
                                     const CompileOptions &options,
                                     llvm::ArrayRef<NpyArray> arguments,
                                     llvm::ArrayRef<NpyArray> plain);

} // namespace mx

#endif // MX_CHECK_CHECK_H
