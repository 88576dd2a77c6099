//===- Image.cpp - Modules as they come, and targets ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX is text that has a .version and a .target directive; a cubin is an ELF
// file; a fatbin starts with a magic number of its own.
//===----------------------------------------------------------------------===//

#include "Image.h"

#include <cctype>
#include <cstring>

using namespace mx::runtime;

namespace {
struct Target {
  int major = 0, minor = 0;
  char suffix = 0; // 0, 'a' or 'f'
};
} // namespace

static bool parseTarget(std::string_view text, Target &target) {
  if (text.substr(0, 3) != "sm_")
    return false;
  int number = 0;
  size_t i = 3;
  for (; i < text.size() && i < 7 && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + (text[i] - '0');
  if (i < 5)
    return false;
  if (i < text.size())
    target.suffix = text[i++];
  target.major = number / 10;
  target.minor = number % 10;
  return i == text.size() && (!target.suffix || strchr("af", target.suffix));
}

bool mx::runtime::isTarget(std::string_view text) {
  Target target;
  return parseTarget(text, target);
}

bool mx::runtime::targetRunsOn(std::string_view text, int major, int minor) {
  Target target;
  if (!parseTarget(text, target))
    return false;
  if (target.suffix == 'a')
    return target.major == major && target.minor == minor;
  if (target.suffix == 'f')
    return target.major == major && target.minor <= minor;
  return target.major < major ||
         (target.major == major && target.minor <= minor);
}

/// The text after a directive, up to a blank or a comma; comments are
/// skipped.
static std::string findDirective(const std::string &ptx, const char *name) {
  size_t size = strlen(name);
  for (size_t pos = 0; pos < ptx.size();) {
    if (ptx.compare(pos, 2, "//") == 0) {
      pos = ptx.find('\n', pos);
    } else if (ptx.compare(pos, 2, "/*") == 0) {
      pos = ptx.find("*/", pos);
      pos = pos == std::string::npos ? pos : pos + 2;
    } else if (ptx.compare(pos, size, name) == 0 && pos + size < ptx.size() &&
               isspace((unsigned char)ptx[pos + size])) {
      size_t begin = ptx.find_first_not_of(" \t\r\n", pos + size);
      if (begin == std::string::npos)
        return "";
      size_t end = ptx.find_first_of(" \t\r\n,", begin);
      return ptx.substr(begin, end - begin);
    } else if (ptx[pos] == '{') {
      break; // directives of the module stand before the first body
    } else {
      ++pos;
    }
  }
  return "";
}

Error mx::runtime::readImage(const void *data, size_t bytes, const char *name,
                             Image &image) {
  image.name = name && *name ? name : "module";
  const char *text = static_cast<const char *>(data);
  bool elf = (bytes == 0 || bytes >= 4) && strncmp(text,
                                                   "\x7f"
                                                   "ELF",
                                                   4) == 0;
  bool fatbin = bytes >= 4 && memcmp(text, "\x50\xed\x55\xba", 4) == 0;
  if (elf || fatbin) {
    if (bytes == 0)
      return {MX_ERROR_INVALID_VALUE,
              image.name + ": expected the size of a binary image, found 0"};
    image.kind = elf ? Image::Cubin : Image::Fatbin;
    image.bytes.assign(text, bytes);
    return {};
  }
  image.kind = Image::Ptx;
  image.bytes.assign(text, bytes ? strnlen(text, bytes) : strlen(text));
  std::string version = findDirective(image.bytes, ".version");
  image.target = findDirective(image.bytes, ".target");
  if (version.empty() || image.target.empty())
    return {MX_ERROR_BAD_MODULE,
            image.name + ": expected PTX text, a cubin or a fatbin, found " +
                std::to_string(bytes ? bytes : image.bytes.size()) +
                " bytes without " + (version.empty() ? ".version" : ".target")};
  if (!isTarget(image.target))
    return {MX_ERROR_BAD_MODULE, image.name +
                                     ": expected a .target such as sm_90a, "
                                     "found '" +
                                     image.target.substr(0, 40) + "'"};
  return {};
}
