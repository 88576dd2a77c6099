//===- mx-codec-dump.cpp - Command-line filter for the codecs -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Exposes the codecs to other languages, so that a test can compare them with
// numpy and ml_dtypes. Reads binary32 values from stdin and writes codes to
// stdout, both in native byte order.
//===----------------------------------------------------------------------===//

#include "mx/Support/FloatFormats.h"
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace mx;

namespace {

constexpr const char *kUsage =
    "usage: mx-codec-dump encode FORMAT | decode FORMAT | int8 | e8m0 up|down\n"
    "Reads binary32 values from stdin, except for decode. Writes 16-bit codes\n"
    "for encode, binary32 values for decode, and bytes otherwise.\n";

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

std::vector<float> readInput() {
  std::vector<float> values;
  float buffer[4096];
  while (size_t n = std::fread(buffer, sizeof(float), 4096, stdin))
    values.insert(values.end(), buffer, buffer + n);
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
  for (float x : readInput())
    codes.push_back(T(f(x)));
  write(codes);
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
  } else {
    fail("unknown command");
  }
  return 0;
}
