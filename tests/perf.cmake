# What measures, as far as it can be tested without a GPU.
file(GLOB bench_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/bench/*_test.cpp)
tessera_test(bench unit SOURCES ${bench_tests} DEPENDS tessera_bench)
file(GLOB bench_device_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/bench_device/*_test.cpp)
tessera_test(bench_device unit SOURCES ${bench_device_tests} DEPENDS tessera_bench)
add_dependencies(bench_device tessera_fake_driver)
set_property(TEST bench_device APPEND PROPERTY ENVIRONMENT TESSERA_CUDA_DRIVER=$<TARGET_FILE:tessera_fake_driver>
             TESSERA_PTXAS=none)

add_test(NAME gpu_bench COMMAND tessera_cli bench --only causal_n4k_d64 --repeat 5)
set_tests_properties(gpu_bench PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "there is no GPU to measure on"
                     PASS_REGULAR_EXPRESSION "causal_n4k_d64 +0.5001 +[0-9.]+ +[0-9.]+ +[0-9.]+")

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
