//===- Program.cpp - Loader of compiled programs --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is a directory with a manifest and its kernels.
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "../device/Selection.h"
#include "LaunchCache.h"

#include "mx/Support/HandleTable.h"
#include "mx/Support/Version.h"
#include "mxsim/Image.h"
#include "mxsim/io/InputFile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

using namespace mx;
using namespace mx::runtime;

namespace {

using Programs = HandleTable<mxProgram, Program>;
using Entries = HandleTable<mxEntry, const Entry>;

/// Returns the table of programs. Never destroyed, because global destructors
/// may unload programs.
Programs &programs() {
  static Programs *programs = new Programs(HandleKind::Program);
  return *programs;
}
Entries &entries() {
  static Entries *entries = new Entries(HandleKind::Entry);
  return *entries;
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

/// Serial number of the latest entry. Never decreases.
static std::atomic<int64_t> entrySerials;

/// Hashes manifest and version (64-bit FNV-1a). Ranks of a group need equal
/// fingerprints.
static uint64_t computeFingerprint(std::string_view manifest) {
  uint64_t hash = 0xCBF29CE484222325;
  for (std::string_view part : {std::string_view(getVersion()), manifest})
    for (char byte : part)
      hash = (hash ^ uint8_t(byte)) * 0x100000001B3;
  return hash;
}

static Error readProgram(std::string_view text, const std::string &name,
                         Program &program) {
  std::string wrong = plan::readManifest(text, program.manifest);
  if (!wrong.empty())
    return {MX_ERROR_BAD_MODULE, name + ":" + wrong};
  program.fingerprint = computeFingerprint(text);
  for (const plan::Entry &plan : program.manifest.entries) {
    Entry entry = {&plan, &program, {}, plan::findAddresses(plan)};
    entry.serial = ++entrySerials;
    entry.canCache = canCache(plan);
    entry.wordCount = countWords(program.manifest, plan);
    for (const plan::Result &value : plan.results) {
      std::vector<int64_t> &shape = entry.resultShapes.emplace_back();
      for (const plan::Number &extent : value.shape)
        shape.push_back(extent.isConstant() ? extent.value : plan::kDynamic);
    }
    program.entries.push_back(std::move(entry));
  }
  return {};
}

FileStamps::Stamp FileStamps::read(const std::string &path) {
  Stamp stamp = {path, {}, 0, {}};
  stamp.bytes = std::filesystem::file_size(path, stamp.missing);
  if (!stamp.missing)
    stamp.time = std::filesystem::last_write_time(path, stamp.missing);
  return stamp;
}

void FileStamps::note(const std::string &path) { stamps.push_back(read(path)); }

Error FileStamps::check() const {
  for (const Stamp &then : stamps) {
    Stamp now = read(then.path);
    if (now.missing == then.missing && now.bytes == then.bytes &&
        now.time == then.time)
      continue;
    return {MX_ERROR_BAD_MODULE,
            then.path +
                ": expected the file that the program was loaded from, "
                "found " +
                (now.missing ? "none" : "a file that was changed since") +
                ": load the program again"};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Programs on a device
//===----------------------------------------------------------------------===//

Error ProgramOnDevice::unload() {
  Error first;
  for (int64_t address : std::exchange(constants, {}))
    if (address)
      if (Error error =
              device.free(reinterpret_cast<void *>(uintptr_t(address)));
          error && !first)
        first = error;
  kernels.clear();
  module.reset();
  return first;
}

Error Program::unload() {
  Error first;
  for (std::atomic<ProgramOnDevice *> &place : places)
    if (std::unique_ptr<ProgramOnDevice> loaded{place.exchange(nullptr)})
      if (Error error = loaded->unload(); error && !first)
        first = error;
  return first;
}

Program::~Program() { (void)unload(); }

Error Program::load(Device &device, void *stream,
                    const ProgramOnDevice *&loaded) {
  std::lock_guard<std::mutex> lock(mutex);
  std::atomic<ProgramOnDevice *> &place = places[size_t(device.index)];
  loaded = place.load();
  if (loaded)
    return {};
  if (device.isCapturing(stream))
    return {MX_ERROR_BAD_LAUNCH,
            "expected a program that is already loaded on " + device.name() +
                ", found a stream that a CUDA graph captures: launch the "
                "program once before the capture, because loading waits"};
  if (Error error = files.check())
    return error;
  auto made = std::make_unique<ProgramOnDevice>(device);
  if (!manifest.kernels.empty())
    if (Error error = loadKernels(*made))
      return error;
  if (!manifest.constants.empty())
    if (Error error = loadConstants(*made))
      return error;
  loaded = made.get();
  place.store(made.release(), std::memory_order_release);
  return {};
}

/// Loads the kernels of the manifest.
Error Program::loadKernels(ProgramOnDevice &loaded) const {
  std::string file, path = name;
  if (!directory.empty()) {
    // The simulator reads PTX; without a cubin the driver compiles the PTX.
    bool isGpu = loaded.device.kind == Device::Kind::Cuda;
    path = directory + "/" +
           (isGpu && !manifest.cubin.empty() ? manifest.cubin : manifest.ptx);
    if (Error error = readFile(path, file))
      return error;
  }
  const std::string &bytes = directory.empty() ? kernels : file;
  if (bytes.empty())
    return {MX_ERROR_BAD_MODULE, path + ": expected kernels, found no bytes"};
  Image image;
  if (std::string why =
          sim::readImage(bytes.data(), bytes.size(), path.c_str(), image);
      !why.empty())
    return {MX_ERROR_BAD_MODULE, why};
  if (Error error = loaded.device.load(image, /*optLevel=*/-1, loaded.module))
    return error;
  for (const plan::Kernel &kernel : manifest.kernels)
    if (Error error = loaded.module->getFunction(kernel.name.c_str(),
                                                 loaded.kernels.emplace_back()))
      return error;
  return {};
}

/// Fails unless `bytes` is the size of the manifest's constants.
static Error checkConstants(uint64_t bytes, const std::string &name,
                            const plan::Manifest &manifest) {
  uint64_t expected = 0;
  for (const plan::Constant &constant : manifest.constants)
    // The manifest reader limits both values, so the sum cannot overflow.
    expected = std::max(expected, uint64_t(constant.offset + constant.bytes));
  if (bytes == expected)
    return {};
  return {MX_ERROR_BAD_MODULE, name + ": expected the " +
                                   std::to_string(expected) +
                                   " bytes that the manifest declares, found " +
                                   std::to_string(bytes)};
}

Error Program::loadConstants(ProgramOnDevice &loaded) const {
  std::string file, path = name + ": constants";
  if (!directory.empty()) {
    path = directory + "/" + manifest.data;
    // Check the size before reading, because the file may be huge.
    std::error_code code;
    uint64_t bytes = std::filesystem::file_size(path, code);
    if (!code)
      if (Error error = checkConstants(bytes, path, manifest))
        return error;
    if (Error error = readFile(path, file))
      return error;
  }
  const std::string &data = directory.empty() ? constants : file;
  if (Error error = checkConstants(data.size(), path, manifest))
    return error;
  Device &device = loaded.device;
  loaded.constants.reserve(manifest.constants.size());
  for (const plan::Constant &constant : manifest.constants) {
    void *memory = nullptr;
    if (constant.bytes)
      if (Error error =
              device.alloc(size_t(constant.bytes), /*shared=*/false, memory))
        return error;
    loaded.constants.push_back(int64_t(reinterpret_cast<uintptr_t>(memory)));
    if (constant.bytes)
      if (Error error =
              device.copy(Copy::ToDevice, memory, data.data() + constant.offset,
                          size_t(constant.bytes), /*stream=*/nullptr))
        return error;
  }
  // Later launches may use any stream, so wait for the copies.
  return device.synchronize();
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

namespace {
/// Removes registered entries unless the publication completes.
struct Publication {
  const Program &program;
  bool isComplete = false;
  ~Publication() {
    if (!isComplete)
      for (mxEntry entry : program.handles)
        entries().remove(entry);
  }
};
} // namespace

/// Loads a program on the current device and registers handles.
static Error publish(std::shared_ptr<Program> program, mxProgram &result) {
  Device *device;
  if (Error error = getDevice(device, program->manifest.target))
    return error;
  const ProgramOnDevice *loaded;
  if (Error error = program->find(*device, /*stream=*/nullptr, loaded))
    return error;
  program->handles.reserve(program->entries.size());
  Publication publication{*program};
  for (const Entry &entry : program->entries)
    program->handles.push_back(
        entries().add(std::shared_ptr<const Entry>(program, &entry)));
  result = programs().add(program);
  publication.isComplete = true;
  return {};
}

Error mx::runtime::loadProgram(const char *directory, mxProgram &result) {
  std::string path = directory + std::string("/manifest.json"), text;
  auto program = std::make_shared<Program>();
  // The host may change the working directory before another device loads the
  // program.
  std::error_code code;
  std::string absolute = std::filesystem::absolute(directory, code).string();
  if (code)
    absolute = directory;
  program->files.note(absolute + "/manifest.json");
  if (Error error = readFile(path, text))
    return error;
  if (Error error = readProgram(text, path, *program))
    return error;
  const plan::Manifest &manifest = program->manifest;
  for (const std::string &name : {manifest.ptx, manifest.cubin, manifest.data})
    if (!name.empty())
      program->files.note(absolute + "/" + name);
  program->directory = directory; // as given by the caller, for messages
  if (Error error = publish(program, result))
    return error;
  program->directory = absolute;
  return {};
}

Error mx::runtime::loadProgram(const mxProgramParts &parts, mxProgram &result) {
  auto program = std::make_shared<Program>();
  program->name = parts.name ? parts.name : "program";
  if (parts.kernels)
    program->kernels.assign(static_cast<const char *>(parts.kernels),
                            parts.kernelBytes);
  if (parts.constants)
    program->constants.assign(static_cast<const char *>(parts.constants),
                              parts.constantBytes);
  if (Error error = readProgram({parts.manifest, parts.manifestBytes},
                                program->name, *program))
    return error;
  return publish(std::move(program), result);
}

static Error noProgram(mxProgram handle) {
  return invalidValue(handle ? "expected a loaded program, found an invalid "
                               "handle"
                             : "expected a loaded program, found a null "
                               "pointer");
}

Error mx::runtime::findProgram(mxProgram handle,
                               std::shared_ptr<Program> &program) {
  program = programs().find(handle);
  return program ? Error() : noProgram(handle);
}

Error mx::runtime::bindGroup(Program &program, const char *name,
                             mxGroup handle) {
  std::shared_ptr<Collectives> ranks;
  if (Error error = findCollectives(handle, ranks))
    return error;
  const std::vector<plan::RankGroup> &groups = program.manifest.groups;
  auto named = std::find_if(
      groups.begin(), groups.end(),
      [&](const plan::RankGroup &group) { return group.name == name; });
  if (named == groups.end()) {
    std::string known;
    for (const plan::RankGroup &group : groups)
      known += (known.empty() ? "" : ", ") + group.name;
    return {MX_ERROR_NOT_FOUND, "expected the group to be one of [" + known +
                                    "], found '" + name + "'"};
  }
  Device *device;
  if (Error error = getDevice(device, program.manifest.target))
    return error;
  return program.groups.bind(program.manifest, size_t(named - groups.begin()),
                             std::move(ranks), *device, program.fingerprint);
}

Error mx::runtime::unloadProgram(mxProgram handle) {
  std::shared_ptr<Program> program = programs().remove(handle);
  if (!program)
    return noProgram(handle);
  for (mxEntry entry : program->handles)
    entries().remove(entry);
  // A program still used by a call of another thread is unloaded at the end of
  // that call.
  return program.use_count() == 1 ? program->unload() : Error();
}

Error mx::runtime::getEntry(mxProgram handle, const char *name,
                            mxEntry &result) {
  std::shared_ptr<Program> program;
  if (Error error = findProgram(handle, program))
    return error;
  std::string known;
  for (size_t i = 0; i < program->entries.size(); ++i) {
    const std::string &entry = program->entries[i].plan->name;
    if (entry == name) {
      result = program->handles[i];
      return {};
    }
    known += (known.empty() ? "" : ", ") + entry;
  }
  return {MX_ERROR_NOT_FOUND, "expected the entry to be one of [" + known +
                                  "], found '" + name + "'"};
}

Error mx::runtime::getEntry(mxProgram handle, int32_t index, mxEntry &result) {
  std::shared_ptr<Program> program;
  if (Error error = findProgram(handle, program))
    return error;
  if (index < 0 || size_t(index) >= program->handles.size())
    return invalidValue("expected an entry below " +
                        std::to_string(program->handles.size()) + ", found " +
                        std::to_string(index));
  result = program->handles[size_t(index)];
  return {};
}

Error mx::runtime::countEntries(mxProgram handle, int32_t &count) {
  std::shared_ptr<Program> program;
  if (Error error = findProgram(handle, program))
    return error;
  count = int32_t(program->entries.size());
  return {};
}

Error mx::runtime::findEntry(mxEntry handle,
                             std::shared_ptr<const Entry> &entry) {
  entry = entries().find(handle);
  if (entry)
    return {};
  return invalidValue(
      handle ? "expected an entry of a loaded program, found an invalid handle"
             : "expected an entry of a loaded program, found a null pointer");
}
