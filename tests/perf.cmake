# What measures, as far as it can be tested without a GPU.
file(GLOB bench_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/bench/*_test.cpp)
tessera_test(bench unit SOURCES ${bench_tests} DEPENDS tessera_bench)
file(GLOB bench_device_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/bench_device/*_test.cpp)
tessera_test(bench_device unit SOURCES ${bench_device_tests} DEPENDS tessera_bench)
add_dependencies(bench_device tessera_fake_driver)
set_property(TEST bench_device APPEND PROPERTY ENVIRONMENT TESSERA_CUDA_DRIVER=$<TARGET_FILE:tessera_fake_driver>
             TESSERA_PTXAS=none)

tessera_test(gpu_bench gpu SOURCES gpu/bench_test.cpp DEPENDS tessera_gpu_support tessera_commands nlohmann_json::nlohmann_json)

# The scripts around it, and the peers' masks, in plain Python.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  foreach(script compare_test peers/masks_test)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/perf/${script} DIRECTORY)
    get_filename_component(name ${script} NAME)
    add_test(NAME perf_${name} COMMAND ${Python3_EXECUTABLE} -B -m unittest ${name} WORKING_DIRECTORY ${folder})
    set_tests_properties(perf_${name} PROPERTIES LABELS unit)
  endforeach()
endif()
