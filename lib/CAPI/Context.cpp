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
using namespace mx::capi;

const char *mxcGetVersion() { return mx::getVersion(); }

int mxcGetInterfaceVersion() { return MXC_INTERFACE_VERSION; }

static int getSeverity(DiagnosticSeverity severity) {
  constexpr int kSeverities[] = {MXC_NOTE, MXC_WARNING, MXC_ERROR, MXC_REMARK};
  return kSeverities[unsigned(severity)];
}

static std::string describe(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Print FILE:LINE:COLUMN, or FILE if the message refers to the whole file.
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
  // Do not print the operation, because the location is enough.
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
                "libMXCAPI and libMLIR do not share the type ids of MLIR: load "
                "libMXCAPI before any library that loads libMLIR, or load "
                "libMLIR with RTLD_GLOBAL");
  return nullptr;
}

// The callback may become invalid while other objects keep the context alive.
void mxcContextDestroy(mxcContext handle) {
  if (auto context = remove(contexts(), handle, "a context"))
    context->callback = nullptr;
}

/// Parses a text with `parse` and prints the result.
template <typename Parse>
static int printParsed(mxcContext handle, const char *text,
                       mxcTextCallback callback, void *user, Parse parse,
                       const char *function = __builtin_FUNCTION()) {
  auto context = contexts().find(handle);
  if (refuse(context,
             {{handle, context, "a context"},
              {text, "a text"},
              {callback, "a callback"}},
             function))
    return MXC_REFUSED;
  auto object = parse(&context->context);
  if (!object)
    return MXC_REFUSED;
  CallbackStream stream(callback, user);
  object.print(stream);
  return MXC_OK;
}

int mxcParseAttribute(mxcContext handle, const char *text,
                      mxcTextCallback callback, void *user) {
  return printParsed(handle, text, callback, user, [&](MLIRContext *context) {
    return parseAttribute(text, context);
  });
}

int mxcParseType(mxcContext handle, const char *text, mxcTextCallback callback,
                 void *user) {
  return printParsed(handle, text, callback, user, [&](MLIRContext *context) {
    return parseType(text, context);
  });
}
