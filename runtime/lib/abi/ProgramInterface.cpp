//===- ProgramInterface.cpp - C interface of programs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks pointers, forwards the call and records errors.
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "../program/Program.h"
#include "Calls.h"

using namespace mx;
using namespace mx::runtime;

/// Calls `call` with the entry, which stays alive during the call.
template <class F>
static int onEntry(mxEntry entry, F call,
                   const char *function = __builtin_FUNCTION()) {
  return attempt(
      [&]() -> Error {
        std::shared_ptr<const Entry> found;
        Error error = findEntry(entry, found);
        return error ? error : call(*found);
      },
      function);
}

/// Calls `call` with the program, which stays loaded during the call.
template <class F>
static int onProgram(mxProgram program, F call,
                     const char *function = __builtin_FUNCTION()) {
  return attempt(
      [&]() -> Error {
        std::shared_ptr<Program> found;
        Error error = findProgram(program, found);
        return error ? error : call(*found);
      },
      function);
}

int mxProgramLoad(mxProgram *program, const char *directory) {
  if (!program)
    return reportNull("an address for the program");
  *program = nullptr;
  if (!directory)
    return reportNull("a directory");
  return attempt([&] { return loadProgram(directory, *program); });
}

int mxProgramLoadParts(mxProgram *program, const mxProgramParts *parts) {
  if (!program)
    return reportNull("an address for the program");
  *program = nullptr;
  if (!parts)
    return reportNull("the parts");
  return attempt([&]() -> Error {
    mxProgramParts read;
    std::string wrong =
        readStruct(parts, MX_SIZE_WITH(mxProgramParts, manifestBytes),
                   "mxProgramParts", read);
    if (wrong.empty() && !read.manifest)
      wrong = "mxProgramLoadParts: expected a manifest, found a null pointer";
    return wrong.empty() ? loadProgram(read, *program) : invalidValue(wrong);
  });
}

int mxProgramLoadData(mxProgram *program, const char *manifest,
                      size_t manifestBytes, const void *kernels,
                      size_t kernelBytes, const char *name) {
  if (program)
    *program = nullptr;
  if (!program || !manifest)
    return reportNull(program ? "a manifest" : "an address for the program");
  mxProgramParts parts = {
      sizeof(parts), manifest, manifestBytes, kernels, kernelBytes,
      nullptr,       0,        name};
  return mxProgramLoadParts(program, &parts);
}

int mxProgramUnload(mxProgram program) {
  return program ? attempt([&] { return unloadProgram(program); })
                 : int(MX_SUCCESS);
}

int mxProgramGetEntry(mxEntry *entry, mxProgram program, const char *name) {
  if (!entry || !name)
    return reportNull(entry ? "a name" : "an address for the entry");
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
    return reportNull("an address for the entry");
  *entry = nullptr;
  return attempt([&] { return getEntry(program, index, *entry); });
}

int32_t mxProgramGroupCount(mxProgram program) {
  int32_t count = 0;
  onProgram(program, [&](Program &found) {
    count = int32_t(found.manifest.groups.size());
    return Error();
  });
  return count;
}

int mxProgramGetGroup(mxProgram program, int32_t index,
                      mxProgramGroupInfo *info) {
  if (!info)
    return reportNull("an address for the answer");
  return onProgram(program, [&](Program &found) -> Error {
    const std::vector<plan::RankGroup> &groups = found.manifest.groups;
    if (index < 0 || size_t(index) >= groups.size())
      return invalidValue("mxProgramGetGroup: expected a number below " +
                          std::to_string(groups.size()) + ", found " +
                          std::to_string(index));
    const plan::RankGroup &group = groups[size_t(index)];
    std::shared_ptr<const BoundGroupList> bound =
        found.groups.get(found.manifest);
    const Collectives *ranks =
        bound ? (*bound)[size_t(index)].ranks.get() : nullptr;
    return give(info, "mxProgramGroupInfo",
                {sizeof(mxProgramGroupInfo), group.name.c_str(),
                 int32_t(group.size), ranks ? ranks->rank : -1, group.tokens,
                 getWindowBytes(found.manifest, size_t(index))});
  });
}

int mxProgramBindGroup(mxProgram program, const char *name, mxGroup group) {
  if (!name)
    return reportNull("the name of a group");
  return onProgram(
      program, [&](Program &found) { return bindGroup(found, name, group); });
}

int mxEntryGetInfo(mxEntry entry, mxEntryInfo *info) {
  if (!info)
    return reportNull("an address for the answer");
  return onEntry(entry, [&](const Entry &found) {
    const plan::Entry &plan = *found.plan;
    return give(info, "mxEntryInfo",
                {sizeof(mxEntryInfo), plan.name.c_str(),
                 int32_t(plan.arguments.size()), int32_t(plan.results.size())});
  });
}

static int32_t isTaken(const plan::Result &result) { return result.isTaken; }
static int32_t isTaken(const plan::Argument &) { return 0; }

/// Describes value `index` of `values`; `shapeOf` returns the shape.
template <class T, class F>
static int getValue(const char *function, mxEntry entry, int32_t index,
                    mxValueInfo *info, std::vector<T> plan::Entry::*values,
                    F shapeOf) {
  if (!info)
    return reportNull("an address for the answer", function);
  auto answer = [&](const Entry &found) -> Error {
    const std::vector<T> &list = found.plan->*values;
    if (index < 0 || size_t(index) >= list.size())
      return {MX_ERROR_INVALID_VALUE, std::string(function) +
                                          ": expected a number below " +
                                          std::to_string(list.size()) +
                                          ", found " + std::to_string(index)};
    const T &value = list[size_t(index)];
    const std::vector<int64_t> &shape = shapeOf(found, size_t(index));
    return give(info, "mxValueInfo",
                {sizeof(mxValueInfo), value.name.c_str(), value.type.c_str(),
                 value.dtype.c_str(), int32_t(plan::getItemBytes(value.dtype)),
                 value.isNumber, int32_t(shape.size()), shape.data(),
                 isTaken(value)});
  };
  return onEntry(entry, answer, function);
}

int mxEntryGetArgument(mxEntry entry, int32_t index, mxValueInfo *info) {
  return getValue(
      "mxEntryGetArgument", entry, index, info, &plan::Entry::arguments,
      [](const Entry &found, size_t i) -> const std::vector<int64_t> & {
        return found.plan->arguments[i].shape;
      });
}

int mxEntryIsSizeArgument(mxEntry entry, int32_t index, int32_t *answer) {
  mxValueInfo info = mxSized<mxValueInfo>();
  if (!answer)
    return reportNull("an address for the answer");
  if (int status = mxEntryGetArgument(entry, index, &info))
    return status;
  return onEntry(entry, [&](const Entry &found) {
    *answer = plan::findSizeArguments(*found.plan)[size_t(index)];
    return Error();
  });
}

int mxEntryGetResult(mxEntry entry, int32_t index, mxValueInfo *info) {
  return getValue(
      "mxEntryGetResult", entry, index, info, &plan::Entry::results,
      [](const Entry &found, size_t i) -> const std::vector<int64_t> & {
        return found.resultShapes[i];
      });
}

int mxEntryGetResultShape(mxEntry entry, const mxArgument *arguments,
                          int32_t argumentCount, int32_t result,
                          int64_t *shape) {
  if (!shape)
    return reportNull("room for the shape");
  return onEntry(entry, [&](const Entry &found) {
    return getResultShape(found, {arguments, argumentCount}, result, shape);
  });
}

int mxEntryGetWorkspaceBytes(mxEntry entry, const mxArgument *arguments,
                             int32_t argumentCount, size_t *bytes) {
  if (!bytes)
    return reportNull("an address for the answer");
  return onEntry(entry, [&](const Entry &found) {
    return getWorkspaceBytes(found, {arguments, argumentCount}, *bytes);
  });
}

int mxEntryLaunch(mxEntry entry, const mxArgument *arguments,
                  int32_t argumentCount, void *const *results,
                  int32_t resultCount, void *workspace, size_t workspaceBytes,
                  mxStream stream) {
  return onEntry(entry, [&](const Entry &found) {
    return launchEntry(found, {arguments, argumentCount, results, resultCount,
                               workspace, workspaceBytes, stream});
  });
}
