//===- ReadManifest.cpp - Parsing of manifests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are not trusted. Keys must be known, values must be valid, and each
// reference must have a definition. Definitions are read before their uses,
// regardless of their order in the file.
//===----------------------------------------------------------------------===//

#include "EntryReader.h"
#include "mx/Support/GroupLimits.h"
#include "mxsim/io/InputFile.h"

#include <algorithm>
#include <set>

using namespace mx;
using namespace mx::plan;

namespace {

/// Reads a file name. The file must be in the directory of the manifest.
std::string readFileName(const JsonReader &json, const char *key) {
  if (!json.has(key))
    return {};
  std::string name = json[key].string();
  if (!json.failed() && !isFileBeside(name))
    json[key].fail("expected the name of a file next to the manifest, found '" +
                   name + "'");
  return name;
}

Kernel readKernel(const JsonReader &json) {
  Kernel kernel;
  if (!json.onlyKeys(
          {"name", "block", "dynamic_smem", "programmatic", "schedule"}))
    return kernel;
  kernel.name = json["name"].string();
  std::vector<int64_t> block = json["block"].list<int64_t>(
      [](const JsonReader &size) { return size.integer(1, 1024); });
  if (!json.failed() && block.size() != 3)
    json["block"].fail("expected 3 numbers, found " +
                       std::to_string(block.size()));
  if (block.size() == 3)
    std::copy(block.begin(), block.end(), kernel.block.begin());
  kernel.dynamicSharedMemory = json["dynamic_smem"].integer(0, INT32_MAX);
  kernel.programmatic = json["programmatic"].boolean();
  if (json.has("schedule"))
    kernel.schedule = json["schedule"].string();
  return kernel;
}

Constant readConstant(const JsonReader &json) {
  Constant constant;
  if (!json.onlyKeys({"name", "offset", "bytes"}))
    return constant;
  constant.name = json["name"].string();
  constant.offset = readOffset(json["offset"]);
  constant.bytes = json["bytes"].integer(0, kMaxBytes);
  return constant;
}

RankGroup readRankGroup(const JsonReader &json) {
  RankGroup group;
  if (!json.onlyKeys({"name", "size", "tokens"}))
    return group;
  group.name = json["name"].string();
  if (!json.failed() && group.name.empty())
    json["name"].fail("expected the name of a group, found ''");
  group.size = json["size"].integer(1, kMostRanks);
  group.tokens = json["tokens"].integer(1, kMostGroupTokens / group.size);
  return group;
}

void readManifest(const JsonReader &json, Manifest &manifest) {
  // Check the version first, because other versions have other keys.
  int64_t format = json["format"].integer(INT64_MIN, INT64_MAX);
  if (!json.failed() && format != kFormat)
    json["format"].fail("expected format " + std::to_string(kFormat) +
                        ", found " + std::to_string(format) +
                        ": compile the program again");
  if (json.failed() ||
      !json.onlyKeys({"format", "target", "ptx", "cubin", "data", "constants",
                      "groups", "kernels", "entries"}))
    return;
  manifest.target = json["target"].string();
  manifest.ptx = readFileName(json, "ptx");
  manifest.cubin = readFileName(json, "cubin");
  manifest.data = readFileName(json, "data");
  if (json.has("constants"))
    manifest.constants = json["constants"].list<Constant>(readConstant);
  std::set<std::string> names;
  auto once = [&](const JsonReader &of, const std::string &name) {
    if (!of.failed() && !names.insert(name).second)
      of.fail("the name '" + name + "' is used twice");
  };
  if (json.has("groups"))
    json["groups"].elements([&](const JsonReader &group) {
      manifest.groups.push_back(readRankGroup(group));
      once(group, manifest.groups.back().name);
    });
  names.clear();
  json["kernels"].elements([&](const JsonReader &kernel) {
    manifest.kernels.push_back(readKernel(kernel));
    once(kernel, manifest.kernels.back().name);
  });
  names.clear();
  json["entries"].elements([&](const JsonReader &entry) {
    EntryReader(manifest, manifest.entries.emplace_back()).read(entry);
    once(entry, manifest.entries.back().name);
  });
  if (!json.failed() && !manifest.kernels.empty() && manifest.ptx.empty())
    json.fail("missing key 'ptx'");
  if (!json.failed() && !manifest.constants.empty() && manifest.data.empty())
    json.fail("missing key 'data'");
}

} // namespace

std::string mx::plan::readManifest(std::string_view text, Manifest &manifest) {
  manifest = {};
  Json json;
  std::string error = parseJson(text, json);
  if (error.empty())
    ::readManifest(JsonReader(json, "", error), manifest);
  return error;
}
