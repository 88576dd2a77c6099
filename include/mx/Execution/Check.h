//===- Check.h - Compare a run with the reference path ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The rules by which a device's results are judged. Quantizers, dequantizers
// and relayouts must agree in every bit. A product's sum may be rounded at
// every step of the matrix instruction; the bound on that is proportional to
// the sum of the magnitudes, and tight enough that a single wrong scale breaks
// it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_CHECK_H
#define MX_EXECUTION_CHECK_H

#include "mx/Execution/Intermediates.h"
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
  /// For products: the largest |device - reference| and the largest quotient of
  /// that and the bound of its element.
  double maxDeviation = 0, maxBoundRatio = 0;
  /// Elements beyond the bound, or NaN or infinite on one side only.
  int64_t violations = 0;
  /// Elements whose sum of magnitudes overflows f32: any order of summation
  /// may meet an infinity, so that only NaN is compared.
  int64_t unbounded = 0;
  /// Index of the worst element.
  int64_t worst = 0;

  bool passed() const { return unequalBytes == 0 && violations == 0; }
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
  /// 10 log10(sum ref^2 / sum (device - ref)^2); absent where both agree.
  std::optional<double> snr;
};

struct CheckReport {
  std::vector<OpComparison> stages;
  std::vector<EndToEnd> endToEnd;
  /// Bytes in which the run with exposed stages differs from the plain run.
  int64_t unequalToPlainRun = 0;
  /// Operations that could not be compared alone.
  std::vector<std::string> hidden;

  bool passed() const;
  std::string text() const;
  llvm::json::Value json() const;
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

/// Compiles without a word: what diagnostics say first is the error.
llvm::Expected<std::unique_ptr<Program>>
compileQuietly(mlir::ModuleOp module, llvm::StringRef entry,
               const CompileOptions &options);

/// Runs one stage on the CPU from the device's operands and compares.
/// `options` say whose sums these are.
llvm::Expected<OpComparison> compareOp(const ComparedOp &stage,
                                       const IntermediateArrays &arrays,
                                       const CompileOptions &options);

/// How many leading elements of the first result of a stage are defined: rows
/// beyond the last group of a grouped product belong to no group.
int64_t countDefinedElements(mlir::Operation *op,
                             const IntermediateArrays &arrays);

/// Compares the leading bytes of two results of the same function as numbers.
llvm::Expected<EndToEnd> compareEndToEnd(unsigned index, mlir::Type type,
                                         const NpyArray &device,
                                         const NpyArray &reference,
                                         size_t definedBytes);

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

#endif // MX_EXECUTION_CHECK_H
