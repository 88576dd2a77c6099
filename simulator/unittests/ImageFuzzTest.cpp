//===- ImageFuzzTest.cpp - Damaged and nested images ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generates random fatbins and ELF files with PTX, some of them nested,
// compressed or damaged. Each image must be read, or refused with a short
// message. A case depends only on its number. MX_TEST_ROUNDS is the number of
// cases in thousands, and the first case has the number MX_FUZZ_SEED times
// 2^32.
//===----------------------------------------------------------------------===//

#include "mxsim/Image.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <random>
#include <vector>

using namespace mx::sim;

namespace {

const char kPtx[] = ".version 8.7\n.target sm_90a\n.address_size 64\n";

class Images {
public:
  explicit Images(uint64_t seed) : random(seed) {}

  /// Returns an image of at most about 100 KB.
  std::string make() {
    std::string bytes = any(0);
    if (below(4))
      for (unsigned times = 1 + below(4); times--;)
        damage(bytes);
    return bytes;
  }

private:
  size_t below(size_t n) { return random() % n; }

  template <typename T>
  static void append(std::string &out, T value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
  }

  std::string any(unsigned depth) {
    if (depth > 1 + below(3))
      return text();
    return below(2) ? elf(depth) : fatbin(depth);
  }

  std::string text() { return kPtx + std::string(below(3) * 300, ' '); }

  /// Compresses `data` as literals. If enough trailing blanks exist, they
  /// become a match.
  static std::string compressLz4(const std::string &data) {
    size_t blanks = data.size() - (data.find_last_not_of(' ') + 1);
    size_t literals = blanks > 40 ? data.size() - blanks + 1 : data.size();
    std::string out;
    auto putLength = [&](size_t n) {
      for (n -= 15; n >= 255; n -= 255)
        out += '\xff';
      out += char(n);
    };
    out += char(literals < 15 ? literals << 4 : 0xF0);
    if (blanks > 40)
      out.back() |= 15;
    if (literals >= 15)
      putLength(literals);
    out += data.substr(0, literals);
    if (blanks > 40) {
      out += std::string("\x01\x00", 2);
      putLength(blanks - 1 - 4);
    }
    return out;
  }

  /// Returns a frame with a raw block (RFC 8878).
  static std::string compressZstd(const std::string &data) {
    std::string out = "\x28\xb5\x2f\xfd\xa0";
    append<uint32_t>(out, data.size());
    uint32_t block = data.size() << 3 | 1;
    out.append(reinterpret_cast<const char *>(&block), 3);
    return out + data;
  }

  std::string entry(unsigned depth) {
    bool isPtx = below(2);
    std::string data = isPtx ? text() : any(depth + 1);
    uint64_t size = data.size(), flags = 0;
    if (size < 60000)
      switch (below(4)) {
      case 0:
        flags = 0x2000;
        data = compressLz4(data);
        break;
      case 1:
        flags = 0x8000;
        data = compressZstd(data);
      }
    std::string out;
    append<uint16_t>(out, isPtx ? 1 : 2);
    append<uint16_t>(out, 0x101);
    append<uint32_t>(out, 64);
    append<uint64_t>(out, (data.size() + 7) / 8 * 8);
    append<uint32_t>(out, flags ? data.size() : 0);
    append<uint32_t>(out, 0);
    append<uint32_t>(out, 0x80007);
    append<uint32_t>(out, 80 + 10 * below(5));
    append<uint64_t>(out, 0);
    append<uint64_t>(out, flags);
    append<uint64_t>(out, 0);
    append<uint64_t>(out, flags ? size : 0);
    data.resize((data.size() + 7) / 8 * 8);
    return out + data;
  }

  std::string fatbin(unsigned depth) {
    std::string entries, out;
    for (size_t count = below(4); count--;)
      entries += entry(depth);
    append<uint32_t>(out, 0xBA55ED50);
    append<uint32_t>(out, 0x00100001);
    append<uint64_t>(out, entries.size());
    return out + entries;
  }

  std::string elf(unsigned depth) {
    const char *known[] = {".nv_fatbin", "__nv_relfatbin", ".nv_debug_ptx_txt",
                           ".text"};
    std::string names(1, '\0'), body;
    std::vector<Elf64_Shdr> sections(1);
    for (size_t count = 1 + below(3); count--;) {
      Elf64_Shdr section = {};
      section.sh_type = SHT_PROGBITS;
      section.sh_name = names.size();
      const char *name = known[below(4)];
      names += std::string(name) + '\0';
      std::string contents =
          name[1] == '_' || name[4] == 'f' ? fatbin(depth + 1) : text();
      section.sh_offset = sizeof(Elf64_Ehdr) + body.size();
      section.sh_size = contents.size();
      body += contents;
      sections.insert(sections.end(), below(8) ? 1 : 1 + below(50), section);
    }
    sections[0].sh_type = SHT_STRTAB;
    sections[0].sh_offset = sizeof(Elf64_Ehdr) + body.size();
    sections[0].sh_size = names.size();
    Elf64_Ehdr header = {};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_ABIVERSION] = 8;
    header.e_machine = below(2) ? 190 : EM_X86_64;
    header.e_flags = 90 << 8;
    header.e_shoff = sections[0].sh_offset + names.size();
    header.e_shnum = sections.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::string out;
    append(out, header);
    out += body + names;
    for (const Elf64_Shdr &section : sections)
      append(out, section);
    return out;
  }

  /// Sets a header field to a number near a limit, or inserts or removes bytes.
  void damage(std::string &bytes) {
    std::vector<size_t> headers;
    for (size_t i = 0; i + 4 <= bytes.size(); ++i)
      if (!bytes.compare(i, 4, ELFMAG) ||
          !bytes.compare(i, 4, "\x50\xed\x55\xba"))
        headers.push_back(i);
    static const uint64_t kNumbers[] = {
        0,          1,           15,          64,         255,
        256,        65535,       65536,       1u << 27,   (1u << 27) + 1,
        1ull << 31, ~0ull >> 33, ~0ull >> 32, 1ull << 32, (1ull << 32) + 64,
        1ull << 63, ~0ull >> 1,  ~0ull,       ~0ull - 63, ~0ull - 4095};
    size_t way = below(20);
    if (way < 15 && !headers.empty()) {
      size_t width = 2u << below(3);
      size_t at = headers[below(headers.size())] + width * below(160 / width);
      uint64_t number = below(3) ? kNumbers[below(std::size(kNumbers))]
                                 : below(bytes.size() + 64);
      if (at + width <= bytes.size())
        memcpy(&bytes[at], &number, width);
    } else if (way < 17 && !bytes.empty()) {
      bytes[below(bytes.size())] = char(random());
    } else if (way < 19) {
      bytes.resize(below(bytes.size() + 1));
    } else {
      bytes.insert(below(bytes.size() + 1), bytes, 0, 1 + below(100));
    }
  }

  std::mt19937_64 random;
};

TEST(ImageFuzz, AnyImageIsReadOrRefused) {
  const char *rounds = std::getenv("MX_TEST_ROUNDS"),
             *seed = std::getenv("MX_FUZZ_SEED");
  uint64_t first = uint64_t(seed ? std::atoll(seed) : 0) << 32;
  unsigned count = 1000 * (rounds ? std::max(1, std::atoi(rounds)) : 20);
  unsigned read = 0, refused = 0;
  for (uint64_t number = first; number < first + count; ++number) {
    std::string bytes = Images(number).make();
    // No spare capacity, so that a sanitizer detects reads past the end.
    std::vector<char> exact(bytes.begin(), bytes.end());
    Image image;
    std::string error = exact.empty()
                            ? std::string()
                            : readImage(exact.data(), exact.size(), "m", image);
    if (error.empty() && image.kind != Image::Ptx && !exact.empty())
      error = unpackPtx(image);
    ++(!error.empty() ? refused : read);
    if (!error.empty()) {
      ASSERT_EQ(error.substr(0, 3), "m: ") << number;
      ASSERT_LT(error.size(), 700u) << number << error;
    } else if (!exact.empty()) {
      ASSERT_EQ(image.kind, Image::Ptx) << number;
      ASSERT_EQ(image.bytes.find('\0'), std::string::npos) << number;
    }
  }
  // Both outcomes must occur often, or the generated images test little.
  EXPECT_GT(read, count / 20);
  EXPECT_GT(refused, count / 20);
  RecordProperty("read", int(read));
  printf("%u images: %u read, %u refused\n", count, read, refused);
}

} // namespace
