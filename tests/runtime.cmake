# The runtime without a GPU: real files and processes, no driver, and a stand-in for the driver.
tessera_test(runtime_test unit
             SOURCES runtime/assemble_test.cpp runtime/cache_process_test.cpp runtime/cache_test.cpp
                     runtime/environment_test.cpp runtime/hash_test.cpp runtime/image_test.cpp runtime/process_test.cpp
                     runtime/tensor_map_test.cpp
             DEPENDS tessera_runtime)

tessera_test(runtime_no_driver_test errors SOURCES runtime/driver_test.cpp DEPENDS tessera_runtime)
set_property(TEST runtime_no_driver_test APPEND PROPERTY ENVIRONMENT TESSERA_CUDA_DRIVER=/nowhere/libcuda.so)

add_library(tessera_fake_driver MODULE runtime/fake/driver.cpp)
target_include_directories(tessera_fake_driver PRIVATE ${PROJECT_SOURCE_DIR}/tests ${TESSERA_INCLUDE})
target_link_libraries(tessera_fake_driver PRIVATE tessera_options Threads::Threads)
tessera_test(runtime_fake_driver_test unit SOURCES runtime/fake_driver_test.cpp runtime/fake_launch_test.cpp runtime/launch_counters_test.cpp
             DEPENDS tessera_runtime)
add_dependencies(runtime_fake_driver_test tessera_fake_driver)
set_property(TEST runtime_fake_driver_test
             APPEND PROPERTY ENVIRONMENT TESSERA_CUDA_DRIVER=$<TARGET_FILE:tessera_fake_driver>)

# NVIDIA's header is needed by this one test alone.
find_path(TESSERA_CUDA_INCLUDE cuda.h HINTS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES include)
mark_as_advanced(TESSERA_CUDA_INCLUDE)
if(TESSERA_CUDA_INCLUDE)
  tessera_test(runtime_driver_types_test unit SOURCES runtime/driver_types_test.cpp DEPENDS tessera_runtime)
  target_include_directories(runtime_driver_types_test SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
else()
  message(STATUS "runtime_driver_types_test is left out: there is no cuda.h to compare with")
endif()
