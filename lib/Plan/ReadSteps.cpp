//===- ReadSteps.cpp - Steps of an entry ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table lists the reader function and the keys of each kind of step.
//===----------------------------------------------------------------------===//

#include "EntryReader.h"

using namespace mx;
using namespace mx::plan;

void EntryReader::readLaunch(const JsonReader &json, Step &step) {
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
      [&](const JsonReader &parameter) { return readParameter(parameter); });
}

/// Fails if the buffer is a window of another rank group. `check` verifies
/// chosen buffers, because their window is unknown before a call.
Buffer EntryReader::readReceiver(const JsonReader &json, const Step &step) {
  Buffer buffer = readTarget(json);
  if (json.failed() || buffer.kind != Buffer::Window ||
      entry.windows[buffer.index].group == step.group)
    return buffer;
  json.fail("expected a window of group " + std::to_string(step.group) +
            ", found '" + buffer.str() + "' of group " +
            std::to_string(entry.windows[buffer.index].group));
  return buffer;
}

void EntryReader::readAllGather(const JsonReader &json, Step &step) {
  step.group = readRankGroup(json["group"]);
  step.to = readReceiver(json["all_gather"], step);
  step.bytes = readNumber(json["bytes"]);
  readToken(json, step);
}

void EntryReader::readAllToAll(const JsonReader &json, Step &step) {
  step.group = readRankGroup(json["group"]);
  step.from = readBuffer(json["all_to_all"]);
  step.to = readReceiver(json["to"], step);
  step.bytes = readNumber(json["bytes"]);
  if (!json.failed() && step.from == step.to)
    json["to"].fail("expected a buffer other than the sent buffer, found "
                    "'" +
                    step.to.str() + "'");
  readToken(json, step);
}

void EntryReader::readToken(const JsonReader &json, Step &step) {
  if (json.failed() || !json.has("token"))
    return;
  step.token = running.start(step.group);
  if (step.token >= kMaxTokens)
    return json["token"].fail("expected at most " + std::to_string(kMaxTokens) +
                              " collectives beside other steps, found more");
  json["token"].integer(step.token, step.token);
}

void EntryReader::readWait(const JsonReader &json, Step &step) {
  step.token = unsigned(json["wait"].integer(0, kMaxTokens - 1));
  step.group = readRankGroup(json["group"]);
  if (!json.failed() && running.wait(step.token, step.group).empty())
    json["wait"].fail("expected the token of a collective of group " +
                      std::to_string(step.group) + " that runs, found " +
                      std::to_string(step.token));
}

void EntryReader::readBarrier(const JsonReader &json, Step &step) {
  step.group = readRankGroup(json["barrier"]);
}

void EntryReader::readMemset(const JsonReader &json, Step &step) {
  step.to = readTarget(json["memset"]);
  step.byte = uint8_t(json["byte"].integer(0, 255));
  step.bytes = readNumber(json["bytes"]);
}

void EntryReader::readCopy(const JsonReader &json, Step &step) {
  step.to = readTarget(json["to"]);
  step.from = readBuffer(json["copy"]);
  if (json.has("offset"))
    step.offset = readNumber(json["offset"]);
  step.bytes = readNumber(json["bytes"]);
}

void EntryReader::readCompute(const JsonReader &json, Step &step) {
  step.expression = readExpression(json["as"]);
  step.results = {readValueName(json["compute"])};
}

void EntryReader::readRequire(const JsonReader &json, Step &step) {
  step.requirement = readRequirement(json["require"]);
}

void EntryReader::readEncode(const JsonReader &json, Step &step) {
  step.index = unsigned(
      json["encode"].integer(int64_t(maps.size()), int64_t(maps.size())));
  step.map = readTensorMap(json["map"], /*isStep=*/true);
  maps.push_back(true);
}

void EntryReader::readRead(const JsonReader &json, Step &step) {
  step.from = readBuffer(json["read"]);
  step.offset = readNumber(json["offset"]);
  step.dtype = json["dtype"].string();
  if (!json.failed() && (!getItemBytes(step.dtype) || step.dtype[0] == 'f'))
    json["dtype"].fail("expected an integer such as i4, found '" + step.dtype +
                       "'");
  step.results = {readValueName(json["to"])};
}

/// Reads a step that chooses a buffer of `among`. At most the buffers
/// `besides` are in use, so at least one buffer must be free.
void EntryReader::readChoose(const JsonReader &json, Step &step) {
  step.among = readBuffers(json["among"]);
  step.besides = readBuffers(json["besides"]);
  if (!json.failed() && step.among.size() <= step.besides.size())
    json["among"].fail("expected more buffers than the " +
                       std::to_string(step.besides.size()) +
                       " that are in use, found " +
                       std::to_string(step.among.size()));
  std::vector<Buffer> seen;
  for (const Buffer &buffer : step.among) {
    if (!json.failed() &&
        (buffer.kind == Buffer::Chosen || buffer.kind == Buffer::Constant ||
         std::find(seen.begin(), seen.end(), buffer) != seen.end()))
      json["among"].fail("expected different arrays and slices of the "
                         "workspace, found " +
                         buffer.str());
    seen.push_back(buffer);
  }
  step.results = readBufferName(json["choose"]);
}

void EntryReader::readTake(const JsonReader &json, Step &step) {
  step.bytes = readNumber(json["bytes"]);
  step.results = readBufferName(json["take"]);
}

void EntryReader::readIf(const JsonReader &json, Step &step) {
  step.condition = readNumber(json["if"]);
  step.results = readNames(json["results"]);
  reserve(step.results);
  step.blocks = {readBlock(json["then"], step.results),
                 readBlock(json["else"], step.results)};
  setKnown(step.results, true);
}

void EntryReader::readSwitch(const JsonReader &json, Step &step) {
  step.condition = readNumber(json["switch"]);
  step.cases = json["cases"].list<int64_t>([](const JsonReader &number) {
    return number.integer(INT64_MIN, INT64_MAX);
  });
  step.results = readNames(json["results"]);
  reserve(step.results);
  step.blocks = json["do"].list<Block>(
      [&](const JsonReader &block) { return readBlock(block, step.results); });
  setKnown(step.results, true);
  if (!json.failed() && step.blocks.size() != step.cases.size() + 1)
    json["do"].fail("expected a block for each of " +
                    std::to_string(step.cases.size()) +
                    " cases and one for all others, found " +
                    std::to_string(step.blocks.size()));
}

void EntryReader::readFor(const JsonReader &json, Step &step) {
  step.range = {readNumber(json["from"]), readNumber(json["to"]),
                readNumber(json["step"])};
  std::vector<Operand> names = readNames(json["carries"]);
  step.inits = readOperands(json["init"], names);
  define(names);
  step.results = names;
  step.induction = readValueName(json["for"]);
  step.blocks = {readBlock(json["do"], names)};
  if (!json.failed())
    values[size_t(step.induction.value)] = false;
}

void EntryReader::readWhile(const JsonReader &json, Step &step) {
  std::vector<Operand> carries = readNames(json["while"]);
  step.inits = readOperands(json["init"], carries);
  define(carries);
  std::vector<Operand> passes = readNames(json["passes"]);
  reserve(passes);
  std::vector<Operand> tested = passes;
  tested.insert(tested.begin(), Number()); // condition of the next iteration
  step.blocks = {readBlock(json["test"], tested)};
  setKnown(carries, false);
  setKnown(passes, true);
  step.blocks.push_back(readBlock(json["do"], carries));
  step.results = std::move(carries);
  step.results.insert(step.results.end(), passes.begin(), passes.end());
}

/// Reads the next unused value name.
Number EntryReader::readValueName(const JsonReader &json) {
  std::optional<Number> name = Number::parse(json.string());
  Number next(Number::Value, int64_t(values.size()));
  if (!json.failed() && (!name || !(*name == next)))
    json.fail("expected the next value, " + next.str() + ", found '" +
              json.string() + "'");
  values.push_back(true);
  return next;
}

std::vector<Operand> EntryReader::readBufferName(const JsonReader &json) {
  std::vector<Operand> names = readNames(json);
  if (!json.failed() && (names.size() != 1 || !names[0].isBuffer))
    json.fail("expected the name of one buffer");
  define(names);
  return names;
}

std::vector<Operand> EntryReader::readNames(const JsonReader &json) {
  std::vector<Operand> names;
  Number value(Number::Value, int64_t(values.size()));
  Buffer buffer = {Buffer::Chosen, unsigned(chosen.size())};
  auto each = [&](const JsonReader &name) {
    std::string text = name.string();
    if (text == buffer.str()) {
      names.push_back(buffer);
      ++buffer.index;
    } else if (text == value.str()) {
      names.push_back(value);
      ++value.value;
    } else if (!name.failed()) {
      name.fail("expected the next value or buffer, " + value.str() + " or " +
                buffer.str() + ", found '" + text + "'");
    }
  };
  if (json.isString())
    each(json);
  else
    json.elements(each);
  return names;
}

void EntryReader::define(const std::vector<Operand> &names) {
  for (const Operand &name : names)
    (name.isBuffer ? chosen : values).push_back(true);
}

void EntryReader::reserve(const std::vector<Operand> &names) {
  for (const Operand &name : names)
    (name.isBuffer ? chosen : values).push_back(false);
}

void EntryReader::setKnown(const std::vector<Operand> &names, bool areKnown) {
  for (const Operand &name : names)
    if (name.isBuffer)
      chosen[name.buffer.index] = areKnown;
    else
      values[size_t(name.number.value)] = areKnown;
}

std::vector<Operand>
EntryReader::readOperands(const JsonReader &json,
                          const std::vector<Operand> &like) {
  std::vector<Operand> operands;
  json.elements([&](const JsonReader &element) {
    bool isBuffer =
        operands.size() < like.size() && like[operands.size()].isBuffer;
    if (isBuffer)
      operands.push_back(readBuffer(element));
    else
      operands.push_back(readNumber(element));
  });
  if (!json.failed() && operands.size() != like.size())
    json.fail("expected " + std::to_string(like.size()) +
              " numbers and buffers, found " + std::to_string(operands.size()));
  return operands;
}

Block EntryReader::readBlock(const JsonReader &json,
                             const std::vector<Operand> &results) {
  Block block;
  if (!json.onlyKeys({"steps", "yields"}))
    return block;
  std::vector<bool> outerValues = values, outerChosen = chosen,
                    outerMaps = maps;
  block.steps = readSteps(json["steps"]);
  block.yields = readOperands(json["yields"], results);
  // Hide the definitions of the block. Their names are not reused.
  auto close = [](std::vector<bool> &known, std::vector<bool> outer) {
    outer.resize(known.size());
    known = std::move(outer);
  };
  close(values, std::move(outerValues));
  close(chosen, std::move(outerChosen));
  close(maps, std::move(outerMaps));
  return block;
}

std::vector<Step> EntryReader::readSteps(const JsonReader &json) {
  RunningCollectives outer = std::exchange(running, {});
  auto steps =
      json.list<Step>([&](const JsonReader &step) { return readStep(step); });
  if (!json.failed() && !running.empty())
    json.fail("expected a wait for each collective with a token, found none");
  running = std::move(outer);
  return steps;
}

Step EntryReader::readStep(const JsonReader &json) {
  struct Form {
    Step::Kind kind;
    std::initializer_list<const char *> keys; // starts with the key of the kind
    void (EntryReader::*read)(const JsonReader &json, Step &step);
  };
  static const Form kForms[] = {
      {Step::Launch, {"launch", "grid", "args"}, &EntryReader::readLaunch},
      {Step::AllGather,
       {"all_gather", "group", "bytes", "token"},
       &EntryReader::readAllGather},
      {Step::AllToAll,
       {"all_to_all", "to", "group", "bytes", "token"},
       &EntryReader::readAllToAll},
      {Step::Wait, {"wait", "group"}, &EntryReader::readWait},
      {Step::Barrier, {"barrier"}, &EntryReader::readBarrier},
      {Step::Memset, {"memset", "byte", "bytes"}, &EntryReader::readMemset},
      {Step::Copy, {"copy", "to", "offset", "bytes"}, &EntryReader::readCopy},
      {Step::Compute, {"compute", "as"}, &EntryReader::readCompute},
      {Step::Require, {"require"}, &EntryReader::readRequire},
      {Step::Encode, {"encode", "map"}, &EntryReader::readEncode},
      {Step::Read, {"read", "offset", "dtype", "to"}, &EntryReader::readRead},
      {Step::Choose, {"choose", "among", "besides"}, &EntryReader::readChoose},
      {Step::Take, {"take", "bytes"}, &EntryReader::readTake},
      {Step::If, {"if", "results", "then", "else"}, &EntryReader::readIf},
      {Step::Switch,
       {"switch", "cases", "results", "do"},
       &EntryReader::readSwitch},
      {Step::For,
       {"for", "from", "to", "step", "carries", "init", "do"},
       &EntryReader::readFor},
      {Step::While,
       {"while", "init", "passes", "test", "do"},
       &EntryReader::readWhile}};
  Step step;
  std::string names;
  for (const Form &form : kForms) {
    const char *name = *form.keys.begin();
    names += (names.empty() ? "" : ", ") + std::string(name);
    if (!json.has(name))
      continue;
    step.kind = form.kind;
    if (json.onlyKeys(form.keys))
      (this->*form.read)(json, step);
    return step;
  }
  if (json.onlyKeys({}))
    json.fail("expected a step with one of " + names);
  return step;
}
