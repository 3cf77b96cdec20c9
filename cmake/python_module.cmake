# The extension module millrace._core (python/binding), and the package around it as it
# would be installed: <build>/python/millrace, with links to the sources, so that tests
# use what is being worked on. Built where Python and nanobind are found: when a wheel
# is made, or in the project's own environment.

option(MILLRACE_PYTHON "Build the Python module, if possible" ON)

# Sets MILLRACE_NANOBIND to the folder of its CMake files; empty where there is none.
function(_millrace_find_nanobind)
  set(MILLRACE_NANOBIND "" PARENT_SCOPE)
  if(NOT SKBUILD)
    set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/.venv/bin/python PARENT_SCOPE)
    set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/.venv/bin/python)
    if(NOT EXISTS ${Python_EXECUTABLE})
      return()
    endif()
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(MILLRACE_NANOBIND ${folder} PARENT_SCOPE)
  endif()
endfunction()

# Puts links to the package's files beside the module.
function(_millrace_link_package folder)
  file(GLOB_RECURSE files RELATIVE ${CMAKE_SOURCE_DIR}/python/millrace CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/python/millrace/*)
  list(FILTER files EXCLUDE REGEX "__pycache__")
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH parent)
    file(MAKE_DIRECTORY ${folder}/${parent})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/millrace/${file} ${folder}/${file}
         SYMBOLIC)
  endforeach()
endfunction()

# millrace_python_module(layer...): builds the module over the layers that it binds.
function(millrace_python_module)
  if(NOT MILLRACE_PYTHON OR MILLRACE_SANITIZE)
    return()
  endif()
  if(SKBUILD)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter ${SKBUILD_SABI_COMPONENT}
                 Development.Module)
  endif()
  _millrace_find_nanobind()
  if(NOT MILLRACE_NANOBIND)
    message(STATUS "Python: nanobind not found; its module is not built "
            "(tools/setup package installs it)")
    return()
  endif()
  if(NOT SKBUILD)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  endif()
  message(STATUS "Python: ${Python_VERSION}")
  find_package(nanobind CONFIG REQUIRED PATHS ${MILLRACE_NANOBIND} NO_DEFAULT_PATH)

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/binding/*.cc)
  nanobind_add_module(_core NB_STATIC STABLE_ABI ${sources})
  # Only these layers' headers, which need nothing but the standard library.
  foreach(layer IN LISTS ARGN)
    string(REPLACE "/" "_" layer_target ${layer})
    target_include_directories(_core PRIVATE ${CMAKE_BINARY_DIR}/roots/${layer_target})
    target_link_libraries(_core PRIVATE $<LINK_ONLY:${layer_target}>)
  endforeach()
  target_link_options(_core PRIVATE -Wl,--exclude-libs,ALL)
  foreach(target nanobind-static nanobind-static-abi3)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE -w)  # Not ours to mend.
    endif()
  endforeach()
  set(package ${CMAKE_BINARY_DIR}/python/millrace)
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
  if(TARGET millrace_arrow)
    add_dependencies(_core millrace_arrow)
    add_custom_command(TARGET _core POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:millrace_arrow>
              ${package}/$<TARGET_FILE_NAME:millrace_arrow>)
  endif()
  _millrace_link_package(${package})
  install(TARGETS _core LIBRARY DESTINATION millrace)
  if(TARGET millrace_arrow)
    install(TARGETS millrace_arrow LIBRARY DESTINATION millrace)
  endif()
endfunction()
