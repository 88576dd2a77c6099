//===- Handles.h - Objects of the C interface -------------------*- C++ -*-===//
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

  void tell(int severity, const std::string &text);
  /// Reports an error, unless its message is empty, and returns its status.
  int tell(llvm::Error error);

  mlir::MLIRContext context;
  /// Null after the handle is destroyed. Messages are then printed to stderr.
  mxcMessageCallback callback;
  void *user;
};

struct Module {
  /// Returns a clone of the module with the argument names of `source`.
  mlir::OwningOpRef<mlir::ModuleOp> cloneWithNames();

  std::shared_ptr<Context> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Source text, which contains the argument names.
  std::shared_ptr<llvm::MemoryBuffer> source;
};

struct Compiled {
  std::shared_ptr<Context> context;
  CompiledModule compiled;
  std::string manifest;
};

struct HostProgram;

/// Table of objects, never destroyed because hosts may destroy handles at exit.
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

/// Pointer or handle passed to a function of the interface.
struct Given {
  /// Error such as "a null pointer", or null if the argument is valid.
  const char *wrong;
  /// Name of the argument with an article, such as "a module".
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
              : handle ? "an invalid handle"
                       : "a null pointer"),
        what(what) {}
};

/// Returns true if an argument is invalid. Reports the first invalid argument
/// to the context, or to stderr if `context` is null.
bool refuse(const std::shared_ptr<Context> &context,
            std::initializer_list<Given> given,
            const char *function = __builtin_FUNCTION());
/// Reports `fault`, the error in a caller's struct, and returns true. Returns
/// false if `fault` is empty.
bool refuseStruct(const std::shared_ptr<Context> &context,
                  const std::string &fault,
                  const char *function = __builtin_FUNCTION());
template <class Object>
std::shared_ptr<Context> contextOf(const std::shared_ptr<Object> &object) {
  return object ? object->context : nullptr;
}

/// Destroys the object of a handle. Ignores null and reports stale handles.
template <class Handle, class Object>
std::shared_ptr<Object> remove(HandleTable<Handle, Object> &table,
                               Handle handle, const char *what,
                               const char *function = __builtin_FUNCTION()) {
  std::shared_ptr<Object> object = table.remove(handle);
  if (handle)
    refuse(nullptr, {{handle, object, what}}, function);
  return object;
}

/// Registers all dialects and extensions of mx-opt.
void registerEverything(mlir::DialectRegistry &registry);
void registerPassesOnce();
/// Returns true if this library and libMLIR share type ids of traits.
bool sharesTypesWithMLIR(mlir::MLIRContext &context);

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
