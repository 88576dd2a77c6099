//===- WriteManifest.cpp - Serialization of manifests ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes each expression, requirement, tensor map and step on a separate line,
// so that manifests can be compared line by line. ReadEntry.cpp and
// ReadSteps.cpp read this format.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Plan.h"
#include "mxsim/io/JsonWriter.h"

using namespace mx;
using namespace mx::plan;

namespace {

class Writer {
public:
  explicit Writer(const Manifest &manifest) : manifest(manifest) {}
  std::string write();

private:
  /// Writes an object on a single line.
  template <class F>
  void object(F members) {
    json.line([&] { json.object(members); });
  }
  void number(const Number &number) {
    if (number.isConstant())
      json.value(number.value);
    else
      json.value(number.str());
  }
  void member(std::string_view name, const Number &value) {
    json.key(name);
    number(value);
  }
  void members() {}
  template <class T, class... Rest>
  void members(const char *name, const T &value, const Rest &...rest) {
    if constexpr (std::is_same_v<T, Number>)
      member(name, value);
    else
      json.member(name, value);
    members(rest...);
  }
  /// Writes an array on a single line.
  template <class Range, class F>
  void row(const char *name, const Range &values, F each) {
    json.line([&] { json.list(name, values, each); });
  }
  template <class Range>
  void numbers(const char *name, const Range &values) {
    row(name, values, [&](const Number &value) { number(value); });
  }

  void write(const Entry &entry);
  void write(const Value &value);
  void write(const Argument &argument);
  void write(const Result &result);
  void write(const Expression &expression);
  void write(const Requirement &requirement);
  void write(const TensorMap &map);
  void writeToken(const Step &step);
  void write(const Step &step);
  void writeRegions(const Step &step);
  void write(const char *name, const Block &block);
  void write(const Block &block);
  void names(const char *name, const std::vector<Operand> &operands);
  void buffers(const char *name, const std::vector<Buffer> &buffers);
  void write(const Parameter &parameter);
  void write(const Kernel &kernel);

  const Manifest &manifest;
  JsonWriter json;
};

void Writer::write(const Value &value) {
  members("name", value.name, "type", value.type, "dtype", value.dtype);
}

void Writer::write(const Argument &argument) {
  object([&] {
    write(static_cast<const Value &>(argument));
    if (argument.isNumber)
      return;
    json.list("shape", argument.shape, [&](int64_t extent) {
      if (extent == kDynamic)
        json.value("?");
      else
        json.value(extent);
    });
  });
}

void Writer::write(const Result &result) {
  object([&] {
    write(static_cast<const Value &>(result));
    if (result.isNumber)
      return member("value", result.value);
    numbers("shape", result.shape);
    if (result.isTaken)
      json.member("from", result.buffer.str());
  });
}

void Writer::write(const Expression &expression) {
  json.line([&] {
    json.beginArray();
    std::string name = getName(expression.op);
    unsigned types = getTypeCount(expression.op);
    if (types >= 1)
      name += "." + expression.type.str();
    if (types == 2)
      name += "." + expression.to.str();
    json.value(name);
    for (unsigned i = 0; i < getOperandCount(expression.op); ++i)
      number(expression.operands[i]);
    if (!expression.place.empty())
      json.value(expression.place);
    json.endArray();
  });
}

void Writer::write(const Requirement &requirement) {
  object([&] {
    member("condition", requirement.condition);
    json.member("message", requirement.message);
    numbers("values", requirement.values);
  });
}

void Writer::names(const char *name, const std::vector<Operand> &operands) {
  row(name, operands, [&](const Operand &operand) {
    if (operand.isBuffer)
      json.value(operand.buffer.str());
    else
      number(operand.number);
  });
}

void Writer::buffers(const char *name, const std::vector<Buffer> &buffers) {
  row(name, buffers, [&](const Buffer &buffer) { json.value(buffer.str()); });
}

void Writer::write(const char *name, const Block &block) {
  json.key(name);
  write(block);
}

void Writer::write(const Block &block) {
  json.object([&] {
    json.list("steps", block.steps, [&](const Step &step) { write(step); });
    names("yields", block.yields);
  });
}

void Writer::write(const TensorMap &map) {
  object([&] {
    members("buffer", map.buffer.str(), "offset", map.offset, "type",
            target::getInfo(map.type).name);
    numbers("dims", map.dims);
    numbers("strides", map.strides);
    json.row("box", map.box);
    members("swizzle", getInfo(map.swizzle).name, "l2", target::getName(map.l2),
            "oob", target::getName(map.fill));
  });
}

void Writer::write(const Parameter &parameter) {
  static const char kDigits[] = "0123456789abcdef";
  object([&] {
    switch (parameter.kind) {
    case Parameter::Pointer:
      json.member("buffer", parameter.buffer.str());
      if (parameter.number != Number(0))
        member("offset", parameter.number);
      return;
    case Parameter::TensorMap:
      return json.member("tensor_map", parameter.index);
    case Parameter::Integer:
      return member("i" + std::to_string(8 * parameter.bytes),
                    parameter.number);
    case Parameter::Float:
      return member("f" + std::to_string(8 * parameter.bytes),
                    parameter.number);
    case Parameter::Argument:
      return json.member("argument", parameter.index);
    case Parameter::Bytes:
      std::string hex;
      for (uint8_t byte : parameter.data)
        hex.append({kDigits[byte >> 4], kDigits[byte & 15]});
      return json.member("bytes", hex);
    }
  });
}

void Writer::writeToken(const Step &step) {
  if (step.token != Step::kInOrder)
    json.member("token", step.token);
}

void Writer::write(const Step &step) {
  if (!step.blocks.empty())
    return writeRegions(step);
  object([&] {
    switch (step.kind) {
    case Step::Launch:
      json.member("launch", manifest.kernels[step.kernel].name);
      numbers("grid", step.grid);
      return json.list("args", step.parameters,
                       [&](const Parameter &parameter) { write(parameter); });
    case Step::AllGather:
      members("all_gather", step.to.str(), "group", step.group, "bytes",
              step.bytes);
      return writeToken(step);
    case Step::AllToAll:
      members("all_to_all", step.from.str(), "to", step.to.str(), "group",
              step.group, "bytes", step.bytes);
      return writeToken(step);
    case Step::Wait:
      return members("wait", step.token, "group", step.group);
    case Step::Barrier:
      return members("barrier", step.group);
    case Step::Memset:
      return members("memset", step.to.str(), "byte", unsigned(step.byte),
                     "bytes", step.bytes);
    case Step::Copy:
      json.member("copy", step.from.str());
      json.member("to", step.to.str());
      if (step.offset != Number(0))
        member("offset", step.offset);
      return member("bytes", step.bytes);
    case Step::Compute:
      json.member("compute", step.results[0].number.str());
      json.key("as");
      return write(step.expression);
    case Step::Require:
      json.key("require");
      return write(step.requirement);
    case Step::Encode:
      json.member("encode", step.index);
      json.key("map");
      return write(step.map);
    case Step::Read:
      return members("read", step.from.str(), "offset", step.offset, "dtype",
                     step.dtype, "to", step.results[0].number.str());
    case Step::Choose:
      json.member("choose", step.results[0].buffer.str());
      buffers("among", step.among);
      return buffers("besides", step.besides);
    case Step::Take:
      return members("take", step.results[0].buffer.str(), "bytes", step.bytes);
    case Step::If:
    case Step::Switch:
    case Step::For:
    case Step::While:
      return;
    }
  });
}

/// Writes a step with blocks, with a line for each nested step.
void Writer::writeRegions(const Step &step) {
  json.beginObject();
  switch (step.kind) {
  case Step::If:
    member("if", step.condition);
    names("results", step.results);
    write("then", step.blocks[0]);
    write("else", step.blocks[1]);
    break;
  case Step::Switch:
    member("switch", step.condition);
    json.row("cases", step.cases);
    names("results", step.results);
    json.list("do", step.blocks, [&](const Block &block) { write(block); });
    break;
  case Step::For:
    members("for", step.induction.str(), "from", step.range[0], "to",
            step.range[1], "step", step.range[2]);
    names("carries", step.results);
    names("init", step.inits);
    write("do", step.blocks[0]);
    break;
  default: { // While
    auto middle = step.results.begin() + std::ptrdiff_t(step.inits.size());
    names("while", {step.results.begin(), middle});
    names("init", step.inits);
    names("passes", {middle, step.results.end()});
    write("test", step.blocks[0]);
    write("do", step.blocks[1]);
  }
  }
  json.endObject();
}

void Writer::write(const Kernel &kernel) {
  object([&] {
    json.member("name", kernel.name);
    json.row("block", kernel.block);
    json.member("dynamic_smem", kernel.dynamicSharedMemory);
    json.member("programmatic", kernel.programmatic);
    if (!kernel.schedule.empty())
      json.member("schedule", kernel.schedule);
  });
}

void Writer::write(const Entry &entry) {
  json.beginObject();
  json.member("name", entry.name);
  auto each = [&](const auto &item) { write(item); };
  json.list("arguments", entry.arguments, each);
  json.list("results", entry.results, each);
  json.list("values", entry.values, each);
  json.list("requires", entry.requirements, each);
  member("workspace", entry.workspaceBytes);
  json.list("buffers", entry.workBuffers, [&](const WorkBuffer &buffer) {
    object([&] { members("offset", buffer.offset, "bytes", buffer.bytes); });
  });
  if (!entry.windows.empty())
    json.list("windows", entry.windows, [&](const Window &window) {
      object([&] {
        members("group", window.group, "offset", window.offset, "bytes",
                window.bytes);
      });
    });
  json.list("tensor_maps", entry.tensorMaps, each);
  json.list("steps", entry.steps, each);
  json.endObject();
}

std::string Writer::write() {
  json.beginObject();
  json.member("format", kFormat);
  json.member("target", manifest.target);
  if (!manifest.ptx.empty())
    json.member("ptx", manifest.ptx);
  if (!manifest.cubin.empty())
    json.member("cubin", manifest.cubin);
  if (!manifest.data.empty())
    json.member("data", manifest.data);
  if (!manifest.constants.empty())
    json.list("constants", manifest.constants, [&](const Constant &constant) {
      object([&] {
        members("name", constant.name, "offset", constant.offset, "bytes",
                constant.bytes);
      });
    });
  if (!manifest.groups.empty())
    json.list("groups", manifest.groups, [&](const RankGroup &group) {
      object([&] {
        members("name", group.name, "size", group.size, "tokens", group.tokens);
      });
    });
  json.list("kernels", manifest.kernels,
            [&](const Kernel &kernel) { write(kernel); });
  json.list("entries", manifest.entries,
            [&](const Entry &entry) { write(entry); });
  json.endObject();
  return std::move(json.text) + "\n";
}

} // namespace

std::string mx::plan::writeManifest(const Manifest &manifest) {
  return Writer(manifest).write();
}
