# The architecture, in code: the layers from low to high, and what each may include.
# A layer sees what follows USES and whatever that uses, nothing else.

find_package(CLI11 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(hwy REQUIRED)
find_package(spdlog REQUIRED)

# What large Python packages export for all the world to see is linked statically, and
# hidden: else our calls would go to their versions of it.
find_library(MILLRACE_SQLITE NAMES libsqlite3.a REQUIRED)
find_library(MILLRACE_ZLIB NAMES libz.a REQUIRED)
find_library(MILLRACE_ZSTD NAMES libzstd.a REQUIRED)
find_library(MILLRACE_SSL NAMES libssl.a REQUIRED)
find_library(MILLRACE_CRYPTO NAMES libcrypto.a REQUIRED)

# spdlog as headers: its library needs a newer libstdc++ than our wheels may ask for.
millrace_layer(base
    LINKS spdlog::spdlog_header_only md ${CMAKE_DL_LIBS}
    THREADS bounded_queue clock log metrics mutex thread_cells)
# The one file that knows where the project is, so that all others compile to the same
# in every clone.
set_source_files_properties(millrace/base/golden_file.cc PROPERTIES
    COMPILE_DEFINITIONS MILLRACE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
millrace_layer(codec    USES base
    LINKS ${MILLRACE_ZLIB} ${MILLRACE_ZSTD} lz4 simdjson snappy)
millrace_layer(core     USES base          THREADS pool)
millrace_layer(frames   USES core codec)
millrace_layer(ir       USES core)
millrace_layer(lanes    USES ir)
millrace_layer(profile  USES ir)
millrace_layer(api      USES profile lanes)
millrace_layer(metadata USES base         LINKS ${MILLRACE_SQLITE} m)
millrace_layer(control  USES api)
millrace_layer(delivery USES api)
millrace_layer(sim      USES control delivery)
millrace_layer(transport USES api frames   THREADS in_process)
# Not under the thread sanitizer: it does not see how Debian's Abseil counts references
# of a status that threads share.
millrace_layer(adapters/http USES transport LINKS ${MILLRACE_SSL} ${MILLRACE_CRYPTO})
millrace_layer(dispatcher USES control metadata adapters/http)
millrace_layer(rewrite  USES ir            TESTS_USE ops)
millrace_layer(storage  USES lanes frames  THREADS file_entries memory_entries)
millrace_layer(kernels  USES ir codec      LINKS JPEG::JPEG PNG::PNG webp hwy::hwy re2)
millrace_layer(ops      USES storage kernels)
millrace_layer(plugin   USES ops           TESTS_USE exec)
millrace_layer(adapters/arrow USES ops      TESTS_USE exec THREADS part_bytes)
millrace_layer(exec     USES ops rewrite profile
    THREADS branches engine faulty_files lane_run pass_run)
millrace_layer(worker   USES delivery exec adapters/http   TESTS_USE dispatcher)
millrace_layer(client   USES delivery exec adapters/http   TESTS_USE dispatcher worker)
millrace_layer(adapters/python USES exec api adapters/arrow plugin client
    TESTS_USE dispatcher worker)
millrace_layer(bench    USES exec dispatcher worker client)
millrace_layer(cli      USES bench plugin adapters/arrow dispatcher worker client
    LINKS CLI11::CLI11)

millrace_arrow_module(adapters/arrow_module adapters/arrow)
if(MILLRACE_TESTS)
  millrace_plugin_modules(plugin)
endif()
millrace_python_module(adapters/python cli)
