//===- FoldOperands.h - Folding of matmul operands --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_FOLDOPERANDS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_FOLDOPERANDS_H

#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Block sizes of folded operands, and the number of products in a partial sum.
struct Folding {
  int64_t a = 128, b = BlockFormat::kWhole, promote = 128;
};

/// Folds both operands of each matmul, and sets `promote`. A quantizer with no
/// other users writes the wider blocks; other operands become an mx.fold. Emits
/// a remark for each matmul that cannot be folded. Ignores matmuls with
/// `promote`. Returns the number of changed matmuls.
int64_t foldMatmuls(llvm::ArrayRef<MatmulOpInterface> matmuls,
                    const Folding &folding);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_FOLDOPERANDS_H
