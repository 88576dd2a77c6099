//===- mx-codec-dump.cpp - number formats as a filter ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Gives other languages access to the codecs, so that a test can compare them
// with numpy and ml_dtypes: reads binary32 values from stdin, writes codes to
// stdout, both in the machine's byte order.
//
//===----------------------------------------------------------------------===//

#include "mx/Support/BlockQuantize.h"
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

using namespace mx;
using Rounding = ScaleRecipe::Rounding;

namespace {

constexpr const char *kUsage =
    "usage: mx-codec-dump encode FORMAT | decode FORMAT | int8 |\n"
    "         e8m0 up|down | nvfp4 ENC |\n"
    "         quantize FORMAT|int8 ceil|floor|even|fit\n"
    "binary32 values on stdin (decode: none), codes on stdout: 16 bits each "
    "for\n"
    "encode, binary32 for decode, else bytes; quantize and nvfp4 write the\n"
    "scale of each block before its 32 or 16 codes\n";

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "mx-codec-dump: %s\n%s", message.c_str(), kUsage);
  std::exit(2);
}

FloatFormat parseFormat(const std::string &name) {
  for (unsigned f = 0; f < kNumFloatFormats; ++f)
    if (name == getInfo(FloatFormat(f)).name)
      return FloatFormat(f);
  fail("unknown format '" + name + "'");
}

Rounding parseRounding(const std::string &name) {
  if (name == "ceil")
    return Rounding::Ceil;
  if (name == "floor")
    return Rounding::Floor;
  if (name == "even")
    return Rounding::Even;
  if (name == "fit")
    return Rounding::Fit;
  fail("unknown rounding '" + name + "'");
}

std::vector<float> readInput(size_t multiple) {
  std::vector<float> values;
  float buffer[4096];
  while (size_t n = std::fread(buffer, sizeof(float), 4096, stdin))
    values.insert(values.end(), buffer, buffer + n);
  if (values.size() % multiple != 0)
    fail("expected a multiple of " + std::to_string(multiple) +
         " values, found " + std::to_string(values.size()));
  return values;
}

template <typename T>
void write(const std::vector<T> &codes) {
  if (std::fwrite(codes.data(), sizeof(T), codes.size(), stdout) !=
      codes.size())
    fail("cannot write the output");
}

/// Writes f(x) for every input.
template <typename T, typename F>
void map(F f) {
  std::vector<T> codes;
  for (float x : readInput(1))
    codes.push_back(T(f(x)));
  write(codes);
}

/// Writes the scale and the codes of every block.
template <typename F>
void mapBlocks(size_t size, F quantize) {
  std::vector<float> values = readInput(size);
  std::vector<uint8_t> out(values.size() / size * (size + 1));
  for (size_t i = 0; i < values.size() / size; ++i) {
    uint8_t *block = &out[i * (size + 1)];
    block[0] = quantize(&values[i * size], block + 1);
  }
  write(out);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  auto is = [&](const char *op, size_t count) {
    return args.size() == count && args[0] == op;
  };
  if (is("encode", 2)) {
    FloatFormat format = parseFormat(args[1]);
    map<uint16_t>([&](float x) { return encode(format, x); });
  } else if (is("decode", 2)) {
    FloatFormat format = parseFormat(args[1]);
    std::vector<float> values(size_t(1) << getInfo(format).bits);
    for (size_t code = 0; code < values.size(); ++code)
      values[code] = decode(format, uint32_t(code));
    write(values);
  } else if (is("int8", 1)) {
    map<int8_t>(encodeInt8);
  } else if (is("e8m0", 2)) {
    bool up = args[1] == "up";
    map<uint8_t>(
        [&](float x) { return up ? encodeE8M0Up(x) : encodeE8M0Down(x); });
  } else if (is("quantize", 3)) {
    Rounding rounding = parseRounding(args[2]);
    if (args[1] == "int8") {
      mapBlocks(32, [&](const float *x, uint8_t *codes) {
        return quantizeBlockInt8(rounding, x, 32,
                                 reinterpret_cast<int8_t *>(codes));
      });
      return 0;
    }
    FloatFormat elem = parseFormat(args[1]);
    if (elem > FloatFormat::E2M1)
      fail("expected an element format, found '" + args[1] + "'");
    mapBlocks(32, [&](const float *x, uint8_t *codes) {
      return quantizeBlock(elem, rounding, x, 32, codes);
    });
  } else if (is("nvfp4", 2)) {
    float enc = std::strtof(args[1].c_str(), nullptr);
    mapBlocks(16, [&](const float *x, uint8_t *codes) {
      return quantizeBlockNVFP4(enc, x, 16, codes);
    });
  } else {
    fail("unknown command");
  }
  return 0;
}
