//===- LaunchFile.cpp - Launches described in JSON ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a launch file, creates its buffers, runs its launches and writes its
// outputs. The first error ends the run.
//===----------------------------------------------------------------------===//

#include "LaunchFileImpl.h"
#include "mxsim/Report.h"

#include "mxsim/ExitStatus.h"
#include "mxsim/InputKind.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/Memory.h"
#include "mxsim/io/Npy.h"
#include "mxsim/tensor/TensorMap.h"

#include <chrono>
#include <cstring>
#include <filesystem>

using namespace mx::sim;
namespace fs = std::filesystem;
using mx::NpyArray;

std::string LaunchFile::resolve(const std::string &name, bool isOutput,
                                std::string &path) const {
  constexpr const char *kRemedy = "; mx-sim --any-path allows any";
  if (!options.anyPath && !mx::isFileBeside(name))
    return "expected the name of a file beside the launch file, found '" +
           name + "'" + kRemedy;
  path = (fs::path(directory) / name).string();
  std::error_code code;
  fs::file_type found = fs::symlink_status(path, code).type();
  if (isOutput && !options.anyPath && !code &&
      found != fs::file_type::regular && found != fs::file_type::not_found)
    return path + ": expected a regular file to replace, or none, found " +
           (found == fs::file_type::symlink     ? "a symbolic link"
            : found == fs::file_type::directory ? "a directory"
                                                : "a device or a pipe") +
           kRemedy;
  return "";
}

/// Returns an error if the text is PTX or another kind of input. Returns "" if
/// the text resembles JSON.
static std::string whyNoLaunchFile(std::string_view text) {
  std::string found;
  if (beginsAsPtx(text))
    found = "PTX text; `mx-sim --template KERNEL.ptx` writes a launch "
            "file to fill in";
  else if (const InputKind *kind = kindOfOtherInput(text);
           kind && std::string_view(kind->name) != "JSON")
    found = kind->name;
  return found.empty() ? found
                       : "expected a launch file in JSON as the last "
                         "argument, found " +
                             found;
}

bool LaunchFile::loadModule(const std::string &path, bool isOfCommandLine) {
  std::string text, why = readInputFile(path, text);
  if (!why.empty())
    return fail(why);
  for (const LoadedModule &loaded : modules)
    if (loaded.text == text)
      return true;
  LoadedModule loaded{{}, path, std::move(text), isOfCommandLine};
  why = parseModule(path, loaded.text, loaded.ofDevices.emplace_back());
  if (!why.empty())
    return fail(why);
  modules.push_back(std::move(loaded));
  result.modulePaths.push_back(path);
  return true;
}

std::string LaunchFile::parseModule(const std::string &path,
                                    const std::string &text,
                                    std::unique_ptr<Module> &module) {
  std::vector<Diagnostic> errors;
  module = Module::parse(text, fs::path(path).filename().string(), errors);
  if (module)
    return {};
  const Diagnostic &d = errors.front();
  return path + ":" + std::to_string(d.line) + ":" + std::to_string(d.column) +
         ": " + d.message;
}

/// Returns advice for modules that cannot be linked.
std::string LaunchFile::adviceOnModules() const {
  std::string named, given;
  for (const LoadedModule &m : modules)
    (m.isOfCommandLine ? given : named) += " '" + m.path + "'";
  if (named.empty() || given.empty())
    return "";
  return "; the launch file names its own module," + named +
         ", and the command line names" + given +
         ": run a recorded launch without another module";
}

/// Returns advice for findings without source lines in modules compiled by
/// nvcc. A bad launch never has a source line.
std::string LaunchFile::adviceOnLines() const {
  for (const LaunchReport &r : result.reports)
    for (const Finding &f : r.findings)
      for (const LoadedModule &m : modules)
        if (f.ptxLine && f.kind != FindingKind::BadLaunch &&
            (f.source.empty() || f.source.front().file.empty()) &&
            f.module == m.ofDevices.front()->name() &&
            m.text.find("NVIDIA NVVM Compiler") != std::string::npos)
          return "compile with `nvcc -lineinfo` to get source lines in "
                 "findings";
  return "";
}

/// Links the modules, then allocates their variables.
bool LaunchFile::linkModules() {
  std::string why;
  if (modules.size() > 1) {
    std::vector<Module *> all;
    for (auto &m : modules)
      all.push_back(m.ofDevices[number].get());
    why = Module::link(all);
    if (!why.empty())
      why += adviceOnModules();
  }
  for (auto &m : modules)
    if (why.empty())
      why = m.ofDevices[number]->load(memory());
  return why.empty() || fail(why);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

bool LaunchFile::readDim(const JsonReader &json, Dim3 &dim) {
  std::vector<uint64_t> v = json.unsignedIntegers();
  if (json.failed())
    return false;
  if (v.empty() || v.size() > 3) {
    json.fail("expected 1 to 3 numbers, found " + std::to_string(v.size()));
    return false;
  }
  uint32_t *out[] = {&dim.x, &dim.y, &dim.z};
  for (size_t k = 0; k < 3; ++k) {
    uint64_t x = k < v.size() ? v[k] : 1;
    if (x > 0x7fffffffu) {
      json.fail(std::to_string(x) + " is too large");
      return false;
    }
    *out[k] = uint32_t(x);
  }
  return true;
}

bool LaunchFile::readArguments(const JsonReader &json, const KernelInfo &kernel,
                               LaunchConfig &config) {
  std::vector<JsonReader> args;
  if (json.has("args"))
    args = json["args"].elements();
  if (args.size() != kernel.parameters.size()) {
    json.fail("kernel '" + shortName(kernel.name) + "' expects " +
              std::to_string(kernel.parameters.size()) + " arguments, found " +
              std::to_string(args.size()));
    return false;
  }
  config.parameters.assign(kernel.parameterBytes, 0);
  for (size_t k = 0; k < args.size(); ++k) {
    const ParameterInfo &p = kernel.parameters[k];
    std::vector<uint8_t> bytes;
    unsigned align = 1;
    if (!value(args[k], bytes, align, {}))
      return false;
    if (bytes.size() != p.bytes) {
      args[k].fail("parameter '" + p.name + "' has " + std::to_string(p.bytes) +
                   " bytes, but the argument has " +
                   std::to_string(bytes.size()));
      return false;
    }
    if (align == tensorMapAlignment && p.align < tensorMapAlignment) {
      args[k].fail("parameter '" + p.name + "' is aligned to " +
                   std::to_string(p.align) +
                   " bytes, but a tensor map needs 64");
      return false;
    }
    std::memcpy(config.parameters.data() + p.offset, bytes.data(), p.bytes);
  }
  return true;
}

/// Finds the kernel with the best-matching name. Fails if several names match
/// equally well.
bool LaunchFile::findKernel(const JsonReader &json, Module *&module,
                            const KernelInfo *&kernel) {
  std::string name = json.string(), all;
  std::vector<std::pair<const LoadedModule *, const KernelInfo *>> found;
  NameMatch closest = NameMatch::Part;
  for (const LoadedModule &m : modules)
    for (const KernelInfo &k : m.ofDevices[number]->kernels()) {
      all += (all.empty() ? "" : ", ") + bothNames(k.name);
      NameMatch match = matchName(name, k.name);
      if (match < closest)
        continue;
      if (match > closest)
        found.clear();
      closest = match;
      found.emplace_back(&m, &k);
    }
  if (json.failed())
    return false;
  if (found.empty()) {
    json.fail("no kernel '" + name + "', found " +
              (all.empty() ? "none" : all) + adviceOnModules());
    return false;
  }
  auto &[m, k] = found.front();
  if (found.size() > 1 && found[1].second->name == k->name) {
    json.fail("kernel '" + name + "' is in '" + m->path +
              "' and, with different text, in '" + found[1].first->path + "'" +
              adviceOnModules());
    return false;
  }
  if (found.size() > 1) {
    std::string several;
    for (auto &[module, k] : found)
      several += (several.empty() ? "" : ", ") + bothNames(k->name);
    json.fail("kernel '" + name + "' is ambiguous: expected one of " + several);
    return false;
  }
  module = m->ofDevices[number].get();
  kernel = k;
  return true;
}

bool LaunchFile::oneLaunch(const JsonReader &json) {
  LaunchConfig config = defaults;
  if (!json.has("kernel")) {
    json.fail("missing key 'kernel'; `mx-sim --template KERNEL.ptx` writes a "
              "launch file to fill in");
    return false;
  }
  if (!readDim(json["grid"], config.grid))
    return false;
  if (json.failed() || !readDim(json["block"], config.block))
    return false;
  if (json.has("cluster") && !readDim(json["cluster"], config.cluster))
    return false;
  if (json.has("dynamic_smem"))
    config.dynamicSharedBytes = json["dynamic_smem"].unsignedInteger(1u << 30);
  if (json.has("sm_count"))
    config.smCount = json["sm_count"].unsignedInteger(1u << 20);
  if (json.has("programmatic"))
    config.programmatic = json["programmatic"].boolean();
  if (json.has("cooperative"))
    config.cooperative = json["cooperative"].boolean();
  Module *module = nullptr;
  const KernelInfo *kernel = nullptr;
  if (!findKernel(json["kernel"], module, kernel) ||
      !readArguments(json, *kernel, config))
    return false;
  config.kernel = kernel->name;
  if (world)
    world->launch(number, *module, std::move(config));
  else
    result.reports.push_back(launch(*module, memory(), config));
  return true;
}

void LaunchFile::perform(std::function<void()> step) {
  if (world)
    world->call(number, std::move(step));
  else
    step();
}

bool LaunchFile::memset(const JsonReader &json) {
  if (!json.onlyKeys({"buffer", "byte", "offset", "bytes"}))
    return false;
  const Buffer *b = findBuffer(json, json["buffer"].string());
  uint64_t byte = json.has("byte") ? json["byte"].unsignedInteger(255) : 0;
  uint64_t offset = json.has("offset") ? json["offset"].unsignedInteger() : 0;
  if (json.failed())
    return false;
  uint64_t bytes = json.has("bytes") ? json["bytes"].unsignedInteger()
                                     : b->bytes - std::min(offset, b->bytes);
  if (json.failed())
    return false;
  if (offset > b->bytes || bytes > b->bytes - offset) {
    json.fail(std::to_string(bytes) + " bytes at offset " +
              std::to_string(offset) + " do not fit the buffer's " +
              std::to_string(b->bytes));
    return false;
  }
  perform([=, to = b->address + offset, &memory = memory()] {
    memory.fill(to, uint8_t(byte), bytes);
  });
  return true;
}

bool LaunchFile::copy(const JsonReader &json) {
  if (!json.onlyKeys({"from", "to", "bytes", "from_offset", "to_offset"}))
    return false;
  const Buffer *from = findBuffer(json, json["from"].string());
  const Buffer *to = findBuffer(json, json["to"].string());
  uint64_t fromOffset =
      json.has("from_offset") ? json["from_offset"].unsignedInteger() : 0;
  uint64_t toOffset =
      json.has("to_offset") ? json["to_offset"].unsignedInteger() : 0;
  uint64_t bytes = json["bytes"].unsignedInteger();
  if (json.failed())
    return false;
  if (fromOffset > from->bytes || bytes > from->bytes - fromOffset ||
      toOffset > to->bytes || bytes > to->bytes - toOffset) {
    json.fail(std::to_string(bytes) + " bytes do not fit buffers of " +
              std::to_string(from->bytes) + " and " +
              std::to_string(to->bytes) + " bytes");
    return false;
  }
  perform([=, &memory = memory()] {
    memory.copy(to->address + toOffset, from->address + fromOffset, bytes);
  });
  return true;
}

static constexpr std::pair<const char *, const char *> kDtypes[] = {
    {"f32", "f4"},  {"f64", "f8"},  {"f16", "f2"},   {"bf16", "u2"},
    {"i8", "i1"},   {"u8", "u1"},   {"i16", "i2"},   {"u16", "u2"},
    {"i32", "i4"},  {"u32", "u4"},  {"i64", "i8"},   {"u64", "u8"},
    {"e4m3", "u1"}, {"e5m2", "u1"}, {"ue8m0", "u1"}, {"e2m1x2", "u1"},
};

/// Returns the NumPy dtype for a name in a launch file, or "". `names` receives
/// the accepted names.
static std::string dtypeOf(const std::string &name, std::string &names) {
  for (auto &[key, value] : kDtypes) {
    if (name == key)
      return value;
    names += std::string(names.empty() ? "" : ", ") + key;
  }
  return {};
}

bool LaunchFile::writeOutput(const std::string &name, const JsonReader &json,
                             bool write) {
  const Buffer *b = findBuffer(json, name);
  if (!b)
    return false;
  NpyArray array;
  std::string file;
  if (json.isString()) {
    file = json.string();
    if (!b->dtype.empty()) {
      array.dtype = b->dtype;
      array.shape = b->shape;
    } else {
      array.dtype = "u1";
      array.shape = {int64_t(b->bytes)};
    }
  } else {
    if (!json.onlyKeys({"file", "dtype", "shape"}))
      return false;
    file = json["file"].string();
    std::string dtype = json["dtype"].string(), names;
    if (json.failed())
      return false;
    array.dtype = dtypeOf(dtype, names);
    if (array.dtype.empty()) {
      json["dtype"].fail("unknown type '" + dtype + "', expected one of " +
                         names);
      return false;
    }
    size_t item = mx::npyItemSize(array.dtype);
    if (json.has("shape")) {
      for (uint64_t n : json["shape"].unsignedIntegers())
        array.shape.push_back(int64_t(n));
    } else {
      array.shape = {int64_t(b->bytes / item)};
    }
  }
  if (json.failed())
    return false;
  unsigned __int128 bytes = mx::npyItemSize(array.dtype);
  for (int64_t n : array.shape) {
    bytes *= uint64_t(n);
    if (bytes > b->bytes)
      break;
  }
  if (bytes > b->bytes) {
    json.fail("the shape needs more than the buffer's " +
              std::to_string(b->bytes) + " bytes");
    return false;
  }
  if (!write)
    return true;
  if (!tryResize(array.data, size_t(bytes))) {
    json.fail("no memory for the " + std::to_string(uint64_t(bytes)) +
              " bytes of the file");
    return false;
  }
  memory().copyOut(array.data.data(), b->address, array.data.size());
  if (options.isolated)
    return true;
  std::string path, why = resolve(file, /*isOutput=*/true, path);
  if (why.empty())
    why = mx::writeNpy(path, array);
  if (!why.empty())
    json.fail(why);
  return why.empty();
}

LaunchFileResult LaunchFile::run() {
  auto start = std::chrono::steady_clock::now();
  auto finish = [&] {
    result.error = error;
    result.advice = adviceOnLines();
    if (error.empty() && !jsonError.empty())
      result.error = options.launchFile + ":" + jsonError;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    return std::move(result);
  };
  if (!checkFiles())
    return finish();
  if (options.text) {
    text = *options.text;
  } else {
    std::string why = readInputFile(options.launchFile, text);
    if (!why.empty()) {
      fail(why);
      return finish();
    }
  }
  directory = fs::path(options.launchFile).parent_path().string();
  Json parsed;
  if (std::string why = parseJson(text, parsed); !why.empty()) {
    std::string kind = whyNoLaunchFile(text);
    fail(options.launchFile + (kind.empty() ? ":" + why : ": " + kind));
    return finish();
  }
  JsonReader json(parsed, "", jsonError);
  if (!isFilledIn(json))
    return finish();
  if (!checkFiles(parsed))
    return finish();
  for (const std::string &path : options.modules)
    if (!loadModule(path, true))
      return finish();
  bool isWorld = json.has("devices"), many = json.has("launches");
  bool ok =
      isWorld ? json.onlyKeys({"format", "notes", "modules", "attributes",
                               "limits", "sm_count", "devices"})
      : many
          ? json.onlyKeys({"format", "notes", "modules", "globals",
                           "attributes", "limits", "sm_count", "buffers",
                           "tensor_maps", "launches", "outputs"})
          : json.onlyKeys({"format", "notes", "modules", "globals",
                           "attributes", "limits", "sm_count", "buffers",
                           "tensor_maps", "kernel", "grid", "block", "cluster",
                           "dynamic_smem", "cooperative", "args", "outputs"});
  if (!ok)
    return finish();
  if (json.has("format") && json["format"].unsignedInteger() != 1) {
    json["format"].fail("expected 1");
    return finish();
  }
  if (json.has("modules"))
    for (const JsonReader &m : json["modules"].elements()) {
      std::string path, name = m.string();
      if (options.isolated)
        m.fail("no file may be read");
      if (!m.failed())
        if (std::string why = resolve(name, false, path); !why.empty())
          m.fail(why);
      if (m.failed() || !loadModule(path, false))
        return finish();
    }
  if (modules.empty()) {
    json.fail("no module: name a PTX file on the command line or in 'modules'");
    return finish();
  }
  if (!makeDevices(json) || !readDefaults(json))
    return finish();
  (void)(isWorld ? runDevices(json["devices"]) : runDevice(json));
  return finish();
}

bool LaunchFile::readDefaults(const JsonReader &json) {
  defaults.checks = options.checks;
  defaults.seed = options.seed;
  defaults.profile = options.profile;
  defaults.timelineCtas = options.timelineCtas;
  defaults.threads = options.threads;
  defaults.truncatesTensorSums = options.truncatingSums;
  defaults.timedChip = options.timedChip;
  defaults.timeChanges = options.timeChanges;
  defaults.timeLines = options.timeLines;
  defaults.skipsMmas = options.skipsMmas;
  defaults.machineCode = options.machineCode;
  if (uint32_t count = smsOfTimedChip(options.timedChip))
    defaults.smCount = count;
  if (json.has("sm_count"))
    defaults.smCount = json["sm_count"].unsignedInteger(1u << 20);
  if (json.has("attributes")) {
    JsonReader a = json["attributes"];
    if (!a.onlyKeys({"max_dynamic_smem", "non_portable_cluster"}))
      return false;
    if (a.has("max_dynamic_smem"))
      defaults.maxDynamicSharedBytes =
          a["max_dynamic_smem"].unsignedInteger(1u << 30);
    if (a.has("non_portable_cluster"))
      defaults.nonPortableCluster = a["non_portable_cluster"].boolean();
  }
  if (json.has("limits")) {
    JsonReader l = json["limits"];
    if (!l.onlyKeys({"instructions"}))
      return false;
    if (l.has("instructions"))
      defaults.maxInstructions = l["instructions"].unsignedInteger();
  }
  if (options.mostInstructions)
    defaults.maxInstructions =
        std::min(defaults.maxInstructions, options.mostInstructions);
  return true;
}

bool LaunchFile::writeOutputs(const JsonReader &json, bool write) {
  if (json.has("outputs"))
    for (auto &[name, o] : json["outputs"].members())
      if (!writeOutput(name, o, write))
        return false;
  return !json.failed();
}

bool LaunchFile::runDevice(const JsonReader &json) {
  if (!makeBuffers(json) || !fillMemory(json) || !writeOutputs(json, false))
    return false;
  if (!(json.has("launches") ? runSteps(json["launches"]) : oneLaunch(json)))
    return false;
  // Write outputs even after findings, because they help in debugging. Bad
  // input produces no outputs.
  return result.exitStatus() == kExitBadInput || writeOutputs(json, true);
}

bool LaunchFile::runSteps(const JsonReader &json) {
  for (const JsonReader &step : json.elements()) {
    bool good = false;
    // Host operations wait for all earlier steps.
    if (!step.has("kernel"))
      perform([&memory = memory()] { memory.settle(); });
    if (step.has("memset")) {
      good = step.onlyKeys({"memset"}) && memset(step["memset"]);
    } else if (step.has("copy")) {
      good = step.onlyKeys({"copy"}) && copy(step["copy"]);
    } else {
      good =
          step.onlyKeys({"kernel", "grid", "block", "cluster", "dynamic_smem",
                         "sm_count", "programmatic", "cooperative", "args"}) &&
          oneLaunch(step);
      if (good && !world && !result.reports.back().clean())
        break;
    }
    if (!good)
      return false;
  }
  return !json.failed();
}

int LaunchFileResult::exitStatus() const {
  return error.empty() ? exitStatusOf(reports) : int(kExitBadInput);
}

LaunchFileResult mx::sim::runLaunchFile(const LaunchFileOptions &options) {
  return LaunchFile(options).run();
}
