//===- Program.cpp - Load what mx-compile wrote ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A directory with a manifest and the kernels that it names.
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "../device/Handles.h"
#include "../device/Selection.h"
#include "LaunchCache.h"

#include "mx/Support/InputFile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

using namespace mx;
using namespace mx::runtime;

struct mxProgramImpl {
  ~mxProgramImpl() { (void)unload(); }
  /// Gives back what is on the device; the first error.
  Error unload();
  plan::Manifest manifest;
  mxModule module = nullptr;
  std::vector<Function *> kernels;
  /// Where the constants lie; null for one without bytes.
  Device *device = nullptr;
  std::vector<int64_t> constants;
  std::vector<mxEntryImpl> entries;
};

static void *toPointer(int64_t address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

Error mxProgramImpl::unload() {
  Error first;
  for (int64_t address : std::exchange(constants, {}))
    if (address)
      if (Error error = device->free(toPointer(address)); error && !first)
        first = error;
  if (mxModule loaded = std::exchange(module, nullptr))
    if (Error error = unloadModule(loaded); error && !first)
      first = error;
  return first;
}

namespace {
struct Programs {
  std::mutex mutex;
  std::set<mxProgram> programs;
  std::set<mxEntry> entries;
};

Programs &programs() {
  static Programs *programs = new Programs;
  return *programs;
}

struct Closer {
  void operator()(FILE *file) const { fclose(file); }
};
} // namespace

static Error readFile(const std::string &path, std::string &text) {
  auto fail = [&](const char *what) {
    return Error(MX_ERROR_BAD_MODULE,
                 path + ": cannot " + what + ": " + std::strerror(errno));
  };
  if (std::string wrong = checkInputFile(path); !wrong.empty())
    return {MX_ERROR_BAD_MODULE, wrong};
  errno = 0;
  std::unique_ptr<FILE, Closer> file(fopen(path.c_str(), "rb"));
  if (!file)
    return fail("open");
  char block[1 << 16];
  while (size_t count = fread(block, 1, sizeof block, file.get()))
    text.append(block, count);
  return ferror(file.get()) ? fail("read") : Error();
}

/// Of entries; counts up only.
static std::atomic<int64_t> serials;

/// Reads the manifest, and chooses the device.
static Error readProgram(std::string_view text, const std::string &name,
                         mxProgramImpl &program) {
  std::string wrong = plan::readManifest(text, program.manifest);
  if (!wrong.empty())
    return {MX_ERROR_BAD_MODULE, name + ":" + wrong};
  if (Error error = getDevice(program.device, program.manifest.target))
    return error;
  for (const plan::Entry &entry : program.manifest.entries) {
    mxEntryImpl impl = {&entry,
                        program.device,
                        &program.kernels,
                        &program.manifest.kernels,
                        &program.manifest.constants,
                        &program.constants,
                        {},
                        {}};
    impl.addresses = plan::findAddresses(*impl.plan);
    impl.serial = ++serials;
    impl.canCache = canCache(*impl.plan);
    impl.wordCount = countWords(*impl.plan);
    for (const plan::Result &value : entry.results) {
      std::vector<int64_t> &shape = impl.resultShapes.emplace_back();
      for (const plan::Number &extent : value.shape)
        shape.push_back(extent.isConstant() ? extent.value : plan::kDynamic);
    }
    program.entries.push_back(std::move(impl));
  }
  return {};
}

/// Loads the kernels and finds those of the manifest.
static Error loadKernels(const void *image, size_t bytes, const char *name,
                         mxProgramImpl &program) {
  if (!image || !bytes)
    return {MX_ERROR_BAD_MODULE,
            std::string(name) + ": expected kernels, found no bytes"};
  if (Error error =
          loadModule(image, bytes, name, /*optLevel=*/-1, program.module))
    return error;
  for (const plan::Kernel &kernel : program.manifest.kernels) {
    mxFunction handle;
    Device *device;
    if (Error error = getFunction(program.module, kernel.name.c_str(), handle))
      return error;
    // Once for all launches: no other owner can unload the module.
    if (Error error =
            resolveFunction(handle, device, program.kernels.emplace_back()))
      return error;
    if (device != program.device)
      return {MX_ERROR_INVALID_VALUE,
              std::string(name) + ": expected one device for all of the "
                                  "program, found another one chosen while it "
                                  "was loaded: choose a device before loading"};
  }
  return {};
}

/// Whether `bytes` is the size of the constants of the manifest.
static Error checkConstants(uint64_t bytes, const std::string &name,
                            const plan::Manifest &manifest) {
  uint64_t expected = 0;
  for (const plan::Constant &constant : manifest.constants)
    // The reader bounds both.
    expected = std::max(expected, uint64_t(constant.offset + constant.bytes));
  if (bytes == expected)
    return {};
  return {MX_ERROR_BAD_MODULE, name + ": expected the " +
                                   std::to_string(expected) +
                                   " bytes that the manifest tells of, found " +
                                   std::to_string(bytes)};
}

/// Copies the constants to the device.
static Error loadConstants(const void *data, size_t bytes,
                           const std::string &name, mxProgramImpl &program) {
  if (Error error = checkConstants(bytes, name, program.manifest))
    return error;
  program.constants.reserve(program.manifest.constants.size());
  for (const plan::Constant &constant : program.manifest.constants) {
    void *memory = nullptr;
    if (constant.bytes)
      if (Error error = program.device->alloc(size_t(constant.bytes),
                                              /*shared=*/false, memory))
        return error;
    program.constants.push_back(int64_t(reinterpret_cast<uintptr_t>(memory)));
    if (constant.bytes)
      if (Error error = program.device->copy(
              Copy::ToDevice, memory,
              static_cast<const char *>(data) + constant.offset,
              size_t(constant.bytes), /*stream=*/nullptr))
        return error;
  }
  // Launches may go to any stream.
  return program.constants.empty() ? Error() : program.device->synchronize();
}

/// The file that suits the device.
static Error loadKernels(const std::string &directory, mxProgramImpl &program) {
  const plan::Manifest &manifest = program.manifest;
  // The simulator reads PTX; where a cubin is missing the driver compiles it.
  bool isGpu = strcmp(program.device->info().kind, "cuda") == 0;
  const std::string &name =
      isGpu && !manifest.cubin.empty() ? manifest.cubin : manifest.ptx;
  std::string path = directory + "/" + name, image;
  if (Error error = readFile(path, image))
    return error;
  return loadKernels(image.data(), image.size(), path.c_str(), program);
}

/// All of it or, where memory is short, nothing becomes known.
static mxProgram publish(std::unique_ptr<mxProgramImpl> program) {
  std::set<mxProgram> made = {program.get()};
  std::set<mxEntry> entries;
  for (mxEntryImpl &entry : program->entries)
    entries.insert(&entry);
  Programs &p = programs();
  std::lock_guard<std::mutex> lock(p.mutex);
  p.programs.merge(made);
  p.entries.merge(entries);
  return program.release();
}

Error mx::runtime::loadProgram(const char *directory, mxProgram &result) {
  std::string path = directory + std::string("/manifest.json"), text;
  if (Error error = readFile(path, text))
    return error;
  auto program = std::make_unique<mxProgramImpl>();
  if (Error error = readProgram(text, path, *program))
    return error;
  if (!program->manifest.kernels.empty())
    if (Error error = loadKernels(directory, *program))
      return error;
  if (!program->manifest.constants.empty()) {
    std::string data;
    path = directory + ("/" + program->manifest.data);
    // Before it is read: a file of any size may lie there.
    std::error_code code;
    uint64_t bytes = std::filesystem::file_size(path, code);
    if (!code)
      if (Error error = checkConstants(bytes, path, program->manifest))
        return error;
    if (Error error = readFile(path, data))
      return error;
    if (Error error = loadConstants(data.data(), data.size(), path, *program))
      return error;
  }
  result = publish(std::move(program));
  return {};
}

Error mx::runtime::loadProgram(const mxProgramParts &parts, mxProgram &result) {
  auto program = std::make_unique<mxProgramImpl>();
  const char *name = parts.name ? parts.name : "program";
  if (Error error =
          readProgram({parts.manifest, parts.manifestBytes}, name, *program))
    return error;
  if (!program->manifest.kernels.empty())
    if (Error error =
            loadKernels(parts.kernels, parts.kernelBytes, name, *program))
      return error;
  if (!program->manifest.constants.empty())
    if (Error error = loadConstants(
            parts.constants, parts.constants ? parts.constantBytes : 0,
            std::string(name) + ": constants", *program))
      return error;
  result = publish(std::move(program));
  return {};
}

static Error checkProgram(mxProgram program) {
  if (programs().programs.count(program))
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "expected a loaded program, found a handle that is none"};
}

Error mx::runtime::unloadProgram(mxProgram program) {
  Programs &p = programs();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (Error error = checkProgram(program))
    return error;
  p.programs.erase(program);
  for (mxEntryImpl &entry : program->entries)
    p.entries.erase(&entry);
  return std::unique_ptr<mxProgramImpl>(program)->unload();
}

Error mx::runtime::getEntry(mxProgram program, const char *name,
                            mxEntry &result) {
  Programs &p = programs();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (Error error = checkProgram(program))
    return error;
  std::string known;
  for (mxEntryImpl &entry : program->entries) {
    if (entry.plan->name == name) {
      result = &entry;
      return {};
    }
    known += (known.empty() ? "" : ", ") + entry.plan->name;
  }
  return {MX_ERROR_NOT_FOUND, "expected the entry to be one of [" + known +
                                  "], found '" + name + "'"};
}

Error mx::runtime::getEntry(mxProgram program, int32_t index, mxEntry &result) {
  Programs &p = programs();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (Error error = checkProgram(program))
    return error;
  if (index < 0 || size_t(index) >= program->entries.size())
    return {MX_ERROR_INVALID_VALUE,
            "expected an entry below " +
                std::to_string(program->entries.size()) + ", found " +
                std::to_string(index)};
  result = &program->entries[size_t(index)];
  return {};
}

Error mx::runtime::countEntries(mxProgram program, int32_t &count) {
  Programs &p = programs();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (Error error = checkProgram(program))
    return error;
  count = int32_t(program->entries.size());
  return {};
}

Error mx::runtime::checkEntry(mxEntry entry) {
  Programs &p = programs();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (p.entries.count(entry))
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "expected an entry of a loaded program, found a handle that is none"};
}
