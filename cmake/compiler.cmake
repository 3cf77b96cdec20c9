# How every file is compiled: one language level, the same warnings everywhere,
# warnings are errors, and the sanitizers a preset asks for.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # The Python module links these libraries.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)    # For clang-tidy and editors.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers of this build, as for -fsanitize=")
option(MILLRACE_FUZZ "Build the fuzz targets (Clang only)")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(MILLRACE_CCACHE ccache)
if(MILLRACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # It keeps what is compiled with precompiled headers, and goes by the compiler's own
  # list of headers, which saves reading them all twice on a first build. What one clone
  # compiled serves the others.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${MILLRACE_CCACHE})
endif()

# No fused multiply-add behind our back: the same pipeline gives the same bits on
# every machine. Frame pointers keep profiles readable.
add_compile_options(-Wall -Wextra -Wpedantic -Werror
                    -ffp-contract=off -fno-omit-frame-pointer)

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Locks are checked at compile time. TRY is a statement expression, which both
  # compilers have and -Wpedantic would refuse.
  add_compile_options(-Wthread-safety -Wno-gnu-statement-expression)
  # As GCC takes them, and as ccache knows them in every folder.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 gives false alarms of these kinds inside inlined library code
  # (absl::InlinedVector, std::string). Clang and the sanitizers see the real ones.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
  add_compile_options($<$<CONFIG:Release>:-Wno-array-bounds>
                      $<$<CONFIG:Release>:-Wno-stringop-overflow>
                      $<$<CONFIG:Release>:-Wno-stringop-overread>)
endif()

if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_SANITIZE MATCHES undefined)
  # What these find stops a program under the address sanitizer as well; without them
  # we compile a fifth faster.
  add_compile_options(-fno-sanitize=null,object-size,vptr)
endif()
