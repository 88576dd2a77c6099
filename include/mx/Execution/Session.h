//===- Session.h - What a tool needs to read a program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_SESSION_H
#define MX_EXECUTION_SESSION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mxsim/io/Notices.h"
#include "mxsim/io/Printable.h"
#include "llvm/Support/Error.h"
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
    Progress::erase();
    llvm::SMDiagnostic(*found.getSourceMgr(), found.getLoc(),
                       printable(found.getFilename()), found.getLineNo(),
                       found.getColumnNo(), found.getKind(),
                       printable(found.getMessage()),
                       printable(found.getLineContents()), found.getRanges())
        .print(/*ProgName=*/nullptr, llvm::errs());
  }

  mlir::SourceMgrDiagnosticHandler handler;
};

/// The context of a tool that reads one program, whose diagnostics go to
/// stderr.
struct Session {
  /// Without remarks where `notices` are not wanted.
  explicit Session(const Notices &notices);

  /// The module in a file; null where it has errors, which are printed.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  parse(const std::string &path);

  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  MessagePrinter printer;
};

} // namespace mx

#endif // MX_EXECUTION_SESSION_H
