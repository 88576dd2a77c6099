//===- FunctionPatterns.h - Conversion patterns from functions --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equivalent of RewritePatternSet::add() for functions, with a type converter.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_FUNCTIONPATTERNS_H
#define MX_LIB_CONVERSION_UTILS_FUNCTIONPATTERNS_H

#include "mlir/Transforms/DialectConversion.h"

namespace mx {

/// Adaptor for operands that may be converted to several values.
template <typename Op>
using OneToN = typename mlir::OpConversionPattern<Op>::OneToNOpAdaptor;

/// Conversion pattern that calls `rewrite`. Its last parameter may be the type
/// converter. Other headers specialize the template for further signatures.
template <auto rewrite>
class PatternOf;

template <typename Op, typename Adaptor, typename... Converter,
          llvm::LogicalResult (*rewrite)(
              Op, Adaptor, mlir::ConversionPatternRewriter &, Converter...)>
class PatternOf<rewrite> final : public mlir::OpConversionPattern<Op> {
public:
  using mlir::OpConversionPattern<Op>::OpConversionPattern;

  llvm::LogicalResult
  matchAndRewrite(Op op, Adaptor operands,
                  mlir::ConversionPatternRewriter &rewriter) const override {
    return rewrite(op, operands, rewriter,
                   static_cast<Converter>(*this->getTypeConverter())...);
  }
};

template <auto... rewrite>
void addPatterns(const mlir::TypeConverter &converter,
                 mlir::RewritePatternSet &patterns,
                 mlir::PatternBenefit benefit = 1) {
  patterns.add<PatternOf<rewrite>...>(converter, patterns.getContext(),
                                      benefit);
}

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_FUNCTIONPATTERNS_H
