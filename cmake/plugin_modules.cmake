# Plug-ins (millrace/plugin/millrace_plugin.h) that the tests load: the example of the
# documents, built by its own CMakeLists.txt, and one that breaks rules on purpose. They
# stand beside the tests and the command.

# millrace_plugin_modules(layer): builds them, and has the layer's tests and the
# command's wait for them.
function(millrace_plugin_modules layer)
  add_subdirectory(${CMAKE_SOURCE_DIR}/docs/examples/plugin)
  add_library(rule_breaker MODULE
              ${CMAKE_SOURCE_DIR}/millrace/${layer}/testdata/rule_breaker.c)
  target_include_directories(rule_breaker PRIVATE ${CMAKE_BINARY_DIR}/roots/${layer})
  set_target_properties(rule_breaker PROPERTIES
    PREFIX ""
    C_STANDARD 11
    C_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden)
  set_target_properties(rule_breaker words PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  foreach(user ${layer}_test cli_test)
    if(TARGET ${user})
      add_dependencies(${user} rule_breaker words)
    endif()
  endforeach()
endfunction()
