//===- ReadEntry.cpp - Tables of an entry ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads arguments, results, numbers and memory.
//===----------------------------------------------------------------------===//

#include "EntryReader.h"

using namespace mx::plan;

int64_t mx::plan::readOffset(const JsonReader &json) {
  int64_t offset = json.integer(0, kMaxBytes);
  if (!json.failed() && offset % kWorkspaceAlignment)
    json.fail("expected a multiple of " + std::to_string(kWorkspaceAlignment) +
              ", found " + std::to_string(offset));
  return offset;
}

/// Returns true if the caller provides memory for a result.
static bool isMemory(const Result &result) {
  return !result.isNumber && !result.isTaken;
}

void EntryReader::readValue(const JsonReader &json, Value &value) {
  value.name = json["name"].string();
  value.type = json["type"].string();
  value.dtype = json["dtype"].string();
  if (!json.failed() && !getItemBytes(value.dtype))
    json["dtype"].fail("expected b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 or "
                       "f8, found '" +
                       value.dtype + "'");
}

Argument EntryReader::readArgument(const JsonReader &json) {
  Argument argument;
  if (!json.onlyKeys({"name", "type", "dtype", "shape"}))
    return argument;
  readValue(json, argument);
  argument.isNumber = !json.has("shape");
  if (argument.isNumber)
    return argument;
  json["shape"].elements([&](const JsonReader &extent) {
    bool isDynamic = extent.isString() && extent.string() == "?";
    argument.shape.push_back(isDynamic ? kDynamic
                                       : extent.integer(0, INT64_MAX));
  });
  return argument;
}

void EntryReader::readResult(const JsonReader &json, Result &result) {
  if (!json.onlyKeys({"name", "type", "dtype", "shape", "value", "from"}))
    return;
  readValue(json, result);
  result.isNumber = json.has("value");
  if (result.isNumber) {
    result.value = readNumber(json["value"]);
    if (!json.failed() && (json.has("shape") || json.has("from")))
      json.fail("expected a number or a shape, found both");
    return;
  }
  result.isTaken = json.has("from");
  if (result.isTaken)
    result.buffer = readBuffer(json["from"]);
  if (!json.failed() && result.buffer.kind == Buffer::Result)
    json["from"].fail("expected a buffer other than a result");
  json["shape"].elements([&](const JsonReader &extent) {
    result.shape.push_back(result.isTaken ? readNumber(extent)
                                          : readSize(extent));
  });
}

std::string EntryReader::explainMissing(const Number &number) const {
  size_t index = size_t(number.value);
  auto among = [&](size_t count, const char *what) {
    return index < count ? ""
                         : "expected one of " + std::to_string(count) + what;
  };
  auto expect = [](bool holds, const char *what) -> std::string {
    return holds ? "" : what;
  };
  std::string why;
  switch (number.kind) {
  case Number::Constant:
  case Number::SmCount:
    return {};
  case Number::Value:
    why = among(values.size(), " values before");
    return why.empty() ? expect(values[index], "expected a value of this block")
                       : why;
  case Number::ResultAddress:
    why = among(resultCount, " results");
    return why.empty()
               ? expect(isMemory(entry.results[index]),
                        "expected a result that is an array of the caller")
               : why;
  case Number::WorkAddress:
    return among(bufferCount, " buffers");
  case Number::ConstantAddress:
    return among(manifest.constants.size(), " constants");
  case Number::WindowAddress:
    return among(entry.windows.size(), " windows");
  case Number::Peers:
  case Number::Rank:
    return among(manifest.groups.size(), " groups");
  case Number::ChosenAddress:
    return expect(index < chosen.size() && chosen[index],
                  "expected a buffer that was chosen before");
  case Number::Extent:
  case Number::ArgumentAddress:
  case Number::Argument:
  case Number::ArgumentBits:
    break;
  }
  why = among(entry.arguments.size(), " arguments");
  if (!why.empty())
    return why;
  const Argument &argument = entry.arguments[index];
  if (number.kind == Number::Argument)
    return expect(argument.isNumber && argument.dtype[0] != 'f',
                  "expected an argument that is an integer");
  if (number.kind == Number::ArgumentBits)
    return expect(argument.isNumber && argument.dtype[0] != 'i',
                  "expected an argument that is a float");
  if (argument.isNumber)
    return "expected an argument that is an array";
  index = number.dim;
  return number.kind == Number::Extent
             ? among(argument.shape.size(), " dimensions")
             : "";
}

Number EntryReader::readNumber(const JsonReader &json) {
  if (!json.isString())
    return json.integer(INT64_MIN, INT64_MAX);
  std::optional<Number> number = Number::parse(json.string());
  std::string why =
      number ? explainMissing(*number)
             : "expected a number such as 128, v0, arg0, arg0[1], arg0.bits, "
               "arg0.address, result0.address, work0.address, const0.address, "
               "win0.address, group0.peers, group0.rank or sm_count";
  if (why.empty())
    return *number;
  json.fail(why + ", found '" + json.string() + "'");
  return {};
}

Number EntryReader::readSize(const JsonReader &json) {
  Number number = readNumber(json);
  if (!json.failed() && dependsOnAddress(number, addresses))
    json.fail("expected a size that depends on no address, found '" +
              number.str() + "'");
  return number;
}

/// Reads an operator such as "add", "addi.i32" or "truncf.f64.bf16".
void EntryReader::readOperator(const JsonReader &json, Expression &expression) {
  std::string text = json.string();
  std::vector<std::string> words = {""};
  for (char c : text)
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  std::optional<Operator> op = parseOperator(words[0]);
  std::vector<NumberType> types;
  for (size_t i = 1; i < words.size(); ++i)
    types.push_back(NumberType::parse(words[i]).value_or(NumberType()));
  if (op && types.size() == getTypeCount(*op)) {
    expression.op = *op;
    types.resize(2);
    expression.type = types[0];
    expression.to = types[1];
    if (takesTypes(*op, expression.type, expression.to))
      return;
  }
  if (!json.failed())
    json.fail("expected an operator such as add, addi.i32 or truncf.f64.bf16, "
              "found '" +
              text + "'");
}

Expression EntryReader::readExpression(const JsonReader &json) {
  Expression expression;
  size_t at = 0, expected = 0;
  json.elements([&](const JsonReader &element) {
    if (at == 0) {
      readOperator(element, expression);
      expected = getOperandCount(expression.op);
    } else if (at <= expected) {
      expression.operands[at - 1] = readNumber(element);
    } else if (at == expected + 1) {
      expression.place = element.string();
    }
    ++at;
  });
  if (!json.failed() && (at < expected + 1 || at > expected + 2))
    json.fail(at == 0 ? "expected an operator and its operands"
                      : "expected " + std::to_string(expected) +
                            " operands of " + getName(expression.op) +
                            " and optionally a location, found " +
                            std::to_string(at - 1));
  return expression;
}

Requirement EntryReader::readRequirement(const JsonReader &json) {
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

Buffer EntryReader::readBuffer(const JsonReader &json) {
  std::string text = json.string();
  std::optional<Buffer> buffer = Buffer::parse(text);
  if (buffer && explainMissing(buffer->getAddress()).empty())
    return *buffer;
  if (!json.failed())
    json.fail("expected a buffer such as arg0, result0, work0, const0, win0 or "
              "buf0 that exists, found '" +
              text + "'");
  return {};
}

Buffer EntryReader::readTarget(const JsonReader &json) {
  Buffer buffer = readBuffer(json);
  if (!json.failed() && buffer.kind == Buffer::Constant)
    json.fail("expected a buffer that may be written, found the constant '" +
              buffer.str() + "'");
  return buffer;
}

unsigned EntryReader::readRankGroup(const JsonReader &json) {
  int64_t group = json.integer(INT64_MIN, INT64_MAX);
  if (!json.failed() && (group < 0 || size_t(group) >= manifest.groups.size()))
    json.fail("expected one of " + std::to_string(manifest.groups.size()) +
              " groups, found " + std::to_string(group));
  return unsigned(group);
}

Window EntryReader::readWindow(const JsonReader &json) {
  Window window;
  if (!json.onlyKeys({"group", "offset", "bytes"}))
    return window;
  window.group = readRankGroup(json["group"]);
  window.offset = readOffset(json["offset"]);
  window.bytes = json["bytes"].integer(0, kMaxBytes);
  return window;
}

void EntryReader::read(const JsonReader &json) {
  if (!json.onlyKeys({"name", "arguments", "results", "values", "requires",
                      "workspace", "buffers", "windows", "tensor_maps",
                      "steps"}))
    return;
  entry.name = json["name"].string();
  if (json.has("windows"))
    entry.windows = json["windows"].list<Window>(
        [&](const JsonReader &window) { return readWindow(window); });
  resultCount = json["results"].size();
  bufferCount = json["buffers"].size();
  json["arguments"].elements([&](const JsonReader &argument) {
    entry.arguments.push_back(readArgument(argument));
  });
  // Read results before steps, because steps may compute and write results.
  for (const JsonReader &json : json["results"].elements()) {
    Result &result = entry.results.emplace_back();
    result.isNumber = json.has("value");
    result.isTaken = json.has("from");
  }
  json["values"].elements([&](const JsonReader &value) {
    entry.values.push_back(readExpression(value));
    addresses.push_back(dependsOnAddress(entry.values.back(), addresses));
    values.push_back(true);
  });
  json["requires"].elements([&](const JsonReader &requirement) {
    entry.requirements.push_back(readRequirement(requirement));
  });
  entry.workspaceBytes = readSize(json["workspace"]);
  json["buffers"].elements([&](const JsonReader &buffer) {
    if (buffer.onlyKeys({"offset", "bytes"}))
      entry.workBuffers.push_back(
          {readSize(buffer["offset"]), readSize(buffer["bytes"])});
  });
  json["tensor_maps"].elements([&](const JsonReader &map) {
    entry.tensorMaps.push_back(readTensorMap(map));
    maps.push_back(true);
  });
  entry.steps = readSteps(json["steps"]);
  size_t result = 0;
  json["results"].elements([&](const JsonReader &value) {
    readResult(value, entry.results[result++]);
  });
}
