//===- ReadManifest.cpp - A plan from JSON --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files come from anywhere: every key must be known, every value must have the
// expected form, and whatever is referred to must be there. What is numbered is
// read before what refers to it, in whichever order it stands.
//===----------------------------------------------------------------------===//

#include "Reader.h"
#include "mx/Plan/Plan.h"

#include <algorithm>
#include <set>

using namespace mx;
using namespace mx::plan;

namespace {

/// Reads one entry; knows how many of everything there is.
class EntryReader {
public:
  EntryReader(const Manifest &manifest, Entry &entry)
      : manifest(manifest), entry(entry) {}

  void read(const Reader &json);

private:
  void readValue(const Reader &json, Value &value);
  Argument readArgument(const Reader &json);
  Result readResult(const Reader &json);
  Expression readExpression(const Reader &json);
  Requirement readRequirement(const Reader &json);
  TensorMap readTensorMap(const Reader &json);
  Step readStep(const Reader &json);
  Parameter readParameter(const Reader &json);
  Number readNumber(const Reader &json);
  /// A number that is needed before addresses are known.
  Number readSize(const Reader &json);
  std::vector<Number> readNumbers(const Reader &json) {
    return json.list<Number>([&](const Reader &n) { return readNumber(n); });
  }
  Buffer readBuffer(const Reader &json);
  /// Why nothing has that name, or nothing.
  std::string explainMissing(const Number &number) const;

  const Manifest &manifest;
  Entry &entry;
  size_t resultCount = 0, bufferCount = 0;
  /// Of the values, which follow from an address.
  std::vector<bool> addresses;
};

void EntryReader::readValue(const Reader &json, Value &value) {
  value.name = json["name"].string();
  value.type = json["type"].string();
  value.dtype = json["dtype"].string();
  if (!json.failed() && !getItemBytes(value.dtype))
    json["dtype"].fail("expected i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 or f8, "
                       "found '" +
                       value.dtype + "'");
}

Argument EntryReader::readArgument(const Reader &json) {
  Argument argument;
  if (!json.onlyKeys({"name", "type", "dtype", "shape"}))
    return argument;
  readValue(json, argument);
  argument.isNumber = !json.has("shape");
  if (argument.isNumber)
    return argument;
  json["shape"].elements([&](const Reader &extent) {
    bool isDynamic = extent.isString() && extent.string() == "?";
    argument.shape.push_back(isDynamic ? kDynamic
                                       : extent.integer(0, INT64_MAX));
  });
  return argument;
}

Result EntryReader::readResult(const Reader &json) {
  Result result;
  if (!json.onlyKeys({"name", "type", "dtype", "shape"}))
    return result;
  readValue(json, result);
  json["shape"].elements(
      [&](const Reader &extent) { result.shape.push_back(readSize(extent)); });
  return result;
}

std::string EntryReader::explainMissing(const Number &number) const {
  size_t index = size_t(number.value), arguments = entry.arguments.size();
  auto among = [](size_t count, const char *what) {
    return "expected one of " + std::to_string(count) + " " + what;
  };
  switch (number.kind) {
  case Number::Constant:
  case Number::SmCount:
    return {};
  case Number::Value:
    return index < addresses.size() ? ""
                                    : among(addresses.size(), "values before");
  case Number::ResultAddress:
    return index < resultCount ? "" : among(resultCount, "results");
  case Number::WorkAddress:
    return index < bufferCount ? "" : among(bufferCount, "buffers");
  case Number::Extent:
  case Number::ArgumentAddress:
  case Number::Argument:
  case Number::ArgumentBits:
    break;
  }
  if (index >= arguments)
    return among(arguments, "arguments");
  const Argument &argument = entry.arguments[index];
  if (number.kind == Number::Argument)
    return argument.isNumber && argument.dtype[0] != 'f'
               ? ""
               : "expected an argument that is an integer";
  if (number.kind == Number::ArgumentBits)
    return argument.isNumber && argument.dtype == "f4"
               ? ""
               : "expected an argument that is an f32";
  if (argument.isNumber)
    return "expected an argument that is an array";
  if (number.kind == Number::Extent && number.dim >= argument.shape.size())
    return among(argument.shape.size(), "dimensions");
  return {};
}

Number EntryReader::readNumber(const Reader &json) {
  if (!json.isString())
    return json.integer(INT64_MIN, INT64_MAX);
  std::optional<Number> number = Number::parse(json.string());
  std::string why =
      number ? explainMissing(*number)
             : "expected a number such as 128, v0, arg0, arg0[1], arg0.bits, "
               "arg0.address, result0.address, work0.address or sm_count";
  if (why.empty())
    return *number;
  json.fail(why + ", found '" + json.string() + "'");
  return {};
}

Number EntryReader::readSize(const Reader &json) {
  Number number = readNumber(json);
  if (!json.failed() && dependsOnAddress(number, addresses))
    json.fail("expected a size that follows from no address, found '" +
              number.str() + "'");
  return number;
}

Expression EntryReader::readExpression(const Reader &json) {
  Expression expression;
  size_t at = 0;
  json.elements([&](const Reader &element) {
    if (at == 0)
      expression.op = element.enumerator<Operator>(
          kNumOperators, [](Operator op) { return getName(op); });
    else if (at <= 3)
      expression.operands[at - 1] = readNumber(element);
    ++at;
  });
  unsigned expected = getOperandCount(expression.op);
  if (!json.failed() && at != expected + 1)
    json.fail(at == 0 ? "expected an operator and its operands"
                      : "expected " + std::to_string(expected) +
                            " operands of " + getName(expression.op) +
                            ", found " + std::to_string(at - 1));
  bool isAddress = false;
  for (const Number &operand : expression.operands)
    isAddress |= dependsOnAddress(operand, addresses);
  addresses.push_back(isAddress);
  return expression;
}

Requirement EntryReader::readRequirement(const Reader &json) {
  Requirement requirement;
  if (!json.onlyKeys({"condition", "message", "values"}))
    return requirement;
  requirement.condition = readNumber(json["condition"]);
  requirement.message = json["message"].string();
  requirement.values = readNumbers(json["values"]);
  size_t places = 0;
  for (size_t at = 0;
       (at = requirement.message.find("{}", at)) != std::string::npos; at += 2)
    ++places;
  if (!json.failed() && places != requirement.values.size())
    json["message"].fail("expected {} for each of " +
                         std::to_string(requirement.values.size()) +
                         " values, found " + std::to_string(places));
  return requirement;
}

Buffer EntryReader::readBuffer(const Reader &json) {
  std::string text = json.string();
  std::optional<Buffer> buffer = Buffer::parse(text);
  size_t counts[] = {entry.arguments.size(), resultCount, bufferCount};
  if (buffer && buffer->index < counts[buffer->kind])
    if (buffer->kind != Buffer::Argument ||
        !entry.arguments[buffer->index].isNumber)
      return *buffer;
  if (!json.failed())
    json.fail("expected a buffer such as arg0, result0 or work0 that is there, "
              "found '" +
              text + "'");
  return {};
}

TensorMap EntryReader::readTensorMap(const Reader &json) {
  TensorMap map;
  if (!json.onlyKeys({"buffer", "offset", "type", "dims", "strides", "box",
                      "swizzle", "l2", "oob"}))
    return map;
  map.buffer = readBuffer(json["buffer"]);
  map.offset = readSize(json["offset"]);
  map.type = json["type"].enumerator<target::TensorMapType>(
      target::kNumTensorMapTypes,
      [](target::TensorMapType type) { return target::getInfo(type).name; });
  map.dims = readNumbers(json["dims"]);
  map.strides = readNumbers(json["strides"]);
  map.box = json["box"].list<int64_t>([](const Reader &size) {
    return size.integer(1, target::kTensorMapMaxBox);
  });
  map.swizzle = json["swizzle"].enumerator<Swizzle>(
      kNumSwizzles, [](Swizzle swizzle) { return getInfo(swizzle).name; });
  map.l2 = json["l2"].enumerator<target::TensorMapL2>(
      4, [](target::TensorMapL2 l2) { return target::getName(l2); });
  map.fill = json["oob"].enumerator<target::TensorMapFill>(
      2, [](target::TensorMapFill fill) { return target::getName(fill); });
  if (json.failed())
    return map;
  size_t rank = map.dims.size();
  if (rank < 1 || rank > target::kTensorMapMaxRank)
    json["dims"].fail("expected 1 to " +
                      std::to_string(target::kTensorMapMaxRank) +
                      " dimensions, found " + std::to_string(rank));
  else if (map.strides.size() != rank - 1 || map.box.size() != rank)
    json.fail("expected " + std::to_string(rank - 1) +
              " strides and a box of " + std::to_string(rank) +
              " for as many dimensions, found " +
              std::to_string(map.strides.size()) + " and " +
              std::to_string(map.box.size()));
  return map;
}

/// The bytes that pairs of hexadecimal digits stand for.
std::vector<uint8_t> readBytes(const Reader &json) {
  std::string text = json.string();
  std::vector<uint8_t> bytes;
  auto digit = [](char c) -> unsigned {
    return c >= '0' && c <= '9'   ? unsigned(c - '0')
           : c >= 'a' && c <= 'f' ? unsigned(c - 'a' + 10)
                                  : 16;
  };
  bool isHex = !text.empty() && text.size() % 2 == 0 && text.size() <= 16;
  for (size_t i = 0; isHex && i < text.size(); i += 2) {
    unsigned high = digit(text[i]), low = digit(text[i + 1]);
    isHex = high < 16 && low < 16;
    bytes.push_back(uint8_t(high * 16 + low));
  }
  if (!isHex && !json.failed())
    json.fail("expected 1 to 8 bytes as pairs of hexadecimal digits, found '" +
              text + "'");
  return bytes;
}

Parameter EntryReader::readParameter(const Reader &json) {
  Parameter parameter;
  if (!json.onlyKeys(
          {"buffer", "tensor_map", "i64", "i32", "bytes", "argument"}))
    return parameter;
  if (json.size() != 1) {
    json.fail("expected one of buffer, tensor_map, i64, i32, bytes, argument");
    return parameter;
  }
  if (json.has("buffer")) {
    parameter.kind = Parameter::Pointer;
    parameter.buffer = readBuffer(json["buffer"]);
  } else if (json.has("tensor_map")) {
    parameter.kind = Parameter::TensorMap;
    parameter.index = unsigned(
        json["tensor_map"].integer(0, int64_t(entry.tensorMaps.size()) - 1));
  } else if (json.has("bytes")) {
    parameter.kind = Parameter::Bytes;
    parameter.data = readBytes(json["bytes"]);
  } else if (json.has("argument")) {
    parameter.kind = Parameter::Argument;
    parameter.index = unsigned(
        json["argument"].integer(0, int64_t(entry.arguments.size()) - 1));
    if (!json.failed() && !entry.arguments[parameter.index].isNumber)
      json["argument"].fail("expected an argument that is a number");
  } else {
    parameter.bytes = json.has("i32") ? 4 : 8;
    parameter.number = readNumber(json[json.has("i32") ? "i32" : "i64"]);
  }
  return parameter;
}

Step EntryReader::readStep(const Reader &json) {
  Step step;
  if (json.has("launch")) {
    if (!json.onlyKeys({"launch", "grid", "args"}))
      return step;
    std::string name = json["launch"].string();
    auto kernel = std::find_if(manifest.kernels.begin(), manifest.kernels.end(),
                               [&](const Kernel &k) { return k.name == name; });
    if (kernel == manifest.kernels.end())
      json["launch"].fail("expected a kernel of this manifest, found '" + name +
                          "'");
    step.kernel = unsigned(kernel - manifest.kernels.begin());
    std::vector<Number> grid = readNumbers(json["grid"]);
    if (!json.failed() && grid.size() != 3)
      json["grid"].fail("expected 3 numbers, found " +
                        std::to_string(grid.size()));
    if (grid.size() == 3)
      std::copy(grid.begin(), grid.end(), step.grid.begin());
    step.parameters = json["args"].list<Parameter>(
        [&](const Reader &parameter) { return readParameter(parameter); });
    return step;
  }
  bool isCopy = json.has("copy");
  step.kind = isCopy ? Step::Copy : Step::Memset;
  if (isCopy ? !json.onlyKeys({"copy", "to", "bytes"})
             : !json.onlyKeys({"memset", "byte", "bytes"}))
    return step;
  step.to = readBuffer(json[isCopy ? "to" : "memset"]);
  if (isCopy)
    step.from = readBuffer(json["copy"]);
  else
    step.byte = uint8_t(json["byte"].integer(0, 255));
  step.bytes = readNumber(json["bytes"]);
  return step;
}

void EntryReader::read(const Reader &json) {
  if (!json.onlyKeys({"name", "arguments", "results", "values", "requires",
                      "workspace", "buffers", "tensor_maps", "steps"}))
    return;
  entry.name = json["name"].string();
  resultCount = json["results"].size();
  bufferCount = json["buffers"].size();
  json["arguments"].elements([&](const Reader &argument) {
    entry.arguments.push_back(readArgument(argument));
  });
  json["values"].elements([&](const Reader &value) {
    entry.values.push_back(readExpression(value));
  });
  json["results"].elements([&](const Reader &result) {
    entry.results.push_back(readResult(result));
  });
  json["requires"].elements([&](const Reader &requirement) {
    entry.requirements.push_back(readRequirement(requirement));
  });
  entry.workspaceBytes = readSize(json["workspace"]);
  json["buffers"].elements([&](const Reader &buffer) {
    if (buffer.onlyKeys({"offset", "bytes"}))
      entry.workBuffers.push_back(
          {readSize(buffer["offset"]), readSize(buffer["bytes"])});
  });
  json["tensor_maps"].elements([&](const Reader &map) {
    entry.tensorMaps.push_back(readTensorMap(map));
  });
  json["steps"].elements(
      [&](const Reader &step) { entry.steps.push_back(readStep(step)); });
}

/// The name of a file beside the manifest.
std::string readFileName(const Reader &json, const char *key) {
  if (!json.has(key))
    return {};
  std::string name = json[key].string();
  if (!json.failed() &&
      (name.empty() || name == "." || name == ".." ||
       name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos))
    json[key].fail("expected the name of a file beside the manifest, found '" +
                   name + "'");
  return name;
}

Kernel readKernel(const Reader &json) {
  Kernel kernel;
  if (!json.onlyKeys(
          {"name", "block", "dynamic_smem", "programmatic", "schedule"}))
    return kernel;
  kernel.name = json["name"].string();
  std::vector<int64_t> block = json["block"].list<int64_t>(
      [](const Reader &size) { return size.integer(1, 1024); });
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

void readManifest(const Reader &json, Manifest &manifest) {
  // The version first: another one may have other keys.
  int64_t format = json["format"].integer(INT64_MIN, INT64_MAX);
  if (!json.failed() && format != kFormat)
    json["format"].fail("expected format " + std::to_string(kFormat) +
                        ", found " + std::to_string(format) +
                        ": compile the program again");
  if (json.failed() || !json.onlyKeys({"format", "target", "ptx", "cubin",
                                       "kernels", "entries"}))
    return;
  manifest.target = json["target"].string();
  manifest.ptx = readFileName(json, "ptx");
  manifest.cubin = readFileName(json, "cubin");
  std::set<std::string> names;
  auto once = [&](const Reader &of, const std::string &name) {
    if (!of.failed() && !names.insert(name).second)
      of.fail("the name '" + name + "' stands here twice");
  };
  json["kernels"].elements([&](const Reader &kernel) {
    manifest.kernels.push_back(readKernel(kernel));
    once(kernel, manifest.kernels.back().name);
  });
  names.clear();
  json["entries"].elements([&](const Reader &entry) {
    EntryReader(manifest, manifest.entries.emplace_back()).read(entry);
    once(entry, manifest.entries.back().name);
  });
  if (!json.failed() && !manifest.kernels.empty() && manifest.ptx.empty())
    json.fail("missing key 'ptx'");
}

} // namespace

std::string mx::plan::readManifest(std::string_view text, Manifest &manifest) {
  manifest = {};
  Json json;
  std::string error = parseJson(text, json);
  if (error.empty())
    ::readManifest(Reader(json, "", error), manifest);
  return error;
}
