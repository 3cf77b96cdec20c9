# The module that knows Apache Arrow (millrace/adapters/arrow_module): a shared library
# that Millrace opens when a pipeline first reads Parquet or Arrow files. It is built
# where Arrow is found: as a package of the system, else in the pyarrow wheel of the
# project's Python environment. Nothing else links Arrow, and nothing fails without it.

option(MILLRACE_ARROW "Build the module for Parquet and Arrow files, if possible" ON)

# Sets MILLRACE_ARROW_INCLUDE, MILLRACE_ARROW_LIBRARIES and MILLRACE_ARROW_VERSION; the
# libraries are empty where there is none.
function(_millrace_find_arrow)
  set(libraries "")
  find_package(Arrow QUIET)
  find_package(Parquet QUIET)
  if(Arrow_FOUND AND Parquet_FOUND)
    set(libraries Arrow::arrow_shared Parquet::parquet_shared)
    set(include "")
    set(version "${ARROW_VERSION} of the system")
  else()
    file(GLOB wheel LIST_DIRECTORIES true
         ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/pyarrow)
    if(wheel)
      list(GET wheel 0 wheel)
      file(GLOB arrow ${wheel}/libarrow.so.*)
      file(GLOB parquet ${wheel}/libparquet.so.*)
    endif()
    if(wheel AND arrow AND parquet)
      set(libraries ${arrow} ${parquet})
      set(include ${wheel}/include)
      set(version "in ${wheel}")
    endif()
  endif()
  set(MILLRACE_ARROW_LIBRARIES "${libraries}" PARENT_SCOPE)
  set(MILLRACE_ARROW_INCLUDE "${include}" PARENT_SCOPE)
  set(MILLRACE_ARROW_VERSION "${version}" PARENT_SCOPE)
endfunction()

# millrace_arrow_module(folder layer): builds the folder as a module with the interface
# that the layer declares, and has the layer's tests and the command wait for it.
function(millrace_arrow_module folder layer)
  if(MILLRACE_ARROW)
    _millrace_find_arrow()
  endif()
  if(NOT MILLRACE_ARROW_LIBRARIES)
    message(STATUS "Arrow: not found; Parquet and Arrow files cannot be read "
            "(tools/setup check installs pyarrow, or install libarrow-dev)")
    return()
  endif()
  message(STATUS "Arrow: ${MILLRACE_ARROW_VERSION}")
  string(REPLACE "/" "_" layer_target ${layer})
  string(REPLACE "/" "_" root_name ${folder})
  set(root ${CMAKE_BINARY_DIR}/roots/${root_name})
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/millrace/${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/millrace/${folder} ${root}/millrace/${folder}
       SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/millrace/${folder}/*.cc)
  add_library(millrace_arrow MODULE ${sources})
  target_include_directories(millrace_arrow PRIVATE
                             ${root} ${CMAKE_BINARY_DIR}/roots/${layer_target})
  target_include_directories(millrace_arrow SYSTEM PRIVATE ${MILLRACE_ARROW_INCLUDE})
  target_link_libraries(millrace_arrow PRIVATE ${MILLRACE_ARROW_LIBRARIES})
  set_target_properties(millrace_arrow PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  if(MILLRACE_SANITIZE)
    # Arrow's own libraries are not built with sanitizers, and share containers with
    # the module: what it does with them would be taken for errors.
    target_compile_options(millrace_arrow PRIVATE -fno-sanitize=all)
    target_link_options(millrace_arrow PRIVATE -fno-sanitize=all)
  endif()
  foreach(user ${layer_target}_test millrace)
    if(TARGET ${user})
      add_dependencies(${user} millrace_arrow)
    endif()
  endforeach()
endfunction()
