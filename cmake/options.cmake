# Sets language, warnings, optimisation and sanitizers for all targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1 -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")

find_program(GRAPHD_CCACHE ccache)
if(GRAPHD_CCACHE)
  # Paths are relative to the checkout, so that all clones and worktrees share the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                                  CCACHE_NOHASHDIR=1 ${GRAPHD_CCACHE})
endif()

# LLD links a program of the tests in a quarter of the time. What is shipped has the usual linker.
find_program(GRAPHD_LLD ld.lld)
if(GRAPHD_LLD AND CMAKE_BUILD_TYPE STREQUAL "Dev")
  add_link_options(-fuse-ld=lld)
endif()

if(GRAPHD_SANITIZE)
  # Instrumented code takes clang twice as long to compile with any optimisation, and tests wait more
  # than they compute. GCC gains nothing without optimisation, and takes half as long again with -O1.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(CMAKE_CXX_FLAGS_DEV "-O0 -g1 -fno-omit-frame-pointer")
  else()
    set(CMAKE_CXX_FLAGS_DEV "-Og -g1 -fno-omit-frame-pointer")
  endif()
  # vptr: to check the type of an object, UBSan opens files, and tests take all descriptors.
  add_compile_options(-fsanitize=${GRAPHD_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GRAPHD_SANITIZE})
  add_compile_definitions(GRAPHD_SANITIZED)  # GCC and clang have different names for this
endif()

# Enables warnings in targets that link it: those of the project's own code.
add_library(graphd_warnings INTERFACE)
if(GRAPHD_SANITIZE)
  # GCC has false positives in instrumented code.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
# -Wno-restrict: GCC 12 reports an overlap in any "a" + std::string (GCC bug 105651).
# -Wno-maybe-uninitialized: with -O3, GCC 12 reports kj::Maybe in Cap'n Proto's promises.
# -Wno-shadow: in a unity build, names of a source may hide those of another one.
target_compile_options(graphd_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety;-Wthread-safety-beta;-Wno-sign-conversion>
  $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-shadow>
  $<$<BOOL:${GRAPHD_WERROR}>:-Werror>)
