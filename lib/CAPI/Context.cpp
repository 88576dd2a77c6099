//===- Context.cpp - Contexts of the C interface --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Support/Printable.h"
#include "mx/Support/Version.h"

using namespace mlir;

const char *mxcGetVersion() { return mx::getVersion(); }

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

mxcContextImpl::mxcContextImpl(const DialectRegistry &registry,
                               mxcMessageCallback callback, void *user)
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

void mxcContextImpl::tell(int severity, const std::string &text) {
  if (callback)
    callback(severity, mx::printable(text).c_str(), user);
  else
    print(severity, text);
}

bool mx::capi::refuseNull(mxcContext context,
                          std::initializer_list<Given> pointers,
                          const char *function) {
  for (const Given &given : pointers) {
    if (given.pointer || given.mayBeNull)
      continue;
    std::string text = std::string(function) + ": expected " + given.what +
                       ", found a null pointer";
    if (context)
      context->tell(MXC_ERROR, text);
    else
      print(MXC_ERROR, text);
    return true;
  }
  return false;
}

int mxcContextImpl::tell(llvm::Error error) {
  int status = mx::getExitStatus(error);
  if (std::string text = llvm::toString(std::move(error)); !text.empty())
    tell(MXC_ERROR, text);
  return status;
}

mxcContext mxcContextCreate(mxcMessageCallback callback, void *user) {
  DialectRegistry registry;
  mx::capi::registerEverything(registry);
  mx::capi::registerPassesOnce();
  auto context = std::make_unique<mxcContextImpl>(registry, callback, user);
  if (mx::capi::sharesTypesWithMLIR(context->context))
    return context.release();
  context->tell(MXC_ERROR,
                "libMXCAPI and libMLIR do not share the identities of MLIR's "
                "types: load libMXCAPI before anything that loads libMLIR for "
                "itself, or libMLIR with RTLD_GLOBAL");
  return nullptr;
}

void mxcContextDestroy(mxcContext context) { delete context; }

template <typename Object>
static int print(Object object, mxcTextCallback callback, void *user) {
  if (!object)
    return MXC_REFUSED;
  mx::capi::CallbackStream stream(callback, user);
  object.print(stream);
  return MXC_OK;
}

int mxcParseAttribute(mxcContext context, const char *text,
                      mxcTextCallback callback, void *user) {
  if (mx::capi::refuseNull(
          context,
          {{context, "a context"}, {text, "a text"}, {callback, "a callback"}}))
    return MXC_REFUSED;
  return print(parseAttribute(text, &context->context), callback, user);
}

int mxcParseType(mxcContext context, const char *text, mxcTextCallback callback,
                 void *user) {
  if (mx::capi::refuseNull(
          context,
          {{context, "a context"}, {text, "a text"}, {callback, "a callback"}}))
    return MXC_REFUSED;
  return print(parseType(text, &context->context), callback, user);
}
