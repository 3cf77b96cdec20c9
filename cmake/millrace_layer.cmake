# millrace_layer(name [USES layer...] [LINKS library...] [THREADS test...]
#                [TESTS_USE layer...])
#
# Builds the folder millrace/<name>: a library, its tests, benchmarks and fuzz targets,
# all found by the endings of their names, so that a new file needs no build edit.
#
#   USES     the layers it may include, besides what those use. Only layers listed
#            before it: a cycle cannot be written.
#   LINKS    outside libraries of this layer.
#   THREADS  tests (x for x_test.cc) that are about threads; they alone run under the
#            thread sanitizer.
#   TESTS_USE  layers above it whose real code its tests run, where a fake would prove
#            less. Tests are leaves: the layer itself still cannot see them.
#
# A layer's headers are reachable only through an include root of its own, a folder in
# the build tree with one link in it: roots/<name>/millrace/<name>. Including a layer
# that was not declared is therefore "file not found".

option(MILLRACE_TESTS "Build tests and benchmarks too" ON)

find_package(absl REQUIRED)
if(MILLRACE_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

# Abseil is our standard library: every layer may use it.
set(MILLRACE_ABSEIL
    absl::any_invocable absl::btree absl::cleanup absl::core_headers
    absl::failure_signal_handler absl::fixed_array absl::flat_hash_map
    absl::flat_hash_set absl::function_ref absl::hash absl::inlined_vector
    absl::int128 absl::node_hash_map absl::span absl::stacktrace absl::status
    absl::statusor absl::str_format absl::strings absl::symbolize
    absl::synchronization absl::time)

# Lets the fuzzer see which branches an input took.
set(MILLRACE_LIBRARY_OPTIONS $<$<BOOL:${MILLRACE_FUZZ}>:-fsanitize=fuzzer-no-link>)

# Tests run briefly and are compiled often: optimising them would cost more.
set(MILLRACE_TEST_OPTIONS -O0)

# Reading the headers of Abseil and of the test framework is half of compiling a file:
# they are read once, for all libraries and for all tests, each compiled as its target
# here is. clang-tidy does not see this: each file includes what it uses.
#
# What the compiler makes of them differs in every folder. So that ccache serves other
# clones, it goes by a sum beside it, of all that the headers say.
function(_millrace_precompile target)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  set(header ${target}.h)
  target_include_directories(${target} PRIVATE ${folder})
  target_precompile_headers(${target} PRIVATE <${header}>)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${header})
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P ${folder}/${header}
                  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 sum "${text}")
  set(made ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx)
  foreach(ending gch pch)
    file(CONFIGURE OUTPUT ${made}.${ending}.sum CONTENT ${sum})
  endforeach()
endfunction()

set(_millrace_empty ${CMAKE_BINARY_DIR}/empty.cc)
file(CONFIGURE OUTPUT ${_millrace_empty} CONTENT "")
add_library(library_headers STATIC EXCLUDE_FROM_ALL ${_millrace_empty})
target_compile_options(library_headers PRIVATE ${MILLRACE_LIBRARY_OPTIONS})
_millrace_precompile(library_headers)
if(MILLRACE_TESTS)
  add_executable(test_headers EXCLUDE_FROM_ALL ${_millrace_empty})
  target_link_libraries(test_headers PRIVATE GTest::gmock_main)
  target_compile_options(test_headers PRIVATE ${MILLRACE_TEST_OPTIONS})
  _millrace_precompile(test_headers)
endif()

add_custom_target(benches COMMENT "Building the benchmarks")
add_custom_target(fuzzers COMMENT "Building the fuzz targets")

function(millrace_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 LAYER "" "" "USES;LINKS;THREADS;TESTS_USE")
  if(LAYER_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "Layer ${name}: unknown words '${LAYER_UNPARSED_ARGUMENTS}'.")
  endif()

  string(REPLACE "/" "_" target ${name})
  set(folder ${CMAKE_SOURCE_DIR}/millrace/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  set(tests ${sources})
  set(benches ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|/main)\\.cc$|/testdata/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  if(NOT sources)
    message(FATAL_ERROR "Layer ${name} has no sources: millrace/${name}/*.cc.")
  endif()

  _millrace_library(${name} ${target} "${sources}" "${LAYER_USES}" "${LAYER_LINKS}")
  if(EXISTS ${folder}/main.cc)
    _millrace_program(${target} ${folder}/main.cc)
  endif()
  if(NOT MILLRACE_TESTS)
    return()
  endif()
  _millrace_tests(${name} ${target} "${tests}" "${LAYER_THREADS}")
  if(LAYER_TESTS_USE AND TARGET ${target}_test)
    target_link_libraries(${target}_test PRIVATE ${LAYER_TESTS_USE})
  endif()
  foreach(file IN LISTS benches)
    cmake_path(GET file STEM stem)
    _millrace_extra(${stem} ${target} ${file} benches benchmark::benchmark_main)
  endforeach()
  if(MILLRACE_FUZZ)
    foreach(file IN LISTS fuzzers)
      cmake_path(GET file STEM stem)
      _millrace_extra(${stem} ${target} ${file} fuzzers -fsanitize=fuzzer)
    endforeach()
  endif()
  if(EXISTS ${folder}/main.cc AND TARGET ${target}_test)
    add_dependencies(${target}_test millrace)  # They run the command itself.
  endif()
endfunction()

function(_millrace_program target file)
  add_executable(millrace ${file})
  target_link_libraries(millrace PRIVATE ${target})
  if(MILLRACE_SANITIZE MATCHES thread)
    set_target_properties(millrace PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

function(_millrace_library name target sources uses links)
  set(root ${CMAKE_BINARY_DIR}/roots/${target})
  cmake_path(GET name PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/millrace/${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/millrace/${name} ${root}/millrace/${name}
       SYMBOLIC)

  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${root})
  target_link_libraries(${target} PUBLIC ${MILLRACE_ABSEIL} PRIVATE ${links})
  target_compile_options(${target} PRIVATE ${MILLRACE_LIBRARY_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM library_headers)
  foreach(used IN LISTS uses)
    string(REPLACE "/" "_" used_target ${used})
    if(NOT TARGET ${used_target})
      message(FATAL_ERROR "Layer ${name} uses ${used}, which is not listed before it: "
              "a layer may use only the layers below it (cmake/layers.cmake).")
    endif()
    target_link_libraries(${target} PUBLIC ${used_target})
  endforeach()
endfunction()

# One executable per layer, one ctest entry per file: x_test.cc holds the suite XTest.
function(_millrace_tests name target files threads)
  foreach(test IN LISTS threads)
    if(NOT "${files}" MATCHES "/${test}_test\\.cc")
      message(FATAL_ERROR "Layer ${name} has no ${test}_test.cc, named after THREADS.")
    endif()
  endforeach()
  if(MILLRACE_SANITIZE MATCHES thread)
    # Only what the thread sanitizer will run is compiled for it.
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    list(JOIN threads "|" names)
    list(FILTER files INCLUDE REGEX "/(${names})_test\\.cc$")
  endif()
  if(NOT files)
    return()
  endif()

  add_executable(${target}_test ${files})
  target_link_libraries(${target}_test PRIVATE ${target} GTest::gmock_main)
  target_compile_options(${target}_test PRIVATE ${MILLRACE_TEST_OPTIONS})
  target_precompile_headers(${target}_test REUSE_FROM test_headers)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    string(REGEX REPLACE "_test$" "" stem ${stem})
    _millrace_pascal(${stem} suite)
    set(suite ${suite}Test)
    set(test ${target}.${stem})
    set(labels fast)
    if(stem IN_LIST threads)
      list(APPEND labels threads)
    endif()
    # Drawn pipelines take long under sanitizers: in several parts, side by side.
    set(parts 1)
    if(stem STREQUAL conformance)
      set(parts 3)
    endif()
    math(EXPR last "${parts} - 1")
    foreach(part RANGE ${last})
      set(part_test ${test})
      if(part GREATER 0)
        set(part_test ${test}.${part})
      endif()
      # Plain, parameterised, typed, and typed parameterised suites.
      add_test(NAME ${part_test} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
               COMMAND ${target}_test
                       "--gtest_filter=${suite}.*:*/${suite}.*:${suite}/*:*/${suite}/*")
      set(environment "TSAN_OPTIONS=halt_on_error=1;UBSAN_OPTIONS=print_stacktrace=1")
      list(APPEND environment GTEST_TOTAL_SHARDS=${parts} GTEST_SHARD_INDEX=${part})
      set_tests_properties(${part_test} PROPERTIES
        LABELS "${labels}"
        TIMEOUT 900
        FAIL_REGULAR_EXPRESSION "0 tests from 0 test suites ran"
        ENVIRONMENT "${environment}")
    endforeach()
  endforeach()
endfunction()

# A benchmark or fuzz target: an executable of its own, built only when asked for.
function(_millrace_extra name target file group library)
  add_executable(${name} EXCLUDE_FROM_ALL ${file})
  target_link_libraries(${name} PRIVATE ${target} ${library})
  add_dependencies(${group} ${name})
endfunction()

# bounded_queue -> BoundedQueue
function(_millrace_pascal snake result)
  string(REPLACE "_" ";" words ${snake})
  set(pascal "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND pascal ${first}${rest})
  endforeach()
  set(${result} ${pascal} PARENT_SCOPE)
endfunction()
