//===- Handles.h - What the handles of the C interface hold -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CAPI_HANDLES_H
#define MX_CAPI_HANDLES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mx-c/Compiler.h"
#include "mx/AheadOfTime/Compile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

struct mxcContextImpl {
  mxcContextImpl(const mlir::DialectRegistry &registry,
                 mxcMessageCallback callback, void *user);

  /// Gives a message to the callback.
  void tell(int severity, const std::string &text);
  /// The same of an error, unless diagnostics have told it. Returns a status.
  int tell(llvm::Error error);

  mlir::MLIRContext context;
  mxcMessageCallback callback;
  void *user;
};

struct mxcModuleImpl {
  /// A copy whose functions say how the text calls their arguments.
  mlir::OwningOpRef<mlir::ModuleOp> cloneWithNames();

  mxcContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What it was parsed from, which names arguments.
  std::shared_ptr<llvm::MemoryBuffer> source;
};

struct mxcCompiledImpl {
  mxcContext context;
  mx::CompiledModule compiled;
  std::string manifest;
};

namespace mx::capi {

/// A pointer that a function of the interface was given.
struct Given {
  const void *pointer;
  /// With its article: "a module".
  const char *what;
  /// Whether null is right.
  bool mayBeNull = false;

  Given(const void *pointer, const char *what, bool mayBeNull = false)
      : pointer(pointer), what(what), mayBeNull(mayBeNull) {}
  template <class Result, class... Arguments>
  Given(Result (*callback)(Arguments...), const char *what)
      : pointer(reinterpret_cast<const void *>(callback)), what(what) {}
};

/// Whether one of `pointers` is null, after a message: to the context that a
/// handle among them has, or to stderr where there is none yet.
bool refuseNull(mxcContext context, std::initializer_list<Given> pointers,
                const char *function = __builtin_FUNCTION());
/// The context of a handle that may be null.
template <class Handle>
mxcContext contextOf(Handle handle) {
  return handle ? handle->context : nullptr;
}

/// Everything that mx-opt knows.
void registerEverything(mlir::DialectRegistry &registry);
/// The passes of mx and MLIR, once.
void registerPassesOnce();
/// Whether the traits of operations are the same here as in libMLIR.
bool sharesTypesWithMLIR(mlir::MLIRContext &context);

/// A stream that gives its text to a callback.
class CallbackStream : public llvm::raw_ostream {
public:
  CallbackStream(mxcTextCallback callback, void *user)
      : callback(callback), user(user) {}
  ~CallbackStream() override { flush(); }

private:
  void write_impl(const char *bytes, size_t count) override {
    callback(bytes, count, user);
    position += count;
  }
  uint64_t current_pos() const override { return position; }

  mxcTextCallback callback;
  void *user;
  uint64_t position = 0;
};

} // namespace mx::capi

#endif // MX_CAPI_HANDLES_H
