//===- Context.cpp - Contexts of the C interface --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Support/Version.h"
#include "mxsim/io/Printable.h"

using namespace mlir;
using mx::capi::Context;
using mx::capi::contexts;
using mx::capi::refuse;

const char *mxcGetVersion() { return mx::getVersion(); }

int mxcGetInterfaceVersion() { return MXC_INTERFACE_VERSION; }

/// Never destroyed: a host may destroy its handles when it ends.
mx::HandleTable<mxcContext, Context> &mx::capi::contexts() {
  static auto *table =
      new HandleTable<mxcContext, Context>(HandleKind::CompilerContext);
  return *table;
}

static int getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return MXC_ERROR;
  case DiagnosticSeverity::Warning:
    return MXC_WARNING;
  case DiagnosticSeverity::Remark:
    return MXC_REMARK;
  case DiagnosticSeverity::Note:
    return MXC_NOTE;
  }
  llvm_unreachable("severities are listed");
}

static std::string describe(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // As compilers write places: FILE:LINE:COLUMN, and of a whole file FILE.
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>()) {
    stream << place.getFilename().getValue() << ':';
    if (place.getLine())
      stream << place.getLine() << ':' << place.getColumn() << ':';
    stream << ' ';
  }
  stream << diagnostic.str();
  return text;
}

Context::Context(const DialectRegistry &registry, mxcMessageCallback callback,
                 void *user)
    : context(registry, MLIRContext::Threading::DISABLED), callback(callback),
      user(user) {
  // Messages are for whoever wrote the file: the place says enough.
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    tell(getSeverity(diagnostic.getSeverity()), describe(diagnostic));
    for (Diagnostic &note : diagnostic.getNotes())
      tell(MXC_NOTE, describe(note));
    return success();
  });
}

static void print(int severity, const std::string &text) {
  static constexpr const char *kNames[] = {"error", "warning", "remark",
                                           "note"};
  llvm::errs() << kNames[severity] << ": " << mx::printable(text) << '\n';
}

void Context::tell(int severity, const std::string &text) {
  if (callback)
    callback(severity, mx::printable(text).c_str(), user);
  else
    print(severity, text);
}

static void tellError(const std::shared_ptr<Context> &context,
                      const std::string &text) {
  if (context)
    context->tell(MXC_ERROR, text);
  else
    print(MXC_ERROR, text);
}

bool mx::capi::refuse(const std::shared_ptr<Context> &context,
                      std::initializer_list<Given> given,
                      const char *function) {
  for (const Given &one : given) {
    if (!one.wrong)
      continue;
    tellError(context, std::string(function) + ": expected " + one.what +
                           ", found " + one.wrong);
    return true;
  }
  return false;
}

bool mx::capi::refuseStruct(const std::shared_ptr<Context> &context,
                            const std::string &fault, const char *function) {
  if (fault.empty())
    return false;
  tellError(context, function + (": " + fault));
  return true;
}

int Context::tell(llvm::Error error) {
  int status = mx::getExitStatus(error);
  if (std::string text = llvm::toString(std::move(error)); !text.empty())
    tell(MXC_ERROR, text);
  return status;
}

mxcContext mxcContextCreate(mxcMessageCallback callback, void *user) {
  DialectRegistry registry;
  mx::capi::registerEverything(registry);
  mx::capi::registerPassesOnce();
  auto context = std::make_shared<Context>(registry, callback, user);
  if (mx::capi::sharesTypesWithMLIR(context->context))
    return contexts().add(std::move(context));
  context->tell(MXC_ERROR,
                "libMXCAPI and libMLIR do not share the identities of MLIR's "
                "types: load libMXCAPI before anything that loads libMLIR for "
                "itself, or libMLIR with RTLD_GLOBAL");
  return nullptr;
}

// What was made in it keeps it; the caller's callback may be gone.
void mxcContextDestroy(mxcContext handle) {
  if (auto context = mx::capi::remove(contexts(), handle, "a context"))
    context->callback = nullptr;
}

template <typename Object>
static int print(Object object, mxcTextCallback callback, void *user) {
  if (!object)
    return MXC_REFUSED;
  mx::capi::CallbackStream stream(callback, user);
  object.print(stream);
  return MXC_OK;
}

int mxcParseAttribute(mxcContext handle, const char *text,
                      mxcTextCallback callback, void *user) {
  auto context = contexts().find(handle);
  if (refuse(context, {{handle, context, "a context"},
                       {text, "a text"},
                       {callback, "a callback"}}))
    return MXC_REFUSED;
  return print(parseAttribute(text, &context->context), callback, user);
}

int mxcParseType(mxcContext handle, const char *text, mxcTextCallback callback,
                 void *user) {
  auto context = contexts().find(handle);
  if (refuse(context, {{handle, context, "a context"},
                       {text, "a text"},
                       {callback, "a callback"}}))
    return MXC_REFUSED;
  return print(parseType(text, &context->context), callback, user);
}
