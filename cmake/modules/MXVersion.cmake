# Commit.inc, which says from which commit mx is built: written at every build,
# and touched only when it changes. Run as a script by the target below.
#
# In a repository git knows the commit. An archive that git made of one has it
# in cmake/commit.txt (.gitattributes: export-subst); other copies have none.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(commit "")
  # A copy may lie within the repository of another project.
  if(EXISTS ${SOURCE_DIR}/.git AND GIT)
    execute_process(
      COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse --short=12 HEAD
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(
      COMMAND ${GIT} --no-optional-locks -C ${SOURCE_DIR} status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(commit AND changes)
      string(APPEND commit ".changed")
    endif()
  else()
    file(READ ${SOURCE_DIR}/cmake/commit.txt text)
    if(text MATCHES "^[0-9a-f]+")
      string(SUBSTRING ${CMAKE_MATCH_0} 0 12 commit)
    endif()
  endif()
  if(commit)
    string(PREPEND commit "+")
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT}
    CONTENT "#define MX_VERSION \"@VERSION@\"\n#define MX_COMMIT \"@commit@\"\n" @ONLY)
  return()
endif()

find_package(Git QUIET)
set(MX_COMMIT_DIR ${CMAKE_BINARY_DIR}/commit)
add_custom_target(mx-commit
  COMMAND ${CMAKE_COMMAND} -D GIT=${GIT_EXECUTABLE} -D SOURCE_DIR=${CMAKE_SOURCE_DIR}
    -D VERSION=${PROJECT_VERSION} -D OUTPUT=${MX_COMMIT_DIR}/Commit.inc
    -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${MX_COMMIT_DIR}/Commit.inc
  COMMENT "")
