//===- ManifestTest.cpp - Valid and invalid manifests ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A written manifest can be read again. A manifest with manual or random
// changes is refused with a line and column, or can be evaluated safely.
//===----------------------------------------------------------------------===//

#include "TestManifest.h"
#include "mx/Plan/Plan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <regex>

using namespace mx::plan;

namespace {

TEST(Manifest, RoundTrip) {
  Manifest manifest;
  ASSERT_EQ(readManifest(kTestManifest, manifest), "");
  EXPECT_EQ(writeManifest(manifest), kTestManifest);
  ASSERT_EQ(manifest.entries.size(), 4u);
  const Entry &entry = manifest.entries[0];
  EXPECT_EQ(entry.arguments[0].shape, (std::vector<int64_t>{kDynamic, 64}));
  EXPECT_TRUE(entry.arguments[1].isNumber);
  EXPECT_EQ(entry.values[6].op, Operator::Select);
  EXPECT_EQ(entry.steps[0].byte, 255);
  EXPECT_EQ(entry.steps[1].parameters[5].data,
            (std::vector<uint8_t>{0, 0, 0x80, 0x3f}));
  EXPECT_EQ(entry.steps[2].kernel, 1u);
  EXPECT_TRUE(manifest.kernels[1].programmatic);
  EXPECT_EQ(manifest.groups[1].name, "tp");
  EXPECT_EQ(manifest.groups[1].size, 4);
  EXPECT_EQ(manifest.groups[1].tokens, 8);
  const Entry &exchange = manifest.entries[3];
  EXPECT_EQ(exchange.windows[2].group, 1u);
  EXPECT_EQ(exchange.windows[2].offset, 256);
  EXPECT_EQ(exchange.windows[2].bytes, 512);
  EXPECT_EQ(exchange.steps[3].kind, Step::AllToAll);
  EXPECT_EQ(exchange.steps[3].from, (Buffer{Buffer::Window, 0}));
  EXPECT_EQ(exchange.steps[3].to, (Buffer{Buffer::Window, 1}));
  EXPECT_EQ(exchange.steps[6].kind, Step::Wait);
  EXPECT_EQ(exchange.steps[6].token, exchange.steps[3].token);
}

/// Returns the message for the test manifest with `from` replaced by `to`.
/// Single quotes in both stand for double quotes.
std::string refuse(std::string from, std::string to) {
  std::string text = kTestManifest;
  std::replace(from.begin(), from.end(), '\'', '"');
  std::replace(to.begin(), to.end(), '\'', '"');
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  Manifest manifest;
  return readManifest(text.replace(at, from.size(), to), manifest);
}

TEST(Manifest, Refused) {
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"'format': 5", "'format': 3",
       "2:13: format: expected format 5, found 3: compile the program again"},
      {"'format': 5,", "", "1:1: missing key 'format'"},
      {"'format': 5", "'format': '4'",
       "2:13: format: expected an integer, found a string"},
      {"'target'", "'chip'",
       "3:11: unknown key 'chip', expected one of format, target, ptx, cubin, "
       "data, constants, groups, kernels, entries"},
      {"'ptx': 'kernels.ptx',", "", "1:1: missing key 'ptx'"},
      {"'data': 'constants.bin',", "", "1:1: missing key 'data'"},
      {"'offset': 256, 'bytes': 16", "'offset': 8, 'bytes': 16",
       "8:32: constants[0].offset: expected a multiple of 256, found 8"},
      {"'offset': 256, 'bytes': 16", "'offset': 256, 'bytes': -1",
       "8:46: constants[0].bytes: expected 0 to 4611686018427387903, found -1"},
      {"'copy': 'const0'", "'copy': 'const1'",
       "67:18: entries[1].steps[0].copy: expected a buffer such as arg0, "
       "result0, work0, const0, win0 or buf0 that exists, found 'const1'"},
      {"'copy': 'const0', 'to': 'result0'", "'copy': 'const0', 'to': 'const0'",
       "67:34: entries[1].steps[0].to: expected a buffer that may be written, "
       "found the constant 'const0'"},
      {"kernels.ptx", "../kernels.ptx",
       "4:10: ptx: expected the name of a file next to the manifest, found "
       "'../kernels.ptx'"},
      {"[128, 1, 1]", "[128, 1]",
       "15:32: kernels[0].block: expected 3 numbers, found 2"},
      {"[128, 1, 1]", "[0, 1, 1]",
       "15:33: kernels[0].block[0]: expected 1 to 1024, found 0"},
      {"'second'", "'first'",
       "16:5: kernels[1]: the name 'first' is used twice"},
      {"'idle'", "'main'", "55:5: entries[1]: the name 'main' is used twice"},
      {"'dtype': 'u2'", "'dtype': 'b2'",
       "22:61: entries[0].arguments[0].dtype: expected b1, i1, i2, i4, i8, u1, "
       "u2, "
       "u4, u8, f2, f4 or f8, found 'b2'"},
      {"['?', 64]", "['*', 64]",
       "22:77: entries[0].arguments[0].shape[0]: expected an integer, found a "
       "string"},
      {"['ceildiv', 'arg0[0]', 128]", "['div', 'arg0[0]', 128]",
       "30:10: entries[0].values[0][0]: expected an operator such as add, "
       "addi.i32 or truncf.f64.bf16, found 'div'"},
      {"['ceildiv', 'arg0[0]', 128]", "['addi', 'arg0[0]', 128]",
       "30:10: entries[0].values[0][0]: expected an operator such as add, "
       "addi.i32 or truncf.f64.bf16, found 'addi'"},
      {"['ceildiv', 'arg0[0]', 128]", "['truncf.f16.f32', 'arg0[0]', 128]",
       "30:10: entries[0].values[0][0]: expected an operator such as add, "
       "addi.i32 or truncf.f64.bf16, found 'truncf.f16.f32'"},
      {"['ceildiv', 'arg0[0]', 128]", "['ceildiv', 'arg0[0]', 128, 5]",
       "30:37: entries[0].values[0][3]: expected a string, found a number"},
      {"['ceildiv', 'arg0[0]', 128]", "['ceildiv', 'arg0[0]']",
       "30:9: entries[0].values[0]: expected 2 operands of ceildiv and "
       "optionally a location, found 1"},
      {"['ceildiv', 'arg0[0]', 128]", "[]",
       "30:9: entries[0].values[0]: expected an operator and its operands"},
      {"['mul', 'v0', 512]", "['mul', 'v1', 512]",
       "31:17: entries[0].values[1][1]: expected one of 1 values before, found "
       "'v1'"},
      {"['mul', 'v0', 512]", "['mul', 'arg0[2]', 512]",
       "31:17: entries[0].values[1][1]: expected one of 2 dimensions, found "
       "'arg0[2]'"},
      {"['mul', 'v0', 512]", "['mul', 'arg1[0]', 512]",
       "31:17: entries[0].values[1][1]: expected an argument that is an array, "
       "found 'arg1[0]'"},
      {"['mul', 'v0', 512]", "['mul', 'arg2', 512]",
       "31:17: entries[0].values[1][1]: expected an argument that is an "
       "integer, found 'arg2'"},
      {"['mul', 'v0', 512]", "['mul', 'arg3[0]', 512]",
       "31:17: entries[0].values[1][1]: expected one of 3 arguments, found "
       "'arg3[0]'"},
      {"['mul', 'v0', 512]", "['mul', 'm', 512]",
       "31:17: entries[0].values[1][1]: expected a number such as 128, v0, "
       "arg0, arg0[1], arg0.bits, arg0.address, result0.address, "
       "work0.address, const0.address, win0.address, group0.peers, group0.rank "
       "or "
       "sm_count, found 'm'"},
      {"['mul', 'v0', 512]", "['mul', 'arg1.bits', 512]",
       "31:17: entries[0].values[1][1]: expected an argument that is a float, "
       "found 'arg1.bits'"},
      {"'workspace': 'v1'", "'workspace': 'v3'",
       "41:20: entries[0].workspace: expected a size that depends on no "
       "address, found 'v3'"},
      {"bytes, found {}", "bytes",
       "39:40: entries[0].requires[0].message: expected {} for each of 2 "
       "values, found 1"},
      {"'memset': 'work0'", "'memset': 'work1'",
       "49:20: entries[0].steps[0].memset: expected a buffer such as arg0, "
       "result0, work0, const0, win0 or buf0 that exists, found 'work1'"},
      {"'copy': 'arg0'", "'copy': 'arg1'",
       "52:18: entries[0].steps[3].copy: expected a buffer such as arg0, "
       "result0, work0, const0, win0 or buf0 that exists, found 'arg1'"},
      {"'launch': 'first'", "'launch': 'third'",
       "50:20: entries[0].steps[1].launch: expected a kernel of this manifest, "
       "found 'third'"},
      {"'tensor_map': 0", "'tensor_map': 1",
       "50:75: entries[0].steps[1].args[0].tensor_map: expected 0 to 0, found "
       "1"},
      {"'argument': 2", "'argument': 0",
       "50:148: entries[0].steps[1].args[4].argument: expected an argument "
       "that is a number"},
      {"0000803f", "0000803",
       "50:162: entries[0].steps[1].args[5].bytes: expected 1 to 8 bytes as "
       "pairs of hexadecimal digits, found '0000803'"},
      {"'box': [64, 128]", "'box': [64]",
       "46:9: entries[0].tensor_maps[0]: expected 1 strides and a box of 2 for "
       "as many dimensions, found 1 and 1"},
      {"'swizzle': '128b'", "'swizzle': '128'",
       "46:131: entries[0].tensor_maps[0].swizzle: expected one of none, 32b, "
       "64b, 128b, 128b_atom32, 128b_atom32_flip8, 128b_atom64, found '128'"},
      {"'byte': 255", "'byte': 256",
       "49:37: entries[0].steps[0].byte: expected 0 to 255, found 256"},
      {"{'buffer': 'work0'}, ", "{}, ",
       "50:79: entries[0].steps[1].args[1]: expected one of buffer, "
       "tensor_map, i64, i32, i16, i8, f64, f32, f16, bytes, argument, or "
       "buffer and offset"},
  };
  for (auto [from, to, error] : cases)
    EXPECT_EQ(refuse(from, to), error) << to;
}

// Names are assigned in order and are valid only in their block.
TEST(Manifest, StepsRefused) {
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"'for': 'v3'", "'for': 'v4'", "expected the next value, v3, found 'v4'"},
      {"['buf0', 'v1', 'v2']", "['buf1', 'v1', 'v2']",
       "carries[0]: expected the next value or buffer, v1 or buf0, found "
       "'buf1'"},
      {"['buf0', 'v1', 'v2']", "['buf0', 'v1']",
       "init: expected 2 numbers and buffers, found 3"},
      {"['buf0', 'v1', 'v2']", "['v1', 'v2', 'v3']",
       "init[0]: expected an argument that is an integer, found 'arg0'"},
      {"'yields': ['v7', 'buf1']", "'yields': ['v7']",
       "then.yields: expected 2 numbers and buffers, found 1"},
      {"'yields': ['buf2', 'v4', 'v6']", "'yields': ['buf2', 'v4', 'v7']",
       "yields[2]: expected a value of this block, found 'v7'"},
      {"'yields': [0, 'buf0']", "'yields': [0, 'buf2']",
       "yields[1]: expected a buffer such as arg0, result0, work0, const0, "
       "win0 "
       "or buf0 that exists, found 'buf2'"},
      {"{'copy': 'buf0', 'to': 'result0'", "{'copy': 'buf1', 'to': 'result0'",
       "found 'buf1'"},
      {"'value': 'v2'", "'value': 'v3'",
       "results[1].value: expected a value of this block, found 'v3'"},
      {"'among': ['work0', 'work1']", "'among': ['work0']",
       "among: expected more buffers than the 1 that are in use, found 1"},
      {"'among': ['work0', 'work1']", "'among': ['work0', 'work0']",
       "among: expected different arrays and slices of the workspace, found "
       "work0"},
      {"'among': ['work0', 'work1']", "'among': ['work0', 'buf0']",
       "found buf0"},
      {"'choose': 'buf1'", "'choose': 'v4'",
       "choose: expected the name of one buffer"},
      {"'encode': 0", "'encode': 1", "encode: expected 0 to 0, found 1"},
      {"{'tensor_map': 0}, {'i64': 'v4'}", "{'tensor_map': 1}, {'i64': 'v4'}",
       "tensor_map: expected 0 to 0, found 1"},
      {"'offset': 8, 'dtype': 'i4'", "'offset': 8, 'dtype': 'f4'",
       "dtype: expected an integer such as i4, found 'f4'"},
      {"'to': 'v5'", "'to': 'v6'",
       "to: expected the next value, v5, found 'v6'"},
      {"'if': 'v5'", "'unless': 'v5'",
       "unknown key 'unless', expected one of "},
      {"'else': {", "'otherwise': {", "unknown key 'otherwise'"},
      {"'workspace': 512", "'workspace': 'v1'",
       "workspace: expected one of 1 values before, found 'v1'"},
  };
  for (auto [from, to, error] : cases) {
    std::string found = refuse(from, to);
    EXPECT_NE(found.find(error), std::string::npos) << to << ": " << found;
  }
}

// Refuses invalid groups, windows and collectives.
TEST(Manifest, CollectivesRefused) {
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"'size': 2", "'size': 0", "groups[0].size: expected 1 to 1024, found 0"},
      {"'size': 2", "'size': -2",
       "groups[0].size: expected 1 to 1024, found -2"},
      {"'size': 2", "'size': 1025",
       "groups[0].size: expected 1 to 1024, found 1025"},
      {"'size': 2", "'ranks': 2",
       "unknown key 'ranks', expected one of name, size, tokens"},
      {"'tokens': 64", "'tokens': -1",
       "groups[0].tokens: expected 1 to 1073741823, found -1"},
      {"'tokens': 64", "'tokens': 0",
       "groups[0].tokens: expected 1 to 1073741823, found 0"},
      {"'tokens': 64", "'tokens': 1073741824",
       "groups[0].tokens: expected 1 to 1073741823, found 1073741824"},
      {"'name': 'ep'", "'name': ''",
       "groups[0].name: expected the name of a group, found ''"},
      {"'name': 'tp'", "'name': 'ep'",
       "groups[1]: the name 'ep' is used twice"},
      {"'value': 'group0.rank'", "'value': 'group2.rank'",
       "results[0].value: expected one of 2 groups, found 'group2.rank'"},
      {"'value': 'group0.rank'", "'value': 'group2.peers'",
       "results[0].value: expected one of 2 groups, found 'group2.peers'"},
      {"'workspace': 0,\n      'buffers': [],\n      'windows'",
       "'workspace': 'group0.peers',\n      'buffers': [],\n      'windows'",
       "workspace: expected a size that depends on no address, found "
       "'group0.peers'"},
      {"'barrier': 1", "'barrier': 2",
       "steps[7].barrier: expected one of 2 groups, found 2"},
      {"'barrier': 1", "'barrier': 'ep'",
       "steps[7].barrier: expected an integer, found a string"},
      {"'win0.address'", "'win3.address'",
       "values[1][1]: expected one of 3 windows, found 'win3.address'"},
      {"'win0.address'", "'win0.rank'",
       "values[1][1]: expected a number such as"},
      {"{'group': 0, 'offset': 0,", "{'group': 2, 'offset': 0,",
       "windows[0].group: expected one of 2 groups, found 2"},
      {"{'group': 0, 'offset': 0,", "{'group': -1, 'offset': 0,",
       "windows[0].group: expected one of 2 groups, found -1"},
      {"{'group': 0, 'offset': 0,", "{'group': 0, 'offset': 128,",
       "windows[0].offset: expected a multiple of 256, found 128"},
      {"{'group': 0, 'offset': 0,", "{'group': 0, 'offset': -256,",
       "windows[0].offset: expected 0 to 4611686018427387903, found -256"},
      {"'offset': 256, 'bytes': 512", "'offset': 256, 'bytes': -1",
       "windows[2].bytes: expected 0 to 4611686018427387903, found -1"},
      {"'offset': 256, 'bytes': 512",
       "'offset': 256, 'bytes': 9223372036854775807",
       "windows[2].bytes: expected 0 to 4611686018427387903, found "
       "9223372036854775807"},
      {"'offset': 256, 'bytes': 512", "'offset': 256, 'bytes': 'v0'",
       "windows[2].bytes: expected an integer, found a string"},
      {"'workspace': 0,\n      'buffers': [],\n      'windows'",
       "'workspace': 'v1',\n      'buffers': [],\n      'windows'",
       "workspace: expected a size that depends on no address, found 'v1'"},
      {"'memset': 'win1'", "'memset': 'win3'",
       "steps[0].memset: expected a buffer such as arg0, result0, work0, "
       "const0, win0 or buf0 that exists, found 'win3'"},
      {"'buffer': 'win0'", "'buffer': 'win4'",
       "tensor_maps[0].buffer: expected a buffer such as"},
      {"'all_gather': 'win0', 'group': 0", "'all_gather': 'win0', 'group': 1",
       "steps[2].all_gather: expected a window of group 1, found 'win0' of "
       "group 0"},
      {"'all_gather': 'win0', 'group': 0", "'all_gather': 'win0', 'group': 2",
       "steps[2].group: expected one of 2 groups, found 2"},
      {"'all_gather': 'win0', 'group': 0", "'all_gather': 'win0'",
       "steps[2]: missing key 'group'"},
      {"'token': 0", "'token': 1", "steps[2].token: expected 0 to 0, found 1"},
      {"'bytes': 4096, 'token': 0", "'bytes': 4096",
       "steps[3].token: expected 0 to 0, found 1"},
      {"'wait': 1", "'wait': 2",
       "steps[6].wait: expected the token of a collective of group 0 that "
       "runs, found 2"},
      {"'wait': 1", "'wait': 64", "steps[6].wait: expected 0 to 63, found 64"},
      {"'wait': 1, 'group': 0", "'wait': 1, 'group': 1",
       "steps[6].wait: expected the token of a collective of group 1 that "
       "runs, found 1"},
      {"'wait': 1", "'wait': 0",
       "steps: expected a wait for each collective with a token, found none"},
      {"'all_gather': 'win0'", "'all_gather': 'const0'",
       "steps[2].all_gather: expected a buffer that may be written, found the "
       "constant 'const0'"},
      {"'to': 'win1'", "'to': 'win2'",
       "steps[3].to: expected a window of group 0, found 'win2' of group 1"},
      {"'to': 'win1'", "'to': 'win0'",
       "steps[3].to: expected a buffer other than the sent buffer, found "
       "'win0'"},
      {"'to': 'win1'", "'to': 'const0'",
       "steps[3].to: expected a buffer that may be written, found the "
       "constant 'const0'"},
      {"'offset': 'v0'", "'offset': 'v3'",
       "steps[5].offset: expected one of 3 values before, found 'v3'"},
      {"'to': 'win1', 'group': 0, 'bytes': 'v2'",
       "'to': 'win1', 'group': 0, 'bytes': 'v3'",
       "steps[3].bytes: expected one of 3 values before, found 'v3'"},
  };
  for (auto [from, to, error] : cases) {
    std::string found = refuse(from, to);
    EXPECT_NE(found.find(error), std::string::npos) << to << ": " << found;
  }
}

/// Evaluates every entry of a manifest with arbitrary arguments.
void evaluateAll(const Manifest &manifest, std::mt19937 &random) {
  constexpr int64_t kSizes[] = {0, 1, 64, 4096, -1, INT64_MAX};
  auto any = [&] { return kSizes[random() % std::size(kSizes)]; };
  for (const Entry &entry : manifest.entries) {
    Inputs inputs;
    inputs.hasAddresses = random() % 2;
    inputs.smCount = 148;
    for (const Argument &argument : entry.arguments) {
      std::vector<int64_t> &shape = inputs.shapes.emplace_back();
      for (int64_t extent : argument.shape)
        shape.push_back(extent == kDynamic || random() % 8 == 0 ? any()
                                                                : extent);
      inputs.integers.push_back(any());
      inputs.argumentAddresses.push_back(4096);
    }
    inputs.resultAddresses.assign(entry.results.size(), 4096);
    inputs.constants = &manifest.constants;
    inputs.constantAddresses.assign(manifest.constants.size(), 4096);
    inputs.groups = &manifest.groups;
    inputs.ranks.assign(manifest.groups.size(), 0);
    inputs.peers.assign(manifest.groups.size(), 0);
    inputs.windowAddresses.assign(entry.windows.size(), 8192);
    Numbers numbers;
    (void)evaluate(entry, inputs, numbers);
  }
}

TEST(Manifest, RandomChanges) {
  const std::string original = kTestManifest;
  const std::regex word(R"re("[^"]*"|-?[0-9]+|[\[\]{},:])re"),
      place("[0-9]+:[0-9]+: [^]+");
  std::vector<std::pair<size_t, size_t>> words;
  for (std::sregex_iterator i(original.begin(), original.end(), word), end;
       i != end; ++i)
    words.push_back({size_t(i->position()), size_t(i->length())});
  std::mt19937 random(7);
  size_t accepted = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = original;
    switch (random() % 4) {
    case 0: // any byte
      text[random() % text.size()] = char(random());
      break;
    case 1: // cut off
      text.resize(random() % text.size());
      break;
    case 2: { // a word from elsewhere
      auto [at, length] = words[random() % words.size()];
      auto [from, fromLength] = words[random() % words.size()];
      text.replace(at, length, original.substr(from, fromLength));
      break;
    }
    default: { // an interesting number
      const char *numbers[] = {"0", "-1", "9223372036854775807", "4294967296"};
      auto [at, length] = words[random() % words.size()];
      text.replace(at, length, numbers[random() % 4]);
    }
    }
    Manifest manifest;
    std::string error = readManifest(text, manifest);
    if (error.empty()) {
      ++accepted;
      evaluateAll(manifest, random);
      // A manifest that was read can be written and read again.
      Manifest again;
      EXPECT_EQ(readManifest(writeManifest(manifest), again), "");
      continue;
    }
    ++refused;
    EXPECT_TRUE(std::regex_match(error, place)) << error;
  }
  EXPECT_GT(accepted, 50u);
  EXPECT_GT(refused, 2000u);
}

} // namespace
