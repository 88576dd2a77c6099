//===- Check.h - Compare a run with the reference path ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The rules by which a device's results are judged. Quantizers, dequantizers
// and relayouts must agree in every bit. A matmul's sum may be rounded at
// every step of the matrix instruction; the bound on that is proportional to
// the sum of the magnitudes, and tight enough that a single wrong scale breaks
// it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CHECK_CHECK_H
#define MX_CHECK_CHECK_H

#include "mx/Check/Intermediates.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace mx {

/// What comparing one result of one stage found.
struct ResultComparison {
  unsigned result = 0;
  int64_t elements = 0;
  /// For results that must agree in every bit.
  bool isExact = false;
  int64_t unequalBytes = 0;
  /// For matmuls: the largest |device - reference| and the largest quotient of
  /// that and the bound of its element.
  double maxDeviation = 0, maxBoundRatio = 0;
  /// Elements beyond the bound, NaN or infinite on one side only, or unequal.
  int64_t violations = 0;
  /// Elements that may be anything: partial sums of both signs may overflow
  /// f32, or an operand overflows bf16.
  int64_t unbounded = 0;
  /// Index of the worst element.
  int64_t worst = 0;

  bool passed() const { return unequalBytes == 0 && violations == 0; }
  void violate(int64_t element) {
    if (violations++ == 0)
      worst = element;
  }
  /// Adds a deviation from the reference, `ratio` times its bound.
  void addDeviation(int64_t element, double deviation, double ratio);
};

struct OpComparison {
  std::string stage;
  llvm::SmallVector<ResultComparison> results;
};

/// One result of the whole function against the reference path from its
/// arguments on: rounding differences of early stages show here, so this is a
/// figure and not a judgement.
struct EndToEnd {
  unsigned result = 0;
  int64_t elements = 0;
  /// Elements that differ, and those of them that are NaN or infinite on either
  /// side.
  int64_t unequal = 0, notFinite = 0;
  /// 10 log10(sum ref^2 / sum (device - ref)^2) of finite elements; absent
  /// where these agree.
  std::optional<double> snr;
};

/// An array that no operation of mx computes. All paths compute its elements
/// alike from what the device gave the function or its mx operations before
/// (docs/reference/Fusion.md, Results of simple kernels), so that they must be
/// equal.
struct ValueComparison {
  /// "result 0", or the operation whose operand it is.
  std::string value;
  ResultComparison comparison;
};

struct CheckReport {
  std::vector<OpComparison> stages;
  std::vector<ValueComparison> values;
  std::vector<EndToEnd> endToEnd;
  /// Bytes in which the run with exposed stages differs from the plain run.
  int64_t unequalToPlainRun = 0;
  /// Operations that could not be compared alone.
  std::vector<std::string> hidden;

  /// Elements that were compared with what they must be. If there are none,
  /// nothing is known of the results, and the report does not say "passed".
  int64_t comparedElements() const;
  bool passed() const;
  std::string text() const;
  llvm::json::Value json() const;

private:
  /// Comparisons of stages and of other values.
  llvm::SmallVector<ResultComparison> all() const;
};

/// The reference path cannot say what a stage should give.
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

/// Compiles without diagnostics: the first one becomes the error.
llvm::Expected<std::unique_ptr<Program>>
compileQuietly(mlir::ModuleOp module, llvm::StringRef entry,
               const CompileOptions &options);

/// Compiles programs of the reference path once each: the sums of a matmul and
/// their magnitudes, say, come from the same one.
class ReferencePrograms {
public:
  /// Returns the program of the function `entry` of `module`, which is lowered
  /// in place if no module of the same text was.
  llvm::Expected<Program *> get(mlir::ModuleOp module, llvm::StringRef entry);

private:
  llvm::StringMap<std::unique_ptr<Program>> programs; ///< by text
};

/// Runs one stage on the CPU from the device's operands and compares.
/// `options` say whose sums these are.
llvm::Expected<OpComparison> compareOp(ReferencePrograms &programs,
                                       const ComparedOp &stage,
                                       const IntermediateArrays &arrays,
                                       const CompileOptions &options);

/// Begin and end of the items of an array that are defined, in order.
using ElementRanges = std::vector<std::pair<int64_t, int64_t>>;

/// The defined items of the first result of a stage: rows that belong to no
/// group of a grouped matmul are not.
ElementRanges getDefinedElements(mlir::Operation *op,
                                 const IntermediateArrays &arrays);

/// Compares two arrays that must agree in every byte.
ResultComparison compareBits(const NpyArray &device, const NpyArray &reference);

/// Compares two arrays of `type` that must agree in every element: in every
/// bit, or as NaN.
ResultComparison compareValues(mlir::Type type, const NpyArray &device,
                               const NpyArray &reference);

/// Compares the defined items of two results of the same function as numbers.
llvm::Expected<EndToEnd> compareEndToEnd(unsigned index, mlir::Type type,
                                         const NpyArray &device,
                                         const NpyArray &reference,
                                         const ElementRanges &defined);

/// Fuses the operations of `entry` of `module` as `options` say, compiles it
/// with exposed stages, runs it and compares every stage with the reference
/// path. `plain` are the results of the function as it is. A function that runs
/// is never refused: what cannot be compared is named.
llvm::Expected<CheckReport> checkRun(mlir::ModuleOp module,
                                     llvm::StringRef entry,
                                     const CompileOptions &options,
                                     llvm::ArrayRef<NpyArray> arguments,
                                     llvm::ArrayRef<NpyArray> plain);

} // namespace mx

#endif // MX_CHECK_CHECK_H
