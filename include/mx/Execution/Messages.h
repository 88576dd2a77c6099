//===- Messages.h - Diagnostics of tools on stderr --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_MESSAGES_H
#define MX_EXECUTION_MESSAGES_H

#include "mlir/IR/Diagnostics.h"
#include "mx/Support/Printable.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace mx {

/// Prints diagnostics with the line that they are about, as upstream's handler
/// does; names and lines of the file are printable.
class MessagePrinter {
public:
  MessagePrinter(llvm::SourceMgr &sources, mlir::MLIRContext &context)
      : handler((sources.setDiagHandler(print), sources), &context) {}

private:
  static void print(const llvm::SMDiagnostic &found, void *) {
    llvm::SMDiagnostic(*found.getSourceMgr(), found.getLoc(),
                       printable(found.getFilename()), found.getLineNo(),
                       found.getColumnNo(), found.getKind(),
                       printable(found.getMessage()),
                       printable(found.getLineContents()), found.getRanges())
        .print(/*ProgName=*/nullptr, llvm::errs());
  }

  mlir::SourceMgrDiagnosticHandler handler;
};

} // namespace mx

#endif // MX_EXECUTION_MESSAGES_H
