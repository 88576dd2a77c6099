//===- Audit.c - Replacement of CUDA runtimes inside programs -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Auditor of ld.so (LD_AUDIT), for programs and libraries that contain CUDA's
// runtime or load it by a path of their own. Before constructors run, each
// function of CUDA in an object's symbol tables becomes a jump to the function
// of the simulator's library, which is preloaded.
//===----------------------------------------------------------------------===//

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MX_PUBLIC __attribute__((visibility("default")))

/// Functions of the simulator's library.
static struct {
  const char *name, *address;
} functions[4096];
static size_t count;

/// Visits the functions of CUDA in the symbol tables of the object's file, which
/// stays mapped.
static void visit(const struct link_map *map, void (*use)(const char *name, char *address, size_t bytes)) {
  struct stat status;
  int descriptor = open(*map->l_name ? map->l_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fstat(descriptor, &status))
    return;
  const char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (file == MAP_FAILED)
    return;
  const ElfW(Ehdr) *header = (const void *)file;
  const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
  for (const ElfW(Shdr) *table = sections; table != sections + header->e_shnum; ++table) {
    if (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM)
      continue;
    const ElfW(Sym) *symbol = (const void *)(file + table->sh_offset);
    for (size_t left = table->sh_size / sizeof *symbol; left; --left, ++symbol) {
      const char *name = file + sections[table->sh_link].sh_offset + symbol->st_name;
      // Programs may define functions with names of the driver, which they load themselves, but do not export them.
      size_t length = table->sh_type == SHT_DYNSYM ? 2 : 4;
      if ((symbol->st_info & 15) == STT_FUNC && symbol->st_shndx && !strncmp(name + strspn(name, "_"), "cuda", length))
        use(name, (char *)map->l_addr + symbol->st_value, symbol->st_size);
    }
  }
}

static void add(const char *name, char *address, size_t bytes) {
  (void)bytes;
  if (count < sizeof functions / sizeof *functions) {
    functions[count].name = name;
    functions[count++].address = address;
  }
}

/// Writes a jump at the start of a function. Python calls this for functions
/// that have no symbol.
MX_PUBLIC void mxSimRedirect(char *from, const char *to) {
#if defined(__x86_64__)
  static const unsigned char kJump[8] = {0xff, 0x25, 2, 0, 0, 0}; // jmp *2(%rip)
#elif defined(__aarch64__)
  static const unsigned kJump[2] = {0x58000050, 0xd61f0200}; // ldr x16, 8; br x16
#endif
  char *page = (char *)((uintptr_t)from & -(uintptr_t)sysconf(_SC_PAGESIZE));
  size_t length = (size_t)(from + 16 - page);
  if (mprotect(page, length, PROT_READ | PROT_WRITE | PROT_EXEC))
    return;
  memcpy(from, kJump, 8);
  memcpy(from + 8, &to, 8);
  mprotect(page, length, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(from, from + 16);
}

static void redirect(const char *name, char *address, size_t bytes) {
  // CuTe DSL's runtime exports functions as _cuLibraryLoadData, and for CUDA's
  // runtime as jumps to a function without a name.
  if (bytes < 16) {
    int32_t distance;
    address += bytes;
    if (bytes < 5 || address[-5] != '\xe9')
      return;
    memcpy(&distance, address - 4, sizeof distance);
    address += distance;
  } else if (!strncmp(name, "_cuda", 5))
    return;
  name += *name == '_' && name[1] != '_';
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(name, functions[i].name)) {
      mxSimRedirect(address, functions[i].address);
      return;
    }
}

MX_PUBLIC unsigned la_version(unsigned version) { return version < LAV_CURRENT ? version : LAV_CURRENT; }

MX_PUBLIC unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) {
  (void)cookie;
  static struct link_map *program; // loaded before the simulator
  const char *slash = strrchr(map->l_name, '/');
  if (space == LM_ID_BASE && slash && !strcmp(slash, "/libmxsim-cuda.so")) {
    visit(map, add);
    map = program;
  } else if (space == LM_ID_BASE && !*map->l_name)
    program = map;
  if (space == LM_ID_BASE && count)
    visit(map, redirect);
  return 0;
}
