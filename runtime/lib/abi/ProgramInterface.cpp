//===- ProgramInterface.cpp - The C interface of programs -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks pointers, forwards, records the error: nothing is decided here.
//===----------------------------------------------------------------------===//

#include "../program/Program.h"
#include "Error.h"

using namespace mx;
using namespace mx::runtime;

/// Calls what needs an entry that is alive, and reports.
template <class F>
static int onEntry(mxEntry entry, F call,
                   const char *function = __builtin_FUNCTION()) {
  return attempt(
      [&]() -> Error {
        Error error = checkEntry(entry);
        return error ? error : call();
      },
      function);
}

int mxProgramLoad(mxProgram *program, const char *directory) {
  if (!program)
    return reportNull("a place for the program");
  *program = nullptr;
  if (!directory)
    return reportNull("a directory");
  return attempt([&] { return loadProgram(directory, *program); });
}

int mxProgramLoadParts(mxProgram *program, const mxProgramParts *parts) {
  if (!program)
    return reportNull("a place for the program");
  *program = nullptr;
  if (!parts || !parts->manifest)
    return reportNull("a manifest");
  return attempt([&] { return loadProgram(*parts, *program); });
}

int mxProgramLoadData(mxProgram *program, const char *manifest,
                      size_t manifestBytes, const void *kernels,
                      size_t kernelBytes, const char *name) {
  mxProgramParts parts = {
      manifest, manifestBytes, kernels, kernelBytes, nullptr, 0, name};
  return mxProgramLoadParts(program, &parts);
}

int mxProgramUnload(mxProgram program) {
  return program ? attempt([&] { return unloadProgram(program); })
                 : int(MX_SUCCESS);
}

int mxProgramGetEntry(mxEntry *entry, mxProgram program, const char *name) {
  if (!entry || !name)
    return reportNull(entry ? "a name" : "a place for the entry");
  *entry = nullptr;
  return attempt([&] { return getEntry(program, name, *entry); });
}

int32_t mxProgramEntryCount(mxProgram program) {
  int32_t count = 0;
  attempt([&] { return countEntries(program, count); });
  return count;
}

int mxProgramGetEntryAt(mxEntry *entry, mxProgram program, int32_t index) {
  if (!entry)
    return reportNull("a place for the entry");
  *entry = nullptr;
  return attempt([&] { return getEntry(program, index, *entry); });
}

int mxEntryGetInfo(mxEntry entry, mxEntryInfo *info) {
  if (!info)
    return reportNull("a place for the answer");
  return onEntry(entry, [&] {
    *info = {entry->plan->name.c_str(), int32_t(entry->plan->arguments.size()),
             int32_t(entry->plan->results.size())};
    return Error();
  });
}

static int32_t isTaken(const plan::Result &result) { return result.isTaken; }
static int32_t isTaken(const plan::Argument &) { return 0; }

/// Answers for value `index` of `values`; `shapeOf` gives its shape.
template <class T, class F>
static int getValue(const char *function, mxEntry entry, int32_t index,
                    mxValueInfo *info, std::vector<T> plan::Entry::*values,
                    F shapeOf) {
  if (!info)
    return reportNull("a place for the answer", function);
  auto answer = [&]() -> Error {
    const std::vector<T> &list = entry->plan->*values;
    if (index < 0 || size_t(index) >= list.size())
      return {MX_ERROR_INVALID_VALUE, std::string(function) +
                                          ": expected a number below " +
                                          std::to_string(list.size()) +
                                          ", found " + std::to_string(index)};
    const T &value = list[size_t(index)];
    const std::vector<int64_t> &shape = shapeOf(size_t(index));
    *info = {value.name.c_str(),  value.type.c_str(),
             value.dtype.c_str(), int32_t(plan::getItemBytes(value.dtype)),
             value.isNumber,      int32_t(shape.size()),
             shape.data(),        isTaken(value)};
    return {};
  };
  return onEntry(entry, answer, function);
}

int mxEntryGetArgument(mxEntry entry, int32_t index, mxValueInfo *info) {
  return getValue("mxEntryGetArgument", entry, index, info,
                  &plan::Entry::arguments,
                  [&](size_t i) -> const std::vector<int64_t> & {
                    return entry->plan->arguments[i].shape;
                  });
}

int mxEntryIsSizeArgument(mxEntry entry, int32_t index, int32_t *answer) {
  mxValueInfo info;
  if (!answer)
    return reportNull("a place for the answer");
  if (int status = mxEntryGetArgument(entry, index, &info))
    return status;
  return onEntry(entry, [&] {
    *answer = plan::findSizeArguments(*entry->plan)[size_t(index)];
    return Error();
  });
}

int mxEntryGetResult(mxEntry entry, int32_t index, mxValueInfo *info) {
  return getValue("mxEntryGetResult", entry, index, info, &plan::Entry::results,
                  [&](size_t i) -> const std::vector<int64_t> & {
                    return entry->resultShapes[i];
                  });
}

int mxEntryGetResultShape(mxEntry entry, const mxArgument *arguments,
                          int32_t argumentCount, int32_t result,
                          int64_t *shape) {
  if (!shape)
    return reportNull("room for the shape");
  return onEntry(entry, [&] {
    return getResultShape(*entry, {arguments, argumentCount}, result, shape);
  });
}

int mxEntryGetWorkspaceBytes(mxEntry entry, const mxArgument *arguments,
                             int32_t argumentCount, size_t *bytes) {
  if (!bytes)
    return reportNull("a place for the answer");
  return onEntry(entry, [&] {
    return getWorkspaceBytes(*entry, {arguments, argumentCount}, *bytes);
  });
}

int mxEntryLaunch(mxEntry entry, const mxArgument *arguments,
                  int32_t argumentCount, void *const *results,
                  int32_t resultCount, void *workspace, size_t workspaceBytes,
                  mxStream stream) {
  return onEntry(entry, [&] {
    return launchEntry(*entry, {arguments, argumentCount, results, resultCount,
                                workspace, workspaceBytes, stream});
  });
}
