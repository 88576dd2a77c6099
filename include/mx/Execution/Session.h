//===- Session.h - Contexts of tools that read programs ---------*- C++ -*-===//
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
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace mx {

/// File system that rejects pipes and devices, because reading source lines
/// from them may never end.
class RegularFiles : public llvm::vfs::ProxyFileSystem {
public:
  RegularFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const llvm::Twine &path) override {
    if (!llvm::sys::fs::is_regular_file(path))
      return std::make_error_code(std::errc::not_supported);
    return ProxyFileSystem::openFileForRead(path);
  }
};

/// Prints diagnostics with their source line, as upstream's handler does, and
/// escapes unprintable characters in file names and source lines.
class MessagePrinter {
public:
  MessagePrinter(llvm::SourceMgr &sources, mlir::MLIRContext &context)
      : handler(prepare(sources), &context) {}

private:
  static llvm::SourceMgr &prepare(llvm::SourceMgr &sources) {
    sources.setVirtualFileSystem(llvm::makeIntrusiveRefCnt<RegularFiles>());
    sources.setDiagHandler(print);
    return sources;
  }

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

/// Context of a tool that reads a program. Diagnostics go to stderr.
struct Session {
  /// Suppresses remarks unless `notices` are enabled.
  explicit Session(const Notices &notices);

  /// Parses a file. Returns null after errors, which are printed.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  parse(const std::string &path);

  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  MessagePrinter printer;
};

} // namespace mx

#endif // MX_EXECUTION_SESSION_H
