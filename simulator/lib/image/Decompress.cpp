//===- Decompress.cpp - LZ4 and Zstandard decompression -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The LZ4 decoder is short, so no library is needed (LZ4 Block Format
// Description). Zstandard is larger and is available as a library wherever LLVM
// is installed.
//===----------------------------------------------------------------------===//

#include "Decompress.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

using namespace mx::sim;

namespace {

/// Decoder of one block. A block is a list of sequences, each of literals and a
/// match. The last sequence contains only literals.
class Lz4Reader {
public:
  Lz4Reader(std::string_view data, std::string &out) : data(data), out(out) {}

  bool run() {
    while (at < data.size()) {
      unsigned token = byte();
      size_t literals = length(token >> 4);
      if (bad || literals > data.size() - at || literals > out.size() - written)
        return false;
      memcpy(&out[written], data.data() + at, literals);
      at += literals;
      written += literals;
      if (at == data.size())
        break;
      size_t distance = byte();
      distance |= size_t(byte()) << 8;
      size_t match = length(token & 15) + 4;
      if (bad || distance == 0 || distance > written ||
          match > out.size() - written)
        return false;
      // A match may overlap its own output, so the copied range doubles.
      char *to = &out[written];
      for (size_t done = 0; done < match;) {
        size_t bytes = std::min(match - done, distance + done);
        memcpy(to + done, to - distance, bytes);
        done += bytes;
      }
      written += match;
    }
    return written == out.size();
  }

private:
  unsigned byte() {
    if (at >= data.size()) {
      bad = true;
      return 0;
    }
    return static_cast<unsigned char>(data[at++]);
  }
  /// Reads a length. After nibble 15, adds the following bytes up to and
  /// including the first byte below 255.
  size_t length(size_t nibble) {
    if (nibble < 15)
      return nibble;
    unsigned more;
    do {
      more = byte();
      nibble += more;
    } while (more == 255);
    return nibble;
  }

  std::string_view data;
  std::string &out;
  size_t at = 0, written = 0;
  bool bad = false;
};

struct Zstd {
  size_t (*decompress)(void *, size_t, const void *, size_t) = nullptr;
  unsigned (*isError)(size_t) = nullptr;
  const char *(*errorName)(size_t) = nullptr;
};

/// Returns the library, with null members if the library is missing.
const Zstd &zstd() {
  static const Zstd loaded = [] {
    Zstd z;
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return z;
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          dlsym(library, name));
      return function != nullptr;
    };
    if (find(z.decompress, "ZSTD_decompress") &&
        find(z.isError, "ZSTD_isError") &&
        find(z.errorName, "ZSTD_getErrorName"))
      return z;
    return Zstd();
  }();
  return loaded;
}

} // namespace

std::string mx::sim::decompressLz4(std::string_view data, std::string &out) {
  if (Lz4Reader(data, out).run())
    return "";
  return "the LZ4 data is not well formed";
}

std::string mx::sim::decompressZstd(std::string_view data, std::string &out) {
  const Zstd &library = zstd();
  if (!library.decompress)
    return "it is compressed with Zstandard and libzstd.so.1 cannot be loaded; "
           "compress with --compress-mode=speed or none";
  size_t size =
      library.decompress(out.data(), out.size(), data.data(), data.size());
  if (library.isError(size))
    return std::string("the Zstandard data cannot be read: ") +
           library.errorName(size);
  if (size != out.size())
    return "expected " + std::to_string(out.size()) +
           " bytes of Zstandard data, found " + std::to_string(size);
  return "";
}
