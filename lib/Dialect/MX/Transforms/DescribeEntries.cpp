//===- DescribeEntries.cpp - Keep how functions look to callers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Lowering changes the types of arguments and results to those of their bytes;
// who calls the compiled function wants to know what the bytes mean.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXDESCRIBEENTRIES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {

struct DescribeEntries final
    : mx::impl::MXDescribeEntriesBase<DescribeEntries> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal())
        continue;
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
        function.setArgAttr(index, mx::kEntryTypeAttr, TypeAttr::get(type));
      for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
        function.setResultAttr(index, mx::kEntryTypeAttr, TypeAttr::get(type));
    }
  }
};

} // namespace
