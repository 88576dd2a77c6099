//===- EmbeddedTest.cpp - PTX inside fatbins and ELF files ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files built here byte by byte, good and damaged. What nvcc and fatbinary
// write is in test/Runtime/fatbin.test.
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/image/Decompress.h"
#include "../../runtime/lib/image/EmbeddedPtx.h"
#include "../../runtime/lib/image/Image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>
#include <elf.h>

using namespace mx::runtime;

namespace {

enum : uint64_t { kLz4 = 0x2000, kZstd = 0x8000 };

template <typename T>
void append(std::string &out, const T &value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

std::string ptx(const char *target) {
  return std::string(".version 8.7\n.target ") + target +
         "\n.address_size 64\n.visible .entry k() { ret; }\n";
}

std::string entry(uint16_t kind, uint32_t arch, std::string data,
                  uint64_t flags = 0, uint64_t uncompressed = 0) {
  std::string out;
  uint32_t compressed = flags ? data.size() : 0;
  data.resize((data.size() + 8) / 8 * 8);
  append<uint16_t>(out, kind);
  append<uint16_t>(out, 0x101);
  append<uint32_t>(out, 64);
  append<uint64_t>(out, data.size());
  append<uint32_t>(out, compressed);
  append<uint32_t>(out, 0);
  append<uint32_t>(out, 0x80007);
  append<uint32_t>(out, arch);
  append<uint64_t>(out, 0);
  append<uint64_t>(out, 0x11 | flags);
  append<uint64_t>(out, 0);
  append<uint64_t>(out, uncompressed);
  return out + data;
}

std::string fatbin(const std::string &entries) {
  std::string out;
  append<uint32_t>(out, 0xBA55ED50);
  append<uint32_t>(out, 0x00100001);
  append<uint64_t>(out, entries.size());
  return out + entries;
}

/// An ELF file with one section beside that of the names.
std::string elf(uint16_t machine, uint32_t flags, const char *name,
                const std::string &contents) {
  std::string names = std::string(1, '\0') + name + '\0';
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = machine;
  header.e_flags = flags;
  header.e_shnum = 2;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof(header);
  Elf64_Shdr sections[2] = {};
  sections[0].sh_type = SHT_STRTAB;
  sections[0].sh_offset = sizeof(header) + sizeof(sections);
  sections[0].sh_size = names.size();
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_name = 1;
  sections[1].sh_offset = sections[0].sh_offset + names.size();
  sections[1].sh_size = contents.size();
  std::string out;
  append(out, header);
  append(out, sections);
  return out + names + contents;
}

Image image(const std::string &bytes) {
  Image image;
  image.kind = bytes.compare(0, 4,
                             "\x7f"
                             "ELF")
                   ? Image::Fatbin
                   : Image::Cubin;
  image.bytes = bytes;
  image.name = "m";
  return image;
}

/// The target of the PTX found, or the message.
std::string unpack(const std::string &bytes) {
  Image found = image(bytes);
  Error error = unpackPtx(found);
  if (error) {
    EXPECT_EQ(error.status, MX_ERROR_BAD_MODULE);
    return error.text;
  }
  EXPECT_EQ(found.kind, Image::Ptx);
  EXPECT_EQ(found.bytes, ptx(found.target.c_str()));
  return found.target;
}

constexpr uint16_t kCuda = 190;

TEST(Embedded, TakesTheTextForTheNewestArchitecture) {
  EXPECT_EQ(unpack(fatbin(entry(1, 90, ptx("sm_90a")))), "sm_90a");
  EXPECT_EQ(unpack(fatbin(entry(1, 90, ptx("sm_90a")) +
                          entry(1, 100, ptx("sm_100a")) +
                          entry(1, 80, ptx("sm_80")))),
            "sm_100a");
  // A kind that is not known is passed over.
  EXPECT_EQ(unpack(fatbin(entry(77, 120, "?") + entry(1, 90, ptx("sm_90")))),
            "sm_90");
}

TEST(Embedded, DecompressesLz4) {
  // ".version 8.7\n" would do as literals; the comment is a match that overlaps
  // itself, with a length that takes further bytes.
  std::string text = ptx("sm_90a");
  std::string out = "/*" + std::string(600, '*') + "*/\n" + text;
  std::string data;
  // Two literals and a match of 601 = 4 + 15 + 2 * 255 + 72 at distance 1.
  data += "\x2f/*";
  data += std::string("\x01\x00\xff\xff\x48", 5);
  std::string rest = "/\n" + text;
  data += '\xf0';
  data += char(rest.size() - 15);
  ASSERT_LT(rest.size() - 15, 255u);
  data += rest;
  std::string expanded(out.size(), '\0');
  EXPECT_EQ(decompressLz4(data, expanded), "");
  EXPECT_EQ(expanded, out);
  Image found = image(fatbin(entry(1, 90, data, kLz4, out.size())));
  EXPECT_EQ(unpackPtx(found).text, "");
  EXPECT_EQ(found.bytes, out);
  // Every damaged length is refused, whatever it makes of the data.
  for (size_t n = 0; n < data.size(); ++n) {
    std::string cut = data.substr(0, n), space(out.size(), '\0');
    EXPECT_NE(decompressLz4(cut, space), "") << n;
  }
  for (size_t n : {size_t(0), out.size() - 1, out.size() + 1}) {
    std::string space(n, '\0');
    EXPECT_NE(decompressLz4(data, space), "") << n;
  }
  std::string before("\x1fx\x02\x00", 4), space(100, '\0');
  EXPECT_NE(decompressLz4(before, space), "") << "a match before the beginning";
  std::string zero("\x1fx\x00\x00", 4);
  EXPECT_NE(decompressLz4(zero, space), "") << "a distance of zero";
}

TEST(Embedded, DecompressesZstandard) {
  if (!dlopen("libzstd.so.1", RTLD_NOW))
    GTEST_SKIP() << "there is no libzstd.so.1";
  // A frame of one raw block (RFC 8878, 3.1.1).
  std::string text = ptx("sm_90a");
  ASSERT_LT(text.size(), 256u);
  std::string data("\x28\xb5\x2f\xfd\x20", 5);
  data += char(text.size());
  uint32_t block = uint32_t(text.size()) << 3 | 1;
  data.append(reinterpret_cast<const char *>(&block), 3);
  data += text;
  EXPECT_EQ(unpack(fatbin(entry(1, 90, data, kZstd, text.size()))), "sm_90a");
  EXPECT_EQ(unpack(fatbin(entry(1, 90, data, kZstd, text.size() + 1))),
            "m: fatbin at offset 0, entry at offset 0: expected " +
                std::to_string(text.size() + 1) +
                " bytes of Zstandard data, found " +
                std::to_string(text.size()));
  data[0] = 0;
  EXPECT_EQ(
      unpack(fatbin(entry(1, 90, data, kZstd, text.size()))).substr(0, 76),
      "m: fatbin at offset 0, entry at offset 0: the Zstandard data "
      "cannot be read:");
}

TEST(Embedded, FindsTheTextInElfFiles) {
  std::string text = ptx("sm_90a"), lines = text;
  for (char &c : lines)
    c = c == '\n' ? '\0' : c;
  std::string cubin = elf(kCuda, 90 << 8, ".nv_debug_ptx_txt", lines);
  EXPECT_EQ(unpack(cubin), "sm_90a");
  EXPECT_EQ(unpack(fatbin(entry(2, 90, cubin))), "sm_90a");
  std::string module = fatbin(entry(1, 90, text));
  EXPECT_EQ(unpack(elf(EM_X86_64, 0, ".nv_fatbin", module)), "sm_90a");
  EXPECT_EQ(unpack(elf(EM_X86_64, 0, ".nv_fatbin", module + module)),
            "m: expected one module with PTX, found 2");
}

/// Reads an image without its size; what follows it in memory is not part of
/// it.
Image readWithoutSize(const std::string &bytes) {
  Image found;
  std::string more = bytes + "what follows";
  Error error = readImage(more.data(), 0, "m", found);
  EXPECT_FALSE(error) << error.text;
  return found;
}

TEST(Embedded, FindsTheSizeOfBinaries) {
  std::string text = ptx("sm_90a"), code = elf(kCuda, 90 << 8, ".text", text),
              binary = fatbin(entry(1, 90, text));
  EXPECT_EQ(readWithoutSize(code).bytes, code);
  EXPECT_EQ(readWithoutSize(code).kind, Image::Cubin);
  EXPECT_EQ(readWithoutSize(binary).bytes, binary);
  EXPECT_EQ(readWithoutSize(binary).kind, Image::Fatbin);

  // The section table last, as nvcc writes it; .bss takes no bytes.
  Elf64_Ehdr header;
  memcpy(&header, code.data(), sizeof header);
  Elf64_Shdr bss = {};
  bss.sh_type = SHT_NOBITS;
  bss.sh_offset = code.size();
  bss.sh_size = 1 << 20;
  std::string table = code.substr(header.e_shoff, 2 * sizeof(Elf64_Shdr));
  append(table, bss);
  header.e_shoff = code.size();
  header.e_shnum = 3;
  memcpy(code.data(), &header, sizeof header);
  code += table;
  EXPECT_EQ(readWithoutSize(code).bytes, code);

  // A segment that reaches further than the sections.
  Elf64_Phdr segment = {};
  segment.p_offset = code.size() + sizeof segment;
  segment.p_filesz = 100;
  header.e_phoff = code.size();
  header.e_phnum = 1;
  header.e_phentsize = sizeof segment;
  memcpy(code.data(), &header, sizeof header);
  append(code, segment);
  code += std::string(100, 'x');
  EXPECT_EQ(readWithoutSize(code).bytes, code);

  Image found;
  code[EI_CLASS] = ELFCLASS32;
  Error error = readImage(code.data(), 0, "m", found);
  EXPECT_EQ(error.status, MX_ERROR_BAD_MODULE);
  EXPECT_EQ(error.text, "m: expected a 64-bit little-endian ELF file");
}

TEST(Embedded, SaysHowToGetPtx) {
  std::string how = "; PTX comes from gpu-module-to-binary{format=isa}, "
                    "gpu-lower-to-nvvm-pipeline=\"cubin-format=isa\", nvcc "
                    "-gencode arch=compute_XX,code=compute_XX and nvcc -ptx";
  std::string cubin = elf(kCuda, 90 << 8, ".text.k", "code");
  EXPECT_EQ(unpack(cubin), "m: expected PTX for the simulator, found a cubin "
                           "with code for sm_90 only" +
                               how);
  EXPECT_EQ(unpack(fatbin(entry(2, 90, cubin) + entry(2, 100, cubin))),
            "m: expected PTX for the simulator, found a fatbin with code for "
            "sm_90, sm_100 only" +
                how);
  EXPECT_EQ(unpack(fatbin("")), "m: expected PTX for the simulator, found a "
                                "fatbin without any" +
                                    how);
}

TEST(Embedded, RefusesDamagedFiles) {
  std::string good = fatbin(entry(1, 90, ptx("sm_90a"))),
              file = elf(kCuda, 90 << 8, ".nv_debug_ptx_txt", ptx("sm_90a"));
  for (const std::string &whole : {good, file})
    for (size_t n = 4; n < whole.size(); ++n) {
      Image cut = image(whole.substr(0, n));
      Error error = unpackPtx(cut);
      // The last bytes of the text are missing: that is for the parser.
      if (!error) {
        EXPECT_GT(n, whole.size() - ptx("sm_90a").size()) << n;
      }
    }
  const struct {
    size_t at;
    uint64_t value;
    const char *message;
  } cases[] = {
      {8, ~0ull, "m: fatbin at offset 0: expected 18446744073709551615 bytes"},
      {24, ~0ull,
       "m: fatbin at offset 0, entry at offset 0: expected a header "
       "and its data, found only "},
      {16, 1,
       "m: fatbin at offset 0, entry at offset 0: expected a header "
       "and its data, found only "},
      {56, kLz4,
       "m: fatbin at offset 0, entry at offset 0: the LZ4 data is "
       "not well formed"},
  };
  for (const auto &entry : cases) {
    std::string bad = good;
    memcpy(&bad[entry.at], &entry.value, 8);
    if (entry.value == kLz4)
      bad[72] = 100;
    Image damaged = image(bad);
    std::string text = unpackPtx(damaged).text;
    EXPECT_EQ(text.substr(0, strlen(entry.message)), entry.message) << text;
  }
  std::string huge = fatbin(entry(1, 90, "x", kLz4, 1ull << 40));
  EXPECT_EQ(unpack(huge),
            "m: fatbin at offset 0, entry at offset 0: expected at most "
            "268435456 bytes uncompressed, found 1099511627776");
}

} // namespace
