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
#include "mx/Support/CallerStructs.h"
#include "mx/Support/HandleTable.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace mx::capi {

struct Context {
  Context(const mlir::DialectRegistry &registry, mxcMessageCallback callback,
          void *user);

  /// Gives a message to the callback.
  void tell(int severity, const std::string &text);
  /// The same of an error, unless diagnostics have told it. Returns a status.
  int tell(llvm::Error error);

  mlir::MLIRContext context;
  /// Null once the handle is destroyed: then messages go to stderr.
  mxcMessageCallback callback;
  void *user;
};

struct Module {
  /// A copy whose functions say how the text calls their arguments.
  mlir::OwningOpRef<mlir::ModuleOp> cloneWithNames();

  std::shared_ptr<Context> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What it was parsed from, which names arguments.
  std::shared_ptr<llvm::MemoryBuffer> source;
};

struct Compiled {
  std::shared_ptr<Context> context;
  CompiledModule compiled;
  std::string manifest;
};

struct HostProgram;

/// What the handles of callers stand for. Never destroyed: a host may destroy
/// its handles when it ends.
template <class Handle, class Object, HandleKind kind>
HandleTable<Handle, Object> &getTable() {
  static auto *table = new HandleTable<Handle, Object>(kind);
  return *table;
}
constexpr auto contexts =
    getTable<mxcContext, Context, HandleKind::CompilerContext>;
constexpr auto modules =
    getTable<mxcModule, Module, HandleKind::CompilerModule>;
constexpr auto compiledPrograms =
    getTable<mxcCompiled, Compiled, HandleKind::CompiledProgram>;
constexpr auto hostPrograms =
    getTable<mxcHostProgram, HostProgram, HandleKind::HostProgram>;

/// A pointer or a handle that a function of the interface was given.
struct Given {
  /// What is wrong: "a null pointer", or null if nothing is.
  const char *wrong;
  /// With its article: "a module".
  const char *what;

  Given(const void *pointer, const char *what, bool mayBeNull = false)
      : wrong(pointer || mayBeNull ? nullptr : "a null pointer"), what(what) {}
  template <class Result, class... Arguments>
  Given(Result (*callback)(Arguments...), const char *what)
      : wrong(callback ? nullptr : "a null pointer"), what(what) {}
  template <class Object>
  Given(const void *handle, const std::shared_ptr<Object> &object,
        const char *what)
      : wrong(object   ? nullptr
              : handle ? "a handle that is none"
                       : "a null pointer"),
        what(what) {}
};

/// Whether something is wrong with what was given, after a message: to the
/// context, or to stderr where there is none.
bool refuse(const std::shared_ptr<Context> &context,
            std::initializer_list<Given> given,
            const char *function = __builtin_FUNCTION());
/// The same of the fault that a struct of the caller has; "" is none.
bool refuseStruct(const std::shared_ptr<Context> &context,
                  const std::string &fault,
                  const char *function = __builtin_FUNCTION());
/// The context of an object that may be none.
template <class Object>
std::shared_ptr<Context> contextOf(const std::shared_ptr<Object> &object) {
  return object ? object->context : nullptr;
}

/// Destroys what a handle stands for; null is nothing, the dead are told.
template <class Handle, class Object>
std::shared_ptr<Object> remove(HandleTable<Handle, Object> &table,
                               Handle handle, const char *what,
                               const char *function = __builtin_FUNCTION()) {
  std::shared_ptr<Object> object = table.remove(handle);
  if (handle)
    refuse(nullptr, {{handle, object, what}}, function);
  return object;
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
